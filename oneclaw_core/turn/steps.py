"""The spine's steps of a request to a model, and the provider at their end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from oneclaw_core.errors import ProviderError, UnfinishedAnswerError
from oneclaw_core.turn.state import Answer, Ask, TurnState
from oneclaw_core.turn.stream import closing
from oneclaw_core.types.events import UsageEvent
from oneclaw_core.types.model_requests import ModelEvent, ModelResponse, ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.types.steps import Handler


async def built(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Build the request of a conversation: which tools and messages it has depends on the model that answers."""
    if ask.purpose != "answer":
        return await run(ask)
    request = ask.turn.next_request()
    if ask.added:
        request = replace(request, messages=(*request.messages, *ask.added))
    return await run(replace(ask, request=request))


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


def usage_event(usage: UsageRecord) -> UsageEvent:
    """Return what a request used for the listener."""
    return UsageEvent(f"{usage.provider}/{usage.model}", usage.usage, usage.cost)


async def record_unstored(turn: TurnState, answer: Answer) -> None:
    """Record the usage of an answer that does not enter the history."""
    if answer.usage is not None:
        await turn.store.record_usage(turn.session_id, answer.usage)
        await turn.emit(usage_event(answer.usage))
