"""Queues of events for the observers of plugins, one a plugin, in order and off the hot path."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

MAX_WAITING_EVENTS = 1_000

_log = logging.getLogger("oneclaw.plugins")


class ObserverQueue:
    """Events that wait for the observers of one plugin.

    Args:
        plugin: the plugin's name.
        deliver: calls the plugin's implementation of a hook with arguments.

    Attributes:
        dropped: how many events were dropped because the plugin is too slow.
    """

    def __init__(self, plugin: str, deliver: Callable[[str, Mapping[str, Any]], Awaitable[None]]) -> None:
        self._plugin = plugin
        self._deliver = deliver
        self._waiting: deque[tuple[str, Mapping[str, Any]]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._delivering = ""
        self._began = 0.0
        self.dropped = 0

    def put(self, hook: str, arguments: Mapping[str, Any]) -> None:
        """Add an event; the oldest one is dropped where too many wait."""
        if len(self._waiting) >= MAX_WAITING_EVENTS:
            self._waiting.popleft()
            self._drop(1)
        self._waiting.append((hook, arguments))
        if self._worker is None or self._worker.done():
            # In a context of its own: the variables of the turn that caused the event are not the plugin's.
            self._worker = asyncio.get_running_loop().create_task(self._work(), context=contextvars.Context())

    async def drain(self, seconds: float) -> str:
        """Wait until all events are delivered; drop those that are not by then.

        Returns:
            The hook that took most of that time and did not end, ``""`` if there is none.
        """
        worker = self._worker
        if worker is None or worker.done():
            return ""
        await asyncio.wait({worker}, timeout=seconds)
        if worker.done():
            return ""
        is_stuck = asyncio.get_running_loop().time() - self._began > seconds / 2
        stuck = self._delivering if is_stuck else ""
        # The event that is being delivered is lost too.
        self._drop(len(self._waiting) + 1)
        self._waiting.clear()
        worker.cancel()
        await asyncio.wait({worker}, timeout=seconds)
        return stuck

    def _drop(self, count: int) -> None:
        if not self.dropped:
            _log.warning(
                "plugin %s: its observers are too slow, events are dropped; disable it with: "
                "oneclaw plugins disable %s",
                self._plugin,
                self._plugin,
            )
        self.dropped += count

    async def _work(self) -> None:
        while self._waiting:
            hook, arguments = self._waiting.popleft()
            self._delivering, self._began = hook, asyncio.get_running_loop().time()
            try:
                await self._deliver(hook, arguments)
            except PluginError as error:
                _log.warning("%s", error)
