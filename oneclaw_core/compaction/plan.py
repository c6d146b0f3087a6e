"""Keep a conversation within what its model reads: a summary takes the place of the oldest part (FEAT-011).

The stored history stays whole. What changes is where the part begins that a model is sent, and what stands before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from oneclaw_core.compaction.estimate import message_tokens, text_tokens
from oneclaw_core.sessions.history import file_characters
from oneclaw_core.types.messages import Message, MessageType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oneclaw_core.turn.state import TurnState

# Kept free for the answer where the length of one is unknown.
RESERVED_TOKENS = 16_000


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


@dataclass(frozen=True, slots=True)
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

    @classmethod
    def of(cls, turn: TurnState) -> ContextLimits:
        """Return how much the model of a turn may be sent."""
        model = turn.model
        reserve = model.max_output_tokens or min(model.info.max_output_tokens or RESERVED_TOKENS, RESERVED_TOKENS)
        return cls(model.info.context_window, reserve, turn.settings.history_max_characters)

    @property
    def input_tokens(self) -> int | None:
        """The longest request that still counts as fitting, ``None`` if the context window is not known."""
        if self.context_window is None:
            return None
        # A model may be able to write as much as it reads; that much is never reserved.
        free = max(self.context_window - self.reserve_output, self.context_window // 2)
        return min(self.context_window * _FULL_PERCENT // 100, free)


@dataclass(frozen=True, slots=True)
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
    reason = reason or reached_limit(history, estimated, limits)
    if reason is None:
        return None
    weights = [weigh(message) for message in history]
    # Without the summary, which makes room for a new one.
    fixed = max(0, estimated - sum(weights) - text_tokens(summary or ""))
    characters = limits.history_max_characters
    max_characters = None if characters is None else characters * _KEPT_PERCENT // 100
    boundary = _boundary(history, weights, _kept_tokens(reason, estimated, fixed, limits), max_characters)
    least_gain = min(_LEAST_GAIN_TOKENS, (limits.context_window or math.inf) // 16)
    if boundary == 0 or (reason is not CompactionReason.REQUESTED and sum(weights[:boundary]) < least_gain):
        return None
    return CompactionPlan(tuple(history[:boundary]), tuple(history[boundary:]), summary, reason)


def summary_without(earlier: str | None) -> str:
    """Return a note for messages that could not be summarised, after the summary of what came before."""
    if earlier is None or earlier.endswith(NOT_SHOWN):
        return earlier or NOT_SHOWN
    return f"{earlier}\n\n{NOT_SHOWN}"


def reached_limit(history: Sequence[Message], estimated: int, limits: ContextLimits) -> CompactionReason | None:
    """Return the limit that a conversation comes too near to; ``None`` for none."""
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
