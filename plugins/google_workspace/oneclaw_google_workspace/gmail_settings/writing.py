"""The tools of the group ``google_gmail_settings`` that change filters, signature, vacation responder, forwarding."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.accounts import SERVICE_ACCOUNT
from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.failures import lacking_scopes, reading_only
from oneclaw_google_workspace.gmail.headers import mail_address
from oneclaw_google_workspace.gmail.html_text import html_said, html_to_text
from oneclaw_google_workspace.gmail.labels import MailLabels
from oneclaw_google_workspace.gmail_settings.filters import (
    FILTER_FIELDS,
    NewFilter,
    described,
    filter_row,
    same,
    search_for,
)
from oneclaw_google_workspace.gmail_settings.reading import (
    VACATION_FIELDS,
    VacationChange,
    addresses,
    forwarding_row,
    vacation_described,
    vacation_row,
)
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.scopes import Need, missing_scopes
from oneclaw_google_workspace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient, Harm

_SETTINGS_PAGE = "https://mail.google.com/mail/u/0/#settings/fwdandpop"
_FORWARDING_FIELDS = "enabled,emailAddress,disposition"
_DISPOSITIONS = {
    "leaveInInbox": "keeping it in the inbox",
    "archive": "archiving it",
    "trash": "moving it to Trash",
    "markRead": "marking it as read",
}
# One call of Google's takes a thousand ids; more than so many messages would take longer than a tool may.
_MOST_AT_ONCE = 1_000
_MOST_APPLIED = 10_000
_PAGE = 500
# The tool that does the same to mail, whose access is needed.
_CHANGING_MAIL = Need.of_tool("gmail_label_add")
# Which arguments each setting has.
_ARGUMENTS = {
    "signature": {"send_as_email", "signature_html"},
    "vacation": {
        *("enabled", "subject", "body", "start", "end", "restrict_to_contacts", "restrict_to_domain"),
    },
    "forwarding": {"enabled", "forward_to", "disposition"},
}


@google_tool
async def gmail_filter_manage(
    action: str,
    filter_id: str | None = None,
    sender: str | None = None,
    recipient: str | None = None,
    subject: str | None = None,
    query: str | None = None,
    negated_query: str | None = None,
    has_attachment: bool | None = None,
    exclude_chats: bool | None = None,
    size_bytes: int | None = None,
    size_comparison: str | None = None,
    add_labels: list[str] | None = None,
    remove_labels: list[str] | None = None,
    archive: bool = False,
    mark_read: bool = False,
    star: bool = False,
    never_spam: bool = False,
    forward_to: str | None = None,
    apply_to_existing: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create or delete a filter, or apply one to the mail that is there."""
    google = connect(context)
    if action != "create":
        if not filter_id:
            raise invalid("Give filter_id, from gmail_settings_get.")
        return await (_delete_filter if action == "delete" else _apply_filter)(google, filter_id)
    if filter_id:
        raise invalid("A filter cannot be changed. Create the new one without filter_id, then delete the old one.")
    wanted = NewFilter(
        sender,
        recipient,
        subject,
        query,
        negated_query,
        has_attachment,
        exclude_chats,
        size_bytes,
        size_comparison,
        add_labels or (),
        remove_labels or (),
        archive,
        mark_read,
        star,
        never_spam,
        mail_address("forward_to", forward_to).email if forward_to else None,
    )
    return await _create_filter(google, wanted, apply_to_existing=apply_to_existing)


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


async def _create_filter(google: GoogleClient, wanted: NewFilter, *, apply_to_existing: bool) -> dict[str, Any]:
    if apply_to_existing:
        _require_changes_of_mail(google)
    labels, listed = await asyncio.gather(MailLabels.of(google), _filters(google))
    body = wanted.body(labels)
    if wanted.forward_to:
        await _require_verified(google, wanted.forward_to)
    existing = next((each for each in listed if same(each, body)), None)
    found = await _Matches.of(google, body) if apply_to_existing else None
    if existing is not None:
        if found is not None:
            await google.ask(f"apply a filter to {found}: {described(body, labels)}")
            return {"status": "exists", **filter_row(existing, labels), **await found.change(google)}
        return {"status": "exists", **filter_row(existing, labels)}
    forward_to = wanted.forward_to
    harm: Harm = "forward" if forward_to else "write"
    also = f", and apply it to {found}" if found is not None else ""
    await google.ask(f"create a filter for new mail{also}: {described(body, labels)}", harm, forward_to)
    made = await google.call(
        "gmail.users.settings.filters.create",
        body=body,
        fields=FILTER_FIELDS,
        unclear_hint="Look for it with gmail_settings_get",
    )
    row = {"status": "created", **filter_row({**body, **made}, labels)}
    return {**row, **await found.change(google)} if found is not None else row


async def _apply_filter(google: GoogleClient, filter_id: str) -> dict[str, Any]:
    _require_changes_of_mail(google)
    labels, found = await _filter(google, filter_id)
    matches = await _Matches.of(google, found)
    await google.ask(f"apply a filter to {matches}: {described(found, labels)}")
    return {"status": "applied", **filter_row(found, labels), **await matches.change(google)}


