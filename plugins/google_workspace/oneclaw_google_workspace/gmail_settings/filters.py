"""Mail filters in words: what they match, and what they do; pure, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import listing, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_google_workspace.gmail.labels import MailLabels

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
