"""Taking a message apart: its texts in order, and what is attached; pure, without any I/O."""

from __future__ import annotations

import binascii
import mimetypes
import re
import unicodedata
from base64 import urlsafe_b64decode
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools import INVISIBLE_CHARACTERS
from oneclaw_google_workspace.gmail.addresses import shown_addresses
from oneclaw_google_workspace.gmail.headers import header, readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PLAIN, _HTML = "text/plain", "text/html"
# Real mails nest a dozen deep at most.
_MAX_DEPTH = 60
_MAX_NAME_BYTES = 150
# What names must not hold anywhere, and what cannot be seen or turns the direction of what is.
_NOT_IN_NAMES = re.compile(rf'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\xad{INVISIBLE_CHARACTERS}]+')
# In mails, as on the web, these names stand for Windows' supersets of what they name.
_SUPERSETS = {
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "iso-8859-9": "cp1254",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "big5": "big5hkscs",
    "iso-8859-8-i": "iso-8859-8",
}
_CODEC = re.compile(r"[a-z0-9][a-z0-9._:-]{1,39}")
_NO_CHARSETS = ("unicode_escape", "raw_unicode_escape", "unicode-escape", "raw-unicode-escape", "idna", "punycode")


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of a message's body.

    Attributes:
        is_html: whether it is to be converted.
        charset: as the part says, empty if it does not.
        data: base64url as Google sends it, ``None`` if it is stored apart.
        attachment_id: where it is then.
        heading: instead of all that, a line that stands before an attached message.
    """

    is_html: bool = False
    charset: str = ""
    data: str | None = None
    attachment_id: str | None = None
    heading: str = ""


@dataclass(frozen=True, slots=True)
class AttachedPart:
    """The attachments of a message.

    Attributes:
        part_id: stays the same from one read to the next.
        filename: one that can be used for a file.
        media_type: as the sender says.
        size: in bytes.
        attachment_id: to get it by, for a while; ``None`` if the content came along.
        data: base64url then.
    """

    part_id: str
    filename: str
    media_type: str
    size: int
    attachment_id: str | None = None
    data: str | None = None


@dataclass(frozen=True, slots=True)
class MailParts:
    """A message taken apart."""

    texts: tuple[Text, ...] = ()
    attachments: tuple[AttachedPart, ...] = ()


def take_apart(payload: Mapping[str, Any], *, wants_html: bool = False) -> MailParts:
    """Take a message apart.

    Args:
        payload: as Google answers it.
        wants_html: which of a text's alternatives to take; the other if there is but one.
    """
    return _walk(payload, wants_html, 0)


def decoded(data: str) -> bytes:
    """Decode what Google sends as base64url, mostly without padding.

    Raises:
        ValueError: it is none.
    """
    try:
        return urlsafe_b64decode(data + "=" * (-len(data) % 4))
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def decoded_text(content: bytes, charset: str) -> str:
    """Decode a body, whatever its bytes are; all line ends become the same.

    Args:
        content: the bytes.
        charset: as the part says, empty if it does not.
    """
    return _decoded_as(content, charset).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def file_name(wanted: str, media_type: str, part_id: str) -> str:
    """Make a sender's name for a file into one that is good for a file, and nothing but a file.

    Args:
        wanted: by the sender, may be empty.
        media_type: for the ending, if there is no name.
        part_id: for a name, if there is none.
    """
    text = unicodedata.normalize("NFC", wanted.encode("utf-8", "replace").decode())
    name = _NOT_IN_NAMES.sub("-", text.replace("\\", "/").rstrip("/").rpartition("/")[2]).strip(" .-")
    if not name:
        return f"attachment-{re.sub('[^0-9.]', '', part_id) or '0'}{mimetypes.guess_extension(media_type) or ''}"
    stem, dot, suffix = name.rpartition(".")
    if not dot or len(suffix.encode()) > 10:
        stem, dot, suffix = name, "", ""
    room = _MAX_NAME_BYTES - len(suffix.encode()) - len(dot)
    return stem.encode()[:room].decode("utf-8", "ignore").rstrip(" .-") + dot + suffix


def _walk(part: Mapping[str, Any], wants_html: bool, depth: int) -> MailParts:
    if depth > _MAX_DEPTH:
        return MailParts()
    kind = str(part.get("mimeType", "")).lower()
    if kind.startswith("multipart/"):
        children = [_walk(each, wants_html, depth + 1) for each in part.get("parts", [])]
        if kind == "multipart/alternative":
            attachments = tuple(one for child in children for one in child.attachments)
            return MailParts(_alternative(children, wants_html), attachments)
        return _joined(children)
    if kind == "message/rfc822":
        return _attached_message(part, wants_html, depth)
    if kind in (_PLAIN, _HTML) and not _is_attached(part):
        body = part.get("body", {})
        text = Text(kind == _HTML, _charset(part), body.get("data"), body.get("attachmentId"))
        return MailParts((text,)) if text.data or text.attachment_id else MailParts()
    return MailParts((), (_attachment(part, kind),))


def _joined(found: Iterable[MailParts]) -> MailParts:
    parts = list(found)
    return MailParts(
        tuple(text for each in parts for text in each.texts), tuple(one for each in parts for one in each.attachments)
    )


def _alternative(children: list[MailParts], wants_html: bool) -> tuple[Text, ...]:
    """Choose among the ways in which a text is written; the richest comes last."""
    written = [child.texts for child in children if any(not _is_blank(text) for text in child.texts)]
    for texts in reversed(written) if wants_html else written:
        if any(text.is_html is wants_html for text in texts):
            return texts
    return written[-1] if written else ()


def _is_blank(text: Text) -> bool:
    if text.data is None:
        return text.attachment_id is None
    # A short one only: senders with nothing but HTML leave a line end or a space in the plain part.
    if len(text.data) > 200:
        return False
    try:
        return not decoded(text.data).strip(b" \t\r\n\xa0\xc2")
    except ValueError:
        return False


def _attached_message(part: Mapping[str, Any], wants_html: bool, depth: int) -> MailParts:
    """A message within the message: something attached, and its text is part of the text."""
    inner = [_walk(each, wants_html, depth + 1) for each in part.get("parts", [])]
    roots = part.get("parts", [])
    subject = readable(header(roots[0], "Subject")) if roots else ""
    about = [
        f"{name}: {value}"
        for name, value in (
            ("From", shown_addresses(header(roots[0], "From")) if roots else ""),
            ("Date", readable(header(roots[0], "Date")) if roots else ""),
            ("Subject", subject),
        )
        if value
    ]
    heading = Text(heading="\n".join(["---------- Attached message ----------", *about]))
    whole = _attachment(part, "message/rfc822", subject and f"{subject}.eml")
    nested = _joined(inner)
    return MailParts((heading, *nested.texts) if nested.texts else (), (whole, *nested.attachments))


def _attachment(part: Mapping[str, Any], kind: str, fallback: str = "") -> AttachedPart:
    body, part_id = part.get("body", {}), str(part.get("partId", ""))
    wanted = readable(str(part.get("filename") or "")) or fallback
    size = body.get("size")
    return AttachedPart(
        part_id,
        file_name(wanted, kind, part_id),
        kind or "application/octet-stream",
        size if isinstance(size, int) else 0,
        body.get("attachmentId"),
        body.get("data"),
    )


def _is_attached(part: Mapping[str, Any]) -> bool:
    disposition = header(part, "Content-Disposition").partition(";")[0].strip().lower()
    return bool(part.get("filename")) or disposition == "attachment"


def _charset(part: Mapping[str, Any]) -> str:
    value = header(part, "Content-Type")[:1_000].replace("\r", " ").replace("\n", " ")
    if "charset" not in value.lower():
        return ""
    message = Message()
    message["Content-Type"] = value
    try:
        return message.get_content_charset("")
    except (LookupError, ValueError):
        return ""


def _decoded_as(content: bytes, charset: str) -> str:
    if charset in ("", "utf-8", "utf8", "us-ascii", "ascii") or not _CODEC.fullmatch(charset):
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            return content.decode("utf-8" if charset.startswith("utf") else "cp1252", "replace")
    if charset not in _NO_CHARSETS:
        try:
            return content.decode(_SUPERSETS.get(charset, charset), "replace")
        except (LookupError, ValueError):  # no character set, or one that is none for text
            pass
    return content.decode("utf-8", "replace")
