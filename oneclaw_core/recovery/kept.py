"""Keep what the user has read of an answer that broke off."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import SessionBusyError
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.model_requests import TextDelta, TextWithdrawn

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from oneclaw_core.turn.state import Answer, Ask
    from oneclaw_core.types.model_requests import ModelEvent
    from oneclaw_core.types.steps import Handler


async def kept(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Store the part of an answer that was shown before it broke off; it belongs to the history."""
    if ask.purpose not in ("answer", "explanation"):
        return await run(ask)
    read: list[str] = []

    def show(event: ModelEvent) -> Awaitable[None] | None:
        if isinstance(event, TextDelta):
            read.append(event.text)
        elif isinstance(event, TextWithdrawn):
            read.clear()
        return ask.show(event)

    try:
        return await run(replace(ask, show=show))
    except BaseException:
        if text := "".join(read):
            name = ask.turn.model.full_name
            partial = Message(type=MessageType.ASSISTANT, content=text, is_incomplete=True, model=name)
            with suppress(SessionBusyError):  # another turn's by now: why this one ends is what matters
                await ask.turn.store.append(ask.turn.session_id, [partial])
        raise
