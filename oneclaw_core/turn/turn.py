"""One turn: from a user's message to the model's final answer.

The history is the only state. Calls are stored before they run and outcomes after, so a turn can be killed at any
point. The next turn answers what was left open as interrupted, unless the turn is resumed. See FEAT-004, "Execution
Flow"; RFC-040, step 4; RFC-044.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import TurnLimitError
from oneclaw_core.providers.base import TEXT_CALLS_REMEDY
from oneclaw_core.tools.calls.call import Caller, InnerCallBegun, InnerCallEnded, ToolOutcome, ToolProgress
from oneclaw_core.tools.context import TurnScope
from oneclaw_core.turn.call_records import INTERRUPTED, CallRecords
from oneclaw_core.turn.progress import CUT_OFF, ProgressGuard
from oneclaw_core.turn.state import Answer, Ask, TurnState
from oneclaw_core.turn.steps import usage_event
from oneclaw_core.turn.stream import closing
from oneclaw_core.turn.turn_hooks import marked_context
from oneclaw_core.types.arguments import ArgumentsError, parse_arguments
from oneclaw_core.types.events import (
    GroupLoadedEvent,
    NoticeEvent,
    ReasoningEvent,
    RetryEvent,
    SteeredEvent,
    TextEvent,
    TextWithdrawnEvent,
    ToolCallEvent,
    ToolProgressEvent,
    ToolResultEvent,
    TurnEvent,
    TurnFinishedEvent,
)
from oneclaw_core.types.messages import Message, MessageType, ToolCall
from oneclaw_core.types.model_requests import (
    ModelEvent,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    RetryNotice,
    TextDelta,
    TextWithdrawn,
)
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, ActiveTools, requested_group
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Sequence


# A step builds what is sent: which tools and messages that are depends on the model that answers.
_UNBUILT = ModelRequest(model="", system_prompt="", messages=(), tools=ActiveTools(()), session_id="")


class Turn:
    """A turn of one session: ask the model, store its answer, run the calls in it, until it answers without calls.

    Args:
        state: of the turn, whose session's lock the caller holds.
    """

    def __init__(self, state: TurnState) -> None:
        self._state = state
        self._records = CallRecords(state)
        self._progress = ProgressGuard()
        self._refused: set[str] = set()
        within, session = state.request.within, state.session
        outer = within.turn if within is not None else None
        self._scope = TurnScope(
            budget=state.budget,
            call=within,
            model=state.model.given or state.model.asked_name,
            info=state.hooks.info if state.hooks is not None else None,
            reasoning=state.model.reasoning,
            task=outer.task if outer is not None else state.request.task,
            session_name=session.info.name,
            shown_characters=state.settings.tool_result_max_characters,
            views=session.views,
            deps=outer.deps if outer is not None and state.request.deps is None else state.request.deps,
        )

    async def run(self, groups: Iterable[str] = (), pending: Sequence[Message] = ()) -> None:
        """Emit events until the model's final answer, ``TurnFinishedEvent`` last.

        However the turn ends, running tools are cancelled, and every open call is answered as interrupted.

        Args:
            groups: tool groups to load before the model is asked.
            pending: calls that a killed turn left open, of a turn that is resumed.

        Raises:
            ProviderError: the model could not be asked.
            TurnError: a limit was reached.
            StoreError: the history could not be written.
        """
        try:
            if pending:
                groups = (*groups, *await self._finish_calls(pending))
            answer = await self._answer_or_load(groups)
            while (needed := await self._work_on(answer)) is not None:
                await self._take_what_came_meanwhile()
                answer = await (self._explanation() if self._progress.is_stuck else self._answer_or_load(needed))
            await self._finish(answer)
        finally:
            await self._records.interrupt()

    async def _work_on(self, answer: Answer) -> list[str] | None:
        """Store an answer, and run the calls in it.

        Returns:
            The tool groups that the calls need; ``None`` if it is the final answer.

        Raises:
            TurnError: the turn ends without what it was to end with.
        """
        state, response = self._state, answer.response
        if response.tool_calls or response.cut_calls:
            calls = await self._store(answer)
            needed = await self._run_calls(answer, calls)
            results = [self._records.results[call.id] for call in calls if call.id in self._records.results]
            given = state.ending.text_given(results)
            if given is not None:
                await self._store(Answer(ModelResponse(text=given)))
            return needed if given is None else None
        told = state.ending.retry_of(response, is_last=self._progress.is_stuck)
        await self._store(answer, is_retried=told is not None)
        if told is None:
            state.ending.check()
            return None
        state.session.history += await state.store.append(state.session_id, [told])
        return []

    # Asking the model

    async def _answer_or_load(self, groups: Iterable[str]) -> Answer:
        """Ask the model, or first load groups by calls of ``load_tool_group`` that no model has made.

        They stand in the history as an answer, right behind what asked for them. So whatever reads a history finds
        loaded groups where it looks for them, and what was sent before stays the beginning of what is sent next.
        """
        session, budget = self._state.session, self._state.budget
        missing = [name for name in dict.fromkeys(groups) if name not in session.groups]
        if missing:
            wanted = (ToolCall("", LOAD_TOOL_GROUP, json.dumps({"group_name": name})) for name in missing)
            return Answer(ModelResponse(tool_calls=tuple(wanted)))
        if not budget.take_round():
            raise TurnLimitError(budget.rounds_message(session.agent))
        return await self._state.parts.ask(Ask(self._state, _UNBUILT, self._show))

    async def _explanation(self) -> Answer:
        """Ask the model why the turn makes no progress; its answer ends the turn."""
        return await self._state.parts.ask(Ask(self._state, self._state.next_request(), self._show, "explanation"))

    def _show(self, event: ModelEvent) -> Awaitable[None] | None:
        emit = self._state.emit
        match event:
            case TextDelta():
                return emit(TextEvent(event.text, event.may_be_withdrawn))
            case ReasoningDelta():
                return emit(ReasoningEvent(event.text))
            case TextWithdrawn():
                return emit(TextWithdrawnEvent(event.text))
            case RetryNotice():
                return emit(RetryEvent(event.reason, event.delay_seconds))
        return None

    async def _finish(self, answer: Answer) -> None:
        info, model, response = self._state.session.info, self._state.model, answer.response
        name = None if model.fallback is None else model.full_name
        finished = TurnFinishedEvent(info.name or info.id, response.text, response.stop_reason, name)
        await self._state.emit(self._state.ending.finished(finished))

    # Running calls

    async def _store(self, answer: Answer, *, is_retried: bool = False) -> list[ToolCall]:
        """Store an answer and the calls in it, before any of them runs, and return the calls."""
        calls = await self._records.store_answer(answer, is_retried=is_retried)
        if answer.usage is not None:
            await self._state.emit(usage_event(answer.usage))
        return calls

    async def _run_calls(self, answer: Answer, calls: Sequence[ToolCall]) -> list[str]:
        """Run the calls of an answer in parallel; each result is stored when it arrives.

        Returns:
            The tool groups that the calls need.
        """
        state, records, emit = self._state, self._records, self._state.emit
        if answer.response.are_calls_text:
            service = state.model.config.name
            await emit(NoticeEvent(f"{service} sends tool calls as text; to fix it, {TEXT_CALLS_REMEDY}"))
        for call in calls:
            await emit(ToolCallEvent(call.id, call.name, readable(call.arguments)))
            cut = records.results.get(call.id)
            if cut is not None:
                await emit(ToolResultEvent(call.id, call.name, ToolResult.error(CUT_OFF, cut.content), 0))
        await records.use_states()
        self._progress.begin()
        results: dict[str, ToolResult] = {}
        caller = self._caller(answer)
        for part in self._parts_of(tuple(records.open.values())):
            results |= await self._results_of(part, caller)
        state.session.take_results(calls, records.results)
        if answer.request is not None:
            names = {call.name for call in calls}
            found = [state.callable_tools().get(name) or state.parts.registry.find(name) for name in names]
            polls = {each.definition.name for each in found if each is not None and each.definition.behaviour.is_poll}
            self._progress.note(calls, records.results, polls)
        await self._note_groups([call for call in calls if call.id in results and results[call.id].is_success])
        return [group for call in calls if call.id in results for group in results[call.id].loads_groups]

    def _parts_of(self, calls: tuple[ToolCall, ...]) -> Iterable[tuple[ToolCall, ...]]:
        """Return calls that run at once; one that ends the turn runs behind the others."""
        last = self._state.ending.tool
        if last is None:
            return [calls]
        name = last.definition.name
        behind = tuple(call for call in calls if call.name == name)
        return filter(None, [tuple(call for call in calls if call.name != name), behind])

    async def _results_of(self, calls: tuple[ToolCall, ...], caller: Caller) -> dict[str, ToolResult]:
        state, records, emit = self._state, self._records, self._state.emit
        results: dict[str, ToolResult] = {}
        outcomes = state.parts.executor.execute_as_completed(calls, caller, records.keep)
        async with state.deadline.limit(), closing(outcomes):
            async for item in outcomes:
                if not isinstance(item, ToolOutcome):
                    await emit(_event_of(item))
                    continue
                stored = records.results.get(item.call.id)
                place = stored.sequence if stored is not None else None
                await emit(ToolResultEvent(item.call.id, item.call.name, item.result, item.duration_ms, place))
                results[item.call.id] = item.result
        return results

    def _caller(self, answer: Answer) -> Caller:
        state, session = self._state, self._state.session
        return Caller(
            (answer.request or state.next_request()).tools,
            session.agent.name,
            session.info.id,
            session.agent.selection,
            self._scope,
            conversation=session.provenance,
            are_calls_text=answer.response.are_calls_text,
            refused=self._refused,
            own_tools=state.callable_tools(),
            gone=self._gone(call.name for call in answer.response.tool_calls),
        )

    def _gone(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names of unknown tools that ran earlier in the session."""
        state = self._state
        unknown = {
            name for name in names if name not in state.callable_tools() and state.parts.registry.find(name) is None
        }
        if not unknown:
            return frozenset()
        results = (each for each in state.session.history if each.type is MessageType.TOOL_RESULT)
        ran = {each.tool_name for each in results if each.error_type != "not_found"}
        return frozenset(unknown & ran)

    async def _note_groups(self, succeeded: Iterable[ToolCall]) -> None:
        """Take over the groups that calls of ``load_tool_group`` have loaded."""
        session = self._state.session
        for call in succeeded:
            group = requested_group(call.arguments) if call.name == LOAD_TOOL_GROUP else None
            if group is not None and group not in session.groups:
                session.groups.append(group)
                tools = self._state.parts.registry.toolset(session.agent.selection).tools_of(group)
                await self._state.emit(GroupLoadedEvent(group, tuple(each.name for each in tools)))

    async def _take_what_came_meanwhile(self) -> None:
        state = self._state
        if state.request.steering:
            await take_steering(state, state.request.steering)
            self._progress = ProgressGuard()
            self._refused.clear()  # the user may have changed their mind
        await take_news(state)
        await state.parts.tool_sources.refresh()

    async def _finish_calls(self, pending: Sequence[Message]) -> list[str]:
        """Finish the calls that a killed turn left open: run those again that can be repeated, and no others.

        Returns:
            The tool groups that the calls need.
        """
        state, records = self._state, self._records
        records.take_open(pending)
        await state.parts.choices.refresh()
        for call in tuple(records.open.values()):
            definition = state.parts.registry.get_definition(call.name)
            if definition is not None and definition.is_repeatable:
                continue
            if await state.store.is_script_open(state.session_id, call.id):  # what it did is not done again
                continue
            cut_off = ToolOutcome(call, ToolResult.error("interrupted", INTERRUPTED.content), 0)
            await records.keep(cut_off)
            await state.emit(ToolCallEvent(call.id, call.name, readable(call.arguments)))
            await state.emit(ToolResultEvent(call.id, call.name, cut_off.result, cut_off.duration_ms))
        calls, needed = list(records.open.values()), list[str]()
        if calls:
            # Their results are put behind them; then the whole history is read anew.
            state.session.history = [each for each in pending if each.tool_call_id in records.open]
            needed = await self._run_calls(Answer(ModelResponse(tool_calls=tuple(calls))), calls)
        start = await state.store.load_turn(state.session_id, state.settings.history_max_characters)
        state.session.load(start)
        return needed


