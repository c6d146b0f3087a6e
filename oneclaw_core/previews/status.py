"""State of a session: its model, the share of the context in use, and what it used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneclaw_core.sessions.usage_report import UsageTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatus:
    """The state of a session between two turns.

    Attributes:
        model: that answers the next message, as ``PROVIDER/MODEL``.
        context_window: what the model reads and writes together, in tokens; ``None`` if it is not known.
        context_tokens: what the service counted for the last request; ``None`` for a new session, or if it did not.
        groups: the loaded tool groups, in the order of loading.
        usage: what the session's requests used and cost.
    """

    model: str
    context_window: int | None
    context_tokens: int | None
    groups: tuple[str, ...]
    usage: UsageTotals

    @property
    def context_share(self) -> float | None:
        """Return the share of the context window that is used, from 0 to 1; ``None`` if it is not known."""
        if not self.context_window or self.context_tokens is None:
            return None
        return min(self.context_tokens / self.context_window, 1.0)
