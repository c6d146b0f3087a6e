"""Messages as a model reads them; pure, without any I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.gmail.addresses import addresses_in, shown_addresses
from oneclaw_google_workspace.gmail.headers import header, moment, preview, readable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_google_workspace.gmail.labels import MailLabels

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


def called(message: Mapping[str, Any]) -> str:
    """Name a message for a question: its subject, and who sent it."""
    payload = message.get("payload", {})
    subject = readable(header(payload, "Subject"))[:50] or "(no subject)"
    senders = addresses_in(header(payload, "From"))
    return f"{subject} from {senders[0].email[:50]}" if senders else subject
