"""What the turn does about a conversation that has become too long for its model (FEAT-011)."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from oneclaw_core.errors import ProviderRequestError, ProviderUnavailableError, UnknownModelError, UsageError
from oneclaw_core.turn.compaction import (
    CompactionReason,
    ContextLimits,
    may_be_too_long,
    plan,
    summary_without,
    with_summary,
)
from oneclaw_core.turn.estimate import BYTES_PER_TOKEN, Estimator, text_tokens
from oneclaw_core.turn.prompt import shown_history
from oneclaw_core.turn.summary import SUMMARY_MAX_OUTPUT_TOKENS, summary_request, summary_text
from oneclaw_core.types.events import CompactedEvent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from oneclaw_core.errors import ProviderError
    from oneclaw_core.providers.base import ModelRequest, ModelResponse
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.turn.compaction import CompactionPlan
    from oneclaw_core.turn.estimate import ToolSizes
    from oneclaw_core.turn.stream import Emit
    from oneclaw_core.types.events import UsageEvent
    from oneclaw_core.types.messages import Message, TokenUsage

# The store leaves out the oldest turns of what is longer than its limit: as many entries of those are summarised too.
_UNSEEN_ENTRIES = 500


class Compactor:
    """Keeps the requests of one session within what its model reads.

    Args:
        store: where the history lies.
        session_id: whose session's lock the caller holds.
        ask: sends a request to the model; ``None`` for one that writes no summaries, see
            :func:`oneclaw_core.turn.summary.can_summarise`. Then the oldest turns are left to the store's limit.
        record: stores what a request used.
        emit: hands events to the listener.
        limits: what the model may be sent.
        summary: what the store has for the part that precedes the history, ``None`` for nothing.
        summarised_until: the ``sequence`` of that part's last message; ``None`` if it is not known.
        last_input_tokens: what the service counted for the session's last request; ``None`` if it is not known.
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
        summary: str | None = None,
        summarised_until: int | None = None,
        last_input_tokens: int | None = None,
        tool_sizes: ToolSizes | None = None,
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._ask = ask
        self._record = record
        self._emit = emit
        self._limits = limits
        self._summary = summary
        self._until = 0 if summary is None else summarised_until
        self._last_input_tokens = last_input_tokens
        self._estimator = Estimator(tool_sizes)

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
        """Learn from what the service counted for a request.

        Args:
            request: as it was sent.
            usage: of that request.
        """
        self._estimator.observe(request, usage.input_tokens)

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
                raise UsageError("this model is no language model and writes no summaries: choose another to compact")
            return False
        if self._last_input_tokens is not None:
            self._estimator.observe_earlier(request, self._last_input_tokens)
            self._last_input_tokens = None
        history = request.messages if self._summary is None else request.messages[1:]
        if reason is None and not may_be_too_long(history, self._limits):
            return False
        estimated = self._estimator.request(request)
        chosen = plan(history, self._summary, estimated, self._limits, reason=reason, weigh=self._estimator.message)
        if chosen is None:
            return False
        messages = [*await self._unseen(chosen), *chosen.summarised]
        text: str | None = None
        try:
            text = await self._summarise(self._requests(request, messages, estimated))
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
            # Not stored: the next turn tries again, and nothing is lost for good.
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
            fault = None
            try:
                answer = await self._ask(request)
            except UnknownModelError:
                raise
            except (ProviderRequestError, ProviderUnavailableError) as error:
                fault = error
                continue
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

    def _requests(self, request: ModelRequest, messages: Sequence[Message], estimated: int) -> Iterator[ModelRequest]:
        """Ask for a summary, and once more with half the length."""
        max_output_tokens = SUMMARY_MAX_OUTPUT_TOKENS
        if self._limits.context_window is not None:
            max_output_tokens = min(max_output_tokens, self._limits.context_window // 4)
        longest = self._limits.input_tokens
        if longest is None:
            by_setting = self._limits.history_max_characters
            longest = estimated if by_setting is None else min(estimated, by_setting // BYTES_PER_TOKEN)
        room = round((longest - max_output_tokens) / self._estimator.ratio)
        for each in (room, room // 2):
            yield summary_request(request.model, self._session_id, messages, self._summary, each, max_output_tokens)
