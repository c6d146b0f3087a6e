"""The tools of the group ``google_gmail`` that send mails and write drafts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.gmail.addresses import addresses_in, everybody_in
from oneclaw_google_workspace.gmail.bodies import read_body
from oneclaw_google_workspace.gmail.composing import thread_of
from oneclaw_google_workspace.gmail.headers import header, readable
from oneclaw_google_workspace.gmail.mail_parts import take_apart
from oneclaw_google_workspace.gmail.outgoing import Wanted, compose, described, files_described, hand_over
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import PASSAGE_CHARACTERS, listing, passage, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.gmail.addresses import MailAddress
    from oneclaw_google_workspace.gmail.composing import OutgoingMail, Thread
    from oneclaw_google_workspace.gmail.mail_parts import AttachedPart

_DRAFT_FIELDS = "id,message(id,threadId,payload)"
_MAX_DRAFTS = 2_000


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
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Send a mail at once."""
    google = connect(context)
    if not reply_to_message_id and not (subject and subject.strip() and (to or cc or bcc)):
        raise invalid("Give to and subject, or reply_to_message_id to answer a mail.")
    mail = await compose(
        google,
        Wanted(
            body, to, subject, body_format, cc, bcc, attachments, reply_to_message_id, reply_all, from_address, reply_to
        ),
    )
    if not mail.recipients:
        raise invalid("The mail that is answered names no one to write to. Give to.")
    what = "an answer" if reply_to_message_id else "a mail"
    await google.ask(f"send {what} to {await described(mail)}", "send", _whom(each.email for each in mail.recipients))
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
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Write a draft, or overwrite one."""
    google = connect(context)
    wanted = Wanted(body, to, subject, body_format, cc, bcc, attachments, reply_to_message_id, reply_all, from_address)
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
            "attachments": [file.name for file in mail.attachments],
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
    if wanted.reply_to_message_id:
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