def _event_of(item: ToolProgress | InnerCallBegun | InnerCallEnded) -> TurnEvent:
    """Return the event for something that happens while a tool runs."""
    call = item.call
    match item:
        case ToolProgress():
            return ToolProgressEvent(call.id, call.name, item.message, item.fraction)
        case InnerCallBegun():
            return ToolCallEvent(call.id, call.name, readable(call.arguments), item.parent_id)
        case InnerCallEnded():
            return ToolResultEvent(call.id, call.name, item.result, item.duration_ms, parent_id=item.parent_id)


def readable(arguments: str) -> Any:
    """Read arguments for an event; those that are no JSON object are given as they are."""
    try:
        return parse_arguments(arguments)
    except ArgumentsError:
        return arguments


async def take_steering(turn: TurnState, steering: list[str]) -> None:
    """Store the messages that the user sent meanwhile behind the results, as any message of the user is stored.

    They are removed once they are stored, so that none is lost with a turn that fails.

    Raises:
        TurnRefusedError: a gate refuses one.
    """
    texts = tuple(steering)
    if turn.hooks is not None:
        for text in texts:
            await turn.hooks.check(text)
    messages = [Message(type=MessageType.USER, content=text) for text in texts]

    async def keep() -> None:
        turn.session.history += await turn.store.append(turn.session_id, messages)
        del steering[: len(texts)]

    keeping = asyncio.ensure_future(keep())
    try:
        await asyncio.shield(keeping)
    except asyncio.CancelledError:
        await asyncio.wait({keeping})  # what is stored must not be sent again
        raise
    for text in texts:
        await turn.emit(SteeredEvent(text))


async def take_news(turn: TurnState) -> None:
    """Tell the model, behind the results, what has ended in the background."""
    background = turn.parts.background
    if turn.session_id not in background.untold:
        return
    news, told = await background.news_for(turn.session_id, await turn.store.settings())
    if news:
        message = Message(type=MessageType.USER, content=marked_context("oneclaw", news))
        turn.session.history += await turn.store.append(turn.session_id, [message])
        await background.told(told)
