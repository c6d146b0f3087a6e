"""Starting tasks by events: the trigger of this plugin, and the host of the triggers of all plugins."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core import NotFoundError, OneClawError, StoreError, UsageError
from oneclaw_core.plugins import WebResponse
from oneclaw_scheduled_tasks.inbox import result_text
from oneclaw_scheduled_tasks.service import TaskService, find_task
from oneclaw_scheduled_tasks.stored_events import add_event, note_trigger, triggered_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core import PluginContext
    from oneclaw_core.plugins import Fire, HomeServices, TriggerSetup, WebRequest
    from oneclaw_scheduled_tasks.database import TaskDatabase
    from oneclaw_scheduled_tasks.schedules import Schedule
    from oneclaw_scheduled_tasks.task import Task

ENDINGS = ("success", "failed", "needs_permission", "any")
_POLL_SECONDS = 2.0
_SEEN_DAYS = 400
# A worker that takes over looks so far back for tasks that have ended.
_LOOKED_BACK = timedelta(days=1)
_RETRY_SECONDS = 60.0
# A trigger that failed works again if it runs for longer than triggers need to find out.
_STEADY_SECONDS = 120.0
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
            if (task_id := await find_task(context.services, parameters["task"])) is None:
                raise NotFoundError(f"there is no task {parameters['task'][:100]!r}")
            now = datetime.now(UTC)
            for run, name in await service.ended_since(max(since, now - _LOOKED_BACK)):
                if run.task_id == task_id and wanted in ("any", str(run.status)):
                    await fire(result_text(run, name), key=f"{key} {run.id} {run.attempt}")
                    await context.storage.set(key, now.isoformat(), ttl_seconds=_SEEN_DAYS * 86_400)
            # Clocks of several machines are not quite the same.
            since = max(since, now - timedelta(minutes=1))
            await asyncio.sleep(_POLL_SECONDS)


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
            return await service.fire(task_id, text, key)

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
        noted = task.trigger_error
        while True:
            running = asyncio.create_task(self._run(task))
            try:
                await asyncio.wait([running], timeout=_STEADY_SECONDS if noted is not None else None)
                if not running.done() and await self._note(task, None):
                    noted = None
                await asyncio.wait([running])
            finally:
                running.cancel()
                await asyncio.wait([running])
            if (error := running.result()) != noted and await self._note(task, error):
                noted = error
            await asyncio.sleep(_RETRY_SECONDS)

    async def _note(self, task: Task, error: str | None) -> bool:
        try:
            await self._database.run(note_trigger, task.id, error)
        except StoreError as failure:
            _log.warning("how the trigger of the task %s works was not noted: %s", task.id, failure)
            return False
        return True

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
