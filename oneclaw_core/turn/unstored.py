"""The usage of requests, for listeners and, where an answer does not enter the history, for the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.types.events import UsageEvent

if TYPE_CHECKING:
    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.turn.state import Answer, TurnState


def usage_event(usage: UsageRecord) -> UsageEvent:
    """Return what a request used for the listener."""
    return UsageEvent(f"{usage.provider}/{usage.model}", usage.usage, usage.cost)


async def record_unstored(turn: TurnState, answer: Answer) -> None:
    """Record the usage of an answer that does not enter the history."""
    if answer.usage is not None:
        await turn.store.record_usage(turn.session_id, answer.usage)
        await turn.emit(usage_event(answer.usage))
