"""The messages that a client sends: their text, their files, and their transcript."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from oneclaw_core import Attachment
from oneclaw_serve.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NAMES = {"system": "Instructions", "developer": "Instructions", "user": "User", "assistant": "You answered"}
_INSTRUCTIONS = frozenset({"system", "developer"})
# What a client's own tools did. An agent calls its own, so a client that sends these has another model beside it.
_OF_TOOLS = frozenset({"tool", "function"})
_TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal"})
_IMAGE_PARTS = frozenset({"image_url", "input_image"})
_FILE_PARTS = frozenset({"file", "input_file"})


class ChatMessage(BaseModel):
    """A message of the conversation."""

    model_config = ConfigDict(extra="ignore")

    role: str
    content: Any = None

    @property
    def is_instruction(self) -> bool:
        """True for what the client, not its user, wants of the model."""
        return self.role in _INSTRUCTIONS

    @property
    def is_said(self) -> bool:
        """True for what the user or the agent said."""
        return not self.is_instruction and self.role not in _OF_TOOLS and bool(self.text or self.files)

    @property
    def text(self) -> str:
        """The text of all parts."""
        return "\n".join(_text_of(part) for part in self._parts if _kind(part) in _TEXT_PARTS)

    @property
    def files(self) -> list[dict[str, Any]]:
        """The parts that are images or other files."""
        return [part for part in self._parts if _kind(part) in _IMAGE_PARTS | _FILE_PARTS]

    @property
    def _parts(self) -> list[Any]:
        if self.content is None:
            return []
        return self.content if isinstance(self.content, list) else [self.content]

    def attachments(self) -> list[Attachment]:
        """Return the files.

        Raises:
            Refusal: a part is of an unknown kind, or a file is not in the message itself.
        """
        known = _TEXT_PARTS | _IMAGE_PARTS | _FILE_PARTS
        for part in self._parts:
            if (kind := _kind(part)) not in known:
                raise Refusal(400, "invalid_request", f"messages: content of type {kind[:40]!r} is not supported")
        return [_image(part) if _kind(part) in _IMAGE_PARTS else _file(part) for part in self.files]


def split_messages(messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], list[ChatMessage]]:
    """Return what was said before, up to the last answer, and the user's messages behind it.

    Raises:
        Refusal: the user says nothing at the end.
    """
    if messages[-1].role in _OF_TOOLS:
        raise Refusal(400, "unsupported", "messages: an agent calls its own tools; it takes no results of others")
    said = [each for each in messages if each.is_said]
    end = max((place for place, each in enumerate(said, 1) if each.role == "assistant"), default=0)
    if not said[end:]:
        raise Refusal(400, "invalid_request", "messages: the last one must be the user's, and say something")
    return said[:end], said[end:]


def instructions(messages: Iterable[ChatMessage]) -> str:
    """Return the system prompts of the client as one text."""
    return "\n\n".join(each.text.strip() for each in messages if each.is_instruction and each.text.strip())


def transcript(messages: Iterable[ChatMessage]) -> str:
    """Return messages as one text."""
    parts = []
    for each in messages:
        images = f"({len(each.files)} files)" if each.files else ""
        if text := "\n".join(filter(None, (each.text, images))):
            parts.append(f"{_NAMES.get(each.role, each.role)}: {text}")
    return "\n\n".join(parts)


def files_of(messages: Iterable[ChatMessage]) -> list[Attachment]:
    """Return the files of earlier messages; those that cannot be read are left out."""
    found = []
    for each in messages:
        try:
            found += each.attachments()
        except Refusal:
            continue
    return found


def _kind(part: Any) -> str:
    if isinstance(part, str):
        return "text"
    if not isinstance(part, dict):
        return type(part).__name__
    kind = part.get("type")
    return kind if isinstance(kind, str) else "text" if "text" in part else "nothing"


def _text_of(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else ""


def _image(part: dict[str, Any]) -> Attachment:
    value = part.get("image_url")
    url = value.get("url") if isinstance(value, dict) else value
    media_type, data = _data_url(url, "an image")
    if not media_type.startswith("image/"):
        raise Refusal(400, "invalid_request", "messages: an image_url must be a data: URL of an image")
    return Attachment(f"image.{media_type.partition('/')[2]}", media_type, data)


def _file(part: dict[str, Any]) -> Attachment:
    value = part.get("file", part)
    file = value if isinstance(value, dict) else {}
    media_type, data = _data_url(file.get("file_data"), "a file")
    name = file.get("filename")
    return Attachment(name if isinstance(name, str) and name else "file", media_type, data)


def _data_url(url: Any, what: str) -> tuple[str, bytes]:
    head, _, data = (url if isinstance(url, str) else "").partition(";base64,")
    if not head.startswith("data:") or not data:
        raise Refusal(400, "invalid_request", f"messages: {what} must be a data: URL in base64; none is fetched")
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise Refusal(400, "invalid_request", f"messages: {what} is not base64") from None
    return head.removeprefix("data:").partition(";")[0], content
