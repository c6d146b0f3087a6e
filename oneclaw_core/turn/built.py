"""Build the next request of a conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneclaw_core.turn.state import Answer, Ask
    from oneclaw_core.types.steps import Handler


async def built(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Build the request of a conversation: which tools and messages it has depends on the model that answers."""
    if ask.purpose != "answer":
        return await run(ask)
    request = ask.turn.next_request()
    if ask.added:
        request = replace(request, messages=(*request.messages, *ask.added))
    return await run(replace(ask, request=request))
