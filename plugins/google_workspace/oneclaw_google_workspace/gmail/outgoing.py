"""Mails to send: from what is to be said to the bytes that are sent; attached files are read piece by piece.

Sources: RFC 5322 (mails), RFC 2822 section 3.6.4 (References), and Gmail's rules for threads,
https://developers.google.com/workspace/gmail/api/guides/threads
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import mimetypes
import re
import secrets
from dataclasses import dataclass, replace
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from html import escape
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import PASSAGE_CHARACTERS, passage, quoted, size_text
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.gmail.bodies import content_of, html_said, html_to_text
from oneclaw_google_workspace.gmail.mime import FORBIDDEN, readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from oneclaw_core.files import PathGuard
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.gmail.bodies import ForwardedFile, Original
    from oneclaw_google_workspace.gmail.mime import MailAddress

_MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,900}>")
# RFC 5322 lets a long list of references be shortened in the middle.
_MAX_REFERENCES = 30
_MAX_HEADER_CHARACTERS = 100_000
_MAX_SUBJECT_CHARACTERS = 900
_FORWARDED = re.compile(r"(?:fwd?|wg|tr|rv)\s*:", re.IGNORECASE)
_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9][a-z0-9.+-]{0,100}")
_ANSWER = re.compile(r"re\s*:", re.IGNORECASE)
_REPLY_PREFIX = re.compile(r"\A\s*(?:(?:re|aw|sv|vs|antw|odp|fwd?|wg|tr|rv)(?:\[\d+\])?\s*:\s*)+", re.IGNORECASE)
_IDS = frozenset({"references", "in-reply-to"})
# What makes whole lines of base64.
_PIECE_BYTES = 57 * 4096
_CONTENT_ID = re.compile(r"<[!-;=?-~]{1,200}>")
MAX_FILES_BYTES = 25 * 1024 * 1024


class _MailPolicy(EmailPolicy):
    """As SMTP wants it; ids of messages stay whole, where the standard library would encode long ones."""

    def fold(self, name: str, value: Any) -> str:
        if name.lower() in _IDS:
            return f"{name}: {f'{self.linesep} '.join(str(value).split())}{self.linesep}"
        folded: str = super().fold(name, value)
        return folded

    def fold_binary(self, name: str, value: Any) -> bytes:
        if name.lower() in _IDS:
            return self.fold(name, value).encode("ascii")
        return super().fold_binary(name, value)


_POLICY = _MailPolicy(linesep="\r\n", cte_type="7bit")


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that goes along.

    Attributes:
        name: that the recipient sees.
        path: where it is.
        size: in bytes.
        digest: SHA-256 of what the user is asked about; nothing else is sent.
        media_type: empty for what the name says.
        content_id: by which the HTML shows it, empty for none.
    """

    name: str
    path: Path
    size: int
    digest: bytes
    media_type: str = ""
    content_id: str = ""

    @classmethod
    def read(cls, name: str, path: Path, limit: int) -> AttachedFile:
        """Look through a file without keeping it.

        Args:
            name: that the recipient sees.
            path: where it is.
            limit: stop after so many bytes and one more.

        Raises:
            OSError: it cannot be read.
        """
        digest, size = hashlib.sha256(), 0
        with path.open("rb") as file:
            while size <= limit and (piece := file.read(_PIECE_BYTES)):
                digest.update(piece)
                size += len(piece)
        return cls(name, path, size, digest.digest())

    def pieces(self) -> Iterator[bytes]:
        """Read its content.

        Raises:
            GoogleError: it is not what the user was asked about.
            OSError: it cannot be read.
        """
        digest = hashlib.sha256()
        with self.path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                digest.update(piece)
                yield piece
        if digest.digest() != self.digest:
            raise invalid(
                f"The file {self.name!r} has changed since the user was asked, so nothing was sent. Try again."
            )


