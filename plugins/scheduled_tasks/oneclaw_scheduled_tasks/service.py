"""Making, changing, listing, running and deleting tasks: what the tools and the command line share."""

from __future__ import annotations

import uuid
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core import OneClawError, UsageError
from oneclaw_scheduled_tasks import stored
from oneclaw_scheduled_tasks.database import TaskDatabase, tasks_database_url
from oneclaw_scheduled_tasks.occurrences import MissedPolicy
from oneclaw_scheduled_tasks.schedules import SCHEDULE_FIELDS, SECRET, FieldError, Schedule, read_date, read_schedule
from oneclaw_scheduled_tasks.tables import add, runs
from oneclaw_scheduled_tasks.task import CATCH_UP_SECONDS, OverlapPolicy, Run, Task
from oneclaw_scheduled_tasks.zones import find_zone, user_zone_name

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping

    from sqlalchemy import ColumnElement

    from oneclaw_core.permissions import Grant
    from oneclaw_core.plugins import HomeServices, TriggerSetup

GENERAL_ASSISTANT = "General Assistant"
EVERY_GROUP = "*"

Chosen = TypeVar("Chosen", bound=StrEnum)


class TaskRefusedError(UsageError):
    """A task cannot be like that: it has no name or nothing to do, or would never be due."""