@dataclass(frozen=True, slots=True)
class _Matches:
    """The mail that is there and that a filter matches, outside Spam and Trash; the newest if it is very much.

    Attributes:
        ids: of the messages.
        has_more: whether there are others.
        change_body: what happens to them, as Google is told.
    """

    ids: list[str]
    has_more: bool
    change_body: dict[str, Any]

    @classmethod
    async def of(cls, google: GoogleClient, found: Mapping[str, Any]) -> _Matches:
        """Search for it.

        Args:
            google: the client.
            found: the filter as Google has it, or as it is to be.

        Raises:
            GoogleError: it did not work out, or the filter does nothing that can be done to mail that is there.
        """
        action = found.get("action", {})
        change = compact({name: action.get(name) for name in ("addLabelIds", "removeLabelIds")})
        if not change:
            raise invalid("Google forwards new mail only, so there is nothing to apply to mail that is there.")
        messages, has_more = await google.all_items(
            "gmail.users.messages.list",
            "messages",
            fields="messages/id",
            limit=_MOST_APPLIED,
            q=search_for(found),
            maxResults=_PAGE,
        )
        return cls([each["id"] for each in messages], has_more, change)

    async def change(self, google: GoogleClient) -> dict[str, Any]:
        """Do to it what the filter does; the user has agreed."""
        done = 0
        answer: dict[str, Any] = {}
        for start in range(0, len(self.ids), _MOST_AT_ONCE):
            ids = self.ids[start : start + _MOST_AT_ONCE]
            try:
                await google.call("gmail.users.messages.batchModify", body={"ids": ids, **self.change_body})
            except GoogleError as error:
                answer["not_applied"] = f"{len(self.ids) - done} messages are unchanged: {error}"
                break
            done += len(ids)
        if self.has_more:
            answer["incomplete"] = f"Only the newest {_MOST_APPLIED:,} were looked at; apply it again for the others."
        return {"applied_to_messages": done, **answer}

    def __str__(self) -> str:
        count = counted(len(self.ids), "message")
        if self.has_more:
            return f"the newest {count} of those that are there"
        return f"{count} that {'is' if len(self.ids) == 1 else 'are'} there"


def _require_changes_of_mail(google: GoogleClient) -> None:
    """Go on only if the user has signed in for changes of mail, too."""
    if _CHANGING_MAIL.service in google.account.read_only:
        raise GoogleError("not_available", reading_only(google.account, _CHANGING_MAIL))
    if missing_scopes(_CHANGING_MAIL.scopes, google.account.writing_scopes):
        raise GoogleError("not_available", lacking_scopes(google.account, _CHANGING_MAIL, _CHANGING_MAIL.scopes))


async def _delete_filter(google: GoogleClient, filter_id: str) -> dict[str, Any]:
    labels, found = await _filter(google, filter_id)
    await google.ask(f"delete the filter: {described(found, labels)}", "delete")
    await google.delete("gmail.users.settings.filters.delete", id=filter_id)
    return {"status": "deleted", **filter_row(found, labels)}


async def _filter(google: GoogleClient, filter_id: str) -> tuple[MailLabels, dict[str, Any]]:
    """Find a filter, and the labels that it names."""
    labels, listed = await asyncio.gather(MailLabels.of(google), _filters(google))
    found = next((each for each in listed if each.get("id") == filter_id), None)
    if found is None:
        raise GoogleError("not_found", f"There is no filter {filter_id[:100]!r}. gmail_settings_get lists them.")
    return labels, found


async def _filters(google: GoogleClient) -> list[dict[str, Any]]:
    answer = await google.call("gmail.users.settings.filters.list", fields=f"filter({FILTER_FIELDS})")
    found: list[dict[str, Any]] = answer.get("filter", [])
    return found


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
        raise invalid(f"{(send_as_email or 'The primary address')[:100]!r} is no send-as address. There are: {known}.")
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
            f"user can change it at {_SETTINGS_PAGE}; a filter with forward_to, by gmail_filter_manage, works, too.",
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
        await _require_verified(google, body["emailAddress"])
        body.setdefault("disposition", "leaveInInbox")
        done = f"forward all new mail to {body['emailAddress']}, {_DISPOSITIONS[body['disposition']]}"
    else:
        done = "forward no mail automatically"
    await google.ask(done, "forward", body.get("emailAddress") if body["enabled"] else None)
    after = await google.call("gmail.users.settings.updateAutoForwarding", body=body, fields=_FORWARDING_FIELDS)
    return {"setting": "forwarding", "before": forwarding_row(before), "after": forwarding_row(after)}


async def _require_verified(google: GoogleClient, email: str) -> None:
    known = await addresses(google)
    verified = [each for each, status in known.items() if status == "accepted"]
    if email.casefold() not in (each.casefold() for each in verified):
        raise invalid(
            f"{email} is no verified forwarding address. There are: {', '.join(verified) or 'none'}. The user can add "
            f"one at {_SETTINGS_PAGE}."
        )