@dataclass(frozen=True, slots=True)
class Thread:
    """The thread of a mail that is an answer.

    Attributes:
        thread_id: Gmail's.
        in_reply_to: the id, by RFC 5322, of the mail that is answered; empty if that has none.
        references: those of the thread so far, the answered one last.
    """

    thread_id: str
    in_reply_to: str = ""
    references: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutgoingMail:
    """The message to send or to keep as a draft.

    Attributes:
        body: what is said, without the next two.
        signature: HTML that stands below the body.
        original: the mail that is answered or forwarded, below everything.
        is_forwarding: True if it is forwarded.
        forwarded: files of the forwarded mail, which are not fetched yet.
    """

    to: Sequence[MailAddress]
    subject: str
    body: str
    is_html: bool = False
    cc: Sequence[MailAddress] = ()
    bcc: Sequence[MailAddress] = ()
    sender: MailAddress | None = None
    reply_to: MailAddress | None = None
    thread: Thread | None = None
    attachments: Sequence[AttachedFile] = ()
    signature: str = ""
    original: Original | None = None
    is_forwarding: bool = False
    forwarded: Sequence[ForwardedFile] = ()

    @property
    def files(self) -> list[AttachedFile | ForwardedFile]:
        """All that is attached."""
        return [*self.attachments, *self.forwarded]

    @property
    def recipients(self) -> list[MailAddress]:
        """The recipient."""
        return [*self.to, *self.cc, *self.bcc]


def written(mail: OutgoingMail) -> Iterator[bytes]:
    """Write a mail as it is sent, piece by piece.

    Args:
        mail: its addresses and subject have been checked.

    Raises:
        GoogleError: an attached file has changed.
        OSError: an attached file cannot be read.
    """
    message = _headed(mail)
    if not mail.attachments:
        _set_body(message, mail)
        yield message.as_bytes()
        return
    boundary = f"=={secrets.token_hex(16)}=="
    message["MIME-Version"] = "1.0"
    message["Content-Type"] = f'multipart/mixed; boundary="{boundary}"'
    yield _head(message)
    body = EmailMessage(policy=_POLICY)
    _set_body(body, mail)
    yield f"--{boundary}\r\n".encode() + body.as_bytes()
    for file in mail.attachments:
        yield f"\r\n--{boundary}\r\n".encode() + _head(_part_for(file))
        for piece in file.pieces():
            yield base64.encodebytes(piece).replace(b"\n", b"\r\n")
    yield f"\r\n--{boundary}--\r\n".encode()


def _headed(mail: OutgoingMail) -> EmailMessage:
    message = EmailMessage(policy=_POLICY)
    for name, addresses in (
        ("From", [mail.sender] if mail.sender else []),
        ("To", mail.to),
        ("Cc", mail.cc),
        ("Bcc", mail.bcc),
        ("Reply-To", [mail.reply_to] if mail.reply_to else []),
    ):
        if addresses:
            message[name] = [Address(each.name, addr_spec=each.email) for each in addresses]
    message["Subject"] = mail.subject
    if mail.thread is not None and mail.thread.in_reply_to:
        message["In-Reply-To"] = mail.thread.in_reply_to
        message["References"] = " ".join(mail.thread.references)
    return message


def _set_body(message: EmailMessage, mail: OutgoingMail) -> None:
    text, html = _texts_of(mail)
    message.set_content(text or " " if html else text)
    if html:
        message.add_alternative(html, subtype="html")


def _texts_of(mail: OutgoingMail) -> tuple[str, str]:
    """Write a mail's body, signature and original as text, and as HTML if it is to have some.

    A mail that is forwarded keeps its look. An answer is as it was written: to one in plain text, the original is text.
    """
    body = mail.body.encode("utf-8", "replace").decode()
    texts = [html_to_text(body) if mail.is_html else body]
    htmls = [body if mail.is_html else f'<div dir="ltr">{_as_html(body)}</div>']
    if mail.signature:
        texts.append(f"-- \n{html_to_text(mail.signature)}")
        htmls.append(f'<div dir="ltr" class="gmail_signature">{mail.signature}</div>')
    has_html = mail.is_html
    if mail.original is not None:
        original = mail.original
        has_html = has_html or (mail.is_forwarding and bool(original.html))
        texts.append(original.text)
        htmls.append(original.html or f'<div dir="ltr">{_as_html(original.text)}</div>')
    text = "\n\n".join(each for each in texts if each) if len(texts) > 1 else texts[0]
    html = "<br>".join(htmls) if has_html else ""
    return text.encode("utf-8", "replace").decode(), html.encode("utf-8", "replace").decode()


