"""The provider type ``openai_compatible``: Chat Completions over server-sent events.

OpenAI's older wire format, which Ollama, LM Studio, vLLM, llama.cpp, OpenRouter, DeepSeek and many others speak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.providers.base import ModelInfo
from oneclaw_core.providers.http_provider import HttpProvider
from oneclaw_core.providers.openai_chat_answer import ChatAnswer
from oneclaw_core.providers.openai_chat_wire import RequestEncoder

if TYPE_CHECKING:
    from oneclaw_core.providers.base import ModelRequest, ProviderConfig

_CONTEXT_KEYS = ("context_length", "max_model_len", "max_context_length", "context_window", "max_input_tokens")


class OpenAIChatProvider(HttpProvider):
    """A service that speaks Chat Completions."""

    default_base_url = "https://api.openai.com/v1"

    def __init__(self, config: ProviderConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self._encoder = RequestEncoder(self._url.origin)

    async def list_models(self) -> list[ModelInfo]:
        """Ask the service which models it offers; see :class:`oneclaw_core.providers.base.Provider`."""
        body = await self._get_json("models")
        entries = body.get("data") if isinstance(body, dict) else body
        if not isinstance(entries, list):
            raise self._errors.no_answer("it sent no list of models").error
        return [
            ModelInfo(name=entry["id"], context_window=_context_window(entry))
            for entry in entries
            if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]
        ]

    def _endpoint(self, request: ModelRequest) -> str:
        return "chat/completions"

    def _encode(self, request: ModelRequest) -> bytes:
        return self._encoder.encode(request)

    def _new_answer(self, request: ModelRequest) -> ChatAnswer:
        return ChatAnswer(self._url.origin)

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}


def _context_window(entry: dict[str, Any]) -> int | None:
    counts = (entry.get(key) for key in _CONTEXT_KEYS)
    return next((each for each in counts if isinstance(each, int) and not isinstance(each, bool) and each > 0), None)
