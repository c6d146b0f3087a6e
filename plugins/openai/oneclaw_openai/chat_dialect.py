"""In what the servers that speak Chat Completions differ, as far as a request has to know.

What is said here of a server is kept to what makes it refuse a request, or lose the whole session to one message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import urlsplit

from oneclaw_http_providers import ImageLimits

from oneclaw_openai.wire_text import valid_id

IMAGE_MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PDF_MEDIA_TYPE = "application/pdf"
# Of OpenAI itself: https://developers.openai.com/api/docs/guides/images-vision. It scales large images down by itself.
IMAGE_LIMITS = ImageLimits(max_bytes=20_000_000, most_images=500)

# OpenAI answers more with status 400: "Expected an array with maximum length 128".
_MOST_TOOLS = 128
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
# Their chat templates are as strict behind every other server.
_MISTRAL_MODEL = re.compile(r"(?:mi|mini|dev|magi|code)stral|(?:mix|pix|vox)tral", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """The requirements of a server for a request.

    Attributes:
        limit_parameter: what it calls the longest answer wanted. OpenAI's reasoning models refuse ``max_tokens``,
            which is all that Ollama, LM Studio, DeepSeek and Mistral know.
        takes_pdf: whether it takes ``file`` parts; Ollama, vLLM, llama.cpp and others refuse the whole request.
        takes_cache_key: whether it knows ``prompt_cache_key``.
        call_ids: the ids of tool calls that it takes; they may come from another service.
        call_id_characters: how long the ids are that stand for those it does not take.
        wants_answer_to_results: whether it refuses a user message right after tool messages.
        most_tools: how many tools it takes in a request, ``None`` if that is not known.
        image_limits: what it takes of images, ``None`` if that is not known.
        is_vendor: whether it is OpenAI's own, which sends thoughts and calls as what they are.
    """

    limit_parameter: str = "max_tokens"
    takes_pdf: bool = False
    takes_cache_key: bool = False
    call_ids: re.Pattern[str] = re.compile(r"[!-~]{1,64}")
    call_id_characters: int = 32
    wants_answer_to_results: bool = False
    most_tools: int | None = None
    image_limits: ImageLimits | None = None
    is_vendor: bool = False

    @property
    def attachment_media_types(self) -> tuple[str, ...]:
        """The media types of the attachments that it takes."""
        return (*IMAGE_MEDIA_TYPES, PDF_MEDIA_TYPE) if self.takes_pdf else IMAGE_MEDIA_TYPES

    def call_id(self, call_id: str) -> str:
        """The id of a tool call as this server takes it, always the same for the same id."""
        return valid_id(call_id, self.call_ids, self.call_id_characters)


@lru_cache(maxsize=64)
def dialect_of(server: str, model: str = "") -> ChatDialect:
    """Find out what a server wants.

    Args:
        server: its origin, such as ``https://api.openai.com``.
        model: the model asked.
    """
    host = urlsplit(server).hostname or ""
    dialect = ChatDialect()
    if host == "api.openai.com" or host.endswith(".api.openai.com"):
        dialect = ChatDialect(
            limit_parameter="max_completion_tokens",
            takes_pdf=True,
            takes_cache_key=True,
            call_ids=re.compile(r"[!-~]{1,40}"),
            most_tools=_MOST_TOOLS,
            image_limits=IMAGE_LIMITS,
            is_vendor=True,
        )
    elif host.endswith(_AZURE):
        dialect = ChatDialect(
            limit_parameter="max_completion_tokens",
            call_ids=re.compile(r"[!-~]{1,40}"),
            most_tools=_MOST_TOOLS,
            is_vendor=True,
        )
    elif host == "openrouter.ai":
        dialect = ChatDialect(takes_pdf=True)
    if host == "api.mistral.ai" or _MISTRAL_MODEL.search(model):
        return replace(
            dialect, call_ids=re.compile(r"[a-zA-Z0-9]{9}"), call_id_characters=9, wants_answer_to_results=True
        )
    return dialect
