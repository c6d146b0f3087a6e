"""An answer of a model, put together from the chunks of a stream."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core import TokenUsage
from oneclaw_http_providers.retry import AttemptFailed

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from oneclaw_core.providers import ModelEvent, ModelResponse

# What ``data: [DONE]`` says, as a chunk.
END_OF_STREAM: dict[str, Any] = {"object": "end_of_stream"}
# Once the model is done, how long the token counts may take; and once nothing more is needed, how long the end of the
# stream may, so that the connection can be used again.
_COUNTS_SECONDS = 5
END_SECONDS = 0.25


class AnswerCutError(Exception):
    """The answer was cut off in the middle of a tool call, not by the token limit; the message says by what.

    What the token limit cuts is a response with ``cut_calls``.
    """


class AnswerFailedError(Exception):
    """The service gave up in the middle of its answer.

    Attributes:
        error: its error object.
    """

    def __init__(self, error: object) -> None:
        super().__init__("the service gave up")
        self.error = error


class AnswerGarbledError(Exception):
    """A part of the answer cannot follow those before it."""


class Answer(Protocol):
    """Takes the chunks of an answer one by one.

    It may have two more members. ``may_end`` is True if the answer is complete in case that nothing more comes.
    ``rest()`` is called at the end of the answer, and gives what was held back from being shown; it may raise
    ``AttemptFailed``.
    """

    @property
    def has_begun(self) -> bool:
        """True if part of the answer has arrived."""
        ...

    @property
    def usage(self) -> TokenUsage:
        """Tokens that the service has counted so far; the same object until it counts more."""
        ...

    @property
    def is_complete(self) -> bool:
        """True if the service has said that the model is done."""
        ...

    @property
    def is_final(self) -> bool:
        """True if the answer is complete, token counts included."""
        ...

    def add(self, chunk: Mapping[str, Any]) -> Iterable[ModelEvent]:
        """Take the JSON object of an event, and give what is to be shown now.

        Raises:
            AnswerFailedError: the event says that the service gave up.
            AnswerGarbledError: the event cannot follow those before it.
        """
        ...

    def response(self) -> ModelResponse:
        """Put the response together.

        Raises:
            AnswerCutError: the service stopped the model in the middle of a call, not for the token limit.
        """
        ...


async def awaited_chunks(
    answer: Answer, chunks: AsyncGenerator[dict[str, Any], None]
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the chunks of an answer, which takes each before the next is asked for.

    Once the model is done, token counts and the end of the stream may come, but need not. An answer that is complete,
    and paid for, is not lost for what a server says behind it.
    """
    now = asyncio.get_running_loop().time
    until: float | None = None
    was_final = False
    while True:
        if not answer.is_complete:
            until, was_final = None, False
        elif answer.is_final and not was_final:
            until, was_final = now() + END_SECONDS, True
        elif until is None:
            until = now() + _COUNTS_SECONDS
        try:
            async with asyncio.timeout_at(until):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except (TimeoutError, AttemptFailed):
            if answer.is_complete:
                return
            raise
        yield chunk


def usage_of_failed(answer: Answer, *, has_output: bool) -> TokenUsage:
    """Return the usage of an answer that the service gave up, final if it had counted everything."""
    usage = answer.usage
    if not has_output and usage == TokenUsage():
        # The service refuses the request after the HTTP status has said that all is well.
        return TokenUsage(input_tokens=0, output_tokens=0)
    return replace(usage, is_at_least=not answer.is_complete)
