"""Take in messages of the user, and news from the background, that came while tools ran."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from oneclaw_core.turn.turn_hooks import marked_context
from oneclaw_core.types.events import SteeredEvent
from oneclaw_core.types.messages import Message, MessageType

if TYPE_CHECKING:
    from oneclaw_core.turn.state import TurnState


async def take_steering(turn: TurnState, steering: list[str]) -> None:
    """Store the messages that the user sent meanwhile behind the results, as any message of the user is stored.

    They are removed once they are stored, so that none is lost with a turn that fails.

    Raises:
        TurnRefusedError: a gate refuses one.
    """
    texts = tuple(steering)
    if turn.hooks is not None:
        for text in texts:
            await turn.hooks.check(text)
    messages = [Message(type=MessageType.USER, content=text) for text in texts]

    async def keep() -> None:
        turn.session.history += await turn.store.append(turn.session_id, messages)
        del steering[: len(texts)]

    keeping = asyncio.ensure_future(keep())
    try:
        await asyncio.shield(keeping)
    except asyncio.CancelledError:
        await asyncio.wait({keeping})  # what is stored must not be sent again
        raise
    for text in texts:
        await turn.emit(SteeredEvent(text))


async def take_news(turn: TurnState) -> None:
    """Tell the model, behind the results, what has ended in the background."""
    background = turn.parts.background
    if turn.session_id not in background.untold:
        return
    news, told = await background.news_for(turn.session_id, await turn.store.settings())
    if news:
        message = Message(type=MessageType.USER, content=marked_context("oneclaw", news))
        turn.session.history += await turn.store.append(turn.session_id, [message])
        await background.told(told)
