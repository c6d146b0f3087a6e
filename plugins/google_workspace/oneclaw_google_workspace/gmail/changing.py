"""The tools of the group ``google_gmail`` that change where messages are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, failed, google_tool, parted
from oneclaw_google_workspace.api_request import api_request
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.gmail.labels import MailLabels, create_label
from oneclaw_google_workspace.gmail.reading import called
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import counted, listing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

# What a question names of the mails that it is about; one batch tells.
_NAMED = 5
_INBOX, _UNREAD = "INBOX", "UNREAD"
_OTHER_TOOL = {
    "TRASH": "gmail_trash moves mail to Trash and out of it.",
    "SENT": "Gmail itself marks what was sent.",
    "DRAFT": "gmail_draft_create writes drafts.",
    "CHAT": "Gmail itself marks chats.",
}


@google_tool
async def gmail_label_add(
    message_ids: list[str] | None = None,
    thread_ids: list[str] | None = None,
    labels: list[str] | None = None,
    create_missing: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Put labels on messages or threads."""
    google = connect(context)
    targets = _Targets.of(message_ids, thread_ids)
    known = await MailLabels.of(google)
    ids, missing = known.sorted_out(labels or ())
    if missing and not create_missing:
        raise known.unknown(missing[0])
    _check_settable(ids)
    names = listing([*(known.name(each) for each in ids), *missing])
    created_note = f" (creating {listing(missing)})" if missing else ""
    await google.ask(
        f"put {counted(len(ids) + len(missing), 'label')} {names}{created_note} on {await _shown(google, targets)}",
        "organize",
    )
    made = [await create_label(google, {"name": name}, "id,name") for name in missing]
    created = {label["id"]: label.get("name", "") for label, _ in made}
    outcome = await targets.modify(google, add=[*ids, *created])
    rows: list[dict[str, Any]] = [{"id": each, "name": known.name(each)} for each in ids]
    rows += [{"id": label_id, "name": name, "created": True} for label_id, name in created.items()]
    return {"labels": rows, **outcome}


