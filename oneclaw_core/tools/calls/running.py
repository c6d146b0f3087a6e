"""The end of the chain: run a tool within its time, with the services that its context offers."""

from __future__ import annotations

import asyncio
import logging
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.errors import OAuthError, PermissionDeniedError, PluginError, errors_within
from oneclaw_core.system.threads import LoopBlockedError, ThreadWatch, started_task
from oneclaw_core.tools.calls.call import AroundCall, Call, NotAvailableError, PermittedCall, PluginsOfCalls
from oneclaw_core.tools.calls.running_call import CallClock, HomeLoop, Questions, RunningCall, ToolCalls
from oneclaw_core.tools.calls.steps import execution_error
from oneclaw_core.tools.context import ToolContext
from oneclaw_core.tools.invoke import invoke
from oneclaw_core.types.provenance import CALL_MARKS
from oneclaw_core.types.tools import Act, SelfRunningTool, Tool, ToolDefinition, ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from oneclaw_core.contract.home_services import HomeServices
    from oneclaw_core.permissions.asking import Asking
    from oneclaw_core.system.loops import Worker

# How long a cancelled tool may take to clean up before it is left to itself.
CLEAN_UP_SECONDS = 2.0

_log = logging.getLogger("oneclaw.executor")


class BlockMeter(Protocol):
    """Measures how long one call blocks the program's event loop; see :mod:`oneclaw_core.loops.blocking`."""

    async def run(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Await what a function makes, and measure each of its steps."""
        ...

    def lost_seconds(self, late_seconds: float) -> float:
        """Return how much time others have taken from the tool."""
        ...

    def judged(self, tool_name: str, result: ToolResult, clock: CallClock) -> ToolResult:
        """Return the result of a tool, which is a timeout if it blocked the event loop past its time."""
        ...


@dataclass(frozen=True, slots=True)
class HomeOfTools:
    """The parts of an open home that contexts of tools offer.

    Attributes:
        path: the user's directory.
        services: of the home; ``None`` without one.
        deps: what the embedding program gives to its tools.
    """

    path: Path
    services: HomeServices | None = None
    deps: object = None


class Running:
    """Runs tools of calls that have passed all checks.

    Args:
        asking: asks for permissions.
        inner_calls: makes what runs the calls that a tool makes.
        plugins: starts the plugin of a tool; ``None`` without any.
        home: what tools get of the open home.
        meter: makes what measures how long one call blocks the program's event loop.
    """

    def __init__(
        self,
        asking: Asking,
        inner_calls: Callable[[Call, Questions], ToolCalls],
        plugins: PluginsOfCalls | None,
        home: HomeOfTools,
        meter: Callable[[], BlockMeter],
    ) -> None:
        self._asking = asking
        self._inner_calls = inner_calls
        self._plugins = plugins
        self._home = home
        self._meter = meter

    async def __call__(self, call: PermittedCall) -> ToolResult:
        """Run the tool of a call, with its plugin started.

        Raises:
            NotAvailableError: the plugin does not start.
        """
        tool, definition, source = call.tool
        try:
            plugin = await self._plugins.context_of_tool(source.plugin) if self._plugins is not None else None
        except PluginError as error:
            raise NotAvailableError(f"Tool '{call.asked.name}' is not available: {error}.") from error
        within = call.caller.within
        clock = CallClock(definition.timeout_seconds, within.clock if within is not None else None)
        provenance, asking = call.provenance, self._asking
        questions = Questions(HomeLoop(), clock, asking.of(call), partial(asking.ask_user, call), provenance.marks)
        inner = self._inner_calls(call, questions)
        declaration = plugin.declaration if plugin is not None else None
        running = RunningCall(questions, call.report, provenance, inner, declaration)
        worker = plugin.worker if plugin is not None and not source.is_bound_to_source else None
        timed = TimedRun(running, self._meter(), worker, call.hooks.around() if call.hooks else None)
        caller = call.caller
        CALL_MARKS.set(provenance.marks)
        denied = asking.denied(call, "files.read", "files.write", with_patterns=True)
        paths = asking.about_paths(call, questions)
        context = ToolContext(
            home=self._home.path,
            session_id=caller.session_id,
            agent_name=caller.agent,
            tool_name=call.asked.name,
            call_id=call.asked.id,
            paths=provenance.paths.for_call(provenance.paths.used, provenance.paths.views, denied, paths, declaration),
            _call=running,
            _services=self._home.services,
            _plugin=plugin,
            deps=self._home.deps if caller.turn is None or caller.turn.deps is None else caller.turn.deps,
            selection=caller.selection,
            turn=caller.turn,
            # A script gets all of it: it is not what a model is shown.
            shown_characters=caller.turn.shown_characters if caller.turn is not None and within is None else None,
            is_inner_call=within is not None,
            run_async=timed.runner(call.asked.name),
            marks=provenance.marks,
            conversation=caller.conversation,
        )
        if within is not None:
            await within.starting()
        result = await timed.run(tool if call.act is None else _StandIn(call.act, definition), call.arguments, context)
        return inner.with_files(result)


class _StandIn(SelfRunningTool):
    """Runs a function in place of a tool."""

    def __init__(self, act: Act, definition: ToolDefinition) -> None:
        self._act = act
        self.definition = definition

    async def execute(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Run it."""
        return await self._act(arguments, context)


class TimedRun:
    """Runs one tool as a separate task within its time, so that one that ignores being cancelled is left behind.

    Args:
        running: the services of the call.
        meter: of blocks of the program's event loop.
        worker: the event loop of the tool's plugin; ``None`` if it runs on that of the program.
        around: what plugins enter around the tool.
    """

    def __init__(
        self, running: RunningCall, meter: BlockMeter, worker: Worker | None = None, around: AroundCall | None = None
    ) -> None:
        self._running = running
        self._clock = running.clock
        self._meter = meter
        self._worker = worker
        self._around = around
        self._loop = running.questions.loop
        self._changed: asyncio.Future[None] = self._loop.loop.create_future()
        self._clock.changed = partial(self._loop.call_soon, self._wake)

    def runner(self, tool_name: str) -> Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]:
        """Return a function that runs async code of the tool: on the event loop of its plugin, or here and measured."""
        worker = self._worker
        return self._meter.run if worker is None else lambda make: worker.run(make, f"tool {tool_name}")

    async def run(self, tool: Tool, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Run the tool.

        Returns:
            Its result; ``timeout``, ``permission_denied`` or ``execution_error`` if it did not come to one.
        """
        name = context.tool_name
        with ThreadWatch() as threads:
            task = started_task(self._finish(tool, arguments, context))
        task.add_done_callback(self._wake)
        try:
            while not task.done():
                remaining = self._clock.remaining_seconds()
                if remaining is not None and remaining <= 0:
                    if (lost_seconds := self._meter.lost_seconds(-remaining)) > 0:
                        self._clock.extend(lost_seconds)
                        continue
                    await _cancel(task, name)
                    if isinstance(threads.block, LoopBlockedError):
                        return _lost(name, threads.block)
                    has_ended = task.done() and not threads.are_left
                    return _timed_out(name, self._clock.timeout_seconds, has_ended=has_ended)
                if self._changed.done():
                    self._changed = self._loop.loop.create_future()
                timer = None if remaining is None else self._loop.loop.call_later(remaining, self._wake)
                try:
                    await self._changed
                finally:
                    if timer is not None:
                        timer.cancel()
            return self._meter.judged(name, task.result(), self._clock)
        except asyncio.CancelledError:
            if task.done() and task.cancelled():
                return ToolResult.error("execution_error", f"Tool '{name}' cancelled itself.")
            caller = asyncio.current_task()
            if task.done() and caller is not None:
                # Too late to stop the tool: what it did is done, and its outcome counts.
                caller.uncancel()
                return task.result()
            await _cancel(task, name)
            raise
        finally:
            if (network := self._running.close()) is not None:
                await network.aclose(self._worker)

    async def _finish(self, tool: Tool, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Wait for the tool; whatever it raises becomes its result."""
        around = self._around
        async with around or nullcontext():
            try:
                result = await invoke(tool, arguments, context)
            except (asyncio.CancelledError, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001  # whatever a tool raises becomes its result, SystemExit too
                result = _failure(context.tool_name, error)
            if around is not None:
                around.set_result(result)
        self._wake()  # a turn of the event loop sooner than the callbacks of the task
        return result

    def _wake(self, _: object = None) -> None:
        if not self._changed.done():
            self._changed.set_result(None)


def _failure(tool_name: str, error: BaseException) -> ToolResult:
    """Return the result of a tool that raised; what a task group of it raised counts as its own."""
    for each in errors_within(error):
        if isinstance(each, PermissionDeniedError):
            return ToolResult.error("permission_denied", str(each))
        if isinstance(each, OAuthError):
            return ToolResult.error(each.error_type, str(each))
        if isinstance(each, LoopBlockedError):
            return _lost(tool_name, each)
    _log.error("tool %s failed", tool_name, exc_info=error)
    return execution_error(error)


def _lost(tool_name: str, error: LoopBlockedError) -> ToolResult:
    return ToolResult.error(error.error_type, f"Tool '{tool_name}' did not end in time: {error}.")


def _timed_out(tool_name: str, timeout_seconds: float, *, has_ended: bool) -> ToolResult:
    text = (
        f"Tool '{tool_name}' was stopped after its timeout of {timeout_seconds:g} s."
        if has_ended
        else f"Tool '{tool_name}' has not ended within its timeout of {timeout_seconds:g} s. It cannot be stopped and "
        "may go on in the background, so it may still have its effect. Do not repeat it without asking the user."
    )
    return ToolResult.error("timeout", text)


async def _cancel(task: asyncio.Task[ToolResult], tool_name: str) -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=CLEAN_UP_SECONDS)
    if not task.done():
        _log.warning("tool %s goes on although it was cancelled; it is left to itself", tool_name)
        task.add_done_callback(_look_at)
    else:
        _look_at(task)


def _look_at(task: asyncio.Task[ToolResult]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.debug("a cancelled tool ended with %r", task.exception())
