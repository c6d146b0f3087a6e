"""Sending mails and writing drafts: ``gmail_send``, ``gmail_draft_create``, ``gmail_draft_send``."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64encode
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import PASSAGE_CHARACTERS, compact, google_tool, listing, passage, quoted
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.gmail.bodies import forwarded_files, forwarded_original, quoted_original, read_body
from oneclaw_google_workspace.gmail.mime import (
    MailAddress,
    addresses_in,
    everybody_in,
    header,
    mail_address,
    mail_addresses,
    readable,
    take_apart,
    unique,
)
from oneclaw_google_workspace.gmail.outgoing import (
    OutgoingMail,
    Thread,
    check_size,
    checked_subject,
    described,
    fetched_file,
    files_described,
    forward_subject,
    read_files,
    reply_subject,
    thread_of,
    write_mail,
)
from oneclaw_google_workspace.methods import api_request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.gmail.bodies import ForwardedFile, Original
    from oneclaw_google_workspace.gmail.mime import AttachedPart


# By Google's description of the API; other mail servers take 25 MB at most, and base64 makes a third more of a file.
MAX_MESSAGE_BYTES = 36_700_160
# Gmail refuses more in one mail.
MAX_RECIPIENTS = 500
# What is larger is sent in pieces, each of which can be repeated.
LARGEST_IN_JSON_BYTES = 5 * 1024 * 1024
_REPLY_HEADERS = ["Message-ID", "References", "In-Reply-To", "Subject", "From", "Reply-To", "To", "Cc"]
_READING = "gmail.readonly"
_DRAFT_FIELDS = "id,message(id,threadId,payload)"
_MAX_DRAFTS = 2_000


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
    quote_original: bool = False
    add_signature: bool = False
    forward_message_id: str | None = None
    forward_attachments: bool = True


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
    if wanted.quote_original and not wanted.reply_to_message_id:
        raise invalid("quote_original goes with reply_to_message_id.")
    if wanted.forward_message_id and wanted.reply_to_message_id:
        raise invalid("Give reply_to_message_id to answer a mail, or forward_message_id to forward it, not both.")
    to, cc, bcc = (mail_addresses(name, getattr(wanted, name)) for name in ("to", "cc", "bcc"))
    subject = None if wanted.subject is None else checked_subject(wanted.subject)
    reply_to = mail_address("reply_to", wanted.reply_to) if wanted.reply_to else None
    from_address = mail_address("from_address", wanted.from_address) if wanted.from_address else None
    files = await asyncio.to_thread(read_files, google.context.paths, wanted.attachments or [])
    if wanted.reply_to_message_id or from_address or wanted.forward_message_id or wanted.add_signature:
        google.require_scopes(_READING)
    aliases = await _aliases(google) if from_address or wanted.reply_all or wanted.add_signature else []
    sender = _sender(from_address, [(each.address, each.is_usable) for each in aliases]) if from_address else None
    quote: Original | None = None
    forwarded: list[ForwardedFile] = []
    if wanted.forward_message_id:
        message = await _whole_message(google, wanted.forward_message_id)
        subject = forward_subject(readable(header(message.get("payload", {}), "Subject")), subject)
        quote = await forwarded_original(google, message)
        forwarded = forwarded_files(message) if wanted.forward_attachments else []
        check_size(sum(file.size for file in files) + sum(file.size for file in forwarded))
    if wanted.reply_to_message_id:
        original = await _original(google, wanted.reply_to_message_id)
        if wanted.quote_original:
            quote = await quoted_original(google, await _whole_message(google, wanted.reply_to_message_id))
        subject = reply_subject(original.subject, subject)
        own = {each.address.key for each in aliases} | (
            {google.account.email.casefold()} if google.account.email else set()
        )
        answered_to, answered_cc = original.recipients(own, to_all=wanted.reply_all)
        if not to or wanted.reply_all:
            to = unique([*to, *answered_to])
        cc = unique([*cc, *answered_cc])
        thread = original.thread
    cc = unique(cc, without=(each.key for each in to))
    bcc = unique(bcc, without=(each.key for each in (*to, *cc)))
    if quote is not None and quote.problem:
        raise GoogleError("execution_error", f"{quote.problem} Nothing was sent.")
    mail = OutgoingMail(
        to,
        subject or "",
        wanted.body,
        is_html=wanted.body_format == "html",
        cc=cc,
        bcc=bcc,
        sender=sender,
        reply_to=reply_to,
        thread=thread,
        attachments=files,
        signature=_signature(sender, aliases) if wanted.add_signature else "",
        original=quote,
        is_forwarding=bool(wanted.forward_message_id),
        forwarded=forwarded,
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
        fetched = [
            await fetched_file(google, file, Path(folder) / str(number)) for number, file in enumerate(mail.forwarded)
        ]
        mail = replace(mail, attachments=[*mail.attachments, *fetched], forwarded=())
        size = await asyncio.to_thread(write_mail, mail, path)
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


async def _whole_message(google: GoogleClient, message_id: str) -> dict[str, Any]:
    message = await google.call("gmail.users.messages.get", id=message_id, format="full", fields="id,payload")
    return {"id": message_id, **message}


@dataclass(frozen=True, slots=True)
class _Alias:
    """An address that the user sends from."""

    address: MailAddress
    is_usable: bool
    is_default: bool
    signature: str


async def _aliases(google: GoogleClient) -> list[_Alias]:
    answer = await google.call(
        "gmail.users.settings.sendAs.list",
        fields="sendAs(sendAsEmail,displayName,isPrimary,isDefault,verificationStatus,signature)",
    )
    return [
        _Alias(
            MailAddress(each["sendAsEmail"], readable(each.get("displayName", ""))),
            bool(each.get("isPrimary")) or each.get("verificationStatus") == "accepted",
            bool(each.get("isDefault")),
            str(each.get("signature") or ""),
        )
        for each in answer.get("sendAs", [])
        if each.get("sendAsEmail")
    ]


def _signature(sender: MailAddress | None, aliases: list[_Alias]) -> str:
    """The signature of the address that a mail is sent from; the default one unless another is given.

    Raises:
        GoogleError: there is none.
    """
    for alias in aliases:
        if alias.address.key == sender.key if sender else alias.is_default:
            if not alias.signature.strip():
                raise invalid(f"{alias.address.email} has no signature. Leave add_signature out.")
            return alias.signature
    raise invalid("No address to send from has a signature. Leave add_signature out.")


def _sender(wanted: MailAddress, aliases: list[tuple[MailAddress, bool]]) -> MailAddress:
    """Find a send-as address; Gmail would quietly put the primary one in the place of any other."""
    for alias, is_usable in aliases:
        if alias.key == wanted.key:
            if is_usable:
                return MailAddress(alias.email, wanted.name or alias.name)
            raise invalid(f"{alias.email} is not verified yet. The mail that Gmail sent there confirms it.")
    usable = ", ".join(alias.email for alias, is_usable in aliases if is_usable)
    raise invalid(f"{wanted.email} is none of the user's send-as addresses. There are: {usable or 'none'}.")


@google_tool
async def gmail_send(
    to: list[str] | None = None,
    subject: str | None = None,
    body: str = "",
    body_format: str = "text",
    cc: list[str] | None = None,
    bcc: list[str] | None = None,
    attachments: list[str] | None = None,
    reply_to_message_id: str | None = None,
    reply_all: bool = False,
    from_address: str | None = None,
    reply_to: str | None = None,
    quote_original: bool = False,
    add_signature: bool = False,
    forward_message_id: str | None = None,
    forward_attachments: bool = True,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Send a mail at once."""
    google = connect(context)
    if forward_message_id and not (to or cc or bcc):
        raise invalid("Give to, the addresses to forward the mail to.")
    if not reply_to_message_id and not forward_message_id and not (subject and subject.strip() and (to or cc or bcc)):
        raise invalid("Give to and subject, or reply_to_message_id to answer a mail.")
    mail = await compose(
        google,
        Wanted(
            body,
            to,
            subject,
            body_format,
            cc,
            bcc,
            attachments,
            reply_to_message_id,
            reply_all,
            from_address,
            reply_to,
            quote_original,
            add_signature,
            forward_message_id,
            forward_attachments,
        ),
    )
    if not mail.recipients:
        raise invalid("The mail that is answered names no one to write to. Give to.")
    what = "send an answer" if reply_to_message_id else "forward a mail" if mail.is_forwarding else "send a mail"
    await google.ask(
        f"{what} to {await described(mail)}",
        "forward" if mail.is_forwarding else "send",
        _whom(each.email for each in mail.recipients),
    )
    sent = await hand_over(
        google, "gmail.users.messages.send", mail, unclear_hint="Look for it with gmail_search in:sent newer_than:1d"
    )
    return {"status": "sent", "id": sent.get("id"), "thread_id": sent.get("threadId"), **_row(mail)}


