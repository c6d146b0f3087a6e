"""One turn: from a user message to the model's final answer.

The history is the only state. Calls are stored before they run and outcomes after, so a turn can be killed at any
point; the next turn answers what was left open as interrupted and never runs it again (FEAT-004, "Execution Flow";
RFC-040, step 4; RFC-044).
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.errors import ContextTooLongError, ProviderError, SessionBusyError, TurnDeadlineError, TurnLimitError
from oneclaw_core.providers.base import ModelResponse, ReasoningDelta, RetryNotice, TextDelta
from oneclaw_core.tools.arguments import ArgumentsError, parse_arguments
from oneclaw_core.tools.engine import CallScope, ToolOutcome, ToolProgress
from oneclaw_core.tools.failures import RepeatedFailures
from oneclaw_core.tools.groups import LOAD_TOOL_GROUP, requested_group, restore_loaded_groups
from oneclaw_core.tools.turn_scope import TurnScope
from oneclaw_core.turn.compaction import CompactionReason, ContextLimits
from oneclaw_core.turn.compactor import Compactor
from oneclaw_core.turn.deadline import until
from oneclaw_core.turn.model_calls import ChosenModel, ModelCalls
from oneclaw_core.turn.prompt import model_request, shown_history
from oneclaw_core.turn.summary import can_summarise
from oneclaw_core.types.events import (
    CompactedEvent,
    GroupLoadedEvent,
    ReasoningEvent,
    RetryEvent,
    TextEvent,
    ToolCallEvent,
    ToolProgressEvent,
    ToolResultEvent,
    TurnEvent,
    TurnFinishedEvent,
    UsageEvent,
)
from oneclaw_core.types.messages import Message, MessageType, ToolCall, ToolCallStatus
from oneclaw_core.types.spending import SpendingLimits
from oneclaw_core.types.turn_budget import TurnBudget

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence

    from oneclaw_core.plugins.contract.arguments import PromptSection
    from oneclaw_core.providers.base import ModelEvent, ModelRequest
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.store import Store, TurnStart
    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.engine import ToolEngine
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.turn.cache_prefix import CachePrefixes
    from oneclaw_core.turn.estimate import ToolSizes
    from oneclaw_core.turn.turn_hooks import TurnHooks
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.messages import TokenUsage

# The result of a call that was cut off; whose it is, is filled in.
INTERRUPTED = Message(
    type=MessageType.TOOL_RESULT,
    content="This call was interrupted before its outcome was known; it may or may not have had its effect. "
    "Do not repeat it without asking the user.",
    tool_status=ToolCallStatus.ERROR,
    error_type="interrupted",
)

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """What a turn may take.

    Attributes:
        deadline_seconds: as a whole.
        max_tool_rounds: of tool calls.
        result_max_characters: of each result that the model is shown.
        context: how much the model may be sent.
        spending: how much may be spent.
        agent_spending: how much the agent may spend.
        own_spending: how much the one who sent the message allows; all three hold.
    """

    deadline_seconds: float
    max_tool_rounds: int
    result_max_characters: int
    context: ContextLimits = field(default_factory=ContextLimits)
    spending: SpendingLimits = field(default_factory=SpendingLimits)
    agent_spending: SpendingLimits = field(default_factory=SpendingLimits)
    own_spending: SpendingLimits = field(default_factory=SpendingLimits)

    def rounds_message(self, agent: Agent) -> str:
        """Say that the rounds are used up, and what to do."""
        option = "raise the setting turn_max_tool_rounds"
        if agent.limits.max_tool_rounds == self.max_tool_rounds:
            option = f"raise the agent's limit with: oneclaw agents edit {quote(agent.name)} --max-tool-rounds NUMBER"
        return (
            f"the turn was stopped after {self.max_tool_rounds} rounds of tool calls; send another message to go on, "
            f"or {option}"
        )


class Turn:
    """A turn of one session, under the session's lock, which the caller holds.

    Args:
        store: where the history lies.
        registry: the tools there are.
        engine: runs them.
        chosen: the model.
        agent: on whose behalf.
        session: whose turn it is.
        limits: what it may take.
        fingerprints: of requests, kept over turns.
        within: the tool call that it is run for, ``None`` for a turn of the user's.
        tool_sizes: estimates of tools, kept over turns.
        new_sections: gathers the sections of the system prompt that are kept with the session; without it those that
            are kept stay.
        current_sections: gathers the sections that are not kept.
        refresh_tools: brings the registry up to date before each request.
        hooks: of plugins on the turn; ``None`` for none.
    """

    def __init__(
        self,
        store: Store,
        registry: ToolRegistry,
        engine: ToolEngine,
        chosen: ChosenModel,
        agent: Agent,
        session: Session,
        limits: TurnLimits,
        fingerprints: CachePrefixes,
        within: ToolContext | None = None,
        tool_sizes: ToolSizes | None = None,
        new_sections: Callable[[], Awaitable[str]] | None = None,
        current_sections: Callable[[], Awaitable[Sequence[PromptSection]]] | None = None,
        refresh_tools: Callable[[], Awaitable[None]] | None = None,
        hooks: TurnHooks | None = None,
    ) -> None:
        self._store = store
        self._registry = registry
        self._engine = engine
        self._chosen = chosen
        self._agent = agent
        self._session = session
        self._limits = limits
        outer = within.turn.budget if within is not None and within.turn is not None else None
        spending = (limits.own_spending, limits.agent_spending, limits.spending)
        self._budget = TurnBudget(spending, limits.max_tool_rounds, outer)
        self._hooks = hooks
        self._scope = TurnScope(self._budget, within, chosen.full_name, hooks.info if hooks is not None else None)
        self._model_calls = ModelCalls(store, session.id, chosen, self._budget, fingerprints, hooks)
        self._tool_sizes = tool_sizes
        self._new_sections = new_sections
        self._gather_current_sections = current_sections
        self._refresh_tools = refresh_tools
        self._kept_sections = ""
        self._current_sections: Sequence[PromptSection] = ()
        self._deadline = 0.0
        self._history: list[Message] = []
        self._groups: list[str] = []
        self._wanted_groups: list[str] = []
        self._failures = RepeatedFailures()
        self._open_calls: dict[str, ToolCall] = {}
        self._outcomes: list[Message] = []
        self._results: dict[str, Message] = {}
        self._storing = asyncio.Lock()

    async def run(self, start: TurnStart, groups: Sequence[str] = ()) -> AsyncGenerator[TurnEvent, None]:
        """Yield what happens until the model's final answer, ``TurnFinishedEvent`` last.

        Closing the generator, or cancelling, ends the turn: running tools are cancelled, and every open call is
        answered as interrupted.

        Args:
            start: how the store has begun the turn, with the user's message at the end of the history.
            groups: tool groups to load before the model is asked.

        Raises:
            ProviderError: the model could not be asked.
            TurnError: a limit was reached.
            StoreError: the history could not be written.
        """
        self._begin(start)
        try:
            async with aclosing(self._load_groups(groups)) as loading:
                async for event in loading:
                    yield event
        finally:
            await self._interrupt_open_calls()
        while self._budget.take_round():
            final_text = None
            async with aclosing(self._round()) as events:
                async for event in events:
                    if isinstance(event, TurnFinishedEvent):
                        final_text = event.text
                    yield event
            if final_text is not None:
                return
        raise TurnLimitError(self._limits.rounds_message(self._agent))

    async def compact(self, start: TurnStart) -> AsyncGenerator[TurnEvent, None]:
        """Summarise all but the last turn, instead of :meth:`run`; ``CompactedEvent`` last if there was enough.

        Args:
            start: how the store has loaded the session.

        Raises:
            UsageError: the model writes no summaries.
            ProviderError: it wrote none; nothing has changed.
        """
        self._begin(start)
        await self._look_at_sections()
        async with aclosing(self._compactor.fit(self._request(), CompactionReason.REQUESTED)) as events:
            async for event in events:
                if isinstance(event, CompactedEvent):
                    await self._compacted()
                yield event

    async def _compacted(self) -> None:
        if self._hooks is not None and self._compactor.summary is not None:
            self._hooks.compacted(self._compactor.summary)
        await self._renew_sections()

    async def _renew_sections(self) -> None:
        """Renew the sections kept with the session: a summary has changed the request from its beginning anyway."""
        if self._new_sections is not None:
            self._kept_sections = await self._new_sections()
            await self._store.set_shown_memory(self._session.id, self._kept_sections)
        await self._look_at_sections()

    async def _look_at_sections(self) -> None:
        if self._gather_current_sections is not None:
            self._current_sections = await self._gather_current_sections()

    def _begin(self, start: TurnStart) -> None:
        # Waiting for the session's lock was no part of the turn.
        self._deadline = time.monotonic() + self._limits.deadline_seconds
        self._history = shown_history(start.history)
        self._kept_sections = start.memory
        self._groups = restore_loaded_groups(start.group_loads)
        self._compactor = Compactor(
            self._store,
            self._session.id,
            self._ask_for_summary if can_summarise(self._chosen.provider) else None,
            self._record,
            self._limits.context,
            start.summary,
            start.summary_until,
            start.last_input_tokens,
            self._tool_sizes,
        )

    def _request(self) -> ModelRequest:
        messages = self._compactor.messages(self._history)
        return model_request(
            self._agent,
            self._registry,
            self._chosen.info.name,
            self._session.id,
            messages,
            self._groups,
            kept_sections=self._kept_sections,
            current_sections=self._current_sections,
        )

    def _ask(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        return self._until_deadline(self._model_calls.stream(request))

    def _ask_for_summary(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        return self._until_deadline(self._model_calls.stream(request, "summary"))

    async def _record(self, usage: TokenUsage) -> UsageEvent:
        record, event = await self._model_calls.note(usage)
        await self._store.record_usage(self._session.id, record)
        return event

    async def _round(self) -> AsyncGenerator[TurnEvent, None]:
        """Ask the model once, and run what it calls; what is too long for it is summarised first."""
        reason: CompactionReason | None = None
        refused: ContextTooLongError | None = None
        while True:
            if self._refresh_tools is not None:
                await self._refresh_tools()
            await self._look_at_sections()
            request = self._request()
            async with aclosing(self._compactor.fit(request, reason)) as events:
                is_compacted = False
                async for event in events:
                    is_compacted = is_compacted or isinstance(event, CompactedEvent)
                    yield event
            if refused is not None and not is_compacted:
                raise refused
            if is_compacted:
                await self._compacted()
            refused = None
            try:
                async with aclosing(self._answer(self._request() if is_compacted else request)) as answer_events:
                    async for answer_event in answer_events:
                        yield answer_event
                return
            except ContextTooLongError as error:
                if reason is not None:
                    raise
                reason, refused = CompactionReason.REFUSED, error

    async def _answer(self, request: ModelRequest) -> AsyncGenerator[TurnEvent, None]:
        response: ModelResponse | None = None
        noted: tuple[UsageRecord, UsageEvent] | None = None
        text_so_far: list[str] = []
        try:
            async with aclosing(self._ask(request)) as answer:
                async for event in answer:
                    if isinstance(event, TextDelta):
                        text_so_far.append(event.text)
                        yield TextEvent(event.text)
                    elif isinstance(event, ReasoningDelta):
                        yield ReasoningEvent(event.text)
                    elif isinstance(event, RetryNotice):
                        yield RetryEvent(event.reason, event.delay_seconds)
                    elif isinstance(event, ModelResponse):
                        response = event
            if response is not None:
                self._compactor.observe(request, response.usage)
                noted = await self._model_calls.note(response.usage, request)
        finally:
            if noted is None and text_so_far:
                # What the user has read of an answer that broke off belongs to the history.
                partial = Message(type=MessageType.ASSISTANT, content="".join(text_so_far))
                with suppress(SessionBusyError):  # another turn's by now: why this one ends is what matters
                    await self._store.append(self._session.id, [partial])
        if response is None or noted is None:
            raise ProviderError(f"{self._chosen.full_name} ended its answer without saying so; try again")
        record, usage_event = noted
        calls = await self._store_response(response, record)
        try:
            yield usage_event
            if not calls:
                yield TurnFinishedEvent(self._session.name or self._session.id, response.text, response.stop_reason)
                return
            for call in calls:
                yield ToolCallEvent(call.id, call.name, _readable(call.arguments))
            async with aclosing(self._run_calls(calls, request)) as events:
                async for outcome_event in events:
                    yield outcome_event
            wanted, self._wanted_groups = self._wanted_groups, []
            async with aclosing(self._load_groups(wanted)) as events:
                async for outcome_event in events:
                    yield outcome_event
        finally:
            await self._interrupt_open_calls()

    async def _interrupt_open_calls(self) -> None:
        if self._open_calls:
            known = {outcome.tool_call_id for outcome in self._outcomes}
            cut_off = (
                replace(INTERRUPTED, tool_call_id=call.id, tool_name=call.name)
                for call in self._open_calls.values()
                if call.id not in known
            )
            with suppress(SessionBusyError):  # another turn's by now, which has answered them
                await self._store.finish_calls(self._session.id, [*self._outcomes, *cut_off])

    async def _load_groups(self, names: Sequence[str]) -> AsyncGenerator[TurnEvent, None]:
        """Load groups that nobody has called ``load_tool_group`` for, by calls of it like any that a model makes.

        They stand in the history as an answer of their own, right behind what asked for them. So whatever reads a
        history finds them where it looks for loaded groups, and what was sent before stays the beginning of what is
        sent next.
        """
        missing = [name for name in dict.fromkeys(names) if name not in self._groups]
        if not missing:
            return
        wanted = (ToolCall("", LOAD_TOOL_GROUP, json.dumps({"group_name": name})) for name in missing)
        calls = await self._store_response(ModelResponse(tool_calls=tuple(wanted)))
        for call in calls:
            yield ToolCallEvent(call.id, call.name, _readable(call.arguments))
        async with aclosing(self._run_calls(calls, self._request())) as events:
            async for event in events:
                yield event

    async def _run_calls(self, calls: Sequence[ToolCall], request: ModelRequest) -> AsyncGenerator[TurnEvent, None]:
        scope = CallScope(
            request.tools,
            self._agent.name,
            self._session.id,
            self._failures,
            self._agent.selection,
            self._scope,
            self._limits.result_max_characters,
        )
        loaded: set[str] = set()
        needed: dict[str, tuple[str, ...]] = {}
        outcomes = self._engine.execute_as_completed(calls, scope, self._keep)
        async with aclosing(self._until_deadline(outcomes)) as items:
            async for item in items:
                if isinstance(item, ToolProgress):
                    yield ToolProgressEvent(item.call.id, item.call.name, item.message, item.fraction)
                    continue
                yield ToolResultEvent(item.call.id, item.call.name, item.result, item.duration_ms)
                if _has_loaded_a_group(item):
                    loaded.add(item.call.id)
                needed[item.call.id] = item.result.loads_groups
        results = self._results
        self._history = [
            *self._history[: -len(calls)],
            *(
                replace(each, tool_status=results[each.tool_call_id or ""].tool_status)
                for each in self._history[-len(calls) :]
            ),
            *shown_history(results[call.id] for call in calls),
        ]
        self._wanted_groups = [group for call in calls for group in needed[call.id]]
        for call in calls:
            group = requested_group(call.arguments) if call.id in loaded else None
            if group is not None and group not in self._groups:
                self._groups.append(group)
                tools = self._registry.selected(self._agent.selection).tools_of(group)
                yield GroupLoadedEvent(group, tuple(each.name for each in tools))

    async def _store_response(self, response: ModelResponse, usage: UsageRecord | None = None) -> list[ToolCall]:
        messages = []
        if response.text or response.provider_data or response.tool_calls:
            messages.append(
                Message(type=MessageType.ASSISTANT, content=response.text, provider_data=response.provider_data)
            )
        messages += [
            Message(
                type=MessageType.TOOL_CALL,
                tool_call_id=call.id,
                tool_name=call.name,
                tool_input=call.arguments,
                tool_status=ToolCallStatus.PENDING,
            )
            for call in response.tool_calls
        ]
        stored = await self._store.append(self._session.id, messages, usage=usage)
        self._history += stored
        calls = [
            ToolCall(message.tool_call_id or "", message.tool_name or "", message.tool_input or "")
            for message in stored
            if message.type is MessageType.TOOL_CALL
        ]
        self._open_calls = {call.id: call for call in calls}
        self._results = {}
        return calls

    async def _keep(self, outcome: ToolOutcome) -> None:
        """Store an outcome, together with those that come while others are being stored."""
        self._outcomes.append(_result_message(outcome, self._limits.result_max_characters))
        async with self._storing:
            waiting = list(self._outcomes)
            if not waiting:
                return
            for stored in await self._store.finish_calls(self._session.id, waiting):
                call_id = stored.tool_call_id or ""
                self._results[call_id] = stored
                self._open_calls.pop(call_id, None)
            # Only now: what is not stored for sure is stored at the turn's end.
            del self._outcomes[: len(waiting)]

    def _until_deadline(self, items: AsyncIterator[_Item]) -> AsyncGenerator[_Item, None]:
        """Pass items on until the turn's deadline."""
        return until(self._deadline, items, self._too_late)

    def _too_late(self) -> TurnDeadlineError:
        return TurnDeadlineError(
            f"the turn was stopped after {self._limits.deadline_seconds:g} seconds; send another message to go on, "
            "or raise the setting turn_deadline_seconds"
        )


def _result_message(outcome: ToolOutcome, shown_characters: int) -> Message:
    result = outcome.result
    text = result.text()
    return Message(
        type=MessageType.TOOL_RESULT,
        content=text,
        tool_call_id=outcome.call.id,
        tool_name=outcome.call.name,
        tool_status=ToolCallStatus.SUCCESS if result.is_success else ToolCallStatus.ERROR,
        error_type=result.error_type,
        shown_characters=shown_characters if len(text) > shown_characters else None,
        duration_ms=outcome.duration_ms,
        attachments=result.attachments,
    )


def _has_loaded_a_group(outcome: ToolOutcome) -> bool:
    return outcome.call.name == LOAD_TOOL_GROUP and outcome.result.is_success


def _readable(arguments: str) -> Any:
    try:
        return parse_arguments(arguments)
    except ArgumentsError:
        return arguments
