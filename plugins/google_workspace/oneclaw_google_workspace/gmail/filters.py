"""Mail filters: what they match and do, in words, and ``gmail_filter_manage``."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, counted, google_tool, listing, quoted
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import GoogleError, invalid, lacking_scopes, reading_only
from oneclaw_google_workspace.gmail.labels import MailLabels
from oneclaw_google_workspace.gmail.mime import mail_address
from oneclaw_google_workspace.scopes import Need, missing_scopes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient, Harm

FILTER_FIELDS = (
    "id,criteria(from,to,subject,query,negatedQuery,hasAttachment,excludeChats,size,sizeComparison),"
    "action(addLabelIds,removeLabelIds,forward)"
)
_CRITERIA = {
    "sender": "from",
    "recipient": "to",
    "subject": "subject",
    "query": "query",
    "negated_query": "negatedQuery",
    "has_attachment": "hasAttachment",
    "exclude_chats": "excludeChats",
    "size_bytes": "size",
    "size_comparison": "sizeComparison",
}
# Actions that Gmail knows as labels: the word, whether the label is put on, and in a sentence.
_LABEL_ACTIONS = (
    ("archive", "INBOX", False, "skips the inbox"),
    ("mark_read", "UNREAD", False, "is marked as read"),
    ("star", "STARRED", True, "is starred"),
    ("never_spam", "SPAM", False, "never goes to Spam"),
)
SETTINGS_PAGE = "https://mail.google.com/mail/u/0/#settings/fwdandpop"


@dataclass(frozen=True, slots=True)
class NewFilter:
    """A filter that is asked for; ``None`` for what is not given."""

    sender: str | None = None
    recipient: str | None = None
    subject: str | None = None
    query: str | None = None
    negated_query: str | None = None
    has_attachment: bool | None = None
    exclude_chats: bool | None = None
    size_bytes: int | None = None
    size_comparison: str | None = None
    add_labels: Sequence[str] = ()
    remove_labels: Sequence[str] = ()
    archive: bool = False
    mark_read: bool = False
    star: bool = False
    never_spam: bool = False
    forward_to: str | None = None

    def body(self, labels: MailLabels) -> dict[str, Any]:
        """Write it as Google wants it.

        Args:
            labels: of the mailbox.

        Raises:
            GoogleError: it would match all mail, or do nothing, or there is no such label.
        """
        if (self.size_bytes is None) != (self.size_comparison is None):
            raise invalid("size_bytes and size_comparison go together.")
        values = {name: _said(getattr(self, name)) for name in _CRITERIA}
        criteria = compact({_CRITERIA[name]: value for name, value in values.items() if value is not False})
        if not set(criteria) - {"excludeChats"}:
            raise invalid(
                "Without a criterion the filter would match all mail. Give sender, recipient, subject, query, "
                "negated_query, has_attachment true, or a size."
            )
        added, removed = labels.ids(self.add_labels), labels.ids(self.remove_labels)
        for name, label, is_added, _ in _LABEL_ACTIONS:
            if getattr(self, name):
                (added if is_added else removed).append(label)
        action = compact(
            {
                "addLabelIds": list(dict.fromkeys(added)),
                "removeLabelIds": list(dict.fromkeys(removed)),
                "forward": self.forward_to,
            }
        )
        if not action:
            raise invalid("Say what happens to the mail: add_labels, archive, mark_read, star, never_spam, forward_to.")
        both = set(added) & set(removed)
        if both:
            raise invalid(f"The label {labels.name(both.pop())} cannot be put on and taken off at once.")
        return {"criteria": criteria, "action": action}


def filter_row(found: Mapping[str, Any], labels: MailLabels) -> dict[str, Any]:
    """Make the row of a filter, in the words of gmail_filter_manage.

    Args:
        found: as Google answers it.
        labels: of the mailbox.
    """
    criteria = found.get("criteria", {})
    said = {word: criteria.get(name) for word, name in _CRITERIA.items()}
    if not criteria.get("size"):
        said |= {"size_bytes": None, "size_comparison": None}
    return compact(
        {
            "filter_id": found.get("id"),
            "criteria": compact({word: value for word, value in said.items() if value is not False}),
            "actions": _actions(found.get("action", {}), labels),
        }
    )


def described(found: Mapping[str, Any], labels: MailLabels) -> str:
    """Say for a question what a filter does.

    Args:
        found: as Google has it.
        labels: of the mailbox.
    """
    row = filter_row(found, labels)
    criteria = row.get("criteria", {})
    matched = [
        f"{word.replace('_', ' ')} {quoted(value, 200)}" if isinstance(value, str) else word.replace("_", " ")
        for word, value in criteria.items()
        if word not in ("size_bytes", "size_comparison")
    ]
    if "size_bytes" in criteria:
        matched.append(f"{criteria.get('size_comparison', '')} than {criteria['size_bytes']:,} bytes".strip())
    actions = row.get("actions", {})
    done = [f"gets {listing(actions['add_labels'])}"] if actions.get("add_labels") else []
    done += [f"loses {listing(actions['remove_labels'])}"] if actions.get("remove_labels") else []
    done += [words for name, _, _, words in _LABEL_ACTIONS if actions.get(name)]
    done += [f"is forwarded to {actions['forward_to']}"] if actions.get("forward_to") else []
    return f"mail with {', '.join(matched) or 'anything'} {', '.join(done) or 'stays as it is'}"


def search_for(found: Mapping[str, Any]) -> str:
    """Write the search that finds the mail that a filter matches.

    Args:
        found: the filter as Google has it.
    """
    criteria = found.get("criteria", {})
    terms = [f"{name}:({criteria[name]})" for name in ("from", "to", "subject") if criteria.get(name)]
    terms += [f"({criteria['query']})"] if criteria.get("query") else []
    terms += [f"-({criteria['negatedQuery']})"] if criteria.get("negatedQuery") else []
    terms += ["has:attachment"] if criteria.get("hasAttachment") else []
    terms += ["-in:chats"] if criteria.get("excludeChats") else []
    if criteria.get("size"):
        terms.append(f"{criteria.get('sizeComparison', 'larger')}:{criteria['size']}")
    return " ".join(terms)


def same(found: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Return True if a filter matches and does the same as a new one."""
    return _comparable(found) == _comparable(body)


