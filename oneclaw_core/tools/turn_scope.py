"""The turn that tool calls belong to, as far as a turn within one of them has to know."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.plugins.contract.arguments import TurnInfo
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.types.budget import TurnBudget

# How many tool calls deep a turn may be run within others.
MAX_TURN_DEPTH = 2


@dataclass(frozen=True, slots=True)
class TurnScope:
    """A running turn.

    Attributes:
        budget: what it may still take.
        call: the tool call that it is run for, ``None`` for a turn of the user's.
        model: the model that answers it, as ``PROVIDER/MODEL``.
        info: the turn as plugins see it; ``None`` if no plugin asks.
    """

    budget: TurnBudget
    call: ToolContext | None = None
    model: str | None = None
    info: TurnInfo | None = None

    @property
    def depth(self) -> int:
        """How many tool calls it is run within: 0 for a turn of the user's."""
        return 0 if self.call is None else depth_within(self.call)

    def permission_session(self, session_id: str | None) -> str | None:
        """The session that the user's answers are for: that of the outermost turn.

        Args:
            session_id: the session of this turn.
        """
        if self.call is None:
            return session_id
        outer = self.call.turn
        return self.call.session_id if outer is None else outer.permission_session(self.call.session_id)

    @contextmanager
    def outer_calls_paused(self) -> Iterator[None]:
        """Keep the time in which the user is asked from counting against the calls that the turn is run within."""
        with ExitStack() as pauses:
            call = self.call
            while call is not None:
                pauses.enter_context(call.paused())
                call = call.turn.call if call.turn is not None else None
            yield


def depth_within(call: ToolContext) -> int:
    """How deep a turn is that is run for a call: 1 if the user's own turn made the call, or the user did."""
    return 1 if call.turn is None else call.turn.depth + 1
