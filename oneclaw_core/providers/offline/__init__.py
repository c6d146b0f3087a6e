"""The provider type ``offline``: a deterministic, rule-based stand-in for a language model, without key or network.

It makes the first run, the tests and third-party authors' tests work anywhere. Its one model, ``rules``, sees only what
a language model would be sent, the :class:`ModelRequest`, and routes by that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.errors import ProviderRequestError
from oneclaw_core.messages import TokenUsage
from oneclaw_core.providers.base import ModelEvent, ModelInfo, ModelRequest, ModelResponse, ProviderConfig, TextDelta

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from oneclaw_core.providers.offline.rules import Answer

__all__ = ["MODEL", "OfflineProvider"]

MODEL = "rules"
_PIECES = 4
_CHARACTERS_PER_TOKEN = 4


class OfflineProvider:
    """The rules behind the interface of a model service."""

    def __init__(self, config: ProviderConfig) -> None:
        self.config = config

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer a request.

        Raises:
            ProviderRequestError: the model asked for is not ``rules``.
        """
        from oneclaw_core.providers.offline.rules import decide

        if request.model != MODEL:
            raise ProviderRequestError(
                f"provider {self.config.name!r} has no model {request.model!r}: its only model is offline/{MODEL}"
            )
        answer = decide(request)
        for piece in _pieces(answer.text):
            yield TextDelta(piece)
        yield ModelResponse(
            text=answer.text,
            tool_calls=answer.tool_calls,
            usage=_usage(request, answer),
        )

    is_language_model = False
    loads_natively = False

    @property
    def attachment_media_types(self) -> tuple[str, ...]:
        """None: it looks at no files."""
        return ()

    async def list_models(self) -> list[ModelInfo]:
        """The one model there is."""
        return [ModelInfo(name=MODEL)]

    async def aclose(self) -> None:
        """Nothing is open."""


def _pieces(text: str) -> Iterator[str]:
    """Cut a text into a few pieces between words, so that callers meet a stream as from any other model."""
    start = 0
    for number in range(1, _PIECES + 1):
        end = len(text) if number == _PIECES else text.find(" ", len(text) * number // _PIECES)
        if end > start:
            yield text[start:end]
            start = end


def _usage(request: ModelRequest, answer: Answer) -> TokenUsage:
    """Estimate tokens at four characters each, as nobody counted them."""
    from oneclaw_core.providers.offline.catalogue import Identity, prepare_tool

    sent = len(request.system_prompt)
    sent += sum(len(message.content) + len(message.tool_input or "") for message in request.messages)
    sent += sum(prepare_tool(Identity(definition)).characters for definition in request.tools)
    written = len(answer.text) + sum(len(call.name) + len(call.arguments) for call in answer.tool_calls)
    return TokenUsage(
        input_tokens=-(-sent // _CHARACTERS_PER_TOKEN), output_tokens=-(-written // _CHARACTERS_PER_TOKEN)
    )
