"""Run the tool calls of one answer in parallel (FEAT-004, "Tool Execution Engine").

Every call gets exactly one result, whatever the tool, the model or the user does: see
:mod:`oneclaw_core.wiring`.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core.system.threads import started_task
from oneclaw_core.tools.calls.call import (
    Call,
    Caller,
    Handler,
    InnerCallBegun,
    InnerCallEnded,
    PluginsOfCalls,
    ToolOutcome,
    ToolProgress,
)
from oneclaw_core.tools.calls.steps import hooks_on
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, requested_group

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Container, Sequence

    from oneclaw_core.provenance.marks import CallOrigins
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.messages import ToolCall
    from oneclaw_core.types.tools import Act

    Arrival = ToolOutcome | ToolProgress | InnerCallBegun | InnerCallEnded
    _Arrivals = asyncio.Queue[Arrival | Exception]

MAX_PARALLEL_CALLS = 32
MAX_QUEUED_PROGRESS = 1000


class ToolExecutor:
    """Runs tool calls, each through the chain of steps. Made by :func:`oneclaw_core.wiring.tool_executor`.

    Args:
        registry: the tools there are.
        plugins: that govern or observe calls; ``None`` for none.
        origins: knows where text comes from.
        run: answers one call.
    """

    def __init__(
        self, registry: ToolRegistry, plugins: PluginsOfCalls | None, origins: CallOrigins, run: Handler
    ) -> None:
        self.origins = origins
        self._registry = registry
        self._plugins = plugins
        self._run = run

    async def execute(self, calls: Sequence[ToolCall], caller: Caller) -> list[ToolOutcome]:
        """Run the calls of one response in parallel.

        Returns:
            The outcomes in the order of the calls.
        """
        outcomes = {
            id(item.call): item
            async for item in self.execute_as_completed(calls, caller)
            if isinstance(item, ToolOutcome)
        }
        return [outcomes[id(call)] for call in calls]

    async def execute_as_completed(
        self, calls: Sequence[ToolCall], caller: Caller, keep: Callable[[ToolOutcome], Awaitable[None]] | None = None
    ) -> AsyncIterator[Arrival]:
        """Run the calls of one response in parallel and yield each outcome when it is there.

        Closing the iterator, or cancelling, cancels the tools that still run and waits until they have ended.

        Args:
            calls: of one response.
            caller: on whose behalf.
            keep: awaited with each outcome before it is yielded, as soon as it is there: whether anybody is asking for
                the next item or not. What it raises ends the iteration.
        """
        arrivals: _Arrivals = asyncio.Queue()
        slots = asyncio.Semaphore(MAX_PARALLEL_CALLS)
        loads: list[tuple[ToolCall, asyncio.Task[None]]] = []
        loaded: set[str | None] = set()

        async def answer(call: ToolCall) -> None:
            try:
                # Before a slot is taken: the loads need slots too.
                if loads:
                    await self._wait_for_loads(call, caller, loads)
                async with slots:
                    show, report = arrivals.put_nowait, partial(_report, call, arrivals)
                    outcome = await self.outcome(call, caller, loaded=loaded, report=report, show=show)
                if keep is not None:
                    await keep(outcome)
                if call.name == LOAD_TOOL_GROUP and outcome.result.is_success:
                    loaded.add(requested_group(call.arguments))
            except Exception as error:  # noqa: BLE001  # raised again where it can be caught
                arrivals.put_nowait(error)
            else:
                arrivals.put_nowait(outcome)

        # One alone waits for no other, and begins at once.
        start = started_task if len(calls) == 1 else asyncio.create_task
        tasks = [start(answer(call)) for call in calls]
        loads += [(call, task) for call, task in zip(calls, tasks, strict=True) if call.name == LOAD_TOOL_GROUP]
        try:
            missing = len(tasks)
            while missing:
                item = await arrivals.get()
                if isinstance(item, Exception):
                    raise item
                missing -= isinstance(item, ToolOutcome)
                yield item
        finally:
            running = [task for task in tasks if not task.done()]
            for task in running:
                task.cancel()
            if running:
                await asyncio.gather(*running, return_exceptions=True)

    async def _wait_for_loads(
        self, call: ToolCall, caller: Caller, loads: Sequence[tuple[ToolCall, asyncio.Task[None]]]
    ) -> None:
        """Let a call wait for loads in the same response that can make its tool active (a departure from RFC-040).

        A tool that is not known yet may come with any group: some are opened when they are loaded.
        """
        if call.name == LOAD_TOOL_GROUP or call.name in caller.active.names:
            return
        found = self._registry.find(call.name)
        group = found.source.group_name if found is not None else None
        awaited = [task for load, task in loads if found is None or requested_group(load.arguments) == group]
        if awaited:
            await asyncio.wait(awaited)

    async def outcome(
        self,
        asked: ToolCall,
        caller: Caller,
        *,
        loaded: Container[str | None],
        report: Callable[[str, float | None], None],
        show: Callable[[InnerCallBegun | InnerCallEnded], None],
        act: Act | None = None,
    ) -> ToolOutcome:
        """Pass one call through the steps.

        Args:
            asked: the call.
            caller: on whose behalf.
            loaded: the tool groups that the same answer of the model has loaded.
            report: called with how far the tool has come.
            show: called with the calls that the tool makes.
            act: stands in for the tool; ``None`` to run the tool.
        """
        started = time.perf_counter()
        found = caller.own_tools.get(asked.name) or self._registry.find(asked.name)
        provenance = self.origins.of_call(caller, asked)
        hooks = hooks_on(self._plugins, asked, caller, found) if self._plugins is not None else None
        call = Call(asked, caller, found, provenance, {}, loaded, hooks, report, show, act)
        result = await self._run(call)
        duration_ms = (time.perf_counter() - started) * 1000
        return ToolOutcome(asked, result, duration_ms, provenance.of_result, provenance.paths.views.noted)


def _report(call: ToolCall, arrivals: _Arrivals, message: str, fraction: float | None) -> None:
    if arrivals.qsize() < MAX_QUEUED_PROGRESS:
        arrivals.put_nowait(ToolProgress(call, message, fraction))
