"""The services of a running call."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.capabilities.declaration import Declaration
    from oneclaw_core.permissions.call_network import CallNetwork, Sources
    from oneclaw_core.tools.calls.questions import Questions
    from oneclaw_core.types.tool_definition import Act
    from oneclaw_core.types.tools import ToolResult

# Of each piece of news about a call: thousands of them may wait to be shown.
MAX_PROGRESS_CHARACTERS = 1_000


class ToolCalls(Protocol):
    """Runs the calls that a running tool makes; see :class:`oneclaw_core.scripts.inner_calls.InnerCalls`."""

    async def call(
        self, name: str, arguments: Mapping[str, Any], act: Act | None = None, *, is_repeatable: bool = False
    ) -> ToolResult:
        """Run one, with ``act`` in place of its tool; ``is_repeatable`` if this call can be repeated anyway."""
        ...

    def with_files(self, result: ToolResult) -> ToolResult:
        """Return the result of the running tool with the files for the user that its calls had."""
        ...


class RunningCall:
    """The services of a running call, which its context offers to the tool.

    Args:
        questions: to the user.
        report: passes on how far the tool has come.
        provenance: of its result; ``None`` where none is recorded.
        inner: runs the calls that the tool makes; ``None`` if it can make none.
        declaration: what the plugin of the tool may do; ``None`` if nothing holds it.
    """

    def __init__(
        self,
        questions: Questions,
        report: Callable[[str, float | None], None],
        provenance: Sources | None = None,
        inner: ToolCalls | None = None,
        declaration: Declaration | None = None,
    ) -> None:
        self.questions = questions
        self.clock = questions.clock
        self.provenance = provenance
        self.inner = inner
        self._declaration = declaration
        self._report = report
        self._network: CallNetwork | None = None

    @property
    def network(self) -> CallNetwork:
        """Its HTTP clients; most tools need none."""
        from oneclaw_core.permissions.call_network import CallNetwork

        if self._network is None:
            self._network = CallNetwork(self.questions, self.provenance, self._declaration)
        return self._network

    def progress(self, message: str, fraction: float | None) -> None:
        """Pass on how far the tool has come, from whatever thread."""
        if fraction is not None:
            is_number = isinstance(fraction, int | float) and math.isfinite(fraction)
            fraction = min(max(fraction, 0.0), 1.0) if is_number else None
        text = clean_text(str(message)[:MAX_PROGRESS_CHARACTERS])
        self.questions.loop.call_soon(self._pass_on, text, fraction)

    def _pass_on(self, message: str, fraction: float | None) -> None:
        if not self.questions.is_closed:  # a thread that was left to itself may go on, and its call has its outcome
            self._report(message, fraction)

    def close(self) -> CallNetwork | None:
        """Ask no more; return the network, if the tool used it, whose clients are still to be closed."""
        self.questions.close()
        return self._network
