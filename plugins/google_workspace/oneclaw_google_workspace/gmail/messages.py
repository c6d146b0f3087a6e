"""Messages of Gmail: searching and reading them, and saving what is attached."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from oneclaw_core import untrusted
from oneclaw_google_workspace.answers import (
    beginning_within,
    compact,
    failed,
    from_outside,
    google_tool,
    json_length,
    parted,
    room_beside,
)
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.gmail.bodies import Body, content_of, read_body
from oneclaw_google_workspace.gmail.labels import MailLabels
from oneclaw_google_workspace.gmail.mime import (
    AttachedPart,
    addresses_in,
    header,
    moment,
    preview,
    readable,
    shown_addresses,
    take_apart,
)
from oneclaw_google_workspace.methods import api_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_QUOTED_OR_DATE = re.compile(
    r'"[^"]*"?|(?P<operator>\b(?:after|before|newer|older)):(?P<year>\d{4})[/-](?P<month>\d{1,2})[/-](?P<day>\d{1,2})\b',
    re.IGNORECASE,
)


def with_exact_dates(query: str) -> str:
    """Turn days into moments: the API takes ``after:2026/03/31`` as midnight in California, the user as midnight here.

    Source: https://developers.google.com/workspace/gmail/api/guides/filtering

    Args:
        query: in Gmail's search syntax.

    Returns:
        The query with days of this machine's zone as seconds since 1970, all else unchanged.
    """

    def exact(match: re.Match[str]) -> str:
        if match["operator"] is None:
            return match[0]
        try:
            midnight = datetime(int(match["year"]), int(match["month"]), int(match["day"])).astimezone()
            return f"{match['operator']}:{max(0, round(midnight.timestamp()))}"
        except (ValueError, OverflowError, OSError):
            return match[0]  # Gmail says what it makes of it

    return _QUOTED_OR_DATE.sub(exact, query)


# What a row is made of.
ROW_FIELDS = "id,threadId,labelIds,snippet,internalDate,payload/headers"
ROW_HEADERS = ["From", "To", "Cc", "Subject"]
_UNREAD = "UNREAD"


def short_row(message: Mapping[str, Any], labels: MailLabels) -> dict[str, Any]:
    """Make the row of a message for a list.

    Args:
        message: as Google answers it with its headers.
        labels: of the mailbox.
    """
    payload = message.get("payload", {})
    return {
        **compact(
            {
                "id": message.get("id"),
                "thread_id": message.get("threadId"),
                "from": shown_addresses(header(payload, "From")),
                "to": shown_addresses(header(payload, "To")),
                "cc": shown_addresses(header(payload, "Cc")),
                "subject": readable(header(payload, "Subject")),
                "date": moment(message.get("internalDate")),
                "snippet": preview(str(message.get("snippet", ""))),
                "labels": [labels.name(each) for each in message.get("labelIds", []) if each != _UNREAD],
            }
        ),
        "unread": _UNREAD in message.get("labelIds", []),
    }


def full_row(message: Mapping[str, Any], labels: MailLabels) -> dict[str, Any]:
    """Make the row of a message that is read, without its body.

    Args:
        message: as Google answers it with its headers.
        labels: of the mailbox.
    """
    payload = message.get("payload", {})
    sender, reply_to = (header(payload, name) for name in ("From", "Reply-To"))
    answers_go_elsewhere = {each.key for each in addresses_in(reply_to)} != {each.key for each in addresses_in(sender)}
    return compact(
        {
            "id": message.get("id"),
            "thread_id": message.get("threadId"),
            "from": shown_addresses(sender),
            "to": shown_addresses(header(payload, "To")),
            "cc": shown_addresses(header(payload, "Cc")),
            "bcc": shown_addresses(header(payload, "Bcc")),
            "reply_to": shown_addresses(reply_to) if reply_to and answers_go_elsewhere else None,
            "date": moment(message.get("internalDate")),
            "subject": readable(header(payload, "Subject")),
            "labels": [labels.name(each) for each in message.get("labelIds", [])],
        }
    )


_MOST_OF_A_NAME = 1_000


async def save_attachments(
    google: GoogleClient,
    message_id: str,
    parts: Iterable[AttachedPart],
    folder: str,
    wanted: set[str] | None,
) -> list[dict[str, Any]]:
    """Save what is attached; nothing that is there already is overwritten.

    Args:
        google: the client.
        message_id: of the message.
        parts: what is attached to it.
        folder: where to put it, in the workspace.
        wanted: names in lower case, ``None`` for all.

    Returns:
        For each part ``saved_path``, or ``not_saved`` with the reason, or nothing if it was not wanted.

    Raises:
        PermissionDeniedError: the folder lies outside the workspace.
    """
    outcomes: list[dict[str, Any]] = []
    for part in parts:
        if wanted is not None and part.filename.casefold() not in wanted:
            outcomes.append({})
            continue
        # Each path is judged by itself: a link in the folder may lead elsewhere.
        target = await google.context.writable(f"{folder or '.'}/{part.filename}")
        try:
            content = await content_of(google, message_id, part.data, part.attachment_id)
            path = await asyncio.to_thread(_write_new, target, content)
        except GoogleError as error:
            outcomes.append({"not_saved": str(error)})
        except OSError as error:
            outcomes.append({"not_saved": f"The file cannot be written: {error.strerror or error}."})
        else:
            outcomes.append({"saved_path": str(path)})
    return outcomes


def _write_new(target: Path, content: bytes) -> Path:
    """Write a file under a name that is free: that of the target, or with a number behind it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, _MOST_OF_A_NAME + 1):
        path = target if number == 1 else target.with_name(f"{target.stem} ({number}){target.suffix}")
        try:
            file = path.open("xb")
        except FileExistsError:
            continue
        try:
            with file:
                file.write(content)
        except OSError:
            with suppress(OSError):
                path.unlink()
            raise
        return path
    raise FileExistsError(0, f"there are {_MOST_OF_A_NAME} files of that name")


