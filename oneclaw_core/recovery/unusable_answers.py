"""Ask a model again for an answer that cannot be used: an empty one, or one with a call that cannot be read."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import ProviderError, UnreadableCallError
from oneclaw_core.recovery.healing import without_newest
from oneclaw_core.recovery.unreadable_calls import MOST_ATTEMPTS, told_again
from oneclaw_core.turn.steps import record_unstored
from oneclaw_core.types.events import RetryEvent
from oneclaw_core.types.messages import StopReason

if TYPE_CHECKING:
    from oneclaw_core.turn.state import Answer, Ask
    from oneclaw_core.types.model_requests import ModelResponse
    from oneclaw_core.types.steps import Handler


async def not_empty(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Ask each model once more after an empty answer, and twice after an unreadable call; neither is stored.

    Raises:
        ProviderError: the model answers with nothing, or with calls that cannot be read.
    """
    turn, unreadable, asked_again = ask.turn, 0, set[str]()
    while ask.purpose == "answer":
        try:
            answer = await run(ask)
        except UnreadableCallError as error:
            unreadable += 1
            if unreadable > MOST_ATTEMPTS:
                raise
            ask = replace(ask, added=told_again(error))
            await turn.emit(RetryEvent(str(error), 0))
            continue
        response, model = answer.response, turn.model.full_name
        if response.tool_calls or response.cut_calls or response.text.strip():
            return answer
        await record_unstored(turn, answer)
        fault = empty_answer(model, response)
        if response.stop_reason in (StopReason.CONTENT_FILTER, StopReason.REFUSAL):
            raise await without_newest(turn, fault)
        if model in asked_again:
            raise fault
        asked_again.add(model)
        await turn.emit(RetryEvent(str(fault), 0))
    return await run(ask)


def empty_answer(model: str, response: ModelResponse) -> ProviderError:
    """Return the error for an answer without text and calls, which names the model and the reason."""
    quoted = shlex.quote(model)
    hints = {
        StopReason.LENGTH_LIMIT: (
            "it spent all tokens before it said anything: let it think less with: oneclaw models set "
            f"{quoted} reasoning low, or allow more with: oneclaw models set {quoted} max_output_tokens NUMBER"
        ),
        StopReason.CONTENT_FILTER: "say it differently, or start a new session",
        StopReason.REFUSAL: "say it differently, or start a new session",
    }
    hint = hints.get(response.stop_reason, "try again, or choose another model")
    return ProviderError(
        f"{model} answered with nothing (finish reason: {response.finish_reason or response.stop_reason}); {hint}"
    )
