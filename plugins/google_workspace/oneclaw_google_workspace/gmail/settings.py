"""The settings of Gmail: reading them all, and changing signature, vacation responder and forwarding."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.accounts import SERVICE_ACCOUNT
from oneclaw_google_workspace.answers import compact, google_tool, passage, read_moment
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.gmail.bodies import html_said, html_to_text
from oneclaw_google_workspace.gmail.filters import (
    FILTER_FIELDS,
    SETTINGS_PAGE,
    filter_row,
    forwarding_addresses,
    require_verified,
)
from oneclaw_google_workspace.gmail.labels import LABEL_FIELDS, MailLabels, label_row
from oneclaw_google_workspace.gmail.mime import FORBIDDEN, mail_address, moment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

VACATION_FIELDS = (
    "enableAutoReply,responseSubject,responseBodyPlainText,responseBodyHtml,restrictToContacts,restrictToDomain,"
    "startTime,endTime"
)
_FORWARDING_FIELDS = "enabled,emailAddress,disposition"
_DISPOSITIONS = {
    "leaveInInbox": "keeping it in the inbox",
    "archive": "archiving it",
    "trash": "moving it to Trash",
    "markRead": "marking it as read",
}
# Which arguments each setting has.
_ARGUMENTS = {
    "signature": {"send_as_email", "signature_html"},
    "vacation": {
        *("enabled", "subject", "body", "start", "end", "restrict_to_contacts", "restrict_to_domain"),
    },
    "forwarding": {"enabled", "forward_to", "disposition"},
}


@dataclass(frozen=True, slots=True)
class VacationChange:
    """The arguments of a tool; ``None`` if absent, an empty text to clear a field."""

    enabled: bool | None = None
    subject: str | None = None
    body: str | None = None
    body_format: str = "text"
    start: str | None = None
    end: str | None = None
    restrict_to_contacts: bool | None = None
    restrict_to_domain: bool | None = None

    @property
    def is_empty(self) -> bool:
        """True if nothing is to change."""
        values = (self.enabled, self.subject, self.body, self.start, self.end)
        return all(value is None for value in (*values, self.restrict_to_contacts, self.restrict_to_domain))

    def applied_to(self, before: Mapping[str, Any], now: float) -> dict[str, Any]:
        """All of the responder as it is to be; Google takes it as a whole only.

        Args:
            before: as Google answers it.
            now: in seconds since 1970.

        Raises:
            GoogleError: it cannot be like that.
        """
        after = {key: before[key] for key in VACATION_FIELDS.split(",") if before.get(key) not in (None, "")}
        if self.enabled and not before.get("enableAutoReply") and _milliseconds(before, "endTime") <= now * 1000:
            # The days of the last vacation would keep it switched off.
            after.pop("startTime", None)
            after.pop("endTime", None)
        if self.subject is not None:
            if FORBIDDEN.search(self.subject):
                raise invalid("The subject has a line end or another control character in it.")
            after["responseSubject"] = self.subject
        if self.body is not None:
            # With both Gmail would send the HTML one.
            after.pop("responseBodyHtml", None)
            after.pop("responseBodyPlainText", None)
            after["responseBodyHtml" if self.body_format == "html" else "responseBodyPlainText"] = self.body
        for key, value in (
            ("enableAutoReply", self.enabled),
            ("restrictToContacts", self.restrict_to_contacts),
            ("restrictToDomain", self.restrict_to_domain),
        ):
            if value is not None:
                after[key] = value
        for key, name, text, days_later in (("startTime", "start", self.start, 0), ("endTime", "end", self.end, 1)):
            if text is not None:
                after.pop(key, None)
                if text.strip():
                    after[key] = str(round(read_moment(name, text, days_later=days_later).timestamp() * 1000))
        _check(after, now)
        return {"enableAutoReply": False, **compact(after)}


def vacation_row(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of a responder.

    Args:
        settings: as Google answers them.
    """
    html = settings.get("responseBodyHtml")
    return {
        "enabled": bool(settings.get("enableAutoReply")),
        **compact(
            {
                "subject": settings.get("responseSubject"),
                "body": html_to_text(html) if html else settings.get("responseBodyPlainText"),
                "start": moment(settings.get("startTime")) if settings.get("startTime") else None,
                "end": moment(settings.get("endTime")) if settings.get("endTime") else None,
            }
        ),
        "contacts_only": bool(settings.get("restrictToContacts")),
        "domain_only": bool(settings.get("restrictToDomain")),
    }


