"""Making, changing, listing, running and deleting tasks: what the tools and the command line share."""

from __future__ import annotations

import uuid
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core import NotFoundError, OneClawError, UsageError
from oneclaw_scheduled_tasks import backfill, stored_events, stored_runs, stored_tasks
from oneclaw_scheduled_tasks.database import TaskDatabase, tasks_database_url
from oneclaw_scheduled_tasks.occurrences import MissedPolicy
from oneclaw_scheduled_tasks.schedules import SCHEDULE_FIELDS, SECRET, Schedule, read_date, read_schedule
from oneclaw_scheduled_tasks.task import CATCH_UP_SECONDS, OverlapPolicy, Run, Task
from oneclaw_scheduled_tasks.zones import find_zone, user_zone_name

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from oneclaw_core.plugins import HomeServices, TriggerSetup
    from oneclaw_core.tools import Grant

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
    another ``UsageError`` for other faults. What stops or resumes runs returns them as they were before.
    """

    def __init__(
        self, services: HomeServices, database: TaskDatabase, clock: Callable[[], datetime] | None = None
    ) -> None:
        self.services = services
        self._database = database
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
        await self._database.run(stored_tasks.add_task, task)

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
        if after == before:
            return before, before
        now = self._now()
        if any(getattr(after, key) != getattr(before, key) for key in ("schedule", "time_zone", "end_date")):
            # A task that was due once and gets a new time is meant to run; one that comes again and is paused was
            # paused by somebody.
            is_enabled = after.is_enabled or (before.is_one_time and given.get("is_enabled") is None)
            return before, self._planned(replace(after, anchor=now, is_enabled=is_enabled, trigger_error=None), now)
        if after.is_enabled != before.is_enabled:
            return before, self._planned(after, now)
        return before, after

    async def store_change(self, before: Task, after: Task) -> None:
        """Store what :meth:`changed` has made: what differs, and nothing of what others have changed meanwhile."""

        def store(connection: Connection) -> None:
            stored_tasks.change_task(connection, before, after)
            if before.is_enabled and not after.is_enabled:
                stored_runs.drop_waiting(connection, after.id)

        await self._database.run(store)

    async def set_enabled(self, task_id: str, *, is_enabled: bool) -> list[Run]:
        """Pause a task, which stops its runs, or resume it."""
        await self.store_change(*await self.changed(task_id, {"is_enabled": is_enabled}))
        return [] if is_enabled else await self.stop_task(task_id)

    async def do(self, verb: str, wanted: str) -> str:
        """Do something with a run (``stop``, ``continue``) or a task (``run``, ``pause``, ``resume``), and say so."""
        if verb == "stop":
            return f"run {(await self.stop_run(wanted)).id} is stopped"
        if verb in ("continue", "run"):
            run = await (self.continue_run(wanted) if verb == "continue" else self.run(wanted))
            return f"run {run.id} waits for a worker"
        if verb not in ("pause", "resume"):
            raise UsageError("action: must be run, pause or resume for a task, stop or continue for a run")
        task = await self.get(wanted)
        stopped = await self.set_enabled(task.id, is_enabled=verb == "resume")
        state = "enabled" if verb == "resume" else "paused"
        return "\n".join([f"task {task.name} is {state}", *(f"run {each.id} is stopped" for each in stopped)])

    async def stop_run(self, run_id: str) -> Run:
        """Stop a run: it calls nothing more, and is not taken up again."""
        found = await self.find_run(run_id)
        stopped = await self._stop("it was stopped", run_id=found.id)
        if not stopped:
            raise UsageError(f"the run {found.id} has ended: {found.status}")
        return stopped[0]

    async def stop_task(self, task_id: str) -> list[Run]:
        """Stop all runs of a task that have not ended."""
        return await self._stop("it was stopped with its task", task_id=task_id)

    async def _stop(self, reason: str, **which: str) -> list[Run]:
        stopped = await self._database.run(stored_runs.stop_runs, self._now(), reason, **which)
        await self._stop_turns(stopped)
        return stopped

    async def _stop_turns(self, runs: Iterable[Run]) -> None:
        """Stop the turns at once; the workers find out a moment later that the runs have ended."""
        for run in runs:
            if run.session is not None:
                with suppress(OneClawError):
                    await self.services.sessions.stop(run.session)

    async def continue_run(self, run_id: str) -> Run:
        """Have a run go on that ended without what it was to do, in its session."""
        now = self._now()

        def store(connection: Connection) -> Run:
            run = stored_runs.find_run(connection, run_id.strip())
            if run is None:
                raise _no_run(run_id)
            stored_tasks.get_task(connection, run.task_id)
            if not run.status.can_go_on:
                raise UsageError(f"the run {run.id} cannot go on: it is {run.status}")
            stored_runs.begin_again(connection, run, now)
            return run

        return await self._database.run(store)

    async def lacked(self, run: Run) -> list[Grant]:
        """Return the grants for its task alone that a run lacked, as far as it can go on with them."""
        if run.session is None or not run.status.can_go_on:
            return []
        return await self.services.task_permissions.lacked(run.task_id, run.session)

    async def grant_and_continue(self, run_id: str, grants: Iterable[Grant]) -> Run:
        """Grant what a run lacked to its task alone, and have the run go on."""
        run = await self.find_run(run_id)
        grants = tuple(grants)
        if run.status.can_go_on:
            if not grants:
                raise UsageError(f"the run {run.id} lacked nothing that can be granted to its task alone")
            for grant in grants:
                await self.services.task_permissions.grant(grant)
        return await self.continue_run(run.id)

    async def inbox(self, *, is_marked: bool) -> list[tuple[Run, str]]:
        """List the results that the user has not seen, the oldest first, with the names of their tasks."""
        return await self._database.run(lambda connection: stored_runs.unread(connection, is_marked=is_marked))

    async def results(self, limit: int) -> list[tuple[Run, str]]:
        """List the last results, first those that were not seen, with the names of their tasks; they count as seen."""

        def read(connection: Connection) -> list[tuple[Run, str]]:
            found = stored_runs.last_results(connection, limit)
            stored_runs.mark_read(connection, [run.id for run, _ in found if not run.is_read])
            return found

        return await self._database.run(read)

    async def count_unread(self) -> int:
        """Return the number of results that the user has not seen."""
        return sum((await self._database.run(stored_runs.count_unread)).values())

    async def get(self, task_id: str) -> Task:
        """A task."""
        return await self._database.run(stored_tasks.get_task, task_id.strip())

    async def list_all(self) -> list[tuple[Task, Run | None]]:
        """All tasks, the newest first, each with its last run."""
        return await self._database.run(stored_tasks.list_tasks)

    async def log(self, task_id: str, limit: int = stored_runs.SHOWN_RUNS) -> list[Run]:
        """The runs of a task, the newest first."""

        def read(connection: Connection) -> list[Run]:
            stored_tasks.get_task(connection, task_id)
            return stored_runs.runs_of(connection, task_id, limit)

        return await self._database.run(read)

    async def run(self, task_id: str) -> Run:
        """Have a task run now, enabled or not; its schedule stays as it is."""
        now = self._now()

        def store(connection: Connection) -> Run:
            task = stored_tasks.get_task(connection, task_id.strip())
            run_id = f"{task.id}-manual-{uuid.uuid4().hex[:12]}"
            run = Run(id=run_id, task_id=task.id, scheduled_at=now, not_before=now, is_manual=True)
            stored_tasks.add_run(connection, run)
            return run

        return await self._database.run(store)

    async def fire(self, task_id: str, text: str, key: str | None) -> bool:
        """Start a task by an event.

        Of two events of one key, one starts the task.

        Returns:
            False if it is not started: it is paused or has ended, the event is known, or it has run often enough today.
        """
        return await self._database.run(stored_events.add_event, task_id, self._now(), text, key)

    async def ended_since(self, since: datetime) -> list[tuple[Run, str]]:
        """List the runs that ended with a result at a time or after, with the names of their tasks."""
        return await self._database.run(stored_runs.finished_since, since)

    async def missing_runs(self, task: Task, first: str, last: str) -> list[datetime]:
        """List the occurrences in a time that has passed that there is no run of, or one that was missed or skipped.

        A day or time is ``YYYY-MM-DD`` or ``YYYY-MM-DD HH:MM`` by the task's wall clock.
        """
        begin, end = backfill.read_moment(first, task), backfill.read_moment(last, task, is_end=True)
        if end < begin:
            raise UsageError(f"{last} lies before {first}")
        found = backfill.occurrences_between(task, begin, min(end, self._now()))
        return await self._database.run(backfill.not_done, task, found)

    async def make_up(self, task: Task, moments: Sequence[datetime]) -> list[Run]:
        """Have the runs of occurrences done that :meth:`missing_runs` has found."""
        return await self._database.run(backfill.make_up, task, moments, self._now())

    async def run_with_task(self, run_id: str) -> tuple[Run | None, Task | None]:
        """A run and the task that it is of, ``None`` for what there is not."""

        def read(connection: Connection) -> tuple[Run | None, Task | None]:
            run = stored_runs.find_run(connection, run_id)
            return run, stored_tasks.find_task(connection, run.task_id) if run is not None else None

        return await self._database.run(read)

    async def find_run(self, run_id: str) -> Run:
        """A run."""
        found = await self._database.run(stored_runs.find_run, run_id.strip())
        if found is None:
            raise _no_run(run_id)
        return found

    async def delete(self, task_id: str) -> None:
        """Delete a task with its log and its decisions on permissions, and stop its runs; its sessions stay."""
        task_id = task_id.strip()

        def remove(connection: Connection) -> list[Run]:
            stopped = stored_runs.stop_runs(connection, self._now(), "its task was deleted", task_id=task_id)
            stored_tasks.remove_task(connection, task_id)
            return stopped

        stopped = await self._database.run(remove)
        await self.services.task_permissions.forget(task_id)
        await self._stop_turns(stopped)

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
        """Have the trigger that is given complete its parameters.

        Returns what is given then, and what the user is shown once, if there is something.
        """
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
        names = {task.id: task.name for task, _ in await service.list_all()}
    if wanted in names:
        return wanted
    found = [task_id for task_id, name in names.items() if name.casefold() == wanted.casefold()]
    if len(found) > 1:
        raise UsageError(f"{len(found)} tasks have the name {wanted!r}: give an id, {' or '.join(found)}")
    return found[0] if found else None


def _channels_of(values: dict[str, Any]) -> list[str]:
    """List the channels that options of a task name."""
    named = [each.partition(":")[0] for each in values.get("channels", ())]
    given = {"webhook": values.get("webhook"), "command": values.get("command"), "desktop": values.get("is_notified")}
    return [*named, *(name for name, value in given.items() if value)]


def _no_run(run_id: str) -> NotFoundError:
    return NotFoundError(f"there is no run {run_id[:100]!r}; the ids are in: oneclaw tasks log TASK_ID --json")


def _choice(kind: type[Chosen], name: str, text: str) -> Chosen:
    wanted = text.strip().lower()
    if wanted not in set(kind):
        raise UsageError(f"{name} must be one of {', '.join(kind)}, not {text[:50]!r}")
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