def _as_html(text: str) -> str:
    return escape(text, quote=False).replace("\n", "<br>")


def _part_for(file: AttachedFile) -> EmailMessage:
    """The headers of an attached file."""
    maintype, subtype = _media_type(file.name, file.media_type)
    part = EmailMessage(policy=_POLICY)
    disposition = "inline" if file.content_id else "attachment"
    part.set_content(b"", maintype, subtype, disposition=disposition, filename=file.name)
    if file.content_id:
        part["Content-ID"] = file.content_id
    return part


def _head(message: EmailMessage) -> bytes:
    """The headers alone, and the empty line behind them."""
    return b"".join(_POLICY.fold_binary(name, value) for name, value in message.raw_items()) + b"\r\n"


def checked_subject(text: str) -> str:
    """Make sure that a subject is nothing but a subject.

    Raises:
        GoogleError: it has a line end in it, or is too long.
    """
    subject = text.strip()
    if FORBIDDEN.search(subject):
        raise invalid("The subject has a line end or another control character in it.")
    if len(subject) > _MAX_SUBJECT_CHARACTERS:
        raise invalid(f"The subject is longer than {_MAX_SUBJECT_CHARACTERS} characters.")
    return subject


def reply_subject(original: str, wanted: str | None) -> str:
    """The subject of an answer: Gmail keeps it in the thread only if it is the same but for ``Re:``.

    Args:
        original: of the mail that is answered, readable.
        wanted: what was asked for, if anything was.

    Raises:
        GoogleError: it is another one.
    """
    known = FORBIDDEN.sub("", original).strip()[:_MAX_SUBJECT_CHARACTERS]
    if wanted is not None and wanted.strip() and _folded(checked_subject(wanted)) != _folded(known):
        raise invalid(
            f"An answer keeps the subject of its thread, {known[:100]!r}: leave subject out, or write a new mail "
            "without reply_to_message_id."
        )
    return known if _ANSWER.match(known) else f"Re: {known}"


def thread_of(thread_id: str, message_id: str, references: str, in_reply_to: str) -> Thread:
    """Say where the answer to a mail belongs.

    Args:
        thread_id: Gmail's.
        message_id: the header of the mail that is answered.
        references: the same.
        in_reply_to: the same, which stands in for the references of a mail without.
    """
    own = _ids_in(message_id)[:1]
    if not own:
        return Thread(thread_id)
    before = _ids_in(references) or _ids_in(in_reply_to)[:1]
    known = list(dict.fromkeys(each for each in before if each != own[0]))
    if len(known) >= _MAX_REFERENCES:
        known = known[:1] + known[-(_MAX_REFERENCES - 2) :]
    return Thread(thread_id, own[0], (*known, own[0]))


def _ids_in(value: str) -> list[str]:
    """The ids of messages in a header; some programs encode long ones, which they should not."""
    text = value[:_MAX_HEADER_CHARACTERS]
    found: list[str] = _MESSAGE_ID.findall(text)
    return found or _MESSAGE_ID.findall(readable(text))


def _folded(subject: str) -> str:
    return " ".join(_REPLY_PREFIX.sub("", subject).split()).casefold()


def forward_subject(original: str, wanted: str | None) -> str:
    """The subject of a forwarded mail.

    Args:
        original: of the mail that is forwarded, readable.
        wanted: what was asked for, if anything was.

    Raises:
        GoogleError: it is none.
    """
    if wanted is not None and wanted.strip():
        return checked_subject(wanted)
    known = FORBIDDEN.sub("", original).strip()[:_MAX_SUBJECT_CHARACTERS]
    return known if _FORWARDED.match(known) else f"Fwd: {known}"


def _media_type(name: str, known: str = "") -> tuple[str, str]:
    kind, encoding = (known, None) if _MEDIA_TYPE.fullmatch(known) else mimetypes.guess_type(name)
    maintype, _, subtype = (kind or "").partition("/")
    # What holds mails or parts cannot be sent as mere bytes under its own name.
    if not subtype or encoding or maintype in ("message", "multipart"):
        return "application", "octet-stream"
    return maintype, subtype


