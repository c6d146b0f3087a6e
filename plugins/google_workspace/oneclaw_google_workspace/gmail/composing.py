"""Writing mails: from what is to be said to the bytes that are sent; pure, without any I/O.

Sources: RFC 5322 (mails), RFC 2822 section 3.6.4 (References), and Gmail's rules for threads,
https://developers.google.com/workspace/gmail/api/guides/threads
"""

from __future__ import annotations

import mimetypes
import re
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
    from collections.abc import Sequence

    from oneclaw_google_workspace.gmail.addresses import MailAddress

_MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,900}>")
# RFC 5322 lets a long list of references be shortened in the middle.
_MAX_REFERENCES = 30
_MAX_HEADER_CHARACTERS = 100_000
_MAX_SUBJECT_CHARACTERS = 900
_ANSWER = re.compile(r"re\s*:", re.IGNORECASE)
_REPLY_PREFIX = re.compile(r"\A\s*(?:(?:re|aw|sv|vs|antw|odp|fwd?|wg|tr|rv)(?:\[\d+\])?\s*:\s*)+", re.IGNORECASE)
_IDS = frozenset({"references", "in-reply-to"})


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
    """A file that goes along."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Thread:
    """Where a mail belongs, if it is an answer.

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
    """What is to be sent, or kept as a draft."""

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
        """Whoever gets it."""
        return [*self.to, *self.cc, *self.bcc]


def written(mail: OutgoingMail) -> bytes:
    """Write a mail as it is sent.

    Args:
        mail: its addresses and subject have been checked.
    """
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
    body = mail.body.encode("utf-8", "replace").decode()
    if mail.is_html:
        message.set_content(html_to_text(body) or " ")
        message.add_alternative(body, subtype="html")
    else:
        message.set_content(body)
    for file in mail.attachments:
        maintype, subtype = _media_type(file.name)
        message.add_attachment(file.content, maintype=maintype, subtype=subtype, filename=file.name)
    return message.as_bytes()


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
        references: likewise.
        in_reply_to: likewise, which stands in for the references of a mail without.
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
