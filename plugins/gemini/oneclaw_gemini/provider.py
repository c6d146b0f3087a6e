"""The provider type ``gemini``: Google's generateContent over server-sent events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from oneclaw_http_providers import HttpProvider, ImageLimits, count_member, text_member

from oneclaw_core.providers import ModelInfo
from oneclaw_gemini.answer import GeminiAnswer
from oneclaw_gemini.contents import CARRIED_MEDIA_TYPES, is_before_gemini_3
from oneclaw_gemini.errors import GeminiErrors
from oneclaw_gemini.wire import MAX_DECLARATIONS, GeminiEncoder

if TYPE_CHECKING:
    from oneclaw_core.providers import ModelRequest, ProviderConfig

_VENDOR = ".googleapis.com"
_VERSION = "v1beta"
_ENDS_IN_VERSION = re.compile(r"/v\d+[a-z0-9]*/*$")
# https://ai.google.dev/gemini-api/docs/image-understanding: 3,600 images, 20 MB for all of a request. A file that goes
# with it: 7 MB (https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/capabilities/image-understanding).
IMAGE_LIMITS = ImageLimits(max_bytes=7_000_000, most_images=3_600)
_MODELS_PER_PAGE = 1000
_MAX_PAGES = 20


class GeminiProvider(HttpProvider):
    """A service that speaks Gemini's generateContent.

    The base URL may end in the version of the API or stop before it, as the vendor's own libraries take it.
    """

    default_base_url = "https://generativelanguage.googleapis.com"

    def __init__(self, config: ProviderConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self._errors = GeminiErrors(config, self._url)
        self._encoder = GeminiEncoder(self._url.origin)
        names_version = _ENDS_IN_VERSION.search(urlsplit(config.base_url or "").path.strip())
        self._version = "" if names_version else f"{_VERSION}/"

    @property
    def attachment_media_types(self) -> tuple[str, ...]:
        """Prefixes of the media types of attachments that the wire format can carry."""
        return CARRIED_MEDIA_TYPES

    @property
    def image_limits(self) -> ImageLimits:
        """Return the limits of the service for images."""
        return IMAGE_LIMITS

    def takes_output(self, request: ModelRequest, is_said: bool | None) -> bool:
        """Return True if the model can be kept to a schema; see :class:`oneclaw_core.providers.base.Provider`.

        Models before Gemini 3 cannot beside tools.
        """
        if is_said is None and (urlsplit(self._url.origin).hostname or "").endswith(_VENDOR):
            return not (request.tools.names and is_before_gemini_3(request.model))
        return is_said is True

    @property
    def most_tools(self) -> int:
        """The number of tools that the service takes in a request."""
        return MAX_DECLARATIONS

    async def list_models(self) -> list[ModelInfo]:
        """Ask the service which models it offers; see :class:`oneclaw_core.providers.base.Provider`."""
        models: dict[str, ModelInfo] = {}
        token: str | None = None
        for _ in range(_MAX_PAGES):
            page = f"&pageToken={quote(token, safe='')}" if token else ""
            body = await self._get_json(f"{self._version}models?pageSize={_MODELS_PER_PAGE}{page}")
            entries = body.get("models", []) if isinstance(body, dict) else None
            if not isinstance(entries, list):
                raise self._errors.no_answer("it sent no list of models").error
            for entry in entries:
                if isinstance(entry, dict) and _answers(entry):
                    info = _model_info(entry)
                    models[info.name] = info
            token = text_member(body, "nextPageToken")
            if token is None:
                break
        return list(models.values())

    def _endpoint(self, request: ModelRequest) -> str:
        # Tuned models have a separate folder.
        folder, slash, name = request.model.rpartition("/")
        model = f"{quote(folder)}/{quote(name, safe='')}" if slash else f"models/{quote(name, safe='')}"
        return f"{self._version}{model}:streamGenerateContent?alt=sse"

    def _encode(self, request: ModelRequest) -> bytes:
        return self._encoder.encode(request)

    def _new_answer(self, request: ModelRequest) -> GeminiAnswer:
        return GeminiAnswer(self._url.origin, self._config.name)

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}


def _answers(entry: dict[str, Any]) -> bool:
    name, methods = entry.get("name"), entry.get("supportedGenerationMethods")
    if not isinstance(name, str) or not name.removeprefix("models/"):
        return False
    return not isinstance(methods, list) or "generateContent" in methods


def _model_info(entry: dict[str, Any]) -> ModelInfo:
    return ModelInfo(
        name=entry["name"].removeprefix("models/"),
        display_name=text_member(entry, "displayName"),
        context_window=count_member(entry, "inputTokenLimit") or None,
        max_output_tokens=count_member(entry, "outputTokenLimit") or None,
    )