def vacation_described(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Say for a question what a responder is going to do.

    Args:
        before: the settings as they are.
        after: as they are to be.
    """
    row = vacation_row(after)
    if not row["enabled"]:
        was_on = before.get("enableAutoReply")
        text = "turn the vacation responder off" if was_on else "change the vacation responder, which stays off"
        known = vacation_row(before)
        changed = [name for name in {**known, **row} if name != "enabled" and known.get(name) != row.get(name)]
        return f"{text}: {', '.join(_new_value(name, row) for name in changed)}" if changed else text
    text = "let the vacation responder answer"
    text += " contacts" if row["contacts_only"] else " everybody"
    text += " in the own domain" if row["domain_only"] else ""
    text += f" from {row['start']}" if "start" in row else ""
    text += f" until {row['end']}" if "end" in row else ""
    return f"{text}: {', '.join(_new_value(name, row) for name in ('subject', 'body') if name in row)}"


def _new_value(name: str, row: Mapping[str, Any]) -> str:
    """Say in a question what a setting becomes."""
    if name in ("contacts_only", "domain_only"):
        return name.replace("_", " ") if row[name] else f"not {name.replace('_', ' ')}"
    return f"{name} {passage(str(row[name]))}" if name in row else f"no {name}"


def _check(after: Mapping[str, Any], now: float) -> None:
    start, end = _milliseconds(after, "startTime"), _milliseconds(after, "endTime")
    if start and end and start >= end:
        raise invalid("The vacation must start before it ends.")
    if not after.get("enableAutoReply"):
        return
    if not any(after.get(key, "").strip() for key in ("responseSubject", "responseBodyPlainText", "responseBodyHtml")):
        raise invalid("To be turned on, the vacation responder needs a subject or a body.")
    if end and end <= now * 1000:
        raise invalid("The vacation has ended already. Give end, or an empty text for no end.")


def _milliseconds(settings: Mapping[str, Any], key: str) -> int:
    try:
        return int(settings.get(key) or 0)
    except (TypeError, ValueError):
        return 0


SECTIONS = ("labels", "filters", "forwarding", "signatures", "vacation")


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


def forwarding_row(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of automatic forwarding.

    Args:
        settings: as Google answers them.
    """
    return {
        "enabled": bool(settings.get("enabled")),
        **compact({"forward_to": settings.get("emailAddress"), "disposition": settings.get("disposition")}),
    }


async def forwarding(google: GoogleClient) -> dict[str, Any]:
    """Automatic forwarding, and where mail may be forwarded to.

    Raises:
        GoogleError: it did not work out.
    """
    settings, known = await asyncio.gather(
        google.call("gmail.users.settings.getAutoForwarding", fields="enabled,emailAddress,disposition"),
        forwarding_addresses(google),
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


@google_tool
async def gmail_settings_update(
    setting: str,
    send_as_email: str | None = None,
    signature_html: str | None = None,
    enabled: bool | None = None,
    subject: str | None = None,
    body: str | None = None,
    body_format: str = "text",
    start: str | None = None,
    end: str | None = None,
    restrict_to_contacts: bool | None = None,
    restrict_to_domain: bool | None = None,
    forward_to: str | None = None,
    disposition: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Change the signature, the vacation responder or automatic forwarding."""
    google = connect(context)
    given = {
        "send_as_email": send_as_email,
        "signature_html": signature_html,
        "enabled": enabled,
        "subject": subject,
        "body": body,
        "start": start,
        "end": end,
        "restrict_to_contacts": restrict_to_contacts,
        "restrict_to_domain": restrict_to_domain,
        "forward_to": forward_to,
        "disposition": disposition,
    }
    foreign = [name for name, value in given.items() if value is not None and name not in _ARGUMENTS[setting]]
    if foreign:
        raise invalid(f"{foreign[0]} does not go with the setting {setting}.")
    if setting == "signature":
        if signature_html is None:
            raise invalid("Give signature_html; an empty text removes the signature.")
        return await _change_signature(google, send_as_email, signature_html)
    if setting == "vacation":
        change = VacationChange(
            enabled, subject, body, body_format, start, end, restrict_to_contacts, restrict_to_domain
        )
        return await _change_vacation(google, change)
    return await _change_forwarding(google, enabled, forward_to, disposition)


async def _change_signature(google: GoogleClient, send_as_email: str | None, html: str) -> dict[str, Any]:
    answer = await google.call("gmail.users.settings.sendAs.list", fields="sendAs(sendAsEmail,signature,isPrimary)")
    aliases = answer.get("sendAs", [])
    if send_as_email:
        wanted = send_as_email.strip().casefold()
        found = next((each for each in aliases if each.get("sendAsEmail", "").casefold() == wanted), None)
    else:
        found = next((each for each in aliases if each.get("isPrimary")), None)
    if found is None:
        known = ", ".join(each.get("sendAsEmail", "") for each in aliases)
        raise invalid(
            f"{(send_as_email or 'The primary address')[:100]!r} is not a send-as address. There are: {known}."
        )
    address = found["sendAsEmail"]
    said = await asyncio.to_thread(html_said, html)
    await google.ask(f"set the signature of {address} to {said}" if html else f"remove the signature of {address}")
    after = await google.call(
        "gmail.users.settings.sendAs.patch",
        sendAsEmail=address,
        body={"signature": html},
        fields="sendAsEmail,signature",
    )
    return {
        "setting": "signature",
        "send_as_email": address,
        "before": await asyncio.to_thread(html_to_text, found.get("signature", "")),
        "after": await asyncio.to_thread(html_to_text, after.get("signature", "")),
    }


async def _change_vacation(google: GoogleClient, change: VacationChange) -> dict[str, Any]:
    if change.is_empty:
        raise invalid("Give what to change about the vacation responder: enabled, subject, body, start, end.")
    before = await google.call("gmail.users.settings.getVacation", fields=VACATION_FIELDS)
    body = change.applied_to(before, time.time())
    await google.ask(vacation_described(before, body))
    after = await google.call("gmail.users.settings.updateVacation", body=body, fields=VACATION_FIELDS)
    return {"setting": "vacation", "before": vacation_row(before), "after": vacation_row(after)}


async def _change_forwarding(
    google: GoogleClient, enabled: bool | None, forward_to: str | None, disposition: str | None
) -> dict[str, Any]:
    if google.account.kind != SERVICE_ACCOUNT:
        raise GoogleError(
            "not_available",
            "Google lets programs change automatic forwarding only through a service account of the organisation. The "
            f"user can change it at {SETTINGS_PAGE}; a filter with forward_to, by gmail_filter_manage, works, too.",
        )
    google.require_scopes("gmail.settings.sharing")
    if enabled is None and forward_to is None and disposition is None:
        raise invalid("Give what to change about forwarding: enabled, forward_to, disposition.")
    before = await google.call("gmail.users.settings.getAutoForwarding", fields=_FORWARDING_FIELDS)
    wanted = {
        "enabled": enabled,
        "emailAddress": mail_address("forward_to", forward_to).email if forward_to else None,
        "disposition": disposition,
    }
    body = {
        "enabled": False,
        **{key: value for key, value in before.items() if value not in ("", "dispositionUnspecified")},
        **{key: value for key, value in wanted.items() if value is not None},
    }
    if body["enabled"]:
        if not body.get("emailAddress"):
            raise invalid("Give forward_to, one of the verified addresses that gmail_settings_get lists.")
        await require_verified(google, body["emailAddress"])
        body.setdefault("disposition", "leaveInInbox")
        done = f"forward all new mail to {body['emailAddress']}, {_DISPOSITIONS[body['disposition']]}"
    else:
        done = "forward no mail automatically"
    await google.ask(done, "forward", body.get("emailAddress") if body["enabled"] else None)
    after = await google.call("gmail.users.settings.updateAutoForwarding", body=body, fields=_FORWARDING_FIELDS)
    return {"setting": "forwarding", "before": forwarding_row(before), "after": forwarding_row(after)}
