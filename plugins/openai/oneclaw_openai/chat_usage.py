"""Token counts of Chat Completions, wherever a server puts them. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import count_member, member

from oneclaw_core import TokenUsage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class ChatUsage:
    """Collects the counts of an answer; a later one replaces an earlier one, except by nothing."""

    def __init__(self) -> None:
        self._counts: dict[str, Any] = {}

    def add(self, chunk: Mapping[str, Any], choice: Mapping[str, Any]) -> TokenUsage | None:
        """Take the counts in a chunk; ``None`` if it has none."""
        found = list(_usages(chunk, choice))
        for usage in found:
            for name, count in _counts(usage):
                if count or name not in self._counts:
                    self._counts[name] = count
        return TokenUsage(**self._counts) if found else None


def _usages(chunk: Mapping[str, Any], choice: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    places = (
        chunk.get("usage"),
        choice.get("usage"),  # Moonshot
        member(choice.get("delta"), "usage"),
        member(chunk.get("x_groq"), "usage"),
    )
    yield from (each for each in places if isinstance(each, dict))
    timings = chunk.get("timings")
    if isinstance(timings, dict) and not isinstance(chunk.get("usage"), dict):  # llama.cpp
        read, cached = count_member(timings, "prompt_n"), count_member(timings, "cache_n")
        yield {
            "prompt_tokens": None if read is None else read + (cached or 0),
            "completion_tokens": timings.get("predicted_n"),
            "cached_tokens": cached,
        }


def _counts(usage: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    read, written = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    found = {
        "input_tokens": (count_member(usage, "prompt_tokens"), count_member(usage, "input_tokens")),
        "cached_input_tokens": (
            count_member(read, "cached_tokens"),
            count_member(usage, "prompt_cache_hit_tokens"),  # DeepSeek
            count_member(usage, "cached_tokens"),  # Moonshot
            count_member(usage.get("input_tokens_details"), "cached_tokens"),
            count_member(usage, "cache_read_input_tokens"),
        ),
        "cache_write_tokens": (
            count_member(read, "cache_write_tokens"),
            count_member(usage, "cache_creation_input_tokens"),
        ),
        "output_tokens": (count_member(usage, "completion_tokens"), count_member(usage, "output_tokens")),
        "reasoning_tokens": (
            count_member(written, "reasoning_tokens"),
            count_member(usage, "reasoning_tokens"),
            count_member(usage.get("output_tokens_details"), "reasoning_tokens"),
        ),
    }
    for name, counts in found.items():
        count = next((each for each in counts if each is not None), None)
        if count is not None:
            yield name, count
