"""The limits for all calls of one running tool, and what the user decided on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.types.budget import ScriptAllowance
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from oneclaw_core.tools.calls.call import Call
    from oneclaw_core.types.permissions import PassingGrant

MAX_CALLS = 500
MAX_RESULT_BYTES = 4_000_000
MAX_TOTAL_BYTES = 64_000_000
MAX_DEPTH = 2
MAX_REFUSALS = 3
MAX_SAME_FAILURES = 10
USES_BETWEEN_QUESTIONS = 10

# What reaches other people, or cannot be taken back.
_CAREFUL_PARTS = frozenset({"send", "share", "forward", "delete", "spend"})


class Rules:
    """Counts calls, their results, failures and refusals; see :class:`oneclaw_core.tools.calls.call.ScriptRules`.

    Args:
        outer: the call of the running tool.

    Attributes:
        purpose: the purpose of the script that makes the calls, in the words of a model; ``""`` for none.
        ended: why no more calls are made, ``None`` as long as they are.
        granted: what the user has granted for the rest of the script.
        depth: how many tools are between the calls and the one that the model or the user made, at least 1.
        allowance: what the scripts of the turn may do.
    """

    def __init__(self, outer: Call) -> None:
        within, turn = outer.caller.within, outer.caller.turn
        self.purpose = ""
        self.ended: ToolResult | None = None
        self.granted: list[PassingGrant] = []
        self.depth = 1 if within is None else within.depth + 1
        self.allowance = turn.scripts if turn is not None else ScriptAllowance()
        self._tool_name = outer.asked.name
        self._size_bytes = 0
        self._refusals = 0
        self._refused_permissions: set[str] = set()
        self._uses: dict[str, int] = {}
        self._failures: dict[str, int] = {}

    @property
    def is_refused(self) -> bool:
        """True if the user has refused so many calls that none is made any more."""
        return self._refusals >= MAX_REFUSALS

    def in_words(self, number: int) -> str:
        """Say which call of which script this is."""
        what = f"the script: {self.purpose}" if self.purpose else f"the tool {self._tool_name}"
        return f"call {number} of {what}"

    def wants_question(self, permission: str) -> bool:
        """Count a use of a permission; return True if grants are not enough for this one."""
        if permission in self._refused_permissions:
            return True
        if permission.rpartition(".")[2] not in _CAREFUL_PARTS:
            return False
        uses = self._uses[permission] = self._uses.get(permission, 0) + 1
        return uses > 1 and uses % USES_BETWEEN_QUESTIONS == 1

    def note_refusal(self, permission: str) -> None:
        """Count a refusal of the user; the third one ends the calls."""
        self._refused_permissions.add(permission)
        self._refusals += 1
        if self.is_refused:
            self.end("permission_denied", f"The user refused {self._refusals} calls, so the script was ended.")

    def end(self, error_type: str, message: str) -> None:
        """Make no more calls; the first reason counts."""
        if self.ended is None:
            self.ended = ToolResult.error(error_type, message)

    def refused(self, number: int) -> ToolResult | None:
        """Return the result of a call beyond the limits, ``None`` for one within them.

        Args:
            number: of the call, from 1.
        """
        if self.ended is None and number > MAX_CALLS:
            self.end("limit_reached", f"At most {MAX_CALLS} calls can be made by one script.")
        if self.ended is None and not self.allowance.take():
            text = f"At most {ScriptAllowance.MAX_CALLS:,} calls can be made by the scripts of one turn."
            self.end("limit_reached", text)
        if self.ended is not None:
            return self.ended
        if self.depth > MAX_DEPTH:
            return ToolResult.error("not_available", "Tools that are called by tools of a script can call no others.")
        return None

    def kept(self, name: str, result: ToolResult, text: str) -> ToolResult:
        """Return a result for the script, all of it or an error.

        Args:
            name: of the tool.
            result: of the call.
            text: of the result.
        """
        size = len(text.encode("utf-8", "surrogatepass"))
        self._size_bytes += size
        if size > MAX_RESULT_BYTES:
            text = (
                f"Tool '{name}' ran, but its result of {size:,} bytes is more than the {MAX_RESULT_BYTES:,} that a "
                "script can take. Ask for a smaller part."
            )
            return ToolResult.error("too_large", text)
        if self._size_bytes > MAX_TOTAL_BYTES:
            self.end("limit_reached", f"The results of one script can have {MAX_TOTAL_BYTES:,} bytes together.")
        return result

    def note(self, key: str, name: str, result: ToolResult) -> None:
        """Count calls that fail in the same way again and again."""
        if result.is_success:
            self._failures.pop(key, None)
            return
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if failures >= MAX_SAME_FAILURES:
            self.end(
                "no_progress", f"The script made the same call of '{name}' {failures} times, and it failed each time."
            )
