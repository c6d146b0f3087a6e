"""The provider type ``openai_compatible``: Chat Completions over server-sent events.

OpenAI's older wire format, which Ollama, LM Studio, vLLM, llama.cpp, OpenRouter, DeepSeek and many others speak.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import HttpProvider

from oneclaw_core import ProviderError
from oneclaw_openai.chat_answer import ChatAnswer
from oneclaw_openai.chat_dialect import dialect_of
from oneclaw_openai.chat_wire import RequestEncoder
from oneclaw_openai.model_list import offered_models, served_context
from oneclaw_openai.text_call_answer import TextCallAnswer, reads_text_calls

if TYPE_CHECKING:
    from oneclaw_http_providers import Answer, ImageLimits

    from oneclaw_core.providers import ModelInfo, ModelRequest, ProviderConfig


# A model that thinks wants every answer in the history with its thoughts, if only empty ones (DeepSeek): also one of
# another model, and one that a turn made to load a group.
_REASONING_MISSED = re.compile(r"missing\W+reasoning_content|reasoning_content\W.*must be passed back", re.IGNORECASE)

_LIMIT_SECONDS = 5
# The own pages of llama.cpp and LM Studio; the list of models may name what a model could read elsewhere.
_LOCAL_PAGES = ("/props", "/api/v0/models")


class OpenAIChatProvider(HttpProvider):
    """A service that speaks Chat Completions."""

    default_base_url = "https://api.openai.com/v1"

    def __init__(self, config: ProviderConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self._encoder = RequestEncoder(self._url.origin)
        self._wanting_reasoning: set[str] = set()  # models
        self._is_vendor = dialect_of(self._url.origin).is_vendor

    @property
    def attachment_media_types(self) -> tuple[str, ...]:
        """The media types of the attachments that the server takes, if the model does."""
        return dialect_of(self._url.origin).attachment_media_types

    @property
    def image_limits(self) -> ImageLimits | None:
        """Limits of the server for images; ``None`` if unknown."""
        return dialect_of(self._url.origin).image_limits

    @property
    def most_tools(self) -> int | None:
        """The number of tools that the server takes in a request; ``None`` if it is not known."""
        return dialect_of(self._url.origin).most_tools

    def takes_output(self, request: ModelRequest, is_said: bool | None) -> bool:
        """Return True if the server keeps an answer to a schema; see :class:`oneclaw_core.providers.base.Provider`."""
        return is_said is True or (is_said is None and self._is_vendor)

    async def list_models(self) -> list[ModelInfo]:
        """Ask the service which models it offers; see :class:`oneclaw_core.providers.base.Provider`."""
        body = await self._get_json("models")
        models = offered_models(body)
        if models is None:
            raise self._errors.no_answer("it sent no list of models").error
        return models

    async def find_context_limit(self, model: str) -> int | None:
        """Ask a server for the longest request that it takes, after it refused one.

        Args:
            model: its name.

        Returns:
            The tokens of prompt and answer together; ``None`` if the server does not say.
        """
        pages = [] if self._needs_key else [f"{self._url.origin}{path}" for path in _LOCAL_PAGES]
        for url in (*pages, self._url.endpoint("models")):
            with suppress(ProviderError, TimeoutError):
                async with asyncio.timeout(_LIMIT_SECONDS):
                    found = served_context(await self._ask_json(url), model)
                if found is not None:
                    return found
        return None

    def _endpoint(self, request: ModelRequest) -> str:
        return "chat/completions"

    def _encode(self, request: ModelRequest) -> bytes:
        return self._encoder.encode(request, wants_reasoning=request.model in self._wanting_reasoning)

    def _new_answer(self, request: ModelRequest) -> Answer:
        answer = ChatAnswer(self._url.origin, is_vendor=self._is_vendor)
        # A server that imitates the vendor may pass on calls as the model wrote them.
        if self._is_vendor or not reads_text_calls(request):
            return answer
        return TextCallAnswer(answer, request, self._config.name)

    def _concede(self, refusal: str, request: ModelRequest) -> bool:
        if request.model in self._wanting_reasoning or not _REASONING_MISSED.search(refusal):
            return False
        self._wanting_reasoning.add(request.model)
        return True

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}