@google_tool
async def gmail_label_remove(
    message_ids: list[str] | None = None,
    thread_ids: list[str] | None = None,
    labels: list[str] | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Take labels off messages or threads."""
    google = connect(context)
    targets = _Targets.of(message_ids, thread_ids)
    known = await MailLabels.of(google)
    ids = known.ids(labels or ())
    _check_settable(ids)
    names = listing(known.name(each) for each in ids)
    await google.ask(f"take {counted(len(ids), 'label')} {names} off {await _shown(google, targets)}", "organize")
    outcome = await targets.modify(google, remove=ids)
    return {"labels": [{"id": each, "name": known.name(each)} for each in ids], **outcome}


@google_tool
async def gmail_archive(
    message_ids: list[str] | None = None,
    thread_ids: list[str] | None = None,
    mark_read: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Take messages or threads out of the inbox."""
    google = connect(context)
    targets = _Targets.of(message_ids, thread_ids)
    how = " and mark as read" if mark_read else ""
    await google.ask(f"archive{how} {await _shown(google, targets)}", "organize")
    outcome = await targets.modify(google, remove=[_INBOX, _UNREAD] if mark_read else [_INBOX])
    return {
        "archived_messages": outcome.pop("messages"),
        "archived_threads": outcome.pop("threads"),
        **outcome,
    }


@google_tool
async def gmail_trash(
    message_ids: list[str] | None = None,
    thread_ids: list[str] | None = None,
    restore: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Move messages or threads to Trash, or take them out."""
    google = connect(context)
    targets = _Targets.of(message_ids, thread_ids)
    where = "take {} out of Trash" if restore else "move {} to Trash"
    question = f"{where.format(targets.described)}: {await _named(google, targets)}"
    await google.ask(question, "organize" if restore else "delete")
    verb = "untrash" if restore else "trash"
    outcomes = await google.batch(
        [
            *(
                api_request(f"gmail.users.messages.{verb}", id=each, fields="id,labelIds")
                for each in targets.message_ids
            ),
            *(api_request(f"gmail.users.threads.{verb}", id=each, fields="id") for each in targets.thread_ids),
        ]
    )
    count = len(targets.message_ids)
    done, errors = parted(targets.message_ids, outcomes[:count])
    _, thread_errors = parted(targets.thread_ids, outcomes[count:], "thread_id")
    errors += thread_errors
    if len(errors) == len(outcomes):
        raise errors[0][1]
    lost = {what["thread_id"] for what, _ in thread_errors}
    moved_threads = [each for each in targets.thread_ids if each not in lost]
    moved = {
        "trashed": [] if restore else [each.get("id") for each in done],
        # A mail that is out of Trash need not be back in the inbox.
        "restored": [{"id": each.get("id"), "labels": each.get("labelIds", [])} for each in done] if restore else [],
        "thread_ids": moved_threads,
    }
    return {"messages": len(done), "threads": len(moved_threads), **compact(moved), **_failures(errors)}


class _Targets:
    """The messages and threads that a tool was called for."""

    def __init__(self, message_ids: Sequence[str], thread_ids: Sequence[str]) -> None:
        self.message_ids = list(dict.fromkeys(message_ids))
        self.thread_ids = list(dict.fromkeys(thread_ids))

    @classmethod
    def of(cls, message_ids: list[str] | None, thread_ids: list[str] | None) -> _Targets:
        """Check that there are any.

        Raises:
            GoogleError: there are none.
        """
        if not message_ids and not thread_ids:
            raise invalid("Give message_ids or thread_ids, from gmail_search.")
        if any(not each.strip() for each in (*(message_ids or ()), *(thread_ids or ()))):
            raise invalid("An id must not be empty.")
        return cls(message_ids or (), thread_ids or ())

    @property
    def described(self) -> str:
        """For a question."""
        messages = counted(len(self.message_ids), "message") if self.message_ids else ""
        threads = counted(len(self.thread_ids), "thread") if self.thread_ids else ""
        return " and ".join(filter(None, (messages, threads)))

    async def modify(
        self, google: GoogleClient, *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Put labels on and take labels off; how many it was done for, and what failed.

        Raises:
            GoogleError: nothing of it worked out.
        """
        change = compact({"addLabelIds": list(add), "removeLabelIds": list(remove)})
        errors: list[tuple[dict[str, Any], GoogleError]] = []
        messages = len(self.message_ids)
        if self.message_ids:
            try:
                await google.call("gmail.users.messages.batchModify", body={"ids": self.message_ids, **change})
            except GoogleError as error:
                if not self.thread_ids:
                    raise
                errors.append(({"message_ids": self.message_ids}, error))
                messages = 0
        outcomes = await google.batch(
            [api_request("gmail.users.threads.modify", id=each, body=change, fields="id") for each in self.thread_ids]
        )
        _, lost = parted(self.thread_ids, outcomes, "thread_id")
        if not messages and lost and len(lost) == len(self.thread_ids):
            raise lost[0][1]
        return {"messages": messages, "threads": len(self.thread_ids) - len(lost), **_failures([*errors, *lost])}


async def _shown(google: GoogleClient, targets: _Targets) -> str:
    return f"{targets.described}: {await _named(google, targets)}"


async def _named(google: GoogleClient, targets: _Targets) -> str:
    """Name some of the mails, so that the user sees what it is about."""
    headers = ["Subject", "From"]
    messages = targets.message_ids[:_NAMED]
    threads = targets.thread_ids[: _NAMED - len(messages)]
    outcomes = await google.batch(
        [
            *(
                api_request(
                    "gmail.users.messages.get",
                    id=each,
                    format="metadata",
                    metadataHeaders=headers,
                    fields="payload/headers",
                )
                for each in messages
            ),
            *(
                api_request(
                    "gmail.users.threads.get",
                    id=each,
                    format="metadata",
                    metadataHeaders=headers,
                    fields="messages/payload/headers",
                )
                for each in threads
            ),
        ]
    )
    if all(isinstance(each, GoogleError) for each in outcomes) and len(outcomes) == _total(targets):
        raise next(each for each in outcomes if isinstance(each, GoogleError))
    firsts = [(each.get("messages") or [each])[0] for each in outcomes if isinstance(each, dict)]
    names = listing(called(each) for each in firsts)
    rest = _total(targets) - len(firsts)
    return f"{names} and {rest} more" if rest else names


def _total(targets: _Targets) -> int:
    return len(targets.message_ids) + len(targets.thread_ids)


def _check_settable(label_ids: Sequence[str]) -> None:
    for each in label_ids:
        if each in _OTHER_TOOL:
            raise invalid(f"{each} is no label to put on or take off. {_OTHER_TOOL[each]}")


def _failures(errors: Sequence[tuple[dict[str, Any], GoogleError]]) -> dict[str, Any]:
    return compact({"failed": failed(errors)})
