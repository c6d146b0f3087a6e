"""One plugin of an open home: imported and started when it is first needed, stopped when the home closes."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import NotReadyError, OneClawError, PluginError, describe_error
from oneclaw_core.plugins.first_use import load_plugin
from oneclaw_core.plugins.isolation import ForeignError, HookError, HookTimeoutError, call_isolated
from oneclaw_core.system.threads import LoopBlockedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from oneclaw_core.contract.context import PluginContext
    from oneclaw_core.plugins.plugin import EventHook, Plugin
    from oneclaw_core.plugins.running.hook_timeouts import HookTimeouts
    from oneclaw_core.system.loops import Worker


MAX_WAITING_EVENTS = 1_000
_ROOM = MAX_WAITING_EVENTS // 2

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
        self._has_room = asyncio.Event()
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
            # In a separate context: the variables of the turn that caused the event are not the plugin's.
            self._worker = asyncio.get_running_loop().create_task(self._work(), context=contextvars.Context())

    async def has_room(self) -> None:
        """Return when no more than half of the events that may wait do; a cancelled wait drops nothing."""
        while len(self._waiting) > _ROOM:
            self._has_room.clear()
            await self._has_room.wait()

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
        self._has_room.set()
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
            if len(self._waiting) <= _ROOM:
                self._has_room.set()
            self._delivering, self._began = hook, asyncio.get_running_loop().time()
            try:
                await self._deliver(hook, arguments)
            except PluginError as error:
                _log.warning("%s", error)


START_SECONDS = 30.0
STOP_SECONDS = 5.0
CHANGE_SECONDS = 5.0
OBSERVER_SECONDS = 30.0
FIRST_RETRY_SECONDS = 1.0
LAST_RETRY_SECONDS = 300.0

_log = logging.getLogger("oneclaw.plugins")


class RunningPlugin:
    """A plugin at work.

    Args:
        record: what is known of the plugin.
        context: its context.
        limits: the user's own time limits of hooks in seconds, by plugin.
        timeouts: of hooks so far.

    Attributes:
        context: its context; only for a plugin that is started.
        is_started: True if the plugin is started, or has nothing to start.
        is_start_attempted: True if a start has begun.
    """

    def __init__(
        self, record: Plugin, context: PluginContext, limits: Mapping[str, float], timeouts: HookTimeouts
    ) -> None:
        self.record = record
        self.queue = ObserverQueue(record.name, self._deliver)
        self.context = context
        if context.worker is not None:
            context.worker.when_abandoned = self._start_again
        self._limits = limits
        self._timeouts = timeouts
        self.is_started = False
        self._has_start = "plugin_started" in record.hooks or any(
            each.hook == "register_settings" for each in record.registrations
        )
        self._starting: asyncio.Task[None] | None = None
        self.is_start_attempted = False
        self._failure: PluginError | None = None
        self._retry_at = 0.0
        self._retry_seconds = FIRST_RETRY_SECONDS

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.record.name

    async def start(self) -> PluginContext:
        """Start the plugin, unless it is started.

        Returns:
            Its context.

        Raises:
            PluginError: it cannot be started now.
        """
        if not self.is_started and not self._has_start:
            self.is_started = True
        if not self.is_started:
            if self._failure is not None and time.monotonic() < self._retry_at:
                raise self._failure
            if self._starting is None or self._starting.done():
                # Started once for all that wait, and in a context that is nobody's turn.
                loop = asyncio.get_running_loop()
                self._starting = loop.create_task(self._start(), context=contextvars.Context())
            await asyncio.shield(self._starting)
        return self.context

    async def call(self, hook: str, arguments: Mapping[str, Any], seconds: float) -> Any:
        """Call the plugin's implementation of a hook.

        Raises:
            PluginError: it failed, took too long, or is switched off; the message names the plugin and how to
                disable it.
        """
        if self._timeouts.is_off(self.record, hook):
            fault = "is switched off, because it timed out three times within ten minutes"
            raise HookError(self.name, hook, fault)
        context, implementation = await self.ready(hook)
        try:
            return await call_hook(
                self.name, implementation, {**arguments, "context": context}, self.limit(hook, seconds)
            )
        except HookTimeoutError as error:
            if self._timeouts.note(self.record, hook):
                _log.warning("%s; the hook is switched off", error)
            raise

    async def resume(self, hook: str, resume: Callable[[Any], Any], value: Any, seconds: float) -> Any:
        """Run a wrapper of the plugin from its ``yield`` to its end, and return its value.

        Args:
            hook: its name.
            resume: the method of the generator that goes on with it.
            value: what the method is given: what the hook returned, or an exception.
            seconds: the time limit.

        Raises:
            PluginError: it failed or took too long.
        """
        call = partial(_end_wrapper, resume, value)
        return await call_isolated_hook(
            self.name, hook, call, self.limit(hook, seconds), is_async=False, worker=self.context.worker
        )

    def limit(self, hook: str, seconds: float) -> float:
        """Return the time limit of a hook: the user's, the plugin's own, or that of the kind."""
        own = self.record.hooks[hook].get("timeout_seconds")
        return self._limits.get(self.name) or own or seconds

    async def ready(self, hook: str) -> tuple[PluginContext, EventHook]:
        """Start the plugin, and return what is needed to call a hook without waiting.

        Raises:
            PluginError: it cannot be started now.
        """
        return await self.start(), await self._implementation(hook)

    async def context_unstarted(self) -> PluginContext:
        """Return the context with current settings, without starting the plugin."""
        if not self.is_start_attempted:
            await self.context.refresh_settings()
        return self.context

    async def refresh_settings(self, stored: Mapping[str, Any] | None = None) -> None:
        """Read the plugin's settings again, and call ``settings_changed`` if there are others.

        A start that failed is tried again with them.

        Args:
            stored: values from the store, by key, if they are at hand.

        Raises:
            PluginError: the hook failed.
        """
        changed = await self.context.refresh_settings(stored)
        if changed and not self.is_started:
            self._retry_at = 0.0
        elif changed and "settings_changed" in self.record.hooks:
            await self.call("settings_changed", {"changed": changed}, CHANGE_SECONDS)

    async def drain(self, seconds: float) -> None:
        """Deliver what the observers have waiting; an observer that does not end counts as a timeout.

        Else a program that runs one command never gets to the limit of a hook that hangs, and waits each time.
        """
        hook = await self.queue.drain(seconds)
        if hook and self._timeouts.note(self.record, hook):
            _log.warning("plugin %s: its hook %s did not end in time; it is switched off", self.name, hook)

    async def stop(self, seconds: float) -> None:
        """Deliver what the observers have waiting, call ``plugin_stopped``, and end the plugin's tasks."""
        await self.drain(seconds)
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait({self._starting}, timeout=STOP_SECONDS)
        if (self.is_started or self.is_start_attempted) and "plugin_stopped" in self.record.hooks:
            try:
                implementation = await self._implementation("plugin_stopped")
                await call_hook(
                    self.name, implementation, {"context": self.context}, self.limit("plugin_stopped", STOP_SECONDS)
                )
            except PluginError as error:
                _log.warning("%s", error)
        await self.context.aclose()

    def _start_again(self) -> None:
        """Have the plugin started once more: what it had made on its event loop is lost with that."""
        if "plugin_started" in self.record.hooks:
            self.is_started = False

    async def _start(self) -> None:
        try:
            await self.context.refresh_settings()
            self.is_start_attempted = True
            if "plugin_started" in self.record.hooks:
                implementation = await self._implementation("plugin_started")
                seconds = self.limit("plugin_started", START_SECONDS)
                await call_hook(self.name, implementation, {"context": self.context}, seconds)
        except PluginError as error:
            self._failure, wait_seconds = self._explained(error)
            self._retry_at = time.monotonic() + wait_seconds
            if error is self._failure:
                raise
            raise self._failure from error.__cause__
        self.is_started, self._failure = True, None

    def _explained(self, error: PluginError) -> tuple[PluginError, float]:
        """Return the error of a failed start, and after how many seconds the start is tried again."""
        raised = error.__cause__
        if isinstance(raised, OneClawError):
            # The plugin's own words, such as the command that signs in.
            error = HookError(self.name, "plugin_started", f"failed: {describe_error(raised).partition(': ')[2]}")
        if not isinstance(raised, NotReadyError):
            return error, float("inf")
        seconds = self._retry_seconds
        self._retry_seconds = min(seconds * 2, LAST_RETRY_SECONDS)
        return error, seconds

    async def _implementation(self, hook: str) -> EventHook:
        implementation = (await load_plugin(self.record)).hooks.get(hook)
        if implementation is None:
            raise HookError(self.name, hook, "is not there any more", "reinstall it")
        return implementation

    async def _deliver(self, hook: str, arguments: Mapping[str, Any]) -> None:
        if not self._timeouts.is_off(self.record, hook):
            await self.call(hook, arguments, OBSERVER_SECONDS)


