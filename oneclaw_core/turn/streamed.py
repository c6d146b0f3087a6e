"""Ask the provider of a model, show its answer as it comes, and count the attempts that are lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from oneclaw_core.errors import ProviderError, UnfinishedAnswerError
from oneclaw_core.turn.spending import check_limits, record_lost
from oneclaw_core.turn.state import Answer
from oneclaw_core.turn.stream import closing
from oneclaw_core.types.model_requests import (
    ArgumentsDelta,
    LoadingRefused,
    ModelResponse,
    ReasoningDelta,
    RetryNotice,
    TextDelta,
    UsageSoFar,
)

if TYPE_CHECKING:
    from oneclaw_core.turn.state import Ask
    from oneclaw_core.types.messages import TokenUsage


async def streamed(ask: Ask) -> Answer:
    """Send the request: the end of the chain.

    Raises:
        UnfinishedAnswerError: the service ended without an answer.
        ProviderError: the model could not be asked.
        TurnDeadlineError: the turn's time is over.
        TurnStoppedError: the user stopped the turn.
    """
    model, response, is_shown = ask.turn.model, None, False
    # Of the attempt that runs.
    usage: TokenUsage | None = None
    received: list[str] = []
    try:
        async with ask.turn.deadline.limit() as timeout, closing(model.provider.stream(ask.request)) as events:
            async for event in events:
                if timeout.expired():  # the provider went on in spite of it
                    break
                if isinstance(event, ModelResponse):
                    response = event
                elif isinstance(event, UsageSoFar):
                    usage = event.usage
                elif isinstance(event, (TextDelta, ReasoningDelta, ArgumentsDelta)):
                    received.append(event.text)
                    is_shown = is_shown or not isinstance(event, ArgumentsDelta)
                elif isinstance(event, (RetryNotice, LoadingRefused)) and (usage is not None or received):
                    lost, usage, received = (usage, received), None, []
                    await record_lost(ask, *lost)
                    await check_limits(ask.turn)
                if (shown := ask.show(event)) is not None:
                    await shown
    except (Exception, asyncio.CancelledError) as error:
        if response is None:
            await record_lost(ask, usage, received, is_heard=isinstance(error, Exception))
        if isinstance(error, ProviderError):
            error.is_final = is_shown
        raise
    if response is None:
        await record_lost(ask, usage, received)
        raise UnfinishedAnswerError(f"{model.full_name} ended its answer without saying so; try again")
    return Answer(response)
