"""The same call failing the same way, again and again, within one turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from oneclaw_core.types.messages import ToolCall

SAME_FAILURES = 3


@dataclass(slots=True)
class RepeatedFailures:
    """Counts, within one turn, how often in a row the same call failed the same way.

    Being refused counts by itself: once the tool's group is loaded, or the tool enabled, the call should run.
    """

    _failures: dict[tuple[str, str, bool], tuple[ToolResult, int]] = field(default_factory=dict)

    def answer_without_running(self, call: ToolCall, *, is_refused: bool) -> ToolResult | None:
        """The answer to a call that has failed the same way too often; ``None`` if it should run.

        Args:
            call: what the model asks for.
            is_refused: whether the tool cannot be called now.
        """
        result, count = self._failures.get((call.name, call.arguments, is_refused), (None, 0))
        if result is None or count < SAME_FAILURES:
            return None
        return ToolResult.error(
            result.error_type or "execution_error",
            f"Not run again: this call with these arguments has failed the same way {count} times in a row: "
            f"{result.error_message} Change the arguments, do something else, or tell the user.",
        )

    def record(self, call: ToolCall, result: ToolResult, *, is_refused: bool) -> None:
        """Take note of how a call went.

        Args:
            call: what the model asked for.
            result: what it was answered.
            is_refused: whether the tool could not be called.
        """
        key = (call.name, call.arguments, is_refused)
        if result.is_success:
            self._failures.pop(key, None)
            return
        previous, count = self._failures.get(key, (None, 0))
        self._failures[key] = (result, count + 1 if previous == result else 1)
