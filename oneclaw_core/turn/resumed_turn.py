"""Resume a turn that was killed: run those of its open calls again that can be repeated, and no others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from oneclaw_core.tools.calls.call import ToolOutcome
from oneclaw_core.turn.turn import INTERRUPTED, Answer, Turn, readable
from oneclaw_core.types.events import ToolCallEvent, ToolResultEvent
from oneclaw_core.types.messages import ToolCall
from oneclaw_core.types.model_requests import ModelResponse
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.sessions.turns import TurnStart


class ResumedTurn(Turn):
    """A turn that begins with calls without an outcome.

    Those whose tools are read-only or idempotent run again; the others are answered as interrupted.
    """

    async def run(self, start: TurnStart, groups: Sequence[str] = ()) -> None:
        """See :meth:`Turn.run`; the groups that finished calls need are loaded as well."""
        needed = await self._finish_calls(start)
        limit = self._context.context_limits.history_max_characters
        await super().run(await self._store.load_turn(self._session_id, limit), (*groups, *needed))

    async def _finish_calls(self, start: TurnStart) -> tuple[str, ...]:
        """Finish the calls that a killed turn left open, and return the tool groups to load next."""
        self._begin(start)
        for each in start.pending_calls:
            call = ToolCall(each.tool_call_id or "", each.tool_name or "", each.tool_input or "")
            self._open_calls[call.id] = call
        self._states, self._states_read_at = await self._parts.refresh_states(), time.monotonic()
        await self._parts.tool_sources.refresh()
        try:
            for call in tuple(self._open_calls.values()):
                definition = self._parts.registry.get_definition(call.name)
                if definition is not None and definition.is_repeatable:
                    continue
                cut_off = ToolOutcome(call, ToolResult.error("interrupted", INTERRUPTED.content), 0)
                await self._keep(cut_off)
                await self._emit(ToolCallEvent(call.id, call.name, readable(call.arguments)))
                await self._emit(ToolResultEvent(call.id, call.name, cut_off.result, cut_off.duration_ms))
            self._calls = list(self._open_calls.values())
            if self._calls:
                self._answer = Answer(ModelResponse(tool_calls=tuple(self._calls)), None)
                # Their results are put behind them; run() gets the whole history from the store.
                self._history = [each for each in start.pending_calls if each.tool_call_id in self._open_calls]
                await self._run_calls()
        finally:
            if self._open_calls:
                await self._interrupt_open_calls()
        return tuple(self._wanted_groups)
