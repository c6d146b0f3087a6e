"""Why an answer of Chat Completions ends, in the words of its many servers. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import shown_word

from oneclaw_core.providers import StopReason

if TYPE_CHECKING:
    from collections.abc import Mapping

_ENDS = "stop stop_sequence stop_string stop_token end end_turn end_of_turn ended eos eos_token natural normal"
_DONE = "complete completed done finish finished success tool_calls tool_call tool_use function_call"
_COMPLETE = frozenset(f"{_ENDS} {_DONE}".split())
_LIMITS = "length max_length max_tokens max_output_tokens model_length token_limit tokens_limit"
_FILTERS = "content_filter safety sensitive recitation blocklist prohibited_content spii moderation"
_CUT = {
    **dict.fromkeys(_LIMITS.split(), StopReason.LENGTH_LIMIT),
    **dict.fromkeys(_FILTERS.split(), StopReason.CONTENT_FILTER),
    "refusal": StopReason.REFUSAL,
    "repetition_truncation": StopReason.REPETITION,  # DeepSeek
    "repetition": StopReason.REPETITION,
}
# These are errors in place of an answer.
_ERRORS: dict[str, dict[str, Any]] = {
    "model_context_window_exceeded": {"type": "context_length_exceeded"},  # Z.ai
    "context_length_exceeded": {"type": "context_length_exceeded"},
    "network_error": {"type": "server_error", "message": "network_error"},
}
_NO_END = frozenset({"", "null", "none"})
_UNREADABLE = frozenset({"malformed_function_call", "malformed_tool_call", "tool_use_failed", "unexpected_tool_call"})


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of an answer.

    Attributes:
        stop_reason: in our words; of one that the server gives no known reason for, ``OTHER``.
        word: the server's own.
        error: the error that the end reports, ``None`` if it reports none.
        is_unreadable_call: True if the server could not read a call of the model.
    """

    stop_reason: StopReason
    word: str | None = None
    error: dict[str, Any] | None = None
    is_unreadable_call: bool = False


def ending_of(choice: Mapping[str, Any]) -> Ending | None:
    """Read why an answer ends; ``None`` if it does not end here."""
    given = choice.get("finish_reason")
    if not isinstance(given, str) or given.strip().lower() in _NO_END:
        return None
    reasons = [given.strip().lower()]
    native = choice.get("native_finish_reason")  # of the service behind OpenRouter
    if isinstance(native, str) and native.strip():
        reasons.append(native.strip().lower())
    for reason in reversed(reasons):
        if reason in _ERRORS:
            return Ending(StopReason.OTHER, shown_word(reason), _ERRORS[reason])
        if reason in _UNREADABLE:
            return Ending(StopReason.OTHER, shown_word(reason), is_unreadable_call=True)
        if reason in _CUT:
            return Ending(_CUT[reason], shown_word(reason))
    stop_reason = StopReason.COMPLETE if reasons[0] in _COMPLETE else StopReason.OTHER
    return Ending(stop_reason, shown_word(given))
