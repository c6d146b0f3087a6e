"""The calls of one running tool as people and models are shown them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from oneclaw_core.secrets.redaction import Redaction
from oneclaw_core.types.tools import ToolResult

SHOWN_CHARACTERS = 2_000
_RUNNING, _DONE = "running", "done"


@dataclass(slots=True)
class CallLog:
    """Knows how each call ended, and writes calls without secrets; these are looked for once."""

    _ended: list[tuple[str, str]] = field(default_factory=list)
    _redaction: Redaction | None = None

    def begin(self, name: str) -> int:
        """Note that a call of a tool begins; return its place."""
        self._ended.append((name, _RUNNING))
        return len(self._ended) - 1

    def end(self, place: int, result: ToolResult) -> None:
        """Note how a call ended."""
        ended = _DONE if result.is_success else result.error_type or "execution_error"
        self._ended[place] = self._ended[place][0], ended

    def __bool__(self) -> bool:
        """Return True if a call was made."""
        return bool(self._ended)

    def summary(self) -> str:
        """Say which calls were made and how they ended, in the order of their beginnings."""
        parts = []
        for state, words in ((_DONE, "finished"), (_RUNNING, "may or may not have had their effect")):
            counts = Counter(name for name, ended in self._ended if ended == state)
            if counts:
                listed = ", ".join(name if count == 1 else f"{name} ({count})" for name, count in counts.items())
                parts.append(f"Calls that {words}: {listed}.")
        failed = Counter(f"{name} ({ended})" for name, ended in self._ended if ended not in (_DONE, _RUNNING))
        if failed:
            listed = ", ".join(each if count == 1 else f"{each} {count} times" for each, count in failed.items())
            parts.append(f"Calls that failed: {listed}.")
        return "\n".join(parts)

    def redacted(self, text: str) -> str:
        """Return the beginning of a text without known secrets."""
        if self._redaction is None:
            self._redaction = Redaction()
        return self._redaction((text[:SHOWN_CHARACTERS],))[0]

    def short(self, result: ToolResult, text: str) -> ToolResult:
        """Return a result for people: its beginning, without known secrets and files.

        Args:
            result: the result.
            text: of it.
        """
        short = self.redacted(text)
        if not result.is_success:
            return ToolResult.error(result.error_type or "execution_error", short)
        if len(text) > SHOWN_CHARACTERS:
            return ToolResult.success(f"{short} … ({len(text):,} characters)")
        return ToolResult.success(result.result if short == text else short)
