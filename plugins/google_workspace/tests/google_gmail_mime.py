"""Mails as the stand-in's Gmail takes them apart."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import EmailMessage, Message
from email.policy import SMTP
from email.utils import formatdate, getaddresses, make_msgid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def base64url(content: bytes) -> str:
    """As Gmail writes it: without padding."""
    return urlsafe_b64encode(content).decode().rstrip("=")


def written_mail(
    sender: str,
    subject: str,
    text: str | None = "",
    *,
    to: str = "ana@example.com",
    html: str | None = None,
    files: tuple[tuple[str, bytes, str], ...] = (),
    seconds: float,
    **headers: str,
) -> bytes:
    """Write a mail as somebody else's program would; headers by their names with ``_`` for ``-``."""
    mail = EmailMessage(policy=SMTP)
    mail["From"], mail["To"], mail["Subject"] = sender, to, subject
    mail["Date"] = formatdate(seconds)
    for name, value in {"message_id": make_msgid(domain="example.net"), **headers}.items():
        mail[name.replace("_", "-")] = value
    if text is not None:
        mail.set_content(text)
        if html is not None:
            mail.add_alternative(html, subtype="html")
    elif html is not None:
        mail.set_content(html, subtype="html")
    for name, content, media_type in files:
        maintype, _, subtype = media_type.partition("/")
        mail.add_attachment(content, maintype=maintype, subtype=subtype, filename=name)
    return mail.as_bytes()


def header_of(mail: Message, name: str) -> str:
    """A header as it was sent, on one line."""
    return " ".join(str(mail.get(name, "")).split())


def plain_header(mail: Message, name: str) -> str:
    """A header, decoded."""
    return str(make_header(decode_header(header_of(mail, name))))


def recipients_of(mail: Message) -> list[str]:
    """Whoever a mail goes to."""
    values = [header_of(mail, name) for name in ("To", "Cc", "Bcc")]
    return [email for _, email in getaddresses([value for value in values if value]) if email]


def payload(raw: bytes, keep: Callable[[bytes], str], longest_inline: int) -> dict[str, Any]:
    """Take a mail apart as ``messages.get`` with the format ``full`` shows it.

    Args:
        raw: the mail.
        keep: stores a content, and gives its attachment id.
        longest_inline: how many bytes of a text come along.
    """
    return _part(message_from_bytes(raw), "", keep, longest_inline)


def _part(mail: Message, part_id: str, keep: Callable[[bytes], str], longest_inline: int) -> dict[str, Any]:
    filename = mail.get_filename() or ""
    part: dict[str, Any] = {
        "partId": part_id,
        "mimeType": mail.get_content_type(),
        "filename": str(make_header(decode_header(filename))),
        "headers": [{"name": name, "value": " ".join(str(value).split())} for name, value in mail.items()],
        "body": {"size": 0},
    }
    if mail.is_multipart():
        inner = mail.get_payload()
        assert isinstance(inner, list)
        prefix = f"{part_id}." if part_id else ""
        part["parts"] = [_part(each, f"{prefix}{number}", keep, longest_inline) for number, each in enumerate(inner)]
        if mail.get_content_type() == "message/rfc822":
            content = inner[0].as_bytes()
            part["body"] = {"size": len(content), "attachmentId": keep(content)}
        return part
    content = mail.get_payload(decode=True) or b""
    assert isinstance(content, bytes)
    part["body"] = {"size": len(content)}
    if filename or len(content) > longest_inline:
        part["body"]["attachmentId"] = keep(content)
    elif content:
        part["body"]["data"] = base64url(content)
    return part


def file_names(part: dict[str, Any]) -> list[str]:
    """What is attached, by name."""
    own = [part["filename"]] if part.get("filename") else []
    return own + [name for each in part.get("parts", []) for name in file_names(each)]


def text_of(mail: Message) -> str:
    """All that a mail says, for searching and for the snippet."""
    found = []
    for part in mail.walk():
        content = part.get_payload(decode=True)
        if part.get_content_type() in ("text/plain", "text/html") and isinstance(content, bytes):
            try:
                found.append(content.decode(part.get_content_charset("utf-8"), "replace"))
            except LookupError:
                found.append(content.decode("utf-8", "replace"))
    return " ".join(" ".join(found).split())
