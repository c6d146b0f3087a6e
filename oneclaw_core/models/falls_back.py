"""Ask the next model behind the one that was asked for, if one fails."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import ProviderError, UnreadableCallError
from oneclaw_core.models.fallback import Fallback
from oneclaw_core.types.events import ModelSwitchedEvent
from oneclaw_core.types.model_requests import RetryNotice

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from oneclaw_core.turn.state import Answer, Ask
    from oneclaw_core.types.model_requests import ModelEvent
    from oneclaw_core.types.steps import Handler


async def falls_back(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Ask the next model behind the one that was asked for, if one fails; the turn stays with it.

    Raises:
        ProviderError: no other model is to be asked, or a part of the answer was shown.
    """
    turn = ask.turn
    fallback = turn.model.fallback
    if not isinstance(fallback, Fallback):
        return await run(ask)

    def show(event: ModelEvent) -> Awaitable[None] | None:
        if isinstance(event, RetryNotice) and event.error is not None and fallback.gives_up(event):
            raise event.error
        return ask.show(event)

    while True:
        try:
            answer = await run(replace(ask, show=show))
        except ProviderError as error:
            if ask.purpose == "answer" and isinstance(error, UnreadableCallError):
                raise
            failed = turn.model
            try:
                turn.model = await fallback.after(error, failed, turn.store, is_final=error.is_final)
            except ProviderError as final:
                final.is_final = True  # also for the request that this one, such as for a summary, is made for
                raise
            await turn.emit(ModelSwitchedEvent(turn.model.full_name, failed.full_name, str(error)))
            continue
        fallback.answered(turn.model.full_name)
        return answer
