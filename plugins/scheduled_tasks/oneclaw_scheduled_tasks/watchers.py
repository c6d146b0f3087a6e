"""Keeping the triggers of tasks at work, in one worker of all."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, UsageError
from oneclaw_scheduled_tasks.schedules import Triggered
from oneclaw_scheduled_tasks.stored_events import add_event, triggered_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from oneclaw_core.plugins import HomeServices
    from oneclaw_scheduled_tasks.database import TaskDatabase
    from oneclaw_scheduled_tasks.task import Task

_RETRY_SECONDS = 60.0
_log = logging.getLogger("oneclaw.tasks")


class Watchers:
    """The triggers that are at work, each for one task.

    Args:
        services: of the home, which has the plugins' triggers.
        database: the tasks'.
        clock: tells the time.
    """

    def __init__(self, services: HomeServices, database: TaskDatabase, clock: Callable[[], datetime]) -> None:
        self._services = services
        self._database = database
        self._clock = clock
        self._watching: dict[tuple[str, Triggered], asyncio.Task[None]] = {}

    async def refresh(self, *, is_first: bool) -> None:
        """Begin to watch for tasks that are new or changed, and stop for those that are gone.

        Args:
            is_first: True for the one worker that watches.
        """
        tasks = await self._database.run(triggered_tasks) if is_first else []
        wanted = {(each.id, each.schedule): each for each in tasks if isinstance(each.schedule, Triggered)}
        await self._stop([key for key in self._watching if key not in wanted])
        for key, task in wanted.items():
            if key not in self._watching:
                self._watching[key] = asyncio.create_task(self._watch(task, key[1]))

    async def close(self) -> None:
        """Stop all."""
        await self._stop(list(self._watching))

    async def _stop(self, keys: list[tuple[str, Triggered]]) -> None:
        stopped = [self._watching.pop(key) for key in keys]
        for each in stopped:
            each.cancel()
        if stopped:
            await asyncio.wait(stopped)

    async def _watch(self, task: Task, schedule: Triggered) -> None:
        async def fire(text: str, *, key: str | None = None) -> bool:
            return await self._database.run(add_event, task.id, self._clock(), text, key)

        while True:
            try:
                triggers = {each.name: each for each in self._services.triggers()}
                if schedule.trigger not in triggers:
                    raise UsageError(f"no plugin has a trigger {schedule.trigger}")
                await triggers[schedule.trigger].run(dict(schedule.parameters), fire)
            except Exception as error:  # noqa: BLE001  # of a plugin; the others go on
                what = str(error) if isinstance(error, OneClawError) else f"unexpected {type(error).__name__}"
                _log.warning("the trigger of the task %s (%s) failed: %s", task.name, task.id, what, exc_info=error)
            await asyncio.sleep(_RETRY_SECONDS)