class TaskService:
    """The tasks of an open home.

    What is given of a task are fields of :class:`Task` and of its schedule, as users write them; ``None`` counts as not
    given. An empty text removes an option, ``*`` among the groups means all of them, and a cost of 0 no limit.

    Methods raise a ``NotFoundError`` for what is not there, a ``TaskRefusedError`` for a task that cannot be like that,
    another ``UsageError`` for other faults.
    """

    def __init__(
        self, services: HomeServices, database: TaskDatabase, clock: Callable[[], datetime] | None = None
    ) -> None:
        self.services = services
        self.database = database
        self._clock = clock or (lambda: datetime.now(UTC))

    @classmethod
    @asynccontextmanager
    async def open(cls, services: HomeServices) -> AsyncGenerator[TaskService, None]:
        """Open the tasks' database of a home for a moment."""
        async with await TaskDatabase.open(tasks_database_url(services.home.database_url)) as database:
            yield cls(services, database)

    async def new(self, given: Mapping[str, Any]) -> Task:
        """Make a task of what is given, without storing it."""
        now = self._now()
        values = await self._values({**given, **{key: given.get(key) or "" for key in ("name", "prompt")}})
        schedule = read_schedule(given)
        if schedule.trigger is not None:
            self._check_trigger(schedule)
            # Every event counts, also one that comes during a run.
            values.setdefault("overlap", OverlapPolicy.QUEUE)
        values.setdefault("catch_up_seconds", CATCH_UP_SECONDS[values.get("missed", MissedPolicy.RUN_ONCE)])
        values = {"agent": GENERAL_ASSISTANT, "time_zone": user_zone_name()} | values
        return self._planned(
            Task(id=uuid.uuid4().hex[:12], schedule=schedule, created_at=now, anchor=now, **values), now
        )

    async def add(self, task: Task) -> None:
        """Store what :meth:`new` has made."""
        await self.database.run(add, task)

    async def get(self, task_id: str) -> Task:
        """Return a task."""
        return await self.database.run(stored.get_task, task_id)

    async def id_of(self, wanted: str) -> str:
        """Return the id of a task by its id or name."""
        return await self.database.run(stored.require_task_id, wanted)

    async def changed(self, task_id: str, given: Mapping[str, Any]) -> tuple[Task, Task]:
        """Find out what a task would be with changes, without storing it.

        Returns the task as it is, and as it would be.
        """
        before = await self.get(task_id)
        values = await self._values(given)
        if any(given.get(key) is not None for key in SCHEDULE_FIELDS):
            values["schedule"] = schedule = before.schedule.changed(given)
            if schedule.trigger is not None:
                self._check_trigger(schedule)
        if before.catch_up_seconds == CATCH_UP_SECONDS[before.missed] and "missed" in values:
            values = {"catch_up_seconds": CATCH_UP_SECONDS[values["missed"]], **values}
        after = replace(before, **values)
        now = self._now()
        if any(getattr(after, key) != getattr(before, key) for key in ("schedule", "time_zone", "end_date")):
            # A task that was due once and gets a new time is meant to run; one that comes again and is paused was
            # paused by somebody.
            is_enabled = after.is_enabled or (before.is_one_time and given.get("is_enabled") is None)
            return before, self._planned(replace(after, anchor=now, is_enabled=is_enabled, trigger_error=None), now)
        return before, after if after.is_enabled == before.is_enabled else self._planned(after, now)

    async def store_change(self, before: Task, after: Task) -> None:
        """Store what :meth:`changed` has made: what differs, and nothing of what others have changed meanwhile."""
        await self.database.run(stored.change_task, before, after)

    async def do(self, verb: str, wanted: str) -> str:
        """Do something with a run (``stop``, ``continue``) or a task (``run``, ``pause``, ``resume``), and say so."""
        match verb:
            case "stop":
                return f"run {(await self.stop_run(wanted)).id} is stopped"
            case "continue":
                return f"run {(await self.continue_run(wanted)).id} waits for a worker"
            case "run":
                return f"run {(await self.run(wanted)).id} waits for a worker"
            case "pause" | "resume":
                task = await self.get(wanted)
                await self.store_change(*await self.changed(task.id, {"is_enabled": verb == "resume"}))
                stopped = await self.stop_task(task.id) if verb == "pause" else []
                said = f"task {task.name} is {'enabled' if verb == 'resume' else 'paused'}"
                return "\n".join([said, *(f"run {each.id} is stopped" for each in stopped)])
        raise UsageError("action: must be run, pause or resume for a task, stop or continue for a run")

    async def run(self, task_id: str) -> Run:
        """Have a task run now, enabled or not; its schedule stays as it is."""
        task, now = await self.get(task_id), self._now()
        new_id = f"{task.id}-manual-{uuid.uuid4().hex[:12]}"
        run = Run(id=new_id, task_id=task.id, scheduled_at=now, not_before=now, is_manual=True)
        await self.database.run(add, run)
        return run

    async def stop_run(self, run_id: str) -> Run:
        """Stop a run, and return it as it was: it calls nothing more, and is not taken up again."""
        found = await self.database.run(stored.get_run, run_id)
        stopped = await self._stop("it was stopped", runs.c.id == found.id)
        if not stopped:
            raise UsageError(f"the run {found.id} has ended: {found.status}")
        return stopped[0]

    async def stop_task(self, task_id: str) -> list[Run]:
        """Stop all runs of a task that have not ended, and return them as they were."""
        return await self._stop("it was stopped with its task", runs.c.task_id == task_id)

    async def delete(self, task_id: str) -> None:
        """Delete a task with its log and its decisions on permissions, and stop its runs; its sessions stay."""
        stopped = await self.database.run(stored.remove_task, task_id.strip(), self._now())
        await self.services.task_permissions.forget(task_id.strip())
        await self._stop_turns(stopped)

    async def _stop(self, reason: str, which: ColumnElement[bool]) -> list[Run]:
        stopped = await self.database.run(stored.stop_runs, self._now(), reason, which)
        await self._stop_turns(stopped)
        return stopped

    async def _stop_turns(self, stopped: Iterable[Run]) -> None:
        """Stop the turns at once; the workers find out a moment later that the runs have ended."""
        for run in stopped:
            if run.session is not None:
                with suppress(OneClawError):
                    await self.services.sessions.stop(run.session)

    async def lacked(self, run: Run) -> list[Grant]:
        """Return the grants for its task alone that a run lacked, as far as it can go on with them."""
        if run.session is None or not run.status.can_go_on:
            return []
        return await self.services.task_permissions.lacked(run.task_id, run.session)

    async def continue_run(self, run_id: str, grants: Iterable[Grant] | None = None) -> Run:
        """Have a run go on that ended without what it was to do, in its session; grant before what it lacked."""
        run = await self.database.run(stored.get_run, run_id)
        if grants is not None and run.status.can_go_on:
            if not (grants := tuple(grants)):
                raise UsageError(f"the run {run.id} lacked nothing that can be granted to its task alone")
            for grant in grants:
                await self.services.task_permissions.grant(grant)
        return await self.database.run(stored.begin_again, run.id, self._now())

    def _now(self) -> datetime:
        now = self._clock().astimezone(UTC)
        # As exactly as it is stored.
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def _planned(self, task: Task, now: datetime) -> Task:
        next_at = task.next_after(now)
        if next_at is None and task.is_enabled and not task.is_triggered:
            raise TaskRefusedError(
                f"{task.schedule_text} lies in the past: give a time to come; it is {task.local_text(now)} now"
                if task.is_one_time
                else f"{task.schedule_text} is never due: no such time comes"
            )
        return replace(task, next_at=next_at if task.is_enabled else None, planned_at=now)

    async def _values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Read what is given of a task beside its schedule."""
        values = {
            key: _READERS[key](value) if key in _READERS else value
            for key, value in given.items()
            if value is not None and key not in SCHEDULE_FIELDS
        }
        for key in ("name", "prompt"):
            if key in values and not values[key]:
                raise TaskRefusedError(f"{key} must not be empty")
        for name in _channels_of(values):
            await self.services.channel(name)
        if "agent" in values:
            values["agent"] = (await self.services.agents.get(values["agent"] or GENERAL_ASSISTANT)).name
        if values.get("model"):
            await self.services.configuration.models.check_model(values["model"])
        if "tool_groups" in values:
            values["tool_groups"] = self._groups(values["tool_groups"])
        return values

    async def set_up(self, given: Mapping[str, Any]) -> tuple[Mapping[str, Any], TriggerSetup | None]:
        """Have the trigger that is given complete its parameters; it may return what the user is shown once, too."""
        name = given.get("trigger")
        set_up = self.services.trigger(name).set_up if name else None
        if set_up is None:
            return given, None
        made = await set_up(dict(given.get("parameters") or ()))
        return {**given, "parameters": tuple(made.parameters.items())}, made

    def _check_trigger(self, schedule: Schedule) -> None:
        trigger, given = self.services.trigger(schedule.trigger or ""), dict(schedule.parameters or ())
        names = ", ".join(each for each in trigger.parameters if not each.endswith(SECRET)) or "none"
        for name in given.keys() - trigger.parameters.keys():
            raise UsageError(f"the trigger {trigger.name} has no parameter {name[:100]!r}; it has: {names}")
        for name in trigger.required:
            if not given.get(name):
                raise UsageError(f"the trigger {trigger.name} needs {name}: {trigger.parameters[name]}")

    def _groups(self, names: tuple[str, ...]) -> tuple[str, ...] | None:
        if EVERY_GROUP in names:
            return None
        wanted = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
        known = {group.name for group in self.services.registry.get_all_group_definitions()}
        missing = [name for name in wanted if name not in known]
        if missing:
            raise UsageError(f"there is no tool group {missing[0][:100]!r}; there are: {', '.join(sorted(known))}")
        return wanted


async def find_task(services: HomeServices, wanted: str) -> str | None:
    """Find the id of a task by its id or name; ``None`` if there is none."""
    async with TaskService.open(services) as service:
        return await service.database.run(stored.find_task_id, wanted)


def _channels_of(values: dict[str, Any]) -> list[str]:
    """List the channels that options of a task name."""
    named = [each.partition(":")[0] for each in values.get("channels", ())]
    given = {"webhook": values.get("webhook"), "command": values.get("command"), "desktop": values.get("is_notified")}
    return [*named, *(name for name, value in given.items() if value)]


def _choice(kind: type[Chosen], name: str, text: str) -> Chosen:
    wanted = text.strip().lower()
    if wanted not in set(kind):
        raise FieldError([name], f"must be one of {', '.join(kind)}, not {text[:50]!r}")
    return kind(wanted)


def _text_or_none(text: str) -> str | None:
    return text.strip() or None


# Of the values that are not taken as they are; an empty text or a cost of 0 removes something.
_READERS: dict[str, Callable[[Any], Any]] = {
    "name": lambda text: " ".join(text.split()),
    "prompt": str.strip,
    "agent": str.strip,
    "model": _text_or_none,
    "webhook": _text_or_none,
    "command": _text_or_none,
    "channels": lambda names: tuple(each.strip() for each in names if each.strip()),
    "time_zone": lambda text: find_zone(text).key,
    "end_date": lambda text: read_date("end_date", text) if text.strip() else None,
    "missed": partial(_choice, MissedPolicy, "missed"),
    "overlap": partial(_choice, OverlapPolicy, "overlap"),
    "max_cost": lambda dollars: dollars or None,
}
