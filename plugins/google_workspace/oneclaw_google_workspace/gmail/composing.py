"""Writing mails: from what is to be said to the bytes that are sent; attached files are read piece by piece.

Sources: RFC 5322 (mails), RFC 2822 section 3.6.4 (References), and Gmail's rules for threads,
https://developers.google.com/workspace/gmail/api/guides/threads
"""

from __future__ import annotations

import base64
import hashlib
import mimetypes
import re
import secrets
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.gmail.addresses import FORBIDDEN
from oneclaw_google_workspace.gmail.headers import readable
from oneclaw_google_workspace.gmail.html_text import html_to_text
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from oneclaw_google_workspace.gmail.addresses import MailAddress

_MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,900}>")
# RFC 5322 lets a long list of references be shortened in the middle.
_MAX_REFERENCES = 30
_MAX_HEADER_CHARACTERS = 100_000
_MAX_SUBJECT_CHARACTERS = 900
_ANSWER = re.compile(r"re\s*:", re.IGNORECASE)
_REPLY_PREFIX = re.compile(r"\A\s*(?:(?:re|aw|sv|vs|antw|odp|fwd?|wg|tr|rv)(?:\[\d+\])?\s*:\s*)+", re.IGNORECASE)
_IDS = frozenset({"references", "in-reply-to"})
# What makes whole lines of base64.
_PIECE_BYTES = 57 * 4096


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
    """

    name: str
    path: Path
    size: int
    digest: bytes

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
    """The message to send or to keep as a draft."""

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
    body = mail.body.encode("utf-8", "replace").decode()
    if mail.is_html:
        message.set_content(html_to_text(body) or " ")
        message.add_alternative(body, subtype="html")
    else:
        message.set_content(body)


def _part_for(file: AttachedFile) -> EmailMessage:
    """The headers of an attached file."""
    maintype, subtype = _media_type(file.name)
    part = EmailMessage(policy=_POLICY)
    part.set_content(b"", maintype, subtype, disposition="attachment", filename=file.name)
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


def _media_type(name: str) -> tuple[str, str]:
    kind, encoding = mimetypes.guess_type(name)
    maintype, _, subtype = (kind or "").partition("/")
    # What holds mails or parts cannot be sent as mere bytes under its own name.
    if not subtype or encoding or maintype in ("message", "multipart"):
        return "application", "octet-stream"
    return maintype, subtype
