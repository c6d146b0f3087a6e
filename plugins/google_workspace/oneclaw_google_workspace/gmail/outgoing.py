"""From the arguments of a tool to a mail: recipients of an answer, aliases, files."""

from __future__ import annotations

import asyncio
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.api_request import api_request
from oneclaw_google_workspace.gmail.addresses import MailAddress, addresses_in, mail_address, mail_addresses, unique
from oneclaw_google_workspace.gmail.composing import (
    AttachedFile,
    OutgoingMail,
    Thread,
    checked_subject,
    reply_subject,
    thread_of,
    written,
)
from oneclaw_google_workspace.gmail.headers import header, readable
from oneclaw_google_workspace.gmail.html_text import html_said
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import PASSAGE_CHARACTERS, passage, quoted, size_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.tools import PathGuard
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.problems import GoogleError

# By Google's description of the API; other mail servers take 25 MB at most, and base64 makes a third more of a file.
MAX_MESSAGE_BYTES = 36_700_160
MAX_FILES_BYTES = 25 * 1024 * 1024
# Gmail refuses more in one mail.
MAX_RECIPIENTS = 500
# What is larger is sent in pieces, each of which can be repeated.
LARGEST_IN_JSON_BYTES = 5 * 1024 * 1024
_REPLY_HEADERS = ["Message-ID", "References", "In-Reply-To", "Subject", "From", "Reply-To", "To", "Cc"]
_READING = "gmail.readonly"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The arguments of a tool; ``None`` if absent."""

    body: str
    to: list[str] | None = None
    subject: str | None = None
    body_format: str = "text"
    cc: list[str] | None = None
    bcc: list[str] | None = None
    attachments: list[str] | None = None
    reply_to_message_id: str | None = None
    reply_all: bool = False
    from_address: str | None = None
    reply_to: str | None = None


async def compose(google: GoogleClient, wanted: Wanted, *, thread: Thread | None = None) -> OutgoingMail:
    """Make the mail that is asked for; nothing is changed yet.

    Args:
        google: the client.
        wanted: the arguments.
        thread: where a draft that is overwritten belongs.

    Raises:
        GoogleError: arguments do not go together, or the mail that is answered is not there.
        PermissionDeniedError: a file must not be read.
    """
    if wanted.reply_all and not wanted.reply_to_message_id:
        raise invalid("reply_all goes with reply_to_message_id.")
    to, cc, bcc = (mail_addresses(name, getattr(wanted, name)) for name in ("to", "cc", "bcc"))
    subject = None if wanted.subject is None else checked_subject(wanted.subject)
    reply_to = mail_address("reply_to", wanted.reply_to) if wanted.reply_to else None
    from_address = mail_address("from_address", wanted.from_address) if wanted.from_address else None
    files = await asyncio.to_thread(_read_files, google.context.paths, wanted.attachments or [])
    if wanted.reply_to_message_id or from_address:
        google.require_scopes(_READING)
    aliases = await _aliases(google) if from_address or wanted.reply_all else []
    sender = _sender(from_address, aliases) if from_address else None
    if wanted.reply_to_message_id:
        original = await _original(google, wanted.reply_to_message_id)
        subject = reply_subject(original.subject, subject)
        own = {each.key for each, _ in aliases} | ({google.account.email.casefold()} if google.account.email else set())
        answered_to, answered_cc = original.recipients(own, to_all=wanted.reply_all)
        if not to or wanted.reply_all:
            to = unique([*to, *answered_to])
        cc = unique([*cc, *answered_cc])
        thread = original.thread
    cc = unique(cc, without=(each.key for each in to))
    bcc = unique(bcc, without=(each.key for each in (*to, *cc)))
    mail = OutgoingMail(
        to, subject or "", wanted.body, wanted.body_format == "html", cc, bcc, sender, reply_to, thread, files
    )
    if len(mail.recipients) > MAX_RECIPIENTS:
        raise invalid(f"A mail may go to {MAX_RECIPIENTS} addresses at most, not to {len(mail.recipients)}.")
    return mail


async def hand_over(
    google: GoogleClient, method_id: str, mail: OutgoingMail, *, unclear_hint: str, **parameters: Any
) -> dict[str, Any]:
    """Give a mail to Gmail, to be sent or kept as a draft; a large one in pieces.

    Args:
        google: the client; the user has been asked.
        method_id: of ``messages.send``, ``drafts.create`` or ``drafts.update``.
        mail: the mail.
        unclear_hint: how to find out whether it worked.
        parameters: of the path.

    Raises:
        GoogleError: it is too large, or it did not work out.
    """
    with TemporaryDirectory(prefix="oneclaw-google-") as folder:
        path = Path(folder) / "mail.eml"
        size = await asyncio.to_thread(_write, mail, path)
        if size > MAX_MESSAGE_BYTES:
            raise invalid(f"Gmail takes mails of {MAX_MESSAGE_BYTES:,} bytes at most. Share files by Drive instead.")
        is_sent = method_id == "gmail.users.messages.send"
        message: dict[str, Any] = {"threadId": mail.thread.thread_id} if mail.thread else {}
        fields = "id,threadId" if is_sent else "id,message(id,threadId)"
        is_large = size > LARGEST_IN_JSON_BYTES
        if not is_large:
            content = await asyncio.to_thread(path.read_bytes)
            message["raw"] = (await asyncio.to_thread(urlsafe_b64encode, content)).decode("ascii")
        body = message if is_sent else {"message": message}
        request = api_request(method_id, body=body, fields=fields, unclear_hint=unclear_hint, **parameters)
        return await google.upload(request, path, "message/rfc822") if is_large else await google.send(request)


def _write(mail: OutgoingMail, path: Path) -> int:
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
    return f"{text}{files_described((file.name, file.size) for file in mail.attachments)}, saying {said}"


def files_described(files: Iterable[tuple[str, int]]) -> str:
    """Name attached files with their sizes in a question; empty if there are none.

    Args:
        files: name and size in bytes of each.
    """
    named = ", ".join(f"{quoted(name)} ({size_text(size)})" for name, size in files)
    return f", with {named}" if named else ""


@dataclass(frozen=True, slots=True)
class _Original:
    """The mail that is answered."""

    subject: str
    thread: Thread
    sender: list[MailAddress]
    reply_to: list[MailAddress]
    to: list[MailAddress]
    cc: list[MailAddress]

    def recipients(self, own: set[str], *, to_all: bool) -> tuple[list[MailAddress], list[MailAddress]]:
        """Whom an answer goes to, and whom in copy; one to a separate mail goes where that went."""
        if any(each.key in own for each in self.sender):
            to = unique(self.to, without=own) or self.to
            return to, unique(self.cc, without=own) if to_all else []
        answered = self.reply_to or self.sender
        if not to_all:
            return answered, []
        return unique([*answered, *unique(self.to, without=own)]), unique(self.cc, without=own)


async def _original(google: GoogleClient, message_id: str) -> _Original:
    message = await google.call(
        "gmail.users.messages.get",
        id=message_id,
        format="metadata",
        metadataHeaders=_REPLY_HEADERS,
        fields="threadId,payload/headers",
    )
    payload = message.get("payload", {})
    values = {name: header(payload, name) for name in _REPLY_HEADERS}
    thread = thread_of(
        str(message.get("threadId", "")), values["Message-ID"], values["References"], values["In-Reply-To"]
    )
    people = (addresses_in(values[name]) for name in ("From", "Reply-To", "To", "Cc"))
    return _Original(readable(values["Subject"]), thread, *people)


async def _aliases(google: GoogleClient) -> list[tuple[MailAddress, bool]]:
    """The addresses that the user sends from, and whether each may be used."""
    answer = await google.call(
        "gmail.users.settings.sendAs.list", fields="sendAs(sendAsEmail,displayName,isPrimary,verificationStatus)"
    )
    return [
        (
            MailAddress(each["sendAsEmail"], readable(each.get("displayName", ""))),
            bool(each.get("isPrimary")) or each.get("verificationStatus") == "accepted",
        )
        for each in answer.get("sendAs", [])
        if each.get("sendAsEmail")
    ]


def _sender(wanted: MailAddress, aliases: list[tuple[MailAddress, bool]]) -> MailAddress:
    """Find a send-as address; Gmail would quietly put the primary one in the place of any other."""
    for alias, is_usable in aliases:
        if alias.key == wanted.key:
            if is_usable:
                return MailAddress(alias.email, wanted.name or alias.name)
            raise invalid(f"{alias.email} is not verified yet. The mail that Gmail sent there confirms it.")
    usable = ", ".join(alias.email for alias, is_usable in aliases if is_usable)
    raise invalid(f"{wanted.email} is none of the user's send-as addresses. There are: {usable or 'none'}.")


def _read_files(paths: PathGuard, names: list[str]) -> list[AttachedFile]:
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
    if total > MAX_FILES_BYTES:
        raise invalid(
            f"The attachments have {size_text(total)}; mails take {size_text(MAX_FILES_BYTES)}. Upload them to Drive "
            "with drive_upload_file and send the links."
        )
    return [_attached(path, name) for path, name in zip(found, names, strict=True)]


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
