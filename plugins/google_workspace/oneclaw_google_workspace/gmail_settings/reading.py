"""The tool of the group ``google_gmail_settings`` that reads."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.gmail.html_text import html_to_text
from oneclaw_google_workspace.gmail.labels import MailLabels
from oneclaw_google_workspace.gmail_settings.filters import FILTER_FIELDS, filter_row
from oneclaw_google_workspace.gmail_settings.vacation import VACATION_FIELDS, vacation_row
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

SECTIONS = ("labels", "filters", "forwarding", "signatures", "vacation")
LABEL_FIELDS = "id,name,type,labelListVisibility,messageListVisibility,color"


@google_tool
async def gmail_settings_get(sections: list[str] | None = None, *, context: ToolContext) -> dict[str, Any]:
    """Show the settings of the mailbox."""
    google = connect(context)
    readers: dict[str, Callable[[GoogleClient], Awaitable[Any]]] = {
        "labels": _labels,
        "filters": _filters,
        "forwarding": forwarding,
        "signatures": _signatures,
        "vacation": _vacation,
    }
    wanted = [each for each in SECTIONS if not sections or each in sections]
    outcomes = await asyncio.gather(*(readers[each](google) for each in wanted), return_exceptions=True)
    errors = [each for each in outcomes if isinstance(each, BaseException)]
    unexpected = next((each for each in errors if not isinstance(each, GoogleError)), None)
    if unexpected is not None or len(errors) == len(outcomes):
        raise unexpected or errors[0]
    # A setting that cannot be read has its error here; the others are shown.
    return {
        name: {"error": str(outcome)} if isinstance(outcome, GoogleError) else outcome
        for name, outcome in zip(wanted, outcomes, strict=True)
    }


def label_row(label: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of a label that the user made.

    Args:
        label: as Google answers it.
    """
    color = label.get("color", {})
    return compact(
        {
            "id": label.get("id"),
            "name": label.get("name"),
            "label_list_visibility": label.get("labelListVisibility"),
            "message_list_visibility": label.get("messageListVisibility"),
            "background_color": color.get("backgroundColor"),
            "text_color": color.get("textColor"),
        }
    )


def forwarding_row(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of automatic forwarding.

    Args:
        settings: as Google answers them.
    """
    return {
        "enabled": bool(settings.get("enabled")),
        **compact({"forward_to": settings.get("emailAddress"), "disposition": settings.get("disposition")}),
    }


async def addresses(google: GoogleClient) -> dict[str, str]:
    """Return the forwarding addresses with their status, ``accepted`` if verified.

    Raises:
        GoogleError: it did not work out.
    """
    answer = await google.call(
        "gmail.users.settings.forwardingAddresses.list",
        fields="forwardingAddresses(forwardingEmail,verificationStatus)",
    )
    return {
        each.get("forwardingEmail", ""): each.get("verificationStatus", "pending")
        for each in answer.get("forwardingAddresses", [])
    }


async def forwarding(google: GoogleClient) -> dict[str, Any]:
    """Automatic forwarding, and where mail may be forwarded to.

    Raises:
        GoogleError: it did not work out.
    """
    settings, known = await asyncio.gather(
        google.call("gmail.users.settings.getAutoForwarding", fields="enabled,emailAddress,disposition"),
        addresses(google),
    )
    rows = [{"email": email, "status": status} for email, status in known.items()]
    return {**forwarding_row(settings), "addresses": rows}


async def _labels(google: GoogleClient) -> dict[str, Any]:
    answer = await google.call("gmail.users.labels.list", fields=f"labels({LABEL_FIELDS})")
    found = answer.get("labels", [])
    return {
        "own": [label_row(each) for each in found if each.get("type") == "user"],
        "of_gmail": [each.get("id") for each in found if each.get("type") != "user"],
    }


async def _filters(google: GoogleClient) -> list[dict[str, Any]]:
    answer, labels = await asyncio.gather(
        google.call("gmail.users.settings.filters.list", fields=f"filter({FILTER_FIELDS})"), MailLabels.of(google)
    )
    return [filter_row(each, labels) for each in answer.get("filter", [])]


async def _signatures(google: GoogleClient) -> list[dict[str, Any]]:
    answer = await google.call(
        "gmail.users.settings.sendAs.list",
        fields="sendAs(sendAsEmail,displayName,replyToAddress,signature,isDefault,isPrimary,verificationStatus)",
    )
    return [
        {
            **compact(
                {
                    "address": each.get("sendAsEmail"),
                    "name": each.get("displayName"),
                    "reply_to": each.get("replyToAddress"),
                    "signature": await asyncio.to_thread(html_to_text, each.get("signature") or ""),
                }
            ),
            "default": bool(each.get("isDefault")),
            "primary": bool(each.get("isPrimary")),
            "verified": bool(each.get("isPrimary")) or each.get("verificationStatus") == "accepted",
        }
        for each in answer.get("sendAs", [])
    ]


async def _vacation(google: GoogleClient) -> dict[str, Any]:
    return vacation_row(await google.call("gmail.users.settings.getVacation", fields=VACATION_FIELDS))