async def fetched_file(google: GoogleClient, file: ForwardedFile, path: Path) -> AttachedFile:
    """Fetch a file of a mail that is forwarded."""
    content = await content_of(google, file.message_id, file.part.data, file.part.attachment_id)
    await asyncio.to_thread(path.write_bytes, content)
    found = await asyncio.to_thread(AttachedFile.read, file.name, path, MAX_FILES_BYTES)
    return replace(found, media_type=file.part.media_type, content_id=_content_id(file.part.content_id))


def _content_id(value: str) -> str:
    return value if _CONTENT_ID.fullmatch(value) else ""


def read_files(paths: PathGuard, names: list[str]) -> list[AttachedFile]:
    """Look through files before the user is asked, so that what is sent is what was asked about."""
    found = [paths.readable(name) for name in names]
    total = 0
    for name, path in zip(names, found, strict=True):
        try:
            if not path.is_file():
                raise invalid(f"There is no file {name[:200]!r} to attach.")
            total += path.stat().st_size
        except OSError as error:
            raise _unreadable(name, error) from None
    check_size(total)
    return [_attached(path, name) for path, name in zip(found, names, strict=True)]


def check_size(total: int) -> None:
    """Make sure that the attachments are no more than mails take.

    Raises:
        GoogleError: they are.
    """
    if total > MAX_FILES_BYTES:
        raise invalid(
            f"The attachments have {size_text(total)}; mails take {size_text(MAX_FILES_BYTES)}. Upload them to Drive "
            "with drive_upload_file and send the links."
        )


def _attached(path: Path, name: str) -> AttachedFile:
    try:
        file = AttachedFile.read(_sent_name(path), path, MAX_FILES_BYTES)
    except OSError as error:
        raise _unreadable(name, error) from None
    if file.size > MAX_FILES_BYTES:
        raise invalid(f"The file {name[:200]!r} has become larger meanwhile than mails take.")
    return file


def _sent_name(path: Path) -> str:
    return re.sub(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]", "_", path.name)


def _unreadable(name: str, error: OSError) -> GoogleError:
    return invalid(f"The file {name[:200]!r} cannot be read: {error.strerror or error}.")


def write_mail(mail: OutgoingMail, path: Path) -> int:
    """Write a mail to a file, for none of it need be in memory as a whole; gives its size in bytes."""
    try:
        with path.open("xb") as file:
            for piece in written(mail):
                file.write(piece)
            return file.tell()
    except OSError as error:
        raise invalid(f"The mail cannot be put together: {error.strerror or error}. Nothing was sent.") from None


async def described(mail: OutgoingMail) -> str:
    """Say for a question whom a mail goes to and what is in it."""
    said = await asyncio.to_thread(html_said, mail.body) if mail.is_html else passage(mail.body)
    words = [", ".join(each.email for each in mail.to) or "no one yet"]
    words += [f"cc {', '.join(each.email for each in mail.cc)}"] if mail.cc else []
    words += [f"bcc {', '.join(each.email for each in mail.bcc)}"] if mail.bcc else []
    count = len(mail.recipients)
    text = (f"{count} addresses, " if count > 1 else "") + ", ".join(words)
    text += f", from {mail.sender.email}" if mail.sender else ""
    text += f", answers going to {mail.reply_to.email}" if mail.reply_to else ""
    text += f": {quoted(mail.subject or '(no subject)', PASSAGE_CHARACTERS)}"
    more = ", with the signature" if mail.signature else ""
    if mail.original is not None:
        more += ", and the mail that is forwarded" if mail.is_forwarding else ", quoting the mail that is answered"
    return f"{text}{files_described((file.name, file.size) for file in mail.files)}, saying {said}{more}"


def files_described(files: Iterable[tuple[str, int]]) -> str:
    """Name attached files with their sizes in a question; empty if there are none.

    Args:
        files: name and size in bytes of each.
    """
    named = ", ".join(f"{quoted(name)} ({size_text(size)})" for name, size in files)
    return f", with {named}" if named else ""
