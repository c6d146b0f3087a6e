"""Ask the provider of a model, and show its answer as it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.errors import ProviderError, UnfinishedAnswerError
from oneclaw_core.turn.state import Answer
from oneclaw_core.turn.stream import closing
from oneclaw_core.types.model_requests import ModelResponse, ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from oneclaw_core.turn.state import Ask


async def streamed(ask: Ask) -> Answer:
    """Send the request: the end of the chain.

    Raises:
        UnfinishedAnswerError: the service ended without an answer.
        ProviderError: the model could not be asked.
        TurnDeadlineError: the turn's time is over.
        TurnStoppedError: the user stopped the turn.
    """
    model, response, is_shown = ask.turn.model, None, False
    try:
        async with ask.turn.deadline.limit() as timeout, closing(model.provider.stream(ask.request)) as events:
            async for event in events:
                if timeout.expired():  # the provider went on in spite of it
                    break
                if isinstance(event, ModelResponse):
                    response = event
                is_shown = is_shown or isinstance(event, (TextDelta, ReasoningDelta))
                if (shown := ask.show(event)) is not None:
                    await shown
    except ProviderError as error:
        error.is_final = is_shown
        raise
    if response is None:
        raise UnfinishedAnswerError(f"{model.full_name} ended its answer without saying so; try again")
    return Answer(response)