async def call_hook(plugin: str, implementation: EventHook, arguments: Mapping[str, Any], seconds: float) -> Any:
    """Call an implementation with the arguments that it names.

    An async function is cancelled at the limit; a sync one runs in a daemon thread, which is abandoned. The async
    functions of an installed plugin run on its event loop, which is abandoned if one of them blocks it.

    Args:
        plugin: the plugin's name.
        implementation: the plugin's function.
        arguments: all that the hook has.
        seconds: the time limit.

    Returns:
        What the function returned.

    Raises:
        HookError: it raised, or took too long.
    """
    keywords = {name: arguments[name] for name in implementation.options["argument_names"]}
    call = partial(implementation.function, **keywords)
    if implementation.options.get("wrapper"):
        call = partial(_begin_wrapper, implementation.function, **keywords)
    return await call_isolated_hook(
        plugin,
        implementation.hook,
        call,
        seconds,
        is_async=implementation.options["is_async"],
        worker=arguments["context"].worker,
    )


async def call_isolated_hook(
    plugin: str, hook: str, call: Callable[[], Any], seconds: float, *, is_async: bool, worker: Worker | None
) -> Any:
    """Call a part of a hook, and attribute what goes wrong.

    Raises:
        HookError: it raised, or took too long.
    """
    try:
        return await call_isolated(call, seconds, is_async=is_async, worker=worker, name=f"hook {hook}")
    except LoopBlockedError as lost:
        if lost.is_culprit:
            raise HookTimeoutError(plugin, hook, seconds) from lost
        raise HookError(plugin, hook, f"was lost: {lost}") from lost
    except TimeoutError as expired:
        raise HookTimeoutError(plugin, hook, seconds) from expired
    except ForeignError as error:
        _log.debug("%s of plugin %s", hook, plugin, exc_info=error.raised)
        raise HookError(plugin, hook, f"raised {describe_error(error.raised)}") from error.raised


def _begin_wrapper(function: Callable[..., Any], **keywords: Any) -> Any:
    """Run a wrapper up to its ``yield``."""
    generator = function(**keywords)
    next(generator)
    return generator


def _end_wrapper(resume: Callable[[Any], Any], value: Any) -> Any:
    """Run a wrapper from its ``yield`` to its end, and return its value."""
    try:
        resume(value)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("has a second yield")
