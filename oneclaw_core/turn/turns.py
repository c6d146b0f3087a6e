"""The turns of an open home."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core.errors import UsageError
from oneclaw_core.sessions.conversations import Conversations, no_session
from oneclaw_core.turn.beginning import begin, govern, hold, hooks_on, look, resolve, title_of, use
from oneclaw_core.turn.stream import Emit, StopRequests, TurnTracker
from oneclaw_core.turn.turn import Turn
from oneclaw_core.types.events import TurnEvent, TurnFinishedEvent
from oneclaw_core.types.messages import Message, MessageType

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from oneclaw_core.turn.state import TurnParts, TurnState
    from oneclaw_core.turn.turn_request import TurnRequest


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
                turn.session.info = await self._conversations.begin(request.session, *about)
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
            prompt = turn.session.prompt = await self._parts.prompts.of(info, turn.session.agent, is_cached=is_cached)
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

    async def work_on(self, request: TurnRequest, work: Callable[[TurnState], Awaitable[None]]) -> None:
        """Do something with a stored session, while no turn of it runs.

        Args:
            request: names the session, and what would answer it.
            work: takes a turn that is not begun.
        """
        await self.tracker.run(partial(self._work_on, request, work))

    async def _work_on(self, request: TurnRequest, work: Callable[[TurnState], Awaitable[None]]) -> None:
        turn, setup = await resolve(self._parts, request)
        if setup.session is None:
            raise no_session(request.session or "")
        turn.hooks = hooks_on(turn)
        async with AsyncExitStack() as stack:
            await hold(stack, turn, turn.settings.session_wait_seconds)
            await look(turn)
            await stack.enter_async_context(self._stops.watching(turn.session_id, turn.deadline))
            await work(turn)
