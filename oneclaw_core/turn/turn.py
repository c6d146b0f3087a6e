"""One turn: from a user message to the model's final answer.

The history is the only state. Calls are stored before they run and outcomes after, so a turn can be killed at any
point. The next turn answers what was left open as interrupted, unless the turn is resumed (``resumed_turn``). See
FEAT-004, "Execution Flow"; RFC-040, step 4; RFC-044.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import (
    ContextTooLongError,
    ProviderError,
    ProviderRequestError,
    SessionBusyError,
    StoreError,
    StoreUnavailableError,
    TurnLimitError,
    UnreadableCallError,
)
from oneclaw_core.json_schema.arguments import ArgumentsError, parse_arguments
from oneclaw_core.providers.base import TEXT_CALLS_REMEDY
from oneclaw_core.sessions.for_plugins import session_info
from oneclaw_core.tools.calls.call import Caller, ToolOutcome, ToolProgress
from oneclaw_core.tools.context import TurnScope
from oneclaw_core.turn.compaction import CompactionReason, Compactor
from oneclaw_core.turn.context import context_limits
from oneclaw_core.turn.healing import (
    explained_overflow,
    is_unexplained,
    marked_not_sent,
    may_be_too_long,
    newest_part,
    probe_request,
    with_mark_named,
    with_way_out,
)
from oneclaw_core.turn.model import ModelCalls
from oneclaw_core.turn.progress import CUT_OFF, ProgressGuard
from oneclaw_core.turn.request import left_out, model_request, shown_history, tool_names
from oneclaw_core.turn.store_retry import retried
from oneclaw_core.turn.summary import explanation_request
from oneclaw_core.turn.turn_hooks import marked_context
from oneclaw_core.turn.unreadable_calls import MOST_ATTEMPTS, told_again
from oneclaw_core.turn.unusable_answers import cut_calls, empty_answer
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
    TurnFinishedEvent,
)
from oneclaw_core.types.frozen_dataclass import frozen_dataclass
from oneclaw_core.types.messages import OWN_DATA, Message, MessageType, StopReason, ToolCall, ToolCallStatus
from oneclaw_core.types.model_requests import (
    ModelResponse,
    ReasoningDelta,
    RetryNotice,
    TextDelta,
    TextWithdrawn,
    ToolLoading,
)
from oneclaw_core.types.provenance import Provenance
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, requested_group, restore_loaded_groups
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.sessions.settings import UserStates
    from oneclaw_core.sessions.turns import TurnStart
    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.turn.context import TurnContext, TurnParts
    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.turn.stream import Emit
    from oneclaw_core.types.events import UsageEvent
    from oneclaw_core.types.messages import TokenUsage
    from oneclaw_core.types.model_requests import ModelEvent, ModelRequest
    from oneclaw_core.types.tool_definition import ToolDefinition

# The result of a call that was cut off; whose it is, is filled in.
INTERRUPTED = Message(
    type=MessageType.TOOL_RESULT,
    content="This call was interrupted before its outcome was known; it may or may not have had its effect. "
    "Do not repeat it without asking the user.",
    tool_status=ToolCallStatus.ERROR,
    error_type="interrupted",
)

# What the user has set is read with the calls; a listener can learn of them later than this.
_FRESH_SECONDS = 0.05

_log = logging.getLogger("oneclaw.turn")

_State = Callable[[], Awaitable["_State | None"]]


@frozen_dataclass
class Answer:
    """An answer of a model.

    Attributes:
        response: the answer.
        request: what was answered; ``None`` for calls that no model has made.
        usage: of the request, for the store.
        usage_event: the same for the listener.
    """

    response: ModelResponse
    request: ModelRequest | None
    usage: UsageRecord | None = None
    usage_event: UsageEvent | None = None


class Turn:
    """A turn of one session: a state machine whose states store what they did before the next one begins.

    ::

        load groups -> ask the model -> store the answer -> finish
                            ^                  |      ^
                            |                  v      |
                       load groups  <-     run calls -> explain

    Args:
        parts: of the open home.
        context: of this turn.
        emit: hands an event to the listener, after what it tells of is stored.

    Attributes:
        provenance: where the text of the session comes from.
    """

    def __init__(self, parts: TurnParts, context: TurnContext, emit: Emit) -> None:
        self._parts = parts
        self._context = context
        self._emit = emit
        self._store = parts.store
        self._session_id = context.session.id
        model, hooks = context.model, context.hooks
        info = hooks.info if hooks is not None else None
        asked = model.full_name if model.fallback is None else model.fallback.name
        self._scope = TurnScope(
            context.budget,
            context.within,
            asked,
            info,
            model.reasoning,
            context.task,
            context.session.name,
            context.result_max_characters,
        )
        self._model_calls = ModelCalls(
            parts.store,
            self._session_id,
            model,
            context.budget,
            parts.cache_prefixes,
            context.deadline,
            hooks,
            emit,
            self._switched,
        )
        self._progress = ProgressGuard()
        self._storing = asyncio.Lock()
        self.provenance = Provenance()
        self._refused: set[str] = set()
        # Results that the service refused, until it is sure that these were what it refused.
        self._not_sent: list[Message] = []
        self._history: list[Message] = []
        self._groups: list[str] = []
        self._kept_sections = ""
        self._prompt_lists = context.prompt.shown if context.prompt is not None else None
        self._began_with = None if self._prompt_lists is None else tool_names(self._prompt_lists)
        # The prompt was made from the tools as they are; whatever is done before the first request may change them.
        self._are_tools_fresh = context.prompt is not None
        # Between two states:
        self._wanted_groups: Sequence[str] = ()
        self._answer: Answer | None = None
        self._calls: list[ToolCall] = []
        self._states: UserStates | None = None
        self._states_read_at = 0.0
        # Calls that are stored without an outcome, outcomes that are still to be stored, and those that are.
        self._open_calls: dict[str, ToolCall] = {}
        self._outcomes: list[Message] = []
        self._results: dict[str, Message] = {}

    async def run(self, start: TurnStart, groups: Sequence[str] = ()) -> None:
        """Emit events until the model's final answer, ``TurnFinishedEvent`` last.

        However the turn ends, running tools are cancelled, and every open call is answered as interrupted.

        Args:
            start: how the store has begun the turn, with the user's message at the end of the history.
            groups: tool groups to load before the model is asked.

        Raises:
            ProviderError: the model could not be asked.
            TurnError: a limit was reached.
            StoreError: the history could not be written.
        """
        self._begin(start)
        self._wanted_groups = groups
        state: _State | None = self._load_groups
        try:
            while state is not None:
                state = await state()
        finally:
            if self._open_calls:
                await self._interrupt_open_calls()

    async def compact(self, start: TurnStart) -> None:
        """Summarise all but the last turn, instead of :meth:`run`.

        Raises:
            UsageError: the model writes no summaries.
            ProviderError: it wrote none; nothing has changed.
        """
        self._begin(start)
        if await self._compactor.fit(self._request(), CompactionReason.REQUESTED):
            await self._compacted()

    def _begin(self, start: TurnStart) -> None:
        self._history = shown_history(start.history)
        self._kept_sections = start.prompt_sections
        self._groups = restore_loaded_groups(start.group_loads)
        if start.marks:
            self.provenance.add(start.marks)
        for each in start.history:
            if each.type is MessageType.TOOL_RESULT and each.provider_data:
                self._scope.views.add(each.file_views)
        self._compactor = Compactor(
            self._store,
            self._session_id,
            self._ask_for_summary if self._context.model.writes_summaries else None,
            self._record,
            self._emit,
            self._context.context_limits,
            start,
            self._parts.tool_sizes,
        )

    # States. Each returns the next one.

    async def _load_groups(self) -> _State:
        """Load groups by calls of ``load_tool_group`` that no model has made.

        They stand in the history as an answer, right behind what asked for them. So whatever reads a history finds
        loaded groups where it looks for them, and what was sent before stays the beginning of what is sent next.
        """
        missing = [name for name in dict.fromkeys(self._wanted_groups) if name not in self._groups]
        self._wanted_groups = ()
        if not missing:
            return self._ask_model
        wanted = (ToolCall("", LOAD_TOOL_GROUP, json.dumps({"group_name": name})) for name in missing)
        self._answer = Answer(ModelResponse(tool_calls=tuple(wanted)), None)
        return self._store_answer

    async def _ask_model(self) -> _State:
        """Ask the model; a conversation that is too long for it is summarised first.

        An empty answer does not enter the history. The model is asked once more, unless the answer was refused.

        Raises:
            ProviderError: the model answers with nothing.
        """
        budget = self._context.budget
        if not budget.take_round():
            raise TurnLimitError(budget.rounds_message(self._context.agent))
        reason: CompactionReason | None = None
        refused: ContextTooLongError | None = None
        was_empty = False
        tried: set[str] = set()
        unreadable: list[UnreadableCallError] = []
        while True:
            if not self._are_tools_fresh:
                await self._parts.tool_sources.refresh()
            self._are_tools_fresh = False
            request = self._request()
            if self._began_with is not None and any(each.name not in self._began_with for each in request.tools.core):
                await self._tell_new_tools(request.tools.core)
                request = self._request()
            if await self._compactor.fit(request, reason):
                await self._compacted()
                request = self._request()
            elif refused is not None:
                raise await self._explained(refused, request)
            try:
                self._answer = await self._answer_to(told_again(request, unreadable[-1]) if unreadable else request)
            except UnreadableCallError as error:
                unreadable.append(error)
                if len(unreadable) > MOST_ATTEMPTS:
                    raise
                await self._emit(RetryEvent(str(error), 0))
                continue
            except ContextTooLongError as error:
                if reason is not None:
                    raise await self._explained(error, request) from error
                reason, refused = CompactionReason.REFUSED, error
                self._take_allowed(error.allowed_tokens)
                continue
            except ProviderError as error:
                if is_unexplained(error) and not self._model_calls.is_shown:
                    await self._heal(error, request, tried)
                    continue
                await self._model_calls.switch(error)
                reason, refused, was_empty = None, None, False
                continue
            response = self._answer.response
            if response.tool_calls or response.cut_calls or response.text.strip():
                if self._not_sent:
                    await self._store.mark_not_sent(self._session_id, self._not_sent)
                    self._not_sent = []
                return self._store_answer
            await self._record_unstored(self._answer)
            fault = empty_answer(self._context.model.full_name, response)
            if response.stop_reason in (StopReason.CONTENT_FILTER, StopReason.REFUSAL):
                raise await self._without_newest(fault)
            if was_empty:
                raise fault
            await self._emit(RetryEvent(str(fault), 0))
            reason, refused, was_empty = None, None, True

    async def _store_answer(self) -> _State | None:
        """Store an answer and the calls in it, before any of them runs."""
        self._are_tools_fresh = False
        answer = self._answer
        assert answer is not None
        self._calls = await self._store_response(answer)
        if answer.usage_event is not None:
            await self._emit(answer.usage_event)
        if self._calls:
            return self._run_calls
        session, response = self._context.session, answer.response
        model = self._context.model
        name = None if model.fallback is None else model.full_name
        await self._emit(TurnFinishedEvent(session.name or session.id, response.text, response.stop_reason, name))
        return None

    async def _run_calls(self) -> _State:
        """Run the calls of an answer in parallel; each result is stored when it arrives."""
        calls, context, answer, states = self._calls, self._context, self._answer, self._states
        assert answer is not None
        if answer.response.are_calls_text:
            await self._emit(
                NoticeEvent(f"{context.model.config.name} sends tool calls as text; to fix it, {TEXT_CALLS_REMEDY}")
            )
        assert states is not None
        for call in calls:
            await self._emit(ToolCallEvent(call.id, call.name, readable(call.arguments)))
            cut = self._results.get(call.id)
            if cut is not None:
                await self._emit(ToolResultEvent(call.id, call.name, ToolResult.error(CUT_OFF, cut.content), 0))
        if time.monotonic() - self._states_read_at < _FRESH_SECONDS:
            self._parts.use_states(states)
        else:
            await self._parts.refresh_states()
        caller = Caller(
            (answer.request or self._request()).tools,
            context.agent.name,
            self._session_id,
            context.agent.selection,
            self._scope,
            conversation=self.provenance,
            are_calls_text=answer.response.are_calls_text,
            refused=self._refused,
        )
        loaded: set[str] = set()
        needed: dict[str, tuple[str, ...]] = {}
        self._progress.begin()
        outcomes = self._parts.executor.execute_as_completed(tuple(self._open_calls.values()), caller, self._keep)
        async with aclosing(context.deadline.limit(outcomes)) as items:
            async for item in items:
                if isinstance(item, ToolProgress):
                    await self._emit(ToolProgressEvent(item.call.id, item.call.name, item.message, item.fraction))
                    continue
                stored = self._results.get(item.call.id)
                place = stored.sequence if stored is not None else None
                await self._emit(ToolResultEvent(item.call.id, item.call.name, item.result, item.duration_ms, place))
                if item.call.name == LOAD_TOOL_GROUP and item.result.is_success:
                    loaded.add(item.call.id)
                needed[item.call.id] = item.result.loads_groups
        self._take_results(calls)
        if answer.request is not None:
            names = {call.name for call in calls}
            polls = {name for name in names if getattr(self._parts.registry.get_tool(name), "is_poll", False)}
            self._progress.note(calls, self._results, polls)
        self._wanted_groups = [group for call in calls for group in needed.get(call.id, ())]
        for call in calls:
            group = requested_group(call.arguments) if call.id in loaded else None
            if group is not None and group not in self._groups:
                self._groups.append(group)
                tools = self._parts.registry.toolset(context.agent.selection).tools_of(group)
                await self._emit(GroupLoadedEvent(group, tuple(each.name for each in tools)))
        if context.steering:
            await self._take_steering(context.steering)
        if self._session_id in self._parts.background.untold:
            await self._take_news()
        return self._explain if self._progress.is_stuck else self._load_groups

    async def _take_steering(self, steering: list[str]) -> None:
        """Store the messages that the user sent meanwhile behind the results, as any message of the user is stored.

        They are removed once they are stored, so that none is lost with a turn that fails.

        Raises:
            TurnRefusedError: a gate refuses one.
        """
        texts, hooks = tuple(steering), self._context.hooks
        if hooks is not None:
            for text in texts:
                await hooks.check(text)
        messages = [Message(type=MessageType.USER, content=text) for text in texts]

        async def keep() -> None:
            self._history += await self._store.append(self._session_id, messages)
            del steering[: len(texts)]

        keeping = asyncio.ensure_future(keep())
        try:
            await asyncio.shield(keeping)
        except asyncio.CancelledError:
            await asyncio.wait({keeping})  # what is stored must not be sent again
            raise
        self._progress = ProgressGuard()
        self._refused.clear()  # the user may have changed their mind
        for text in texts:
            await self._emit(SteeredEvent(text))

    async def _take_news(self) -> None:
        """Tell the model, behind the results, what has ended in the background."""
        news, told = await self._parts.background.news_for(self._session_id, await self._store.settings())
        if news:
            message = Message(type=MessageType.USER, content=marked_context("oneclaw", news))
            self._history += await self._store.append(self._session_id, [message])
            await self._parts.background.told(told)

    async def _explain(self) -> _State:
        """Have the model explain, without tools, why the turn got no further; that ends the turn.

        Raises:
            TurnLimitError: the model explains nothing.
        """
        context = self._context
        if context.model.writes_summaries:
            history = self._compactor.messages(self._history)
            request = explanation_request(self._request(), history, context.context_limits.input_tokens)
            try:
                answer = await self._answer_to(request, continues_conversation=False)
            except ProviderError as error:
                await self._model_calls.switch(error)
                return self._explain
            # What the service wants back verbatim belongs to another request than the conversation's.
            response = replace(answer.response, tool_calls=(), cut_calls=(), provider_data=None)
            if response.text.strip():
                self._answer = replace(answer, response=response)
                return self._store_answer
            await self._record_unstored(answer)
        raise TurnLimitError(
            "the turn was stopped: the model repeated the same calls and made no progress; send another message that "
            "says how to go on"
        )

    async def _tell_new_tools(self, core: Sequence[ToolDefinition]) -> None:
        """Tell the model of core tools that came to be in the session where the conversation stands, if it can be.

        They are told like loaded groups, each by a call of ``load_tool_group`` that no model has made, so that the core
        tools, with which a request begins, stay as they were.
        """
        model = self._context.model
        is_in_place = model.tool_loading is ToolLoading.DISPATCH or (
            model.loads_natively and model.tool_loading is not ToolLoading.APPEND
        )
        if self._began_with is None or not is_in_place or all(each.name != LOAD_TOOL_GROUP for each in core):
            return
        registry = self._parts.registry
        new = [
            each
            for each in core
            if each.name not in self._began_with and registry.get_group_definition(each.name) is None
        ]
        if new:
            from oneclaw_core.turn.new_tools import loads_of_new_tools

            self._groups += [each.name for each in new]
            self._history += [
                replace(each, tool_status=ToolCallStatus.SUCCESS) if each.type is MessageType.TOOL_CALL else each
                for each in await self._store.append(self._session_id, loads_of_new_tools(new))
            ]

    # Asking the model

    async def _heal(self, error: ProviderError, request: ModelRequest, tried: set[str]) -> None:
        """Change the session so that a service may take its next request, which it refused; see ``turn.healing``.

        Args:
            error: the refusal.
            request: what was refused.
            tried: what has been done for this request.

        Raises:
            ProviderError: nothing helps; or the refused message was found, and the user has to say it differently.
        """
        session = self._context.session.name or self._session_id
        if "compaction" not in tried:
            tried.add("compaction")
            window = self._context.context_limits.context_window
            is_long = may_be_too_long(error, self._history, window)
            if is_long and await self._compactor.fit(request, CompactionReason.REFUSED):
                await self._compacted()
                return
        part = newest_part(self._history)
        if not part:
            raise with_way_out(error, session)
        if part[0].type is MessageType.TOOL_RESULT:
            self._not_sent = [marked_not_sent(each, error) for each in part]
            marked = {each.sequence: left_out(each, each.not_sent or "") for each in self._not_sent}
            self._history = [marked.get(each.sequence, each) for each in self._history]
            await self._emit(RetryEvent(f"{error}; left out: results of {', '.join(_tools_of(part))}", 0))
            return
        if "probe" not in tried:
            tried.add("probe")
            try:
                answer = await self._model_calls.ask(probe_request(request, request.messages, error))
            except ProviderError:
                raise with_way_out(error, session) from None
            if answer is not None:
                await self._emit(await self._record(answer.usage))
            if not (isinstance(error, ProviderRequestError) and error.refuses_content):
                await self._emit(RetryEvent(str(error), 0))
                return
        raise await self._without_newest(error)

    async def _without_newest(self, error: ProviderError) -> ProviderError:
        """Mark the newest message as not sent, and return the error with that."""
        part = newest_part(self._history)
        if not part:
            return error
        await self._store.mark_not_sent(self._session_id, [marked_not_sent(each, error) for each in part])
        return with_mark_named(error) if part[0].type is MessageType.USER else error

    def _take_allowed(self, tokens: int | None) -> None:
        """Keep within what a service says that it takes."""
        limits = self._context.context_limits
        if tokens is None or (limits.context_window is not None and limits.context_window <= tokens):
            return
        self._context = replace(self._context, context_limits=replace(limits, context_window=tokens))
        asks = self._ask_for_summary if self._context.model.writes_summaries else None
        self._compactor.use(self._context.context_limits, asks)

    async def _explained(self, error: ContextTooLongError, request: ModelRequest) -> ContextTooLongError:
        """Return the error of a request that cannot be made shorter, with what the service allows."""
        model, allowed = self._context.model, error.allowed_tokens
        if allowed is None and (find := getattr(model.provider, "find_context_limit", None)) is not None:
            allowed = await find(model.info.name)
        return explained_overflow(error, request, model, allowed)

    def _request(self) -> ModelRequest:
        return model_request(
            self._context.agent,
            self._parts.registry,
            self._context.model.info.name,
            self._session_id,
            self._compactor.messages(self._history),
            self._groups,
            kept_sections=self._kept_sections,
            lists=self._prompt_lists,
            began_with=self._began_with,
        )

    async def _answer_to(self, request: ModelRequest, *, continues_conversation: bool = True) -> Answer:
        text_so_far: list[str] = []

        def show(event: ModelEvent) -> Awaitable[None] | None:
            if isinstance(event, TextDelta):
                text_so_far.append(event.text)
                return self._emit(TextEvent(event.text, event.may_be_withdrawn))
            if isinstance(event, TextWithdrawn):
                text_so_far.clear()
                return self._emit(TextWithdrawnEvent(event.text))
            if isinstance(event, ReasoningDelta):
                return self._emit(ReasoningEvent(event.text))
            return self._show_retry(event)

        response: ModelResponse | None = None
        usage: UsageRecord | None = None
        try:
            response = await self._model_calls.ask(request, show)
            if response is None:
                raise ProviderError(f"{self._context.model.full_name} ended its answer without saying so; try again")
            if continues_conversation:
                self._compactor.observe(request, response.usage)
            usage, usage_event = await self._model_calls.note(
                response.usage, request if continues_conversation else None
            )
        except BaseException:
            # The user has read it: it belongs to the history.
            read = "".join(text_so_far)
            name = self._context.model.full_name
            partial = (
                [Message(type=MessageType.ASSISTANT, content=read, is_incomplete=True, model=name)] if read else []
            )
            if response is not None and usage is None:  # a whole answer, which is paid for
                usage, _ = await self._model_calls.note(response.usage)
            if partial or usage is not None:
                with suppress(SessionBusyError):  # another turn's by now: why this one ends is what matters
                    await self._store.append(self._session_id, partial, usage=usage)
            raise
        return Answer(response, request, usage, usage_event)

    async def _ask_for_summary(self, request: ModelRequest) -> ModelResponse | None:
        return await self._model_calls.ask_any(request, self._show_retry, "summary")

    def _switched(self, model: ChosenModel) -> None:
        """Go on with a model that takes the place of one that failed, within its limits."""
        limits = context_limits(model, self._context.context_limits.history_max_characters)
        self._context = replace(self._context, model=model, context_limits=limits)
        self._compactor.use(limits, self._ask_for_summary if model.writes_summaries else None)

    def _show_retry(self, event: ModelEvent) -> Awaitable[None] | None:
        return self._emit(RetryEvent(event.reason, event.delay_seconds)) if isinstance(event, RetryNotice) else None

    async def _record(self, usage: TokenUsage) -> UsageEvent:
        record, event = await self._model_calls.note(usage)
        await self._store.record_usage(self._session_id, record)
        return event

    async def _record_unstored(self, answer: Answer) -> None:
        """Record the usage of an answer that does not enter the history."""
        assert answer.usage is not None
        assert answer.usage_event is not None
        await self._store.record_usage(self._session_id, answer.usage)
        await self._emit(answer.usage_event)

    async def _compacted(self) -> None:
        """Renew the sections kept with the session: a summary has changed the request from its beginning anyway."""
        hooks = self._context.hooks
        if hooks is not None and self._compactor.summary is not None:
            hooks.compacted(self._compactor.summary)
        prompt = await self._parts.prompt_of(session_info(self._context.session), self._context.agent, is_new=True)
        self._kept_sections, self._prompt_lists = prompt.sections, prompt.shown
        self._began_with = tool_names(prompt.shown)
        await self._store.keep_sections(self._session_id, prompt.sections, prompt.lists())

    # Storing

    async def _store_response(self, answer: Answer) -> list[ToolCall]:
        response = answer.response
        messages = []
        if response.text or response.provider_data or response.tool_calls or response.cut_calls:
            messages.append(
                Message(
                    type=MessageType.ASSISTANT,
                    content=response.text,
                    provider_data=response.provider_data,
                    model=None if answer.request is None else self._context.model.full_name,
                )
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
        if response.cut_calls:
            messages += cut_calls(answer.response)
        try:
            stored, self._states = await self._store.store_answer(self._session_id, messages, answer.usage)
        except StoreUnavailableError as error:
            again = partial(self._store_once, messages, answer.usage)
            stored, self._states = await retried(again, error, self._context.deadline, self._show_away)
        self._states_read_at = time.monotonic()
        self._results = {each.tool_call_id or "": each for each in stored if each.type is MessageType.TOOL_RESULT}
        self._history += stored[: len(stored) - len(self._results)]
        calls = [
            ToolCall(message.tool_call_id or "", message.tool_name or "", message.tool_input or "")
            for message in stored
            if message.type is MessageType.TOOL_CALL
        ]
        self._open_calls = {call.id: call for call in calls if call.id not in self._results}
        return calls

    async def _keep(self, outcome: ToolOutcome) -> None:
        """Store an outcome, together with those that arrive while others are being stored."""
        self._outcomes.append(_result_message(outcome, self._context.result_max_characters))
        async with self._storing:
            waiting = list(self._outcomes)
            if not waiting:
                return
            try:
                results = await self._store.finish_calls(self._session_id, waiting)
            except StoreUnavailableError as error:
                results = await retried(
                    partial(self._store.finish_calls, self._session_id, waiting), error, self._context.deadline
                )
            for stored in results:
                call_id = stored.tool_call_id or ""
                self._results[call_id] = stored
                self._open_calls.pop(call_id, None)
            # Only now: what is not stored for sure is stored at the turn's end.
            del self._outcomes[: len(waiting)]

    async def _show_away(self, error: StoreError, pause_seconds: float) -> None:
        await self._emit(RetryEvent(str(error), pause_seconds))

    async def _store_once(
        self, messages: Sequence[Message], used: UsageRecord | None
    ) -> tuple[list[Message], UserStates | None]:
        """Store an answer, unless that was done by a transaction whose success was not reported."""
        latest = max(each.sequence or 0 for each in self._history)
        after = await self._store.messages(self._session_id, latest)
        if stored := [each for each in after if not each.is_incomplete]:
            return stored, await self._store.user_states()
        return await self._store.store_answer(self._session_id, messages, used)

    def _take_results(self, calls: Sequence[ToolCall]) -> None:
        """Put the stored results behind their calls, which end the history."""
        results = self._results
        self._history = [
            *self._history[: -len(calls)],
            *(
                replace(each, tool_status=results[each.tool_call_id or ""].tool_status)
                for each in self._history[-len(calls) :]
            ),
            *shown_history(results[call.id] for call in calls),
        ]

    async def _interrupt_open_calls(self) -> None:
        known = {outcome.tool_call_id for outcome in self._outcomes}
        cut_off = (
            replace(INTERRUPTED, tool_call_id=call.id, tool_name=call.name)
            for call in self._open_calls.values()
            if call.id not in known
        )
        try:
            with suppress(SessionBusyError):  # another turn's by now, which has answered them
                await self._store.finish_calls(self._session_id, [*self._outcomes, *cut_off])
        except StoreError as error:
            if not self._outcomes:
                raise
            names = ", ".join(sorted({outcome.tool_name or "" for outcome in self._outcomes}))
            kind = StoreUnavailableError if isinstance(error, StoreUnavailableError) else StoreError
            raise kind(f"{error}; not stored: the results of calls that ran ({names})") from error


def _tools_of(results: Sequence[Message]) -> list[str]:
    return list(dict.fromkeys(each.tool_name or "" for each in results))


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
        is_json=result.is_success and not isinstance(result.result, str),
        duration_ms=outcome.duration_ms,
        attachments=result.attachments,
        marks=outcome.marks,
        provider_data={OWN_DATA: {"files": dict(outcome.views)}} if outcome.views else None,
    )


def readable(arguments: str) -> Any:
    """Read arguments for an event; those that are no JSON object are given as they are."""
    try:
        return parse_arguments(arguments)
    except ArgumentsError:
        return arguments
