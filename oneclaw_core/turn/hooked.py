"""Let plugins observe the requests of a turn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from oneclaw_core.turn.state import Answer, Ask
    from oneclaw_core.types.model_requests import ModelEvent
    from oneclaw_core.types.steps import Handler


async def hooked(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Let plugins observe a request and its events, within their context managers."""
    hooks = ask.turn.hooks
    if hooks is None:
        return await run(ask)
    purpose: Literal["answer", "summary"] = "summary" if ask.purpose == "summary" else "answer"
    async with hooks.request(ask.request, ask.turn.model, purpose) as observe:
        if observe is None:
            return await run(ask)

        def show(event: ModelEvent) -> Awaitable[None] | None:
            observe(event)
            return ask.show(event)

        return await run(replace(ask, show=show))
