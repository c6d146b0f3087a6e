"""True if a tool call has sent a change to Google, which the error message must mention."""

from __future__ import annotations

from contextvars import ContextVar

_sent: ContextVar[list[str] | None] = ContextVar("google_changes_sent", default=None)


def begin() -> list[str]:
    """Begin a tool call.

    Returns:
        The ids of the methods that have changed something, filled as the call goes on.
    """
    sent: list[str] = []
    _sent.set(sent)
    return sent


def note(method_id: str) -> None:
    """Remember that a method that changes something is being sent."""
    sent = _sent.get()
    if sent is not None:
        sent.append(method_id)


def sent() -> list[str]:
    """List the ids of the methods that have changed something in this tool call."""
    return _sent.get() or []