def _actions(action: Mapping[str, Any], labels: MailLabels) -> dict[str, Any]:
    added, removed = list(action.get("addLabelIds", [])), list(action.get("removeLabelIds", []))
    words: dict[str, Any] = {}
    for name, label, is_added, _ in _LABEL_ACTIONS:
        ids = added if is_added else removed
        if label in ids:
            ids.remove(label)
            words[name] = True
    return compact(
        {
            "add_labels": [labels.name(each) for each in added],
            "remove_labels": [labels.name(each) for each in removed],
            **words,
            "forward_to": action.get("forward"),
        }
    )


def _comparable(found: Mapping[str, Any]) -> tuple[Any, ...]:
    criteria, action = found.get("criteria", {}), found.get("action", {})
    matched = {name: value for name, value in criteria.items() if value not in (False, "", 0, "unspecified", None)}
    return (
        matched,
        set(action.get("addLabelIds", [])),
        set(action.get("removeLabelIds", [])),
        str(action.get("forward") or "").casefold(),
    )


def _said(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


async def forwarding_addresses(google: GoogleClient) -> dict[str, str]:
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


async def require_verified(google: GoogleClient, email: str) -> None:
    """Make sure that mail may be forwarded to an address.

    Raises:
        GoogleError: it is not verified.
    """
    known = await forwarding_addresses(google)
    verified = [each for each, status in known.items() if status == "accepted"]
    if email.casefold() not in (each.casefold() for each in verified):
        raise invalid(
            f"{email} is not a verified forwarding address. There are: {', '.join(verified) or 'none'}. The user can "
            f"add one at {SETTINGS_PAGE}."
        )


# One call of Google's takes a thousand ids; more than so many messages would take longer than a tool may.
_MOST_AT_ONCE = 1_000
_MOST_APPLIED = 10_000
_PAGE = 500
# The tool that does the same to mail, whose access is needed.
_CHANGING_MAIL = Need.of_tool("gmail_label_add")


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


async def _create_filter(google: GoogleClient, wanted: NewFilter, *, apply_to_existing: bool) -> dict[str, Any]:
    if apply_to_existing:
        _require_changes_of_mail(google)
    labels, listed = await asyncio.gather(MailLabels.of(google), _filters(google))
    body = wanted.body(labels)
    if wanted.forward_to:
        await require_verified(google, wanted.forward_to)
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
