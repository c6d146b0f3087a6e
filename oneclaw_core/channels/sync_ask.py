"""Ask one question from synchronous code."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from oneclaw_core.app import OneClaw
from oneclaw_core.errors import UsageError
from oneclaw_core.types.events import TurnFinishedEvent


def ask(text: str, **options: Any) -> str:
    """Send one message and return the final answer: the synchronous one-liner.

    Args:
        text: the message.
        options: ``session``, ``agent``, ``model``, ``system_prompt`` and ``attachments`` as for
            :meth:`OneClaw.send_message`, everything else as for :meth:`OneClaw.open`.

    Raises:
        OneClawError: as for those two; ``UsageError`` inside a running event loop.
    """
    message_options = {
        name: options.pop(name)
        for name in ("session", "agent", "model", "system_prompt", "attachments")
        if name in options
    }

    async def answer() -> str:
        async with (
            OneClaw.open(**options) as claw,
            aclosing(claw.send_message(text, **message_options)) as events,
        ):
            async for event in events:
                if isinstance(event, TurnFinishedEvent):
                    return event.text
        return ""

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(answer())
    raise UsageError("ask() cannot be used inside an event loop: use 'async with OneClaw.open() as claw' there")