@google_tool
async def gmail_draft_create(
    to: list[str] | None = None,
    subject: str | None = None,
    body: str = "",
    body_format: str = "text",
    cc: list[str] | None = None,
    bcc: list[str] | None = None,
    attachments: list[str] | None = None,
    reply_to_message_id: str | None = None,
    reply_all: bool = False,
    from_address: str | None = None,
    draft_id: str | None = None,
    quote_original: bool = False,
    add_signature: bool = False,
    forward_message_id: str | None = None,
    forward_attachments: bool = True,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Write a draft, or overwrite one."""
    google = connect(context)
    wanted = Wanted(
        body,
        to,
        subject,
        body_format,
        cc,
        bcc,
        attachments,
        reply_to_message_id,
        reply_all,
        from_address,
        None,
        quote_original,
        add_signature,
        forward_message_id,
        forward_attachments,
    )
    if not draft_id:
        mail = await compose(google, wanted)
        await google.ask(f"write a draft to {await described(mail)}")
        made = await hand_over(
            google,
            "gmail.users.drafts.create",
            mail,
            unclear_hint="Look for it with gmail_search in:drafts newer_than:1d",
        )
    else:
        before = await _draft(google, draft_id)
        kept, thread = _kept(google, before, wanted)
        mail = await compose(google, kept, thread=thread)
        lost = [] if attachments else [file.filename for file in _files(before)]
        warning = f", losing its attachments {listing(lost)}" if lost else ""
        named = quoted(_subject(before))
        await google.ask(f"overwrite the draft {named} with one to {await described(mail)}{warning}")
        hint = "Read it with gmail_search in:drafts"
        made = await hand_over(google, "gmail.users.drafts.update", mail, unclear_hint=hint, id=before["id"])
    message = made.get("message", {})
    return {
        "status": "draft",
        "draft_id": made.get("id"),
        "message_id": message.get("id"),
        "thread_id": message.get("threadId"),
        **_row(mail),
    }


@google_tool
async def gmail_draft_send(draft_id: str, *, context: ToolContext) -> dict[str, Any]:
    """Send a draft as it stands."""
    google = connect(context)
    draft = await _draft(google, draft_id)
    payload = draft["message"].get("payload", {})
    people = {name: addresses_in(header(payload, name)) for name in ("To", "Cc", "Bcc")}
    named = {name: everybody_in(header(payload, name)) for name in people}
    if not any(people.values()) and not any("@" in text for text in named.values()):
        raise invalid("The draft names no one to send it to. Write it again with gmail_draft_create, draft_id and to.")
    shown = ", ".join(
        f"{'' if name == 'To' else f'{name.lower()} '}{text}" for name, text in named.items() if "@" in text
    )
    files = _files(draft)
    with_files = files_described((file.filename, file.size) for file in files)
    subject = quoted(_subject(draft), PASSAGE_CHARACTERS)
    said = await _said(google, draft)
    await google.ask(
        f"send the draft to {shown}{_from_whom(google, payload)}: {subject}{with_files}, saying {said}",
        "send",
        _whom(each for text in named.values() if "@" in text for each in text.split(",")),
    )
    row = {
        **{name.lower(): [str(each) for each in found] for name, found in people.items()},
        "subject": _subject(draft),
        "attachments": [file.filename for file in files],
    }
    try:
        sent = await google.call(
            "gmail.users.drafts.send",
            body={"id": draft["id"]},
            fields="id,threadId",
            unclear_hint="Look for it with gmail_search in:drafts and in:sent",
        )
    except GoogleError as error:
        if error.error_type != "unknown_outcome" or not await _is_gone(google, draft["id"]):
            raise
        # A draft that is sent is one no longer.
        sent = {"threadId": draft["message"].get("threadId")}
    return {"status": "sent", **compact({"id": sent.get("id"), "thread_id": sent.get("threadId"), **row})}


def _row(mail: OutgoingMail) -> dict[str, Any]:
    return compact(
        {
            "from": str(mail.sender) if mail.sender else None,
            "to": [str(each) for each in mail.to],
            "cc": [str(each) for each in mail.cc],
            "bcc": [str(each) for each in mail.bcc],
            "subject": mail.subject,
            "attachments": [file.name for file in mail.files],
        }
    )


async def _draft(google: GoogleClient, draft_id: str) -> dict[str, Any]:
    """Read a draft by its id, or by the id of its message, which changes with each edit."""
    try:
        return await _read_draft(google, draft_id)
    except GoogleError as error:
        if error.status not in (400, 404):
            raise
        drafts, _ = await google.all_items(
            "gmail.users.drafts.list", "drafts", fields="drafts(id,message/id)", limit=_MAX_DRAFTS, maxResults=500
        )
        for each in drafts:
            if each.get("message", {}).get("id") == draft_id:
                return await _read_draft(google, each["id"])
        raise GoogleError(
            "not_found",
            f"There is no draft {draft_id[:100]!r}; it may be sent or deleted. gmail_search in:drafts lists them.",
        ) from None


async def _read_draft(google: GoogleClient, draft_id: str) -> dict[str, Any]:
    draft = await google.call("gmail.users.drafts.get", id=draft_id, format="full", fields=_DRAFT_FIELDS)
    return {"message": {}, "id": draft_id, **draft}


def _kept(google: GoogleClient, draft: dict[str, Any], wanted: Wanted) -> tuple[Wanted, Thread | None]:
    """Return the fields that an overwritten draft keeps if no others are given.

    Always the address that it is from, and where answers go; if it does not become an answer to another mail, its
    recipients, subject and place in a thread, too.
    """
    message = draft["message"]
    payload = message.get("payload", {})
    alias, reply_to = _alias(google, payload), addresses_in(header(payload, "Reply-To"))
    wanted = replace(
        wanted,
        from_address=wanted.from_address or (str(alias) if alias else None),
        reply_to=str(reply_to[0]) if len(reply_to) == 1 else None,
    )
    if wanted.reply_to_message_id or wanted.forward_message_id:
        return wanted, None
    to, cc, bcc = (
        getattr(wanted, name) or [str(each) for each in addresses_in(header(payload, name))]
        for name in ("to", "cc", "bcc")
    )
    subject = wanted.subject or _raw_subject(draft)
    answered = header(payload, "In-Reply-To")
    thread = None
    if answered:
        thread = thread_of(str(message.get("threadId", "")), answered, header(payload, "References"), "")
    return replace(wanted, to=to, cc=cc, bcc=bcc, subject=subject), thread


def _alias(google: GoogleClient, payload: dict[str, Any]) -> MailAddress | None:
    """The address that a draft is from, if it is another one than that of the account."""
    own = (google.account.email or "").casefold()
    return next((each for each in addresses_in(header(payload, "From")) if each.key != own), None)


def _whom(recipients: Iterable[str]) -> str:
    """Name the recipients of a mail as the subject of a permission."""
    return ", ".join(sorted({each.strip().lower() for each in recipients}))


def _from_whom(google: GoogleClient, payload: dict[str, Any]) -> str:
    """Say in a question what of a draft's sender is out of the ordinary."""
    alias = _alias(google, payload)
    answers = everybody_in(header(payload, "Reply-To"))
    return (f", from {alias.email}" if alias else "") + (f", answers going to {answers}" if answers else "")


async def _said(google: GoogleClient, draft: dict[str, Any]) -> str:
    """Return the text of a draft for a question; of alternatives, the HTML part, which people see."""
    message = draft["message"]
    texts = take_apart(message.get("payload", {}), wants_html=True).texts
    body = await read_body(google, str(message.get("id", "")), texts, as_html=False)
    return f"{passage(body.text)}{' (a part of it cannot be shown)' if body.problem else ''}"


async def _is_gone(google: GoogleClient, draft_id: str) -> bool:
    try:
        await google.call("gmail.users.drafts.get", id=draft_id, format="minimal", fields="id")
    except GoogleError as error:
        return error.status == 404
    return False


def _raw_subject(draft: dict[str, Any]) -> str:
    return readable(header(draft["message"].get("payload", {}), "Subject"))


def _subject(draft: dict[str, Any]) -> str:
    return _raw_subject(draft) or "(no subject)"


def _files(draft: dict[str, Any]) -> tuple[AttachedPart, ...]:
    return take_apart(draft["message"].get("payload", {})).attachments
