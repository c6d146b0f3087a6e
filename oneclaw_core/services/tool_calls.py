"""Tool calls outside of conversations: of programs, the command line, and clients of other programs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from oneclaw_core.sessions.sessions import new_id
from oneclaw_core.tools.calls.call import Caller, ToolOutcome, ToolProgress
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.messages import ToolCall
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from oneclaw_core.tools.calls.call import ToolClient
    from oneclaw_core.turn.state import TurnParts
    from oneclaw_core.turn.stream import TurnTracker


class ToolCalls:
    """Tool calls outside of conversations.

    Args:
        parts: of the open home.
        tracker: ends them before the home is closed.
    """

    def __init__(self, parts: TurnParts, tracker: TurnTracker) -> None:
        self._parts = parts
        self._tracker = tracker

    async def call(
        self,
        name: str,
        arguments: str,
        caller: Literal["program", "command line"],
        client: ToolClient | None = None,
    ) -> ToolOutcome:
        """Run one tool outside a conversation; see :meth:`oneclaw_core.OneClaw.call_tool`."""
        parts = self._parts
        states = await parts.choices.refresh()
        await parts.plugins.refresh_settings(states.settings)
        await parts.tool_sources.refresh()
        call = ToolCall(new_id(), name, arguments)
        if client is not None:
            return await self._tracker.run(partial(self._call_for, client, call, caller))
        behalf = Caller(parts.registry.toolset().all_active, GENERAL_ASSISTANT.name, kind=caller)
        (outcome,) = await self._tracker.run(partial(parts.executor.execute, [call], behalf))
        return outcome

    async def _call_for(
        self, client: ToolClient, call: ToolCall, caller: Literal["program", "command line"]
    ) -> ToolOutcome:
        parts = self._parts
        found = parts.registry.find(call.name)
        if client.is_read_only and found is not None and not found.definition.read_only:
            text = f"Tool '{call.name}' may change something, and this call is for reading alone."
            return ToolOutcome(call, ToolResult.error("not_available", text), 0.0)
        asked_in = f"{client.name}/{call.id}"
        behalf = Caller(
            parts.registry.toolset(client.selection).all_active,
            client.agent,
            selection=client.selection,
            kind=caller,
            conversation=client.provenance,
            # Each call asks for itself, so that no client waits for the answer of another.
            asked_in=asked_in,
        )
        outcome: ToolOutcome | None = None
        asked = parts.people.answered_by(
            asked_in, client.ask, client.ask_user, or_nobody=True, shows_forms=client.shows_forms
        )
        with asked:
            async for item in parts.executor.execute_as_completed([call], behalf):
                if isinstance(item, ToolOutcome):
                    outcome = item
                elif isinstance(item, ToolProgress) and client.progress is not None:
                    await client.progress(item.message, item.fraction)
        assert outcome is not None
        return outcome
