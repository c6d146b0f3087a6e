"""The tool sources of an open home: started when they are needed, looked at before requests, stopped at its end."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core.contract.tool_source import ToolSource
from oneclaw_core.errors import PluginError, describe_error
from oneclaw_core.plugins.isolation import ForeignError, HookError, call_isolated
from oneclaw_core.plugins.plugin import PluginProblem, Registration
from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.tool_sources.known_tools import Known, known_path, publish_known, read_known, write_known

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable
    from pathlib import Path

    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.tool_sources.published_tools import PublishedBySource, PublishedTools

FIRST_WAIT_SECONDS = 5.0
"""The time that a request waits for a source to start; afterwards its tools come with a later request."""
REFRESH_SECONDS = 5.0
STOP_SECONDS = 5.0
# After a failure; twice as long after each further one.
_SHORTEST_PAUSE_SECONDS = 10.0
_LONGEST_PAUSE_SECONDS = 600.0

_log = logging.getLogger("oneclaw.plugins")


class ToolSources:
    """Starts, refreshes and stops tool sources.

    Args:
        published: their tools.
        folder: where what is known of them is kept.
        plugins: gives the objects that plugins have registered.
    """

    def __init__(self, published: PublishedTools, folder: Path, plugins: Plugins) -> None:
        self._published = published
        self._folder = folder
        self._plugins = plugins
        self._sources: list[_Source] = []

    def add(self, disabled: Collection[str] = ()) -> None:
        """Add the sources of plugins; what is known of them is registered at once.

        Args:
            disabled: names of plugins that the user has disabled.
        """
        for registration, published in self._published.add_all(disabled):
            path = None if "listing" in registration.options else known_path(self._folder, registration)
            source = _Source(published, partial(self._make, registration), path, registration)
            source.list_known()
            self._sources.append(source)

    async def start(self) -> None:
        """Start the sources that start when a home is opened."""
        await self._start(each for each in self._sources if each.starts == "open" and each.must_start)

    def set_disabled(self, disabled: Collection[str]) -> None:
        """Withdraw the tools of sources that the user has disabled by themselves, and publish those enabled again.

        Args:
            disabled: names of plugins that the user has disabled.
        """
        for source in self._sources:
            source.set_disabled(disabled)

    async def get(self, plugin: str, name: str) -> ToolSource | None:
        """Return a tool source, which is started first; ``None`` if there is none, or the user has disabled it.

        Args:
            plugin: the plugin that registered it.
            name: of the source.

        Raises:
            PluginError: it cannot be started.
        """
        for source in self._sources:
            if (source.registration.plugin, source.registration.name) == (plugin, name) and not source.is_disabled:
                await source.started()
                return source.source
        return None

    async def _make(self, registration: Registration) -> ToolSource:
        context = await self._plugins.context_of(registration.plugin)
        target = await self._plugins.object_of(registration)
        made: ToolSource = await run_in_thread(lambda: target(context))
        return made

    async def refresh(self) -> None:
        """Start the sources that a request needs, and have those that run look for changes."""
        await self._start(each for each in self._sources if each.must_start)
        # Side by side, so that several that hang delay a request no longer than one.
        if waiting := [each.refresh() for each in self._sources if each.has_refresh]:
            await asyncio.gather(*waiting)

    async def _start(self, sources: Iterable[_Source]) -> None:
        """Start sources, and wait a while for all that are starting."""
        for source in sources:
            source.begin_start()
        starting = [each.starting for each in self._sources if each.starting is not None and not each.starting.done()]
        if starting:
            begun = max(each.begun for each in self._sources)
            left = begun + FIRST_WAIT_SECONDS - time.monotonic()
            await asyncio.wait(starting, timeout=max(left, 0))

    async def aclose(self) -> None:
        """Stop all sources, side by side."""
        await asyncio.gather(*(each.stop() for each in self._sources))


class _Source:
    """One source.

    Attributes:
        starting: the start that is under way, or the last one.
        begun: when it began, on the monotonic clock.
        starts: when it starts; see ``register.source``.
        has_refresh: True if it runs and looks for changes.
        source: the object of the plugin, ``None`` unless it runs.
    """

    def __init__(
        self,
        published: PublishedBySource,
        make: Callable[[], Awaitable[ToolSource]],
        path: Path | None,
        registration: Registration,
    ) -> None:
        options = registration.options
        self.registration = registration
        self.starting: asyncio.Task[None] | None = None
        self.begun = 0.0
        self._published = published
        self._make = make
        self._path = path
        self.starts: str = options.get("starts", "call")
        self._start_seconds = float(options.get("start_seconds") or 30.0)
        self.source: ToolSource | None = None
        self.has_refresh = False
        self._is_running = False
        self._is_closed = False
        self._failures = 0
        self._next_try = 0.0
        self._failure: str | None = None
        self._known = Known()
        self._written = b""
        self._writing: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        # Of the home, not of the turn or call that happens to need the source first.
        self._context = contextvars.copy_context()

    @property
    def must_start(self) -> bool:
        """True if the next request cannot do with what is known."""
        if self._is_running or self._is_closed or self.is_disabled:
            return False
        if self.starting is not None and not self.starting.done():
            return False
        is_needed = self.starts != "call" or not (self._published.wanted or self._published.wanted_groups)
        return is_needed and time.monotonic() >= self._next_try

    @property
    def is_disabled(self) -> bool:
        """True while the user has disabled the source by itself."""
        return self._published.record.is_disabled

    def set_disabled(self, disabled: Collection[str]) -> None:
        """Withdraw its tools if its name is among those disabled, and publish them again if it is not any more."""
        name = self.registration.options.get("listed_as")
        if name is not None:
            self._published.set_disabled(name in disabled)

    def list_known(self) -> None:
        """Register what was published when the source last ran."""
        if self._path is not None:
            self._known = read_known(self._path, self._published.where)
            self._written = self._known.to_json()
            publish_known(self._published, self._known, self.started)

    async def started(self) -> None:
        """Start the source if it does not run, and wait for that.

        Raises:
            PluginError: it does not start.
        """
        if self._is_running:
            return
        if self._failure is None or time.monotonic() >= min(self._next_try, self.begun + _SHORTEST_PAUSE_SECONDS):
            self.begin_start()
        if self.starting is not None:
            await asyncio.wait({self.starting})
        if not self._is_running:
            raise PluginError(f"{self._published.where} does not start: {self._failure or 'the home is closed'}")

    def begin_start(self) -> None:
        """Start it in a separate task, unless that is under way."""
        if self._is_closed or (self.starting is not None and not self.starting.done()):
            return
        self.begun = time.monotonic()
        self.starting = self._loop.create_task(self.start(), context=self._context.copy())

    async def start(self) -> None:
        """Start it, and note a failure."""
        published = self._published
        loop, own_thread = self._loop, threading.get_ident()

        def run(function: Callable[[], None]) -> None:
            if threading.get_ident() == own_thread:
                self._unless_closed(function)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(self._unless_closed, function)

        published.run, published.changed = run, self._keep
        try:
            await call_isolated(self._make_and_start, self._start_seconds, is_async=True)
        except Exception as error:  # noqa: BLE001  # foreign code may raise anything, and harms no other source
            await self._stop_source()
            # It may have published something before.
            published.changed = lambda: None
            publish_known(published, self._known, self.started)
            self._fail("start", error)
        else:
            # One that does not inherit from ToolSource may have no refresh at all.
            own = getattr(type(self.source), "refresh", None)
            self.has_refresh = own is not None and own is not ToolSource.refresh
            self._is_running = True
            self._recover()

    async def _make_and_start(self) -> None:
        self.source = await self._make()
        await self.source.start(self._published)

    async def refresh(self) -> None:
        """Have it look for changes."""
        if not self._is_running or self.source is None or self.is_disabled or time.monotonic() < self._next_try:
            return
        try:
            await call_isolated(self.source.refresh, REFRESH_SECONDS, is_async=True)
        except Exception as error:  # noqa: BLE001  # as for its start
            self._fail("refresh", error)
        else:
            if self._failure is not None:
                self._recover()

    async def stop(self) -> None:
        """Stop it, whatever it does."""
        self._is_closed = True
        if self.starting is not None and not self.starting.done():
            self.starting.cancel()
            await asyncio.wait({self.starting})
        await self._stop_source()
        if self._writing:
            await asyncio.wait(self._writing)

    async def _stop_source(self) -> None:
        source, self.source, self._is_running = self.source, None, False
        stop = getattr(source, "stop", None)
        if stop is None:
            return
        try:
            await call_isolated(stop, STOP_SECONDS, is_async=True)
        except Exception as error:  # noqa: BLE001  # as for its start
            _log.warning("%s of %s did not stop: %s", self._published.where, self._name, _described(error))

    def _unless_closed(self, function: Callable[[], None]) -> None:
        if not self._is_closed:
            function()

    def _fail(self, what: str, error: BaseException) -> None:
        self._failure = _described(error)
        pause = min(_SHORTEST_PAUSE_SECONDS * 2**self._failures, _LONGEST_PAUSE_SECONDS)
        self._failures += 1
        self._next_try = time.monotonic() + pause
        _log.debug("%s of %s", what, self._published.where, exc_info=error)
        remedy = f"see the log, or disable the plugin with: oneclaw plugins disable {self._name}"
        problem = PluginProblem(self._published.where, f"{what} failed: {self._failure}", remedy)
        self._published.report([problem])
        self._keep(problem)

    def _recover(self) -> None:
        self._failure, self._failures, self._next_try = None, 0, 0.0
        self._published.report([])
        self._keep()

    def _keep(self, problem: PluginProblem | None = None) -> None:
        """Write down what is known now, for other processes and the next time."""
        path = self._path
        if path is None or self._is_closed:
            return
        try:
            text = Known.of(self._published, problem).to_json()
        except (ValueError, TypeError) as error:
            _log.warning("what %s of %s publishes cannot be kept: %s", self._published.where, self._name, error)
            return
        if text == self._written:
            return
        self._written = text
        before = tuple(self._writing)

        async def write() -> None:
            if before:
                await asyncio.wait(before)
            await run_in_thread(lambda: write_known(path, text))

        # A program may publish between two runs of the loop.
        task = self._loop.create_task(write())
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    @property
    def _name(self) -> str:
        return self._published.record.name


def _described(error: BaseException) -> str:
    raised = error.raised if isinstance(error, ForeignError) else error
    if isinstance(raised, HookError):
        return f"{raised.hook} {raised.fault}"
    return "it did not end in time" if isinstance(raised, TimeoutError) else describe_error(raised)
