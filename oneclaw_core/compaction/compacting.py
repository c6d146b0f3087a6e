"""Keep the requests of a session within what its model reads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from oneclaw_core.compaction.estimate import BYTES_PER_TOKEN, Estimator, definition_tokens, text_tokens
from oneclaw_core.compaction.plan import CompactionReason, ContextLimits, plan, reached_limit, summary_without
from oneclaw_core.compaction.summary import (
    SUMMARY_MAX_OUTPUT_TOKENS,
    continued_summary_request,
    summary_request,
    summary_text,
)
from oneclaw_core.errors import (
    ContextTooLongError,
    ProviderError,
    ProviderRequestError,
    ProviderUnavailableError,
    UnfinishedAnswerError,
    UnknownModelError,
    UsageError,
    reworded,
    service_reason,
)
from oneclaw_core.turn.request import shown_history
from oneclaw_core.turn.state import Answer, Ask, TurnState
from oneclaw_core.turn.steps import record_unstored
from oneclaw_core.types.events import CompactedEvent, RetryEvent, TurnEvent
from oneclaw_core.types.identity_cache import IdentityCache
from oneclaw_core.types.kept_results import with_kept_results, without_kept_results
from oneclaw_core.types.model_requests import ModelEvent, ModelRequest, RetryNotice

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Sequence

    from oneclaw_core.compaction.plan import CompactionPlan
    from oneclaw_core.turn.turn_request import TurnRequest
    from oneclaw_core.turn.turns import Turns
    from oneclaw_core.types.messages import Message
    from oneclaw_core.types.steps import Handler, Step

# The store leaves out the oldest turns of what is longer than its limit: as many entries of those are summarised too.
_UNSEEN_ENTRIES = 500


class Compactor:
    """Keeps conversations within what their models read; one for a home."""

    def __init__(self) -> None:
        self._tool_tokens = IdentityCache(definition_tokens)
        self._estimators = WeakKeyDictionary[TurnState, Estimator]()

    def estimator_of(self, turn: TurnState) -> Estimator:
        """Return what estimates the requests of a turn, and learns from each."""
        found = self._estimators.get(turn)
        if found is None:
            found = self._estimators[turn] = Estimator(self._tool_tokens, turn.session.last_input_tokens)
        return found

    async def compact(self, turn: TurnState, reason: CompactionReason | None = None) -> bool:
        """Summarise the oldest part of a conversation if its next request would not fit.

        A model that writes no summaries keeps the oldest turns, up to the store's limit.

        Args:
            turn: of the session, whose lock the caller holds.
            reason: ``REFUSED`` or ``REQUESTED`` to summarise in any case.

        Returns:
            True if anything has changed.

        Raises:
            UsageError: a summary is requested of a model that writes none.
            ProviderError: what the request itself would meet too, such as a refused key; nothing has changed.
            StoreError: the summary could not be stored.
        """
        session, limits = turn.session, ContextLimits.of(turn)
        if not turn.model.writes_summaries:
            if reason is CompactionReason.REQUESTED:
                raise UsageError(
                    "this model is not a language model and writes no summaries: choose another to compact"
                )
            return False
        if (
            reason is None
            and limits.context_window is None
            and reached_limit(session.unsummarised(), 0, limits) is None
        ):
            return False
        request, estimator = turn.next_request(), self.estimator_of(turn)
        history = request.messages if session.summary is None else request.messages[1:]
        estimated = estimator.request(request)
        chosen = plan(history, session.summary, estimated, limits, reason=reason, weigh=estimator.message)
        if chosen is None:
            return False
        messages = [*await _unseen(turn, chosen), *chosen.summarised]
        text: str | None = None
        try:
            text = await _summarise(turn, _summary_requests(turn, request, chosen, messages, estimated, estimator))
        except UnknownModelError:
            raise
        except ProviderRequestError:
            if chosen.reason is CompactionReason.REQUESTED:
                raise
        await _use_summary(turn, text, chosen, messages)
        return True


def compacting(compactor: Compactor) -> Step[Ask, Answer]:
    """Make the step that puts a summary in the place of the oldest part of a conversation if it is too long.

    It raises ``ContextTooLongError`` where the service finds even the shortest request too long.
    """

    async def compacted(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
        if ask.purpose != "answer":
            return await run(ask)
        turn, reason = ask.turn, None
        refused: ContextTooLongError | None = None
        while True:
            is_changed = await compactor.compact(turn, reason)
            if refused is not None and not is_changed:
                raise await _explained(turn, refused)
            try:
                answer = await run(ask)
            except ContextTooLongError as error:
                if refused is not None:
                    raise await _explained(turn, error) from error
                reason, refused = CompactionReason.REFUSED, error
                turn.model = turn.model.narrowed_to(error.allowed_tokens)
                continue
            if answer.request is not None:
                compactor.estimator_of(turn).count(answer.request, answer.response.usage.input_tokens)
            return answer

    return compacted


async def _use_summary(turn: TurnState, text: str | None, chosen: CompactionPlan, messages: Sequence[Message]) -> None:
    """Store a summary and go on with it; without one, go on with a note in its place.

    A note is not stored: the next turn tries again, and nothing is lost permanently.

    Raises:
        ProviderRequestError: the user wanted one.
    """
    session = turn.session
    if text is not None:
        session.summary = with_kept_results(text, session.summary, messages)
        await turn.store.set_summary(turn.session_id, session.summary, chosen.until)
    elif chosen.reason is CompactionReason.REQUESTED:
        raise ProviderRequestError("the model wrote no summary; nothing was changed. Try again, or with another model")
    else:
        note = summary_without(without_kept_results(session.summary))
        session.summary = with_kept_results(note, session.summary, messages)
    session.summary_until = chosen.until
    tokens = 0 if text is None else text_tokens(session.summary)
    await turn.emit(CompactedEvent(len(messages), tokens, str(chosen.reason)))
    if turn.hooks is not None:
        turn.hooks.compacted(session.summary)
    # The summary has changed the request from its beginning: what is kept with the session is renewed.
    session.prompt = await turn.parts.prompts.of(session.info, session.agent, is_new=True)
    await turn.store.keep_sections(turn.session_id, session.prompt.sections, session.prompt.lists())


async def compact_session(turns: Turns, compactor: Compactor, request: TurnRequest) -> CompactedEvent | None:
    """Summarise all but the last turn of a session; see :meth:`oneclaw_core.OneClaw.compact`."""
    compacted: list[CompactedEvent] = []

    async def emit(event: TurnEvent) -> None:
        if isinstance(event, CompactedEvent):
            compacted.append(event)

    async def work(turn: TurnState) -> None:
        turn.emit = emit
        await compactor.compact(turn, CompactionReason.REQUESTED)

    await turns.work_on(request, work)
    return compacted[-1] if compacted else None


async def _summarise(turn: TurnState, requests: Iterator[ModelRequest]) -> str | None:
    """Ask for a summary, once for each request until one is answered with text; ``None`` if there is none.

    Raises:
        ProviderRequestError: the last of the requests was refused.
        ProviderError: what the turn's own request would meet too: a refused key, no credit, a service that is down.
    """

    def show(event: ModelEvent) -> Awaitable[None] | None:
        return turn.emit(RetryEvent(event.reason, event.delay_seconds)) if isinstance(event, RetryNotice) else None

    fault: ProviderError | None = None
    for request in requests:
        try:
            answer = await turn.parts.ask(Ask(turn, request, show, "summary"))
        except UnfinishedAnswerError:
            fault = None
            continue
        except UnknownModelError:
            raise
        except (ProviderUnavailableError, ProviderRequestError) as error:
            if isinstance(error, ProviderUnavailableError) and isinstance(fault, ProviderUnavailableError):
                raise
            fault = error
            continue
        fault = None
        await record_unstored(turn, answer)
        text = summary_text(answer.response)
        if text is not None:
            return text
    if fault is not None:
        raise fault
    return None


async def _unseen(turn: TurnState, chosen: CompactionPlan) -> list[Message]:
    """Read what lies between the summary and the history, and was left out of it for its length."""
    first = chosen.summarised[0].sequence
    if first is None:
        return []
    after = max(turn.session.summary_until, first - 1 - _UNSEEN_ENTRIES)
    if after >= first - 1:
        return []
    entries = await turn.store.messages(turn.session_id, after, first - 1 - after)
    return shown_history(entry for entry in entries if (entry.sequence or 0) < first)


def _summary_requests(
    turn: TurnState,
    request: ModelRequest,
    chosen: CompactionPlan,
    messages: Sequence[Message],
    estimated: int,
    estimator: Estimator,
) -> Iterator[ModelRequest]:
    """Ask for a summary at the end of the conversation if it fits, then of its text, then of half the length."""
    session, limits = turn.session, ContextLimits.of(turn)
    max_output_tokens = SUMMARY_MAX_OUTPUT_TOKENS
    if limits.context_window is not None:
        max_output_tokens = min(max_output_tokens, limits.context_window // 4)
    is_seen = len(messages) == len(chosen.summarised)  # else some of it is not in the conversation's requests
    if is_seen and chosen.reason is not CompactionReason.REFUSED:
        first_kept = chosen.kept[0].sequence if chosen.kept else None
        continued = continued_summary_request(request, first_kept, max_output_tokens)
        window = limits.context_window
        if window is None or estimator.request(continued) + max_output_tokens <= window:
            yield continued
    longest = limits.input_tokens
    if longest is None:
        by_setting = limits.history_max_characters
        longest = estimated if by_setting is None else min(estimated, by_setting // BYTES_PER_TOKEN)
    room = round((longest - max_output_tokens) / estimator.ratio)
    for each in (room, room // 2):
        yield summary_request(request.model, session.info.id, messages, session.summary, each, max_output_tokens)


async def _explained(turn: TurnState, error: ContextTooLongError) -> ContextTooLongError:
    """Say how long a request is that cannot be made shorter, what the service allows, and what to do."""
    model, allowed, request = turn.model, error.allowed_tokens, turn.next_request()
    if allowed is None and (find := getattr(model.provider, "find_context_limit", None)) is not None:
        allowed = await find(model.info.name)
    if allowed is None:
        return error
    estimator = Estimator()
    needed = max(error.requested_tokens or 0, estimator.request(request))
    fixed = estimator.request(replace(request, messages=()))
    newest = estimator.request(replace(request, messages=request.messages[-1:])) - fixed
    parts = f"{fixed:,} for instructions and tools, {newest:,} for the newest message"
    explained = reworded(
        error,
        f"{model.full_name} reads {allowed:,} tokens, and the request takes about {needed:,} ({parts}): choose a model "
        "that reads more; or let the server read more, with --ctx-size of llama.cpp, --max-model-len of vLLM, Context "
        "Length of LM Studio or OLLAMA_CONTEXT_LENGTH of Ollama; or use an agent with fewer tools, see: oneclaw agents "
        f"--help; it says: {service_reason(error, 300)}",
    )
    explained.allowed_tokens, explained.requested_tokens = allowed, needed
    return explained
