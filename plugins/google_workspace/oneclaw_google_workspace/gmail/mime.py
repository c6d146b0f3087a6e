"""Taking a message apart: its headers and addresses, its texts in order, and what is attached; pure, without any I/O.

Addresses to write to are read strictly, those in mails that came forgivingly.
"""

from __future__ import annotations

import binascii
import mimetypes
import re
import unicodedata
from base64 import urlsafe_b64decode
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses
from html import unescape
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools import INVISIBLE_CHARACTERS
from oneclaw_google_workspace.failures import invalid
from oneclaw_google_workspace.gmail.hidden_text import visible_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


# What stands in a header must not end it: line ends of all kinds, and what cannot be sent at all.
FORBIDDEN = re.compile("[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
# A name that came with a mail is not to look like another address.
_NOT_IN_NAMES = re.compile(f'{FORBIDDEN.pattern}|[<>"\\\\]')
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ADDRESS = re.compile(rf"({_ATOM}(?:\.{_ATOM})*)@({_LABEL}(?:\.{_LABEL})*)")
_NAMED = re.compile(r"(?P<name>[^<>]*)<(?P<email>[^<>]+)>")
_ANYWHERE = re.compile(r"[^\s<>,;:\"()]+@[^\s<>,;:\"()]+")
_MAX_ADDRESS_CHARACTERS = 254
_MAX_HEADER_CHARACTERS = 100_000
_PLAIN, _HTML, _MESSAGE = "text/plain", "text/html", "message/rfc822"
_MAX_NAME_BYTES = 150
# What names must not hold anywhere, and what cannot be seen or turns the direction of what is.
_NOT_IN_FILE_NAMES = re.compile(rf'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\xad{INVISIBLE_CHARACTERS}]+')
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
class MailAddress:
    """An address that mail can be sent to, with a name or without."""

    email: str
    name: str = ""

    @property
    def key(self) -> str:
        """The common form of all spellings of an address."""
        return self.email.casefold()

    def __str__(self) -> str:
        if not self.name:
            return self.email
        # A name with an address in it must not look like the address.
        name = f'"{self.name}"' if re.search(r"[@,;:()]", self.name) else self.name
        return f"{name} <{self.email}>"


def mail_address(argument: str, text: str) -> MailAddress:
    """Read an address that somebody wants to write to.

    Args:
        argument: the name of the argument, for messages.
        text: ``bo@example.com`` or ``Bo Berg <bo@example.com>``.

    Raises:
        GoogleError: it is not just one address.
    """
    shown = f"{text[:100]!r}"
    if FORBIDDEN.search(text):
        raise invalid(f"{argument}: {shown} has a line end or another control character in it.")
    match = _NAMED.fullmatch(text.strip())
    email = (match["email"] if match else text).strip()
    name = match["name"].strip().removeprefix('"').removesuffix('"').strip() if match else ""
    normal = _normal(email)
    if normal is None:
        raise invalid(
            f"{argument}: {shown} is not a mail address such as bo@example.com or Bo Berg <bo@example.com>, one in "
            "each entry."
        )
    return MailAddress(normal, " ".join(_NOT_IN_NAMES.sub("", name).split()))


def mail_addresses(argument: str, texts: Iterable[str] | None) -> list[MailAddress]:
    """Read addresses: see :func:`mail_address`; each comes once."""
    return unique(mail_address(argument, text) for text in texts or ())


def unique(addresses: Iterable[MailAddress], *, without: Iterable[str] = ()) -> list[MailAddress]:
    """Leave out addresses that came before.

    Args:
        addresses: in order.
        without: keys of others to leave out.
    """
    seen = set(without)
    return [each for each in addresses if each.key not in seen and not seen.add(each.key)]  # type: ignore[func-returns-value]


def addresses_in(value: str) -> list[MailAddress]:
    """Find the addresses in a header of a mail that came; what is none is left out.

    Args:
        value: of From, To, Cc or Reply-To, as it was sent.
    """
    text = value[:_MAX_HEADER_CHARACTERS]
    pairs = [(name, email) for name, email in getaddresses([text]) if email]
    # Newer Pythons give nothing at all for a header in which anything is out of order.
    found = pairs or [("", email) for email in _ANYWHERE.findall(text)]
    return unique(
        MailAddress(normal, _NOT_IN_NAMES.sub("", readable(name)).strip())
        for name, email in found
        if (normal := _normal(email.strip())) is not None
    )


def shown_addresses(value: str) -> str:
    """Write down a header with addresses so that a name cannot pass for an address; as it was sent if it has none."""
    found = addresses_in(value)
    return ", ".join(map(str, found)) if found else readable(value)


def everybody_in(value: str) -> str:
    """Name everyone a mail with this header goes to, for a question: no one may be left out.

    Args:
        value: of To, Cc or Bcc, as it was sent.
    """
    found = [each.email for each in addresses_in(value)]
    text = readable(value)
    # What is not an address by the rules above, such as one with an umlaut before its @, may be one for Gmail.
    return ", ".join(found) if text.count("@") <= len(found) else text


def _normal(email: str) -> str | None:
    """An address with its host in ASCII; ``None`` if it is none."""
    local, at, host = email.rpartition("@")
    if not at or len(email) > _MAX_ADDRESS_CHARACTERS:
        return None
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    normal = f"{local}@{host}"
    return normal if _ADDRESS.fullmatch(normal) else None


_MAX_CHARACTERS = 10_000
# Control characters, and those that turn the direction of what follows, to make an address look like another one.
_MISLEADING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# What newsletters fill up the preview with.
_FILLING = re.compile("(?:[\u00ad\u034f\u200b-\u200f\u2007\u2060\ufeff]\\s*){2,}")


def header(part: Mapping[str, Any], name: str) -> str:
    """The first header of a name, as it was sent; empty if there is none.

    Args:
        part: a part of a message as Google answers it, or its ``payload``.
        name: in any case.
    """
    for each in part.get("headers", []):
        if str(each.get("name", "")).casefold() == name.casefold():
            return str(each.get("value", ""))
    return ""


def readable(value: str) -> str:
    """A header's value on one line, with encoded words (RFC 2047) decoded, and nothing in it that misleads."""
    text = value[:_MAX_CHARACTERS]
    with suppress(HeaderParseError, LookupError, ValueError):  # then it is shown as it was sent
        text = str(make_header(decode_header(text)))
    return " ".join(visible_text(_MISLEADING.sub("", text)).split())


def preview(snippet: str) -> str:
    """Google's beginning of a message's text, without HTML entities and filling."""
    return " ".join(without_filling(visible_text(_MISLEADING.sub("", unescape(snippet)))).split())


def without_filling(text: str) -> str:
    """A text without runs of characters that no one sees."""
    return _FILLING.sub(" ", text)


def moment(internal_date: object) -> str | None:
    """When Gmail got a message: ISO 8601 in this machine's zone, with the offset.

    Args:
        internal_date: milliseconds since 1970, as Google answers them.
    """
    try:
        return local_time(int(str(internal_date)) / 1000)
    except (ValueError, OverflowError, OSError):
        return None


def local_time(seconds: float) -> str:
    """A moment in ISO 8601 in this machine's zone, with the offset.

    Args:
        seconds: since 1970.

    Raises:
        ValueError: no calendar reaches that far; the same ``OverflowError`` and ``OSError``.
    """
    return datetime.fromtimestamp(seconds, UTC).astimezone().isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of a message's body.

    Attributes:
        is_html: whether it is to be converted.
        charset: as the part says, empty if it does not.
        data: base64url as Google sends it, ``None`` if it is stored apart.
        attachment_id: where it is then.
        heading: instead of all that, a line that stands before an attached message.
        shown: of a plain text, the alternative with HTML that readers are shown in its place.
    """

    is_html: bool = False
    charset: str = ""
    data: str | None = None
    attachment_id: str | None = None
    heading: str = ""
    shown: tuple[Text, ...] = ()


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
        content_id: by which the HTML of the message shows it, empty if it has none.
    """

    part_id: str
    filename: str
    media_type: str
    size: int
    attachment_id: str | None = None
    data: str | None = None
    content_id: str = ""


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
    return _walk(payload, wants_html)


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
    name = _NOT_IN_FILE_NAMES.sub("-", text.replace("\\", "/").rstrip("/").rpartition("/")[2]).strip(" .-")
    if not name:
        return f"attachment-{re.sub('[^0-9.]', '', part_id) or '0'}{mimetypes.guess_extension(media_type) or ''}"
    stem, dot, suffix = name.rpartition(".")
    if not dot or len(suffix.encode()) > 10:
        stem, dot, suffix = name, "", ""
    room = _MAX_NAME_BYTES - len(suffix.encode()) - len(dot)
    return stem.encode()[:room].decode("utf-8", "ignore").rstrip(" .-") + dot + suffix


def _walk(root: Mapping[str, Any], wants_html: bool) -> MailParts:
    """Take a part apart from the inside out, without recursion: a hostile mail nests parts thousands deep."""
    open_parts = [_OpenPart.of(root)]
    while True:
        latest = open_parts[-1]
        if latest.waiting:
            open_parts.append(_OpenPart.of(latest.waiting.pop()))
            continue
        open_parts.pop()
        found = _put_together(latest.part, latest.kind, latest.found, wants_html)
        if not open_parts:
            return found
        open_parts[-1].found.append(found)


@dataclass(slots=True)
class _OpenPart:
    """A part whose inner parts are being taken apart: those that wait, the first one last, and what was found."""

    part: Mapping[str, Any]
    kind: str
    waiting: list[Mapping[str, Any]]
    found: list[MailParts]

    @classmethod
    def of(cls, part: Mapping[str, Any]) -> _OpenPart:
        kind = str(part.get("mimeType", "")).lower()
        has_parts = kind.startswith("multipart/") or kind == _MESSAGE
        return cls(part, kind, list(reversed(part.get("parts", []))) if has_parts else [], [])


def _put_together(part: Mapping[str, Any], kind: str, inner: list[MailParts], wants_html: bool) -> MailParts:
    if kind.startswith("multipart/"):
        if kind == "multipart/alternative":
            attachments = tuple(one for child in inner for one in child.attachments)
            return MailParts(_alternative(inner, wants_html), attachments)
        return _joined(inner)
    if kind == _MESSAGE:
        return _attached_message(part, inner)
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
    richest = next((texts for texts in reversed(written) if any(text.is_html for text in texts)), ())
    if wants_html and richest:
        return richest
    plain = next((texts for texts in written if any(not text.is_html for text in texts)), ())
    if plain and richest and plain is not richest:
        # One plain text can be compared with what readers see; of several, or of a mixture, they may see anything.
        return (replace(plain[0], shown=richest),) if len(plain) == 1 else richest
    return plain or (written[-1] if written else ())


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


def _attached_message(part: Mapping[str, Any], inner: list[MailParts]) -> MailParts:
    """A message within the message: something attached, and its text is part of the text."""
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
    whole = _attachment(part, _MESSAGE, subject and f"{subject}.eml")
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
        readable(header(part, "Content-ID")),
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


def called(message: Mapping[str, Any]) -> str:
    """Name a message for a question: its subject, and who sent it."""
    payload = message.get("payload", {})
    subject = readable(header(payload, "Subject"))[:50] or "(no subject)"
    senders = addresses_in(header(payload, "From"))
    return f"{subject} from {senders[0].email[:50]}" if senders else subject