# Of a longer thread the latest are read, and the others listed.
MAX_READ = 25
_SPAM_TRASH = frozenset({"SPAM", "TRASH"})
# Parts hold parts, which no mask can name, so they come whole.
_FULL_FIELDS = "id,threadId,labelIds,internalDate,payload"


@google_tool
async def gmail_search(
    query: str = "",
    label_ids: list[str] | None = None,
    max_results: int = 20,
    page_token: str | None = None,
    include_spam_trash: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Find messages; a short row for each."""
    google = connect(context)
    labels = await MailLabels.of(google)
    wanted = labels.ids(label_ids or ())
    page = await google.call(
        "gmail.users.messages.list",
        q=with_exact_dates(query.strip()) or None,
        labelIds=wanted or None,
        maxResults=max_results,
        pageToken=page_token,
        includeSpamTrash=include_spam_trash or not _SPAM_TRASH.isdisjoint(wanted) or None,
        fields="messages/id,nextPageToken,resultSizeEstimate",
    )
    ids = [each["id"] for each in page.get("messages", [])]
    outcomes = await google.batch(
        [
            api_request(
                "gmail.users.messages.get", id=each, format="metadata", metadataHeaders=ROW_HEADERS, fields=ROW_FIELDS
            )
            for each in ids
        ]
    )
    found, errors = parted(ids, outcomes)
    answer = {
        "messages": [short_row(message, labels) for message in found],
        **compact({"failed": failed(errors), "next_page_token": page.get("nextPageToken")}),
    }
    if page.get("nextPageToken"):
        answer["estimate"] = page.get("resultSizeEstimate")
    return from_outside(answer, "mails")


@google_tool
async def gmail_read(
    message_ids: list[str] | None = None,
    thread_id: str | None = None,
    body_format: str = "text",
    max_body_chars: int = 20_000,
    body_offset: int = 0,
    save_attachments_to: str | None = None,
    attachment_names: list[str] | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Read messages or a thread, and save what is attached."""
    google = connect(context)
    if bool(message_ids) == bool(thread_id):
        raise invalid("Give message_ids, or thread_id for a whole thread.")
    if body_offset and len(message_ids or ()) != 1:
        raise invalid("body_offset goes with the one message id whose body is to be read on.")
    if attachment_names and save_attachments_to is None:
        raise invalid("attachment_names says what to save; give save_attachments_to, a folder in the workspace, too.")
    if save_attachments_to is not None:
        await context.writable(f"{save_attachments_to or '.'}/attachment")
    labels = await MailLabels.of(google)
    messages, errors, earlier = await _messages(google, message_ids or [], thread_id)
    rows: list[dict[str, Any]] = []
    bodies: list[Body] = []
    wanted = {name.casefold() for name in attachment_names} if attachment_names else None
    for message in messages:
        parts = take_apart(message.get("payload", {}), wants_html=body_format == "html")
        body = await read_body(google, str(message["id"]), parts.texts, as_html=body_format == "html")
        files: list[dict[str, Any]] = [_listed(each) for each in parts.attachments]
        if save_attachments_to is not None:
            saved = await save_attachments(google, str(message["id"]), parts.attachments, save_attachments_to, wanted)
            files = [{**listed, **outcome} for listed, outcome in zip(files, saved, strict=True)]
        rows.append({**full_row(message, labels), **_files(files)})
        bodies.append(body)
    missing = [
        {"attachment_name": name, "reason": "None of the messages has it."}
        for name in _missing(attachment_names or [], rows)
    ]
    rest = {
        "earlier_messages": [short_row(message, labels) for message in earlier],
        "failed": failed(errors) + missing,
    }
    if body_offset and body_offset >= max((len(body.text) for body in bodies), default=body_offset + 1):
        raise invalid(f"body_offset must be below {len(bodies[0].text):,}, the number of characters of the body.")
    frame = [row | _told(row, body, "", body_offset) for row, body in zip(rows, bodies, strict=True)]
    room = room_beside(from_outside({"messages": frame, **compact(rest)}, "mails"), context)
    pieces = _shared_out([body.text[body_offset : body_offset + max_body_chars] for body in bodies], room)
    shown = [row | _told(row, body, piece, body_offset) for row, body, piece in zip(rows, bodies, pieces, strict=True)]
    return from_outside({"messages": shown, **compact(rest)}, "mails")


async def _messages(
    google: GoogleClient, message_ids: list[str], thread_id: str | None
) -> tuple[list[dict[str, Any]], list[tuple[dict[str, Any], GoogleError]], list[dict[str, Any]]]:
    """Get what is to be read, what could not be got, and earlier messages of a long thread."""
    if thread_id:
        thread = await google.call(
            "gmail.users.threads.get", id=thread_id, format="metadata", metadataHeaders=ROW_HEADERS,
            fields=f"messages({ROW_FIELDS})",
        )  # fmt: skip
        everything = thread.get("messages", [])
        message_ids = [str(message["id"]) for message in everything[-MAX_READ:]]
        earlier = everything[:-MAX_READ]
    else:
        message_ids, earlier = list(dict.fromkeys(message_ids)), []
    outcomes = await google.batch(
        [api_request("gmail.users.messages.get", id=each, format="full", fields=_FULL_FIELDS) for each in message_ids]
    )
    found, errors = parted(message_ids, outcomes)
    if errors and not found:
        raise errors[0][1]
    return found, errors, earlier


def _told(row: Mapping[str, Any], body: Body, part: str, offset: int) -> dict[str, Any]:
    """Return the note about a body of which a part is shown."""
    said: dict[str, Any] = {
        "body": untrusted(part, f"the mail {row['id']}") if body.text else "",
        "body_problem": body.problem or None,
    }
    end = offset + len(part)
    if end < len(body.text):
        said |= {"body_truncated": True, "body_characters": len(body.text), "next_body_offset": end}
    return {key: value for key, value in said.items() if value is not None}


def _shared_out(texts: Sequence[str], room: int | None) -> list[str]:
    """Cut texts to what there is room for: what short ones leave is for the long ones."""
    if room is None:
        return list(texts)
    parts: dict[int, str] = {}
    for number in sorted(range(len(texts)), key=lambda number: len(texts[number])):
        share = room // (len(texts) - len(parts))
        parts[number] = beginning_within(texts[number], share)
        room -= min(json_length(parts[number]), room)
    return [parts[number] for number in range(len(texts))]


def _listed(part: AttachedPart) -> dict[str, Any]:
    return {"part_id": part.part_id, "filename": part.filename, "mime_type": part.media_type, "size": part.size}


def _files(files: list[dict[str, Any]]) -> dict[str, Any]:
    return {"attachments": files} if files else {}


def _missing(names: list[str], rows: list[dict[str, Any]]) -> list[str]:
    there = {file["filename"].casefold() for row in rows for file in row.get("attachments", [])}
    return [name for name in names if name.casefold() not in there]
