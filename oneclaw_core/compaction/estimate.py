"""Estimate the tokens of a model request without a tokenizer; no I/O.

A token is taken for four bytes of UTF-8: close for English, and for other scripts, of which a character is more, far
closer than counting characters.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.types.identity_cache import IdentityCache
from oneclaw_core.types.messages import OWN_DATA, Attachment, Message, MessageType
from oneclaw_core.types.text import compact_json

if TYPE_CHECKING:
    from oneclaw_core.types.model_requests import ModelRequest
    from oneclaw_core.types.tools import ToolDefinition

BYTES_PER_TOKEN = 4
TOKENS_PER_IMAGE = 1_600
TOKENS_PER_PAGE = 2_000
_TOKENS_AROUND_TEXT = 4
_TOKENS_AROUND_CALL = 16  # two ids, and the envelope of a result
_LEAST_RATIO, _GREATEST_RATIO = 0.5, 2.0
_PDF_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_BYTES_PER_PDF_PAGE = 50_000  # where the pages lie compressed in the file and cannot be counted


def text_bytes(text: str) -> int:
    """Return the length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def text_tokens(text: str) -> int:
    """Estimate a text."""
    return _tokens(text_bytes(text))


def definition_tokens(definition: ToolDefinition) -> int:
    """Estimate a tool as it is declared to a model: its name, description and parameters."""
    sent = {"name": definition.name, "description": definition.description, "parameters": definition.parameters}
    return text_tokens(compact_json(sent))


def message_tokens(message: Message) -> int:
    """Estimate an entry of the history as far as it is shown to a model, with its attachments."""
    content = message.content
    if message.shown_characters is not None:
        content = content[: message.shown_characters]
    size = text_bytes(content) + text_bytes(message.tool_input or "")
    sent_back = {name: data for name, data in (message.provider_data or {}).items() if name != OWN_DATA}
    if sent_back:
        # It is sent instead of the text, which it repeats.
        size = max(size, text_bytes(compact_json(sent_back)))
    around = _TOKENS_AROUND_TEXT
    if message.type in (MessageType.TOOL_CALL, MessageType.TOOL_RESULT):
        size += len(message.tool_name or "")
        around = _TOKENS_AROUND_CALL
    return _tokens(size) + around + sum(attachment_tokens(each) for each in message.files_for_model)


def attachment_tokens(attachment: Attachment) -> int:
    """Estimate a file at a flat figure for an image or a page; services count them each in its own way."""
    if attachment.left_out_bytes is not None:
        return _TOKENS_AROUND_CALL  # a note stands for it
    if attachment.media_type.startswith("image/"):
        return TOKENS_PER_IMAGE
    if attachment.media_type.startswith("text/"):
        return _tokens(len(attachment.data))
    pages = len(_PDF_PAGE.findall(attachment.data)) or -(-len(attachment.data) // _BYTES_PER_PDF_PAGE)
    return TOKENS_PER_PAGE * max(1, pages)


class Estimator:
    """Estimates the requests of one session, each part once, and learns from what the service counts.

    Args:
        tool_tokens: estimates of tools, kept for many turns.
        last_input_tokens: what the service counted for the session's last request; ``None`` if it is not known.

    Attributes:
        ratio: tokens that the service counts for each token estimated.
    """

    def __init__(
        self, tool_tokens: IdentityCache[ToolDefinition, int] | None = None, last_input_tokens: int | None = None
    ) -> None:
        self._tool_tokens = tool_tokens or IdentityCache(definition_tokens)
        # By identity, with the message itself so that no other can take over its identity.
        self._known: dict[int, tuple[Message, int]] = {}
        self.ratio = 1.0
        # What the service counted last, for which request; most turns are short and want no estimate.
        self._counted: tuple[ModelRequest | None, int | None] = None, last_input_tokens

    def count(self, request: ModelRequest, input_tokens: int | None) -> None:
        """Note what the service counted for a request, to learn from it when an estimate is wanted."""
        if input_tokens:
            self._counted = request, input_tokens

    def raw(self, request: ModelRequest) -> int:
        """Estimate a request from its length alone."""
        definitions = sum(map(self._tool_tokens.of, request.tools))
        return text_tokens(request.system_prompt) + definitions + sum(map(self._message, request.messages))

    def request(self, request: ModelRequest) -> int:
        """Estimate a request as the service would count it."""
        (counted, input_tokens), self._counted = self._counted, (None, None)
        if counted is not None:
            self.observe(counted, input_tokens)
        elif input_tokens is not None:
            self.observe_earlier(request, input_tokens)
        return round(self.raw(request) * self.ratio)

    def message(self, message: Message) -> int:
        """Estimate an entry of the history as the service would count it."""
        return round(self._message(message) * self.ratio)

    def observe(self, request: ModelRequest, input_tokens: int | None) -> None:
        """Learn from a request that the service has counted."""
        estimated = self.raw(request) if input_tokens else 0
        if input_tokens and estimated > 0:
            self.ratio = min(max(input_tokens / estimated, _LEAST_RATIO), _GREATEST_RATIO)

    def observe_earlier(self, request: ModelRequest, input_tokens: int | None) -> None:
        """Learn from the last request that was answered before this one, in another turn or another process.

        Args:
            request: what comes next; what it begins with is taken for that earlier request.
            input_tokens: the service's count for the earlier one; ``None`` if it is not known.
        """
        answers = [at for at, each in enumerate(request.messages) if each.type is MessageType.ASSISTANT]
        if answers:
            self.observe(replace(request, messages=request.messages[: answers[-1]]), input_tokens)

    def _message(self, message: Message) -> int:
        known = self._known.get(id(message))
        if known is None:
            known = self._known[id(message)] = message, message_tokens(message)
        return known[1]


def _tokens(size: int) -> int:
    return -(-size // BYTES_PER_TOKEN)
