"""The provider type ``openai``: the Responses API over server-sent events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import HttpProvider

from oneclaw_core.providers import ToolLoading
from oneclaw_openai.chat_dialect import IMAGE_LIMITS, dialect_of
from oneclaw_openai.model_list import offered_models
from oneclaw_openai.responses_answer import ResponsesAnswer
from oneclaw_openai.responses_wire import IMAGE_MEDIA_TYPES, PDF_MEDIA_TYPE, ResponsesEncoder

if TYPE_CHECKING:
    from oneclaw_http_providers import ImageLimits

    from oneclaw_core.providers import ModelInfo, ModelRequest, ProviderConfig, ProviderRequestError

# How servers say that they do not know the item that carries loaded tools. Not all name it. What is said of encrypted
# content is about another item.
_ADDITIONAL_TOOLS_REFUSED = re.compile(
    r"^(?!.*encrypted[ _]content).*?"
    r"(additional_?tools|namespace|(input|item)\W* type|input item|invalid input\b|input tag|discriminator)",
    re.IGNORECASE | re.DOTALL,
)


class OpenAIResponsesProvider(HttpProvider):
    """A service that speaks the Responses API."""

    default_base_url = "https://api.openai.com/v1"
    loads_natively = True

    def __init__(self, config: ProviderConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self._encoder = ResponsesEncoder(self._url.origin)

    @property
    def attachment_media_types(self) -> tuple[str, ...]:
        """The media types of the attachments that the wire format carries."""
        return (*IMAGE_MEDIA_TYPES, PDF_MEDIA_TYPE)

    @property
    def image_limits(self) -> ImageLimits:
        """Return the limits of the service for images."""
        return IMAGE_LIMITS

    def takes_output(self, request: ModelRequest, is_said: bool | None) -> bool:
        """Return True if the service keeps an answer to a schema; see :class:`oneclaw_core.providers.base.Provider`."""
        return is_said is True or (is_said is None and dialect_of(self._url.origin).is_vendor)

    async def list_models(self) -> list[ModelInfo]:
        """Ask the service which models it offers; see :class:`oneclaw_core.providers.base.Provider`."""
        models = offered_models(await self._get_json("models"))
        if models is None:
            raise self._errors.no_answer("it sent no list of models").error
        return models

    def _endpoint(self, request: ModelRequest) -> str:
        return "responses"

    def _encode(self, request: ModelRequest) -> bytes:
        return self._encoder.encode(request, with_echo="reasoning" not in request.left_out)

    def _new_answer(self, request: ModelRequest) -> ResponsesAnswer:
        return ResponsesAnswer(self._url.origin)

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def _loading_instead(self, error: ProviderRequestError, request: ModelRequest) -> ToolLoading | None:
        has_asked = request.tool_loading.is_native and bool(request.tools.groups or request.tools.of_turn)
        return ToolLoading.APPEND if has_asked and _ADDITIONAL_TOOLS_REFUSED.search(str(error)) else None
