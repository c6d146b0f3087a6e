"""The turns of an open home, and tool calls outside of them."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from oneclaw_core.errors import UsageError
from oneclaw_core.sessions.for_plugins import no_session, session_info
from oneclaw_core.sessions.sessions import new_id
from oneclaw_core.tools.calls.call import Caller, ToolOutcome, ToolProgress
from oneclaw_core.turn.beginning import begin, govern, hold, hooks_on, look, resolve, title_of, use
from oneclaw_core.turn.compacting import compact
from oneclaw_core.turn.compaction import CompactionReason
from oneclaw_core.turn.stream import StopRequests, TurnTracker
from oneclaw_core.turn.turn import Turn
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.events import CompactedEvent, TurnFinishedEvent
from oneclaw_core.types.messages import MessageType, ToolCall
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from oneclaw_core.tools.client import ToolClient
    from oneclaw_core.turn.conversations import Conversations
    from oneclaw_core.turn.parts import TurnParts
    from oneclaw_core.turn.state import TurnState
    from oneclaw_core.turn.stream import Emit
    from oneclaw_core.turn.turn_request import TurnRequest
    from oneclaw_core.types.events import TurnEvent
    from oneclaw_core.types.messages import Message


class Turns:
    """The turns of an open home.

    Args:
        parts: that every turn works with.
        conversations: begins sessions.

    Attributes:
        tracker: knows the turns that run.
    """

    def __init__(self, parts: TurnParts, conversations: Conversations) -> None:
        self._parts = parts
        self._conversations = conversations
        self.tracker = TurnTracker()
        self._stops = StopRequests(parts.store.stop_requests, parts.store.withdraw_stop)

    def send(self, request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        """Run a turn and yield its events; see :meth:`oneclaw_core.OneClaw.send_message`."""
        return self.tracker.stream(partial(self._send, request))

    async def _send(self, request: TurnRequest, emit: Emit) -> None:
        if not isinstance(request.text, str) or not (request.text.strip() or request.command is not None):
            raise UsageError("the message is empty: say what you want")
        turn, setup = await resolve(self._parts, request)
        turn.emit = emit
        async with AsyncExitStack() as stack:
            if setup.session is None and request.session is not None:
                about = (turn.session.agent.name, request.kept_model, title_of(request), turn.session.info.parent_id)
                turn.session.info = session_info(await self._conversations.begin(request.session, *about))
            await hold(stack, turn, turn.settings.session_wait_seconds)
            await govern(stack, turn)
            await begin(turn, setup, self._conversations)
            await self._run(turn)

    def resume(self, request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
        """Finish the last turn of a session and yield its events; see :meth:`oneclaw_core.OneClaw.resume`."""
        return self.tracker.stream(partial(self._resume, request))

    async def _resume(self, request: TurnRequest, emit: Emit) -> None:
        if request.session is None:
            found = await self._parts.store.last_used_session()
            if found is None:
                raise UsageError("there is no session to resume: send a message")
            request = replace(request, session=found.id)
        turn, setup = await resolve(self._parts, request)
        turn.emit = emit
        if setup.session is None:
            raise no_session(request.session or "")
        info = turn.session.info
        async with AsyncExitStack() as stack:
            await hold(stack, turn, 0)
            is_cached = turn.model.writes_summaries
            prompt = turn.session.prompt = await self._parts.prompt_of(info, turn.session.agent, is_cached=is_cached)
            start = await self._parts.store.resume_turn(
                info.id, turn.settings.history_max_characters, prompt.sections, prompt.lists()
            )
            history = [each for each in start.history if not each.is_of_output]
            if not history:
                raise UsageError(f"session {info.name or info.id!r} has no turn to resume: send it a message")
            last = history[-1]
            if last.not_sent is not None:
                raise UsageError(f"the model service refused the last message: {last.not_sent}; send another one")
            if last.type is MessageType.ASSISTANT and not last.is_incomplete:
                await emit(TurnFinishedEvent(info.name or info.id, last.content))
                return
            asked = (each for each in reversed(history) if each.type is MessageType.USER)
            turn.message = next(asked, turn.message)
            await govern(stack, turn)
            use(turn, start)
            await self._run(turn, start.pending_calls)

    async def _run(self, turn: TurnState, pending: Sequence[Message] = ()) -> None:
        async with self._stops.watching(turn.session_id, turn.deadline):
            try:
                await Turn(turn).run(turn.request.tool_groups or (), pending)
            finally:
                if turn.request.within is not None:
                    # The answer is made of all that the session holds.
                    turn.request.within.marks.extend(turn.session.provenance.marks())

    async def compact(self, request: TurnRequest) -> CompactedEvent | None:
        """Summarise all but the last turn; see :meth:`oneclaw_core.OneClaw.compact`."""
        return await self.tracker.run(partial(self._compact, request))

    async def _compact(self, request: TurnRequest) -> CompactedEvent | None:
        compacted: list[CompactedEvent] = []

        async def emit(event: TurnEvent) -> None:
            if isinstance(event, CompactedEvent):
                compacted.append(event)

        turn, setup = await resolve(self._parts, request)
        if setup.session is None:
            raise no_session(request.session or "")
        turn.emit, turn.hooks = emit, hooks_on(turn)
        async with AsyncExitStack() as stack:
            await hold(stack, turn, turn.settings.session_wait_seconds)
            await look(turn)
            await stack.enter_async_context(self._stops.watching(turn.session_id, turn.deadline))
            await compact(turn, turn.next_request(), CompactionReason.REQUESTED)
        return compacted[-1] if compacted else None

    async def call_tool(
        self,
        name: str,
        arguments: str,
        caller: Literal["program", "command line"],
        client: ToolClient | None = None,
    ) -> ToolOutcome:
        """Run one tool outside a conversation; see :meth:`oneclaw_core.OneClaw.call_tool`."""
        parts = self._parts
        states = await parts.refresh_states()
        await parts.plugins.refresh_settings(states.settings)
        await parts.tool_sources.refresh()
        call = ToolCall(new_id(), name, arguments)
        if client is not None:
            return await self.tracker.run(partial(self._call_for, client, call, caller))
        behalf = Caller(parts.registry.toolset().all_active, GENERAL_ASSISTANT.name, kind=caller)
        (outcome,) = await self.tracker.run(partial(parts.executor.execute, [call], behalf))
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
        asked = parts.permissions.people.answered_by(
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
