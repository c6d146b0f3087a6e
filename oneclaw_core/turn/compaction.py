"""Keep a conversation within what its model reads: a summary takes the place of the oldest part (FEAT-011).

The stored history stays whole. What changes is where the part begins that a model is sent, and what stands before it.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from oneclaw_core.errors import ProviderRequestError, ProviderUnavailableError, UnknownModelError, UsageError
from oneclaw_core.sessions.history import file_characters
from oneclaw_core.turn.estimate import BYTES_PER_TOKEN, Estimator, message_tokens, text_tokens
from oneclaw_core.turn.request import shown_history
from oneclaw_core.turn.summary import (
    SUMMARY_MAX_OUTPUT_TOKENS,
    continued_summary_request,
    summary_request,
    summary_text,
)
from oneclaw_core.types.events import CompactedEvent
from oneclaw_core.types.frozen_dataclass import frozen_dataclass
from oneclaw_core.types.messages import Message, MessageType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from oneclaw_core.errors import ProviderError
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.sessions.turns import TurnStart
    from oneclaw_core.turn.estimate import ToolSizes
    from oneclaw_core.turn.stream import Emit
    from oneclaw_core.types.events import UsageEvent
    from oneclaw_core.types.messages import TokenUsage
    from oneclaw_core.types.model_requests import ModelRequest, ModelResponse

SUMMARY_HEADING = "[Summary of the earlier conversation]"
SUMMARY_END = "[End of the summary; the conversation goes on here]"
NOT_SHOWN = "Earlier messages are not shown."

_FULL_PERCENT = 85
_KEPT_PERCENT = 25
_SUMMARY_TOKENS = 1_000  # what a new summary is expected to take at most
_LEAST_GAIN_TOKENS = 500  # a summary of less would hardly be shorter


class CompactionReason(StrEnum):
    """Why the oldest part of a conversation is summarised.

    ``CONTEXT_WINDOW`` and ``HISTORY_LIMIT``: the next request would come too near to what the model reads, or to the
    setting ``history_max_characters``. ``REFUSED``: the service found a request too long. ``REQUESTED``: by the user.
    """

    CONTEXT_WINDOW = "context_window"
    HISTORY_LIMIT = "history_limit"
    REFUSED = "refused"
    REQUESTED = "requested"


@frozen_dataclass
class ContextLimits:
    """Limits of what a model may be sent.

    Attributes:
        context_window: what the model reads and writes together, in tokens; ``None`` if it is not known.
        reserve_output: the tokens of that to be kept free for the answer.
        history_max_characters: what texts and arguments may have together, ``None`` for no limit.
    """

    context_window: int | None = None
    reserve_output: int = 0
    history_max_characters: int | None = None

    @property
    def input_tokens(self) -> int | None:
        """The longest request that still counts as fitting, ``None`` if the context window is not known."""
        if self.context_window is None:
            return None
        # A model may be able to write as much as it reads; that much is never reserved.
        free = max(self.context_window - self.reserve_output, self.context_window // 2)
        return min(self.context_window * _FULL_PERCENT // 100, free)


@frozen_dataclass
class CompactionPlan:
    """The part of a conversation that is summarised.

    Attributes:
        summarised: the oldest messages, whose place the summary takes.
        kept: the newest messages; they begin with one of the user.
        earlier_summary: of what came before ``summarised``, to be taken over; ``None`` for nothing.
        reason: why.
    """

    summarised: tuple[Message, ...]
    kept: tuple[Message, ...]
    earlier_summary: str | None
    reason: CompactionReason

    @property
    def until(self) -> int:
        """The ``sequence`` of the last message that is summarised."""
        # Results stand in the order of their calls, which need not be that in which they came.
        return max(message.sequence or 0 for message in self.summarised)


def plan(
    history: Sequence[Message],
    summary: str | None,
    estimated: int,
    limits: ContextLimits,
    *,
    reason: CompactionReason | None = None,
    weigh: Callable[[Message], int] = message_tokens,
) -> CompactionPlan | None:
    """Decide whether the oldest part of a conversation has to be summarised, and which.

    The newest turns are kept that fit into a quarter of the limits, at least the last one; only that one if the user
    asked. A call is never parted from its result.

    Args:
        history: as it is shown to a model, without the summary.
        summary: of what came before, ``None`` for nothing.
        estimated: all that would be sent, summary, system prompt and tools included, in tokens.
        limits: what may be sent.
        reason: ``REFUSED`` or ``REQUESTED`` to summarise in any case; ``None`` if a limit decides.
        weigh: estimates a message in tokens.

    Returns:
        ``None`` if all fits, or if there is too little to summarise.
    """
    reason = reason or _reached_limit(history, estimated, limits)
    if reason is None:
        return None
    weights = [weigh(message) for message in history]
    # Without the summary, which makes room for a new one.
    fixed = max(0, estimated - sum(weights) - text_tokens(summary or ""))
    boundary = _boundary(history, weights, _kept_tokens(reason, estimated, fixed, limits), _kept_characters(limits))
    if boundary == 0:
        return None
    if reason is not CompactionReason.REQUESTED and sum(weights[:boundary]) < _least_gain(limits):
        return None
    return CompactionPlan(tuple(history[:boundary]), tuple(history[boundary:]), summary, reason)


def with_summary(history: Sequence[Message], summary: str | None) -> list[Message]:
    """Put the summary before the history, as a message of the user, which every wire format can begin with.

    Args:
        history: what follows on the part that is summarised.
        summary: ``None`` for none.
    """
    if summary is None:
        return list(history)
    content = f"{SUMMARY_HEADING}\n{summary}\n{SUMMARY_END}"
    return [Message(type=MessageType.USER, content=content), *history]


def summary_without(earlier: str | None) -> str:
    """Return a note for messages that could not be summarised, after the summary of what came before."""
    if earlier is None or earlier.endswith(NOT_SHOWN):
        return earlier or NOT_SHOWN
    return f"{earlier}\n\n{NOT_SHOWN}"


def _reached_limit(history: Sequence[Message], estimated: int, limits: ContextLimits) -> CompactionReason | None:
    if limits.input_tokens is not None and estimated > limits.input_tokens:
        return CompactionReason.CONTEXT_WINDOW
    if limits.history_max_characters is not None:
        # Before the limit itself is reached, as then the oldest turns are not even read from the store.
        nearly = limits.history_max_characters * _FULL_PERCENT // 100
        if sum(map(_characters, history)) > nearly:
            return CompactionReason.HISTORY_LIMIT
    return None


def _characters(message: Message) -> int:
    length = len(message.content) + len(message.tool_input or "")
    return length + sum(map(file_characters, message.files_for_model)) if message.attachments else length


def _kept_tokens(reason: CompactionReason, estimated: int, fixed: int, limits: ContextLimits) -> int | None:
    if reason is CompactionReason.REQUESTED:
        return 0
    share = None
    if limits.context_window is not None and limits.input_tokens is not None:
        share = min(limits.context_window * _KEPT_PERCENT // 100, limits.input_tokens - fixed - _SUMMARY_TOKENS)
    if reason is CompactionReason.REFUSED:
        # The window is smaller than it is believed to be, or the estimate is wrong.
        quarter = estimated * _KEPT_PERCENT // 100
        share = quarter if share is None else min(share, quarter)
    return share


def _kept_characters(limits: ContextLimits) -> int | None:
    if limits.history_max_characters is None:
        return None
    return limits.history_max_characters * _KEPT_PERCENT // 100


def _least_gain(limits: ContextLimits) -> int:
    if limits.context_window is None:
        return _LEAST_GAIN_TOKENS
    return min(_LEAST_GAIN_TOKENS, limits.context_window // 16)


def _boundary(
    history: Sequence[Message], weights: Sequence[int], max_tokens: int | None, max_characters: int | None
) -> int:
    """Find where the part begins that is kept: right before a message of the user, 0 to keep all."""
    boundary = len(history)
    tokens = characters = 0
    for start in reversed(_possible_boundaries(history)):
        part = range(start, boundary)
        tokens += sum(weights[at] for at in part)
        characters += sum(_characters(history[at]) for at in part)
        is_too_long = (max_tokens is not None and tokens > max_tokens) or (
            max_characters is not None and characters > max_characters
        )
        if is_too_long and boundary < len(history):
            return boundary
        boundary = start
    return boundary if boundary < len(history) else 0


def _possible_boundaries(history: Sequence[Message]) -> list[int]:
    """Find the messages of the user before which every call has its result."""
    open_calls: set[str | None] = set()
    found = []
    for at, message in enumerate(history):
        if message.type is MessageType.TOOL_CALL:
            open_calls.add(message.tool_call_id)
        elif message.type is MessageType.TOOL_RESULT:
            open_calls.discard(message.tool_call_id)
        elif message.type is MessageType.USER and not open_calls:
            found.append(at)
    return found


# The store leaves out the oldest turns of what is longer than its limit: as many entries of those are summarised too.
_UNSEEN_ENTRIES = 500


class Compactor:
    """Keeps the requests of one session within what its model reads.

    Args:
        store: where the history lies.
        session_id: whose session's lock the caller holds.
        ask: sends a request to the model; ``None`` for one that writes no summaries. Then the oldest turns are left
            to the store's limit.
        record: stores what a request used.
        emit: hands events to the listener.
        limits: what the model may be sent.
        start: the stored summary of the part that precedes the history, and what the service counted for the session's
            last request.
        tool_sizes: estimates of tools, kept over turns.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        ask: Callable[[ModelRequest], Awaitable[ModelResponse | None]] | None,
        record: Callable[[TokenUsage], Awaitable[UsageEvent]],
        emit: Emit,
        limits: ContextLimits,
        start: TurnStart,
        tool_sizes: ToolSizes,
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._ask = ask
        self._record = record
        self._emit = emit
        self._limits = limits
        self._summary = start.summary
        self._until = 0 if start.summary is None else start.summary_until
        self._tool_sizes = tool_sizes
        self._last_input_tokens = start.last_input_tokens
        self._observed: tuple[ModelRequest, int] | None = None

    @cached_property
    def _estimator(self) -> Estimator:
        # Made when an estimate is wanted: most turns are short and want none.
        return Estimator(self._tool_sizes)

    def use(self, limits: ContextLimits, ask: Callable[[ModelRequest], Awaitable[ModelResponse | None]] | None) -> None:
        """Keep within the limits of another model; see the arguments of the class."""
        self._limits, self._ask = limits, ask

    @property
    def summary(self) -> str | None:
        """The summary that stands before the history, ``None`` for none."""
        return self._summary

    def messages(self, history: Sequence[Message]) -> list[Message]:
        """Find what is sent of a history: what follows on the summary, with the summary before it.

        Args:
            history: stored messages in their order, results cut to what is shown.
        """
        start = bisect_right(history, self._until or 0, key=lambda message: message.sequence or 0)
        return with_summary(history[start:], self._summary)

    def observe(self, request: ModelRequest, usage: TokenUsage) -> None:
        """Learn from what the service counted for a request."""
        if usage.input_tokens:
            self._observed = request, usage.input_tokens

    async def fit(self, request: ModelRequest, reason: CompactionReason | None = None) -> bool:
        """Summarise the oldest part of the conversation if a request would not fit.

        Args:
            request: what is to be sent next, its messages from :meth:`messages`.
            reason: ``REFUSED`` or ``REQUESTED`` to summarise in any case.

        Returns:
            True if anything has changed and the request must be built again.

        Raises:
            UsageError: a summary is requested of a model that writes none.
            ProviderError: what the request itself would meet too, such as a refused key; nothing has changed.
            StoreError: the summary could not be stored.
        """
        if self._ask is None:
            if reason is CompactionReason.REQUESTED:
                raise UsageError(
                    "this model is not a language model and writes no summaries: choose another to compact"
                )
            return False
        history = request.messages if self._summary is None else request.messages[1:]
        limits = self._limits
        if reason is None and limits.context_window is None and _reached_limit(history, 0, limits) is None:
            return False
        if self._observed is not None:
            self._estimator.observe(*self._observed)
        elif self._last_input_tokens is not None:
            self._estimator.observe_earlier(request, self._last_input_tokens)
        self._observed = self._last_input_tokens = None
        estimated = self._estimator.request(request)
        chosen = plan(history, self._summary, estimated, self._limits, reason=reason, weigh=self._estimator.message)
        if chosen is None:
            return False
        messages = [*await self._unseen(chosen), *chosen.summarised]
        text: str | None = None
        try:
            text = await self._summarise(self._requests(request, chosen, messages, estimated))
        except UnknownModelError:
            raise
        except ProviderRequestError:
            if chosen.reason is CompactionReason.REQUESTED:
                raise
        if text is not None:
            await self._store.set_summary(self._session_id, text, chosen.until)
            self._summary = text
        elif chosen.reason is CompactionReason.REQUESTED:
            raise ProviderRequestError(
                "the model wrote no summary; nothing was changed. Try again, or with another model"
            )
        else:
            # Not stored: the next turn tries again, and nothing is lost permanently.
            self._summary = summary_without(self._summary)
        self._until = chosen.until
        await self._emit(CompactedEvent(len(messages), text_tokens(text or ""), str(chosen.reason)))
        return True

    async def _summarise(self, requests: Iterator[ModelRequest]) -> str | None:
        """Ask for a summary, once for each request until one is answered with text; ``None`` if there is none.

        Raises:
            ProviderRequestError: the last of the requests was refused.
            ProviderError: what the turn's own request would meet too: a refused key, no credit, a service that is down.
        """
        assert self._ask is not None
        fault: ProviderError | None = None
        for request in requests:
            try:
                answer = await self._ask(request)
            except UnknownModelError:
                raise
            except ProviderUnavailableError as error:
                if isinstance(fault, ProviderUnavailableError):
                    raise
                fault = error
                continue
            except ProviderRequestError as error:
                fault = error
                continue
            fault = None
            if answer is None:
                continue
            await self._emit(await self._record(answer.usage))
            text = summary_text(answer)
            if text is not None:
                return text
        if fault is not None:
            raise fault
        return None

    async def _unseen(self, chosen: CompactionPlan) -> list[Message]:
        """Read what lies between the summary and the history, and was left out of it for its length."""
        first = chosen.summarised[0].sequence
        if self._until is None or first is None:
            return []
        after = max(self._until, first - 1 - _UNSEEN_ENTRIES)
        if after >= first - 1:
            return []
        entries = await self._store.messages(self._session_id, after, first - 1 - after)
        return shown_history(entry for entry in entries if (entry.sequence or 0) < first)

    def _requests(
        self, request: ModelRequest, chosen: CompactionPlan, messages: Sequence[Message], estimated: int
    ) -> Iterator[ModelRequest]:
        """Ask for a summary at the end of the conversation if it fits, then of its text, then of half the length."""
        max_output_tokens = SUMMARY_MAX_OUTPUT_TOKENS
        if self._limits.context_window is not None:
            max_output_tokens = min(max_output_tokens, self._limits.context_window // 4)
        is_seen = len(messages) == len(chosen.summarised)  # else some of it is not in the conversation's requests
        if is_seen and chosen.reason is not CompactionReason.REFUSED:
            first_kept = chosen.kept[0].sequence if chosen.kept else None
            continued = continued_summary_request(request, first_kept, max_output_tokens)
            window = self._limits.context_window
            if window is None or self._estimator.request(continued) + max_output_tokens <= window:
                yield continued
        longest = self._limits.input_tokens
        if longest is None:
            by_setting = self._limits.history_max_characters
            longest = estimated if by_setting is None else min(estimated, by_setting // BYTES_PER_TOKEN)
        room = round((longest - max_output_tokens) / self._estimator.ratio)
        for each in (room, room // 2):
            yield summary_request(request.model, self._session_id, messages, self._summary, each, max_output_tokens)
