"""The provider type ``anthropic``: the Messages API over server-sent events."""

from __future__ import annotations

import re
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from oneclaw_core.errors import ProviderRequestError
from oneclaw_core.providers.anthropic_messages_answer import MessagesAnswer
from oneclaw_core.providers.anthropic_messages_wire import (
    IMAGE_MEDIA_TYPES,
    PDF_MEDIA_TYPE,
    Concessions,
    RequestEncoder,
)
from oneclaw_core.providers.base import ModelInfo
from oneclaw_core.providers.http_provider import HttpProvider

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from oneclaw_core.providers.base import ModelEvent, ModelRequest, ProviderConfig

# Not the newer 2026-10-21: that one refuses ``temperature`` and its like, which agents set for models of any service,
# and has nothing that is needed here; and servers that imitate the API know this one.
API_VERSION = "2023-06-01"
_MODELS_PER_PAGE = 1000
_MAX_PAGES = 20
_BETA = re.compile(r"[a-zA-Z0-9._-]+")
_NATIVE_LOADING_REFUSED = re.compile(r"defer_loading|tool[_ ]reference|tool search|deferred tool", re.IGNORECASE)
_MAX_TOKENS_REFUSED = re.compile(r"max_tokens: \d+ > (\d+)")
# Thinking is bound to what came before it; a system prompt or list of tools that has changed is enough to lose it.
_THINKING_REFUSED = re.compile(r"thinking\W.*(cannot be modified|bound to )|signature\W+in\W+thinking", re.IGNORECASE)


class AnthropicProvider(HttpProvider):
    """A service that speaks the Messages API."""

    default_base_url = "https://api.anthropic.com"
    loads_natively = True

    def __init__(self, config: ProviderConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self._encoder = RequestEncoder(self._url.origin)
        self._most_tokens: dict[str, int] = {}  # by model
        self._without_thinking_until: dict[str, int] = {}  # by session

    @property
    def attachment_media_types(self) -> tuple[str, ...]:
        """The media types of attachments that the wire format can carry."""
        return (*IMAGE_MEDIA_TYPES, PDF_MEDIA_TYPE)

    async def list_models(self) -> list[ModelInfo]:
        """Ask the service which models it offers; see :class:`oneclaw_core.providers.base.Provider`."""
        models: list[ModelInfo] = []
        after = ""
        for _ in range(_MAX_PAGES):
            page = await self._get_json(self._path(f"models?limit={_MODELS_PER_PAGE}{after}"))
            entries = page.get("data") if isinstance(page, dict) else None
            if not isinstance(entries, list):
                raise self._errors.no_answer("it sent no list of models").error
            models += [_model_info(entry) for entry in entries if isinstance(entry, dict) and _text(entry, "id")]
            last = _text(page, "last_id")
            following = f"&after_id={quote(last, safe='')}" if last and page.get("has_more") else after
            if following == after:
                break
            after = following
        return list({model.name: model for model in models}.values())

    def _path(self, name: str) -> str:
        # The vendor's own base URL ends before the version, what people copy from other services after it.
        has_version = urlsplit(self._url.endpoint("")).path.endswith("/v1/")
        return name if has_version else f"v1/{name}"

    def _endpoint(self, request: ModelRequest) -> str:
        return self._path("messages")

    def _encode(self, request: ModelRequest) -> bytes:
        return self._encoder.encode(
            request,
            Concessions(self._most_tokens.get(request.model), self._without_thinking_until.get(request.session_id)),
        )

    def _new_answer(self, request: ModelRequest) -> MessagesAnswer:
        return MessagesAnswer(self._url.origin, request.model, request.tools)

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}

    def _headers(self, accept: str) -> dict[str, str]:
        return super()._headers(accept) | {"anthropic-version": API_VERSION}

    def _request_headers(self, request: ModelRequest) -> dict[str, str]:
        betas = request.parameters.get("betas")
        if not isinstance(betas, list | tuple):
            return {}
        names = [each for each in betas if isinstance(each, str) and _BETA.fullmatch(each)]
        return {"anthropic-beta": ",".join(names)} if names else {}

    def _refuses_native_loading(self, error: ProviderRequestError, request: ModelRequest) -> bool:
        is_plain = type(error) is ProviderRequestError  # not one of the finer kinds
        return is_plain and bool(_NATIVE_LOADING_REFUSED.search(str(error)))

    async def _stream_with_retries(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Send a request, again where the service says what it wants to be different."""
        while True:
            has_answered = False
            try:
                async with aclosing(super()._stream_with_retries(request)) as events:
                    async for event in events:
                        has_answered = True
                        yield event
                return
            except ProviderRequestError as error:
                if has_answered or not self._concede(str(error), request):
                    raise

    def _concede(self, refusal: str, request: ModelRequest) -> bool:
        """Note what a refusal asks for; whether that is something new."""
        limit = _MAX_TOKENS_REFUSED.search(refusal)
        if limit:
            most = int(limit[1])
            if 0 < most < self._most_tokens.get(request.model, most + 1):
                self._most_tokens[request.model] = most
                return True
        if _THINKING_REFUSED.search(refusal):
            until = max((message.sequence or 0 for message in request.messages), default=0)
            if until > self._without_thinking_until.get(request.session_id, -1):
                self._without_thinking_until[request.session_id] = until
                return True
        return False


def _model_info(entry: Mapping[str, Any]) -> ModelInfo:
    return ModelInfo(
        name=entry["id"],
        display_name=_text(entry, "display_name"),
        context_window=_tokens(entry, "max_input_tokens"),
        max_output_tokens=_tokens(entry, "max_tokens"),
        input_media_types=_input_media_types(entry.get("capabilities")),
    )


def _input_media_types(capabilities: object) -> tuple[str, ...] | None:
    if not isinstance(capabilities, dict):
        return None
    images = IMAGE_MEDIA_TYPES if _is_supported(capabilities.get("image_input")) else ()
    documents = (PDF_MEDIA_TYPE,) if _is_supported(capabilities.get("pdf_input")) else ()
    return (*images, *documents)


def _is_supported(capability: object) -> bool:
    return isinstance(capability, dict) and capability.get("supported") is True


def _text(entry: Mapping[str, Any], key: str) -> str | None:
    value = entry.get(key)
    return value if isinstance(value, str) and value else None


def _tokens(entry: Mapping[str, Any], key: str) -> int | None:
    value = entry.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
