"""Starting tasks by events: the trigger of this plugin, and the host of the triggers of all plugins."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import uuid
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from oneclaw_core import NotFoundError, OneClawError, StoreError, UsageError
from oneclaw_core.plugins import WebResponse
from oneclaw_scheduled_tasks.inbox import result_text
from oneclaw_scheduled_tasks.planner import SKIPPED, may_begin
from oneclaw_scheduled_tasks.service import TaskService
from oneclaw_scheduled_tasks.stored import find_task_id, finished_since
from oneclaw_scheduled_tasks.tables import add, change, find, read, runs, tasks
from oneclaw_scheduled_tasks.task import Run, RunStatus, Task, unseen_end

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection

    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import Fire, HomeServices, TriggerSetup, WebRequest
    from oneclaw_scheduled_tasks.database import TaskDatabase
    from oneclaw_scheduled_tasks.schedules import Schedule

ENDINGS = ("success", "failed", "needs_permission", "any")
_POLL_SECONDS = 2.0
_SEEN_DAYS = 400
# A worker that takes over looks so far back for tasks that have ended.
_LOOKED_BACK = timedelta(days=1)
_RETRY_SECONDS = 60.0
# A trigger that failed works again if it runs for longer than triggers need to find out.
_STEADY_SECONDS = 120.0
_MOST_CHARACTERS = 20_000
_DIGITS = 12
ENOUGH = "events have started the task as often as it may run a day; see --per-day of: oneclaw tasks edit"
_log = logging.getLogger("oneclaw.tasks")


async def task_ended(context: PluginContext, parameters: Mapping[str, str], fire: Fire) -> None:
    """Report that a run of another task has ended."""
    wanted = parameters.get("status") or "success"
    if wanted not in ENDINGS:
        raise UsageError(f"status must be one of {', '.join(ENDINGS)}")
    text = json.dumps(dict(parameters), sort_keys=True)
    key = f"trigger task {hashlib.sha256(text.encode()).hexdigest()[:24]}"
    await context.storage.set_if_absent(key, datetime.now(UTC).isoformat(), ttl_seconds=_SEEN_DAYS * 86_400)
    since = datetime.fromisoformat(await context.storage.get(key))
    async with TaskService.open(context.services) as service:
        while True:
            if (task_id := await service.database.run(find_task_id, parameters["task"])) is None:
                raise NotFoundError(f"there is no task {parameters['task'][:100]!r}")
            now = datetime.now(UTC)
            for run, name in await service.database.run(finished_since, max(since, now - _LOOKED_BACK)):
                if run.task_id == task_id and wanted in ("any", str(run.status)):
                    await fire(result_text(run, name), key=f"{key} {run.id} {run.attempt}")
                    await context.storage.set(key, now.isoformat(), ttl_seconds=_SEEN_DAYS * 86_400)
            # Clocks of several machines are not quite the same.
            since = max(since, now - timedelta(minutes=1))
            await asyncio.sleep(_POLL_SECONDS)


def add_event(connection: Connection, task_id: str, now: datetime, text: str, key: str | None) -> bool:
    """Make the run that an event starts; return False if it starts none.

    That is so if the task is paused or has ended, the key of the event is known, or it has run often enough today.
    """
    # Of two events of a task, one waits for the other, and is counted with it.
    task = find(connection, Task, task_id, is_locked=True)
    if task is None or not task.is_enabled or task.schedule.per_day is None:
        return False
    today = now.astimezone(task.zone).date()
    run = Run(
        id=_id(task, key or uuid.uuid4().hex),
        task_id=task.id,
        scheduled_at=now,
        not_before=now,
        event=text[:_MOST_CHARACTERS],
    )
    if (task.end_date is not None and today > task.end_date) or find(connection, Run, run.id) is not None:
        return False
    if _count_since(connection, task, datetime.combine(today, time(), task.zone)) >= task.schedule.per_day:
        # Noted once a day: events can come in thousands.
        add(connection, replace(run, id=_id(task, f"enough {today}"), **unseen_end(now, RunStatus.SKIPPED, ENOUGH)))
        return False
    if not may_begin(connection, task, now):
        add(connection, replace(run, **unseen_end(now, RunStatus.SKIPPED, SKIPPED)))
        return False
    return add(connection, run)


def _id(task: Task, key: str) -> str:
    return f"{task.id}-event-{hashlib.sha256(key.encode()).hexdigest()[:_DIGITS]}"


def _count_since(connection: Connection, task: Task, begin: datetime) -> int:
    is_counted = runs.c.event.is_not(None) & (runs.c.status != RunStatus.SKIPPED)
    query = select(func.count()).where(runs.c.task_id == task.id, runs.c.scheduled_at >= begin, is_counted)
    return int(connection.execute(query).scalar_one())


def triggered_tasks(connection: Connection) -> list[Task]:
    """Read the enabled tasks that events start."""
    # Any other task that is enabled is due some time, or has ended.
    found = read(connection, Task, tasks.c.is_enabled, tasks.c.next_at.is_(None))
    return [each for each in found if each.is_triggered]


def setup_text(services: HomeServices, task: Task, setup: TriggerSetup | None) -> str:
    """Write what the user is told once of a task that was given a trigger."""
    name = task.schedule.trigger
    takes_requests = name is not None and services.trigger(name).take_request is not None
    address = f"it waits at oneclaw serve for POST requests to /scheduled_tasks/hook/{task.id}"
    return "\n".join([*([address] if takes_requests else ()), *([setup.note] if setup is not None else ())])


async def take_request(context: PluginContext, request: WebRequest) -> WebResponse:
    """Pass a request to the trigger of the task that it is for; the trigger checks who sent it."""
    task_id = request.path_parameters["id"]
    async with TaskService.open(context.services) as service:
        try:
            schedule = (await service.get(task_id)).schedule
            trigger = context.services.trigger(schedule.trigger) if schedule.trigger is not None else None
        except NotFoundError:
            trigger = None
        if trigger is None or trigger.take_request is None:
            # The same as for a wrong token, so that no task can be found by trying.
            return WebResponse.json({"error": "the token is not the one of this task"}, status=403)

        async def fire(text: str, *, key: str | None = None) -> bool:
            return await service.database.run(add_event, task_id, datetime.now(UTC), text, key)

        return await trigger.take_request(dict(schedule.parameters or ()), request, fire)


class Watchers:
    """The triggers that are at work in one worker of all, each for one task."""

    def __init__(self, services: HomeServices, database: TaskDatabase, clock: Callable[[], datetime]) -> None:
        self._services = services
        self._database = database
        self._clock = clock
        self._watching: dict[tuple[str, Schedule], asyncio.Task[None]] = {}

    async def refresh(self, *, is_first: bool) -> None:
        """Begin to watch for tasks that are new or changed, and stop for those that are gone."""
        tasks = await self._database.run(triggered_tasks) if is_first else []
        wanted = {(each.id, each.schedule): each for each in tasks}
        await self._stop([key for key in self._watching if key not in wanted])
        for key, task in wanted.items():
            if key not in self._watching:
                self._watching[key] = asyncio.create_task(self._watch(task))

    async def close(self) -> None:
        """Stop all."""
        await self._stop(list(self._watching))

    async def _stop(self, keys: list[tuple[str, Schedule]]) -> None:
        stopped = [self._watching.pop(key) for key in keys]
        for each in stopped:
            each.cancel()
        if stopped:
            await asyncio.wait(stopped)

    async def _fire(self, task_id: str, text: str, *, key: str | None = None) -> bool:
        return await self._database.run(add_event, task_id, self._clock(), text, key)

    async def _watch(self, task: Task) -> None:
        while True:
            running = asyncio.create_task(self._run(task))
            try:
                await asyncio.wait([running], timeout=_STEADY_SECONDS)
                if not running.done():
                    await self._note(task, None)
                await asyncio.wait([running])
            finally:
                running.cancel()
                await asyncio.wait([running])
            await self._note(task, running.result())
            await asyncio.sleep(_RETRY_SECONDS)

    async def _note(self, task: Task, error: str | None) -> None:
        try:
            await self._database.run(change, Task, tasks.c.id == task.id, trigger_error=error)
        except StoreError as failure:
            _log.warning("how the trigger of the task %s works was not noted: %s", task.id, failure)

    async def _run(self, task: Task) -> str | None:
        """Run the trigger of a task until it fails; return why."""
        try:
            trigger = self._services.trigger(task.schedule.trigger or "")
            await trigger.run(dict(task.schedule.parameters or ()), partial(self._fire, task.id))
        except Exception as error:  # noqa: BLE001  # of a plugin; the others go on
            what = str(error) if isinstance(error, OneClawError) else f"unexpected {type(error).__name__}"
            _log.warning("the trigger of the task %s (%s) failed: %s", task.name, task.id, what, exc_info=error)
            return what
        return None
