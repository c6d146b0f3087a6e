"""The provider type ``anthropic``: the Messages API over server-sent events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from oneclaw_http_providers import HttpProvider, ImageLimits, count_member, member, text_member

from oneclaw_anthropic.answer import MessagesAnswer
from oneclaw_anthropic.output_schema import output_schema
from oneclaw_anthropic.thinking import keeps_to_schemas
from oneclaw_anthropic.tools import tells_inline
from oneclaw_anthropic.wire import (
    IMAGE_MEDIA_TYPES,
    PDF_MEDIA_TYPE,
    Concessions,
    RequestEncoder,
)
from oneclaw_core import MessageType
from oneclaw_core.providers import ModelInfo, ToolLoading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.providers import ModelRequest, ProviderConfig, ProviderRequestError

# Not the newer 2026-10-21: that one refuses ``temperature`` and its like, which agents set for models of any service,
# and has nothing that is needed here; and servers that imitate the API know this one.
API_VERSION = "2023-06-01"
# What lets a message define tools.
INLINE_TOOLS_BETA = "inline-tools-2026-09-15"
# https://platform.claude.com/docs/en/build-with-claude/vision; 5 MiB once encoded, and some models take 600 images.
IMAGE_LIMITS = ImageLimits(
    max_bytes=5 * 1024 * 1024 // 4 * 3, max_side_pixels=8_000, most_images=100, many_images=20, many_side_pixels=2_000
)
_MODELS_PER_PAGE = 1000
_MAX_PAGES = 20
_BETA = re.compile(r"[a-zA-Z0-9._-]+")
_DEFERRED_TOOLS_REFUSED = re.compile(r"defer_loading|tool[_ ]reference|tool search|deferred tool", re.IGNORECASE)
# In the words of the API, of its older versions, and of servers that imitate it. It is the beta, the role of the
# message, or what is in it that is not known.
_INLINE_TOOLS_REFUSED = re.compile(
    r"tool_addition|tool_definition|inline[- ]tools|anthropic-beta|requires a model that supports|mid-conversation"
    r"|\brole\b.*\b(system|user|assistant)\b|\bsystem\b.*\brole\b",
    re.IGNORECASE,
)
_MAX_TOKENS_REFUSED = re.compile(r"max_tokens: \d+ > (\d+)")
# A model that thinks wants the answer that it goes on from to begin with its thoughts. One that a turn made to load a
# group has none, nor has one of another model, nor one whose thoughts were refused.
_THINKING_MISSED = re.compile(r"expected\W+thinking\b|must start with a thinking block", re.IGNORECASE)


class AnthropicProvider(HttpProvider):
    """A service that speaks the Messages API."""

    default_base_url = "https://api.anthropic.com"
    loads_natively = True

    def __init__(self, config: ProviderConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self._encoder = RequestEncoder(self._url.origin)
        self._most_tokens: dict[str, int] = {}  # by model
        self._thoughtless_since: dict[str, int] = {}  # by session: the place of the user's message in the history

    @property
    def attachment_media_types(self) -> tuple[str, ...]:
        """The media types of attachments that the wire format can carry."""
        return (*IMAGE_MEDIA_TYPES, PDF_MEDIA_TYPE)

    @property
    def image_limits(self) -> ImageLimits:
        """Return the limits of the service for images."""
        return IMAGE_LIMITS

    def takes_output(self, request: ModelRequest, is_said: bool | None) -> bool:
        """Return True if the model can be kept to a schema; see :class:`oneclaw_core.providers.base.Provider`."""
        if is_said is None:
            is_said = self._url.origin == self.default_base_url and keeps_to_schemas(request.model)
        return is_said and request.output is not None and output_schema(request.output.schema) is not None

    async def list_models(self) -> list[ModelInfo]:
        """Ask the service which models it offers; see :class:`oneclaw_core.providers.base.Provider`."""
        models: list[ModelInfo] = []
        after = ""
        for _ in range(_MAX_PAGES):
            page = await self._get_json(self._path(f"models?limit={_MODELS_PER_PAGE}{after}"))
            entries = member(page, "data")
            if not isinstance(entries, list):
                raise self._errors.no_answer("it sent no list of models").error
            models += [_model_info(entry) for entry in entries if text_member(entry, "id")]
            last = text_member(page, "last_id")
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
            Concessions(
                self._most_tokens.get(request.model),
                may_think=self._thoughtless_since.get(request.session_id) != _turn_of(request),
            ),
        )

    def _new_answer(self, request: ModelRequest) -> MessagesAnswer:
        return MessagesAnswer(self._url.origin, request.model, request.tools)

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}

    def _keyless_headers(self, accept: str) -> dict[str, str]:
        return super()._keyless_headers(accept) | {"anthropic-version": API_VERSION}

    def _request_headers(self, request: ModelRequest) -> dict[str, str]:
        betas = request.parameters.get("betas")
        given = betas if isinstance(betas, list | tuple) else ()
        names = [each for each in given if isinstance(each, str) and _BETA.fullmatch(each)]
        if tells_inline(request):  # from the first request on, since what differs may be cached apart
            names.append(INLINE_TOOLS_BETA)
        return {"anthropic-beta": ",".join(dict.fromkeys(names))} if names else {}

    def _loading_instead(self, error: ProviderRequestError, request: ModelRequest) -> ToolLoading | None:
        if tells_inline(request):
            return ToolLoading.NATIVE if _INLINE_TOOLS_REFUSED.search(str(error)) else None
        is_refused = request.tool_loading is ToolLoading.NATIVE and _DEFERRED_TOOLS_REFUSED.search(str(error))
        return ToolLoading.APPEND if is_refused else None

    def _concede(self, refusal: str, request: ModelRequest) -> bool:
        limit = _MAX_TOKENS_REFUSED.search(refusal)
        if limit:
            most = int(limit[1])
            if 0 < most < self._most_tokens.get(request.model, most + 1):
                self._most_tokens[request.model] = most
                return True
        asks_to_think = request.parameters.get("thinking") is not None or request.reasoning not in (None, "off")
        if _THINKING_MISSED.search(refusal) and asks_to_think:
            turn = _turn_of(request)
            if self._thoughtless_since.get(request.session_id) != turn:
                self._thoughtless_since[request.session_id] = turn
                return True
        return False


def _turn_of(request: ModelRequest) -> int:
    """The place in the history of the message that the user wrote last."""
    users = (each.sequence or 0 for each in request.messages if each.type is MessageType.USER)
    return max(users, default=0)


def _model_info(entry: Mapping[str, Any]) -> ModelInfo:
    return ModelInfo(
        name=entry["id"],
        display_name=text_member(entry, "display_name"),
        context_window=count_member(entry, "max_input_tokens") or None,
        max_output_tokens=count_member(entry, "max_tokens") or None,
        input_media_types=_input_media_types(entry.get("capabilities")),
        output_modes=_output_modes(entry.get("capabilities")),
    )


def _output_modes(capabilities: object) -> frozenset[str] | None:
    is_supported = member(member(capabilities, "structured_outputs"), "supported")
    return None if not isinstance(is_supported, bool) else frozenset({"native"} if is_supported else ())


def _input_media_types(capabilities: object) -> tuple[str, ...] | None:
    if not isinstance(capabilities, dict):
        return None
    images = IMAGE_MEDIA_TYPES if member(capabilities.get("image_input"), "supported") is True else ()
    documents = (PDF_MEDIA_TYPE,) if member(capabilities.get("pdf_input"), "supported") is True else ()
    return (*images, *documents)
