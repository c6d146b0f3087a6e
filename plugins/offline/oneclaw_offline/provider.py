"""The provider type ``offline``: a deterministic, rule-based stand-in for a language model, without key or network.

Its one model, ``rules``, sees only the :class:`ModelRequest` that a language model would be sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import TokenUsage
from oneclaw_core.providers import (
    ModelEvent,
    ModelInfo,
    ModelRequest,
    ModelResponse,
    ProviderConfig,
    ProviderRequestError,
    TextDelta,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

MODEL = "rules"
_PIECES = 4
_CHARACTERS_PER_TOKEN = 4


class OfflineProvider:
    """The rules behind the interface of a model service."""

    is_language_model = False
    loads_natively = False
    attachment_media_types: tuple[str, ...] = ()

    def __init__(self, config: ProviderConfig) -> None:
        self.config = config

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer a request.

        Raises:
            ProviderRequestError: the model asked for is not ``rules``.
        """
        from oneclaw_offline.rules import decide

        if request.model != MODEL:
            raise ProviderRequestError(
                f"provider {self.config.name!r} has no model {request.model!r}: its only model is offline/{MODEL}"
            )
        answer = decide(request)
        for piece in _pieces(answer.text):
            yield TextDelta(piece)
        written = len(answer.text) + sum(len(call.name) + len(call.arguments) for call in answer.tool_calls)
        usage = TokenUsage(
            input_tokens=-(-_characters(request) // _CHARACTERS_PER_TOKEN),
            output_tokens=-(-written // _CHARACTERS_PER_TOKEN),
        )
        yield ModelResponse(text=answer.text, tool_calls=answer.tool_calls, usage=usage)

    async def list_models(self) -> list[ModelInfo]:
        """List the only model."""
        return [ModelInfo(name=MODEL)]

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""


def _pieces(text: str) -> Iterator[str]:
    """Cut a text between words into a few pieces, so that callers get a stream as from any other model."""
    start = 0
    for number in range(1, _PIECES + 1):
        end = len(text) if number == _PIECES else text.find(" ", len(text) * number // _PIECES)
        if end > start:
            yield text[start:end]
            start = end


def _characters(request: ModelRequest) -> int:
    """Count the characters that a language model would be sent, roughly."""
    tools = sum(len(f"{each.name}{each.description}{each.parameters}") for each in request.tools)
    messages = sum(len(message.content) + len(message.tool_input or "") for message in request.messages)
    return len(request.system_prompt) + messages + tools
