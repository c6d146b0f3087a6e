"""The labels of a mailbox: people and models name them, the API wants ids. Tools for them, archiving and Trash."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, counted, failed, google_tool, listing, parted, quoted
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.gmail.mime import FORBIDDEN, called
from oneclaw_google_workspace.methods import api_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

LABEL_FIELDS = "id,name,type,labelListVisibility,messageListVisibility,color"
_CLOSE_NAMES = 5
_CATEGORY = "category_"
# By Google's description of LabelColor, revision 20261005.
_PALETTE = (
    "000000 434343 666666 999999 cccccc efefef f3f3f3 ffffff fb4c2f ffad47 fad165 16a766 43d692 4a86e8 a479e2 f691b3 "
    "f6c5be ffe6c7 fef1d1 b9e4d0 c6f3de c9daf8 e4d7f5 fcdee8 efa093 ffd6a2 fce8b3 89d3b2 a0eac9 a4c2f4 d0bcf1 fbc8d9 "
    "e66550 ffbc6b fcda83 44b984 68dfa9 6d9eeb b694e8 f7a7c0 cc3a21 eaa041 f2c960 149e60 3dc789 3c78d8 8e63ce e07798 "
    "ac2b16 cf8933 d5ae49 0b804b 2a9c68 285bac 653e9b b65775 822111 a46a21 aa8831 076239 1a764d 1c4587 41236d 83334c"
)
_COLOR = re.compile(r"#[0-9a-f]{6}")
_MAX_NAME_CHARACTERS = 225
# What a question names of the mails that it is about; one batch tells.
_NAMED = 5
_INBOX, _UNREAD = "INBOX", "UNREAD"
_OTHER_TOOL = {
    "TRASH": "gmail_trash moves mail to Trash and out of it.",
    "SENT": "Gmail itself marks what was sent.",
    "DRAFT": "gmail_draft_create writes drafts.",
    "CHAT": "Gmail itself marks chats.",
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


class MailLabels:
    """The labels of a mailbox.

    Attributes:
        names: by id, in Google's order; nested ones are ``Parent/Child``.
        own: the ids of those that the user made.
    """

    def __init__(self, names: Mapping[str, str], own: Iterable[str]) -> None:
        self.names = dict(names)
        self.own = frozenset(own)
        self._ids = {name.casefold(): label_id for label_id, name in names.items()}

    @classmethod
    async def of(cls, google: GoogleClient) -> MailLabels:
        """Ask Google for them.

        Raises:
            GoogleError: it did not work out.
        """
        answer = await google.call("gmail.users.labels.list", fields="labels(id,name,type)")
        labels = [each for each in answer.get("labels", []) if each.get("id")]
        return cls(
            {each["id"]: each.get("name") or each["id"] for each in labels},
            (each["id"] for each in labels if each.get("type") == "user"),
        )

    def name(self, label_id: str) -> str:
        """The name of a label; of one that is not known, its id."""
        return self.names.get(label_id, label_id)

    def find(self, wanted: str) -> str | None:
        """The id of a label by its name, in any case, or its id; ``None`` if there is none."""
        text = wanted.strip().strip("/")
        if text in self.names:
            return text
        folded = text.casefold()
        return self._ids.get(folded) or self._ids.get(_CATEGORY + folded)

    def ids(self, wanted: Iterable[str]) -> list[str]:
        """The ids of labels, each once.

        Raises:
            GoogleError: there is none of a name; the message has similar ones.
        """
        found, missing = self.sorted_out(wanted)
        if missing:
            raise self.unknown(missing[0])
        return found

    def sorted_out(self, wanted: Iterable[str]) -> tuple[list[str], list[str]]:
        """Part the labels that there are, as ids, from the names of which there are none."""
        found: dict[str, None] = {}
        missing: dict[str, str] = {}
        for each in wanted:
            label_id = self.find(each)
            if label_id is not None:
                found[label_id] = None
            elif not each.strip().strip("/"):
                raise invalid("The name of a label must not be empty.")
            else:
                missing.setdefault(each.strip().casefold(), each.strip())
        return list(found), list(missing.values())

    def unknown(self, wanted: str) -> GoogleError:
        """Make the error for a label that there is not."""
        folded = {self.names[label_id].casefold(): self.names[label_id] for label_id in self.own}
        leaves = {name.rpartition("/")[2]: full for name, full in folded.items()}
        close = get_close_matches(wanted.casefold()[:100], [*folded, *leaves], n=_CLOSE_NAMES, cutoff=0.5)
        similar = list(dict.fromkeys(folded.get(each) or leaves[each] for each in close))
        rest = f"Similar ones: {', '.join(similar)}." if similar else "gmail_settings_get lists them."
        return invalid(f"There is no label {wanted[:100]!r}. {rest}")


async def create_label(google: GoogleClient, body: Mapping[str, Any], fields: str) -> tuple[dict[str, Any], bool]:
    """Create a label; one of that name that has come about meanwhile will do.

    Args:
        google: the client; the user has agreed.
        body: with a ``name``.
        fields: of the answer.

    Returns:
        The label, and whether it was created.

    Raises:
        GoogleError: it did not work out.
    """
    try:
        made = await google.call(
            "gmail.users.labels.create",
            body={"labelListVisibility": "labelShow", "messageListVisibility": "show", **body},
            fields=fields,
            is_repeatable=True,  # there cannot be two of a name
        )
    except GoogleError as error:
        found = (await MailLabels.of(google)).find(body["name"]) if error.status == 409 else None
        if found is None:
            raise
        return {"id": found, "name": body["name"]}, False
    return made, True


@google_tool
async def gmail_label_manage(
    action: str,
    label: str | None = None,
    name: str | None = None,
    label_list_visibility: str | None = None,
    message_list_visibility: str | None = None,
    background_color: str | None = None,
    text_color: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create, change or delete a label."""
    google = connect(context)
    body = compact(
        {
            "name": _checked_name(name) if name is not None else None,
            "labelListVisibility": label_list_visibility,
            "messageListVisibility": message_list_visibility,
            "color": _color(background_color, text_color),
        }
    )
    if action == "create":
        if label or "name" not in body:
            raise invalid("To create a label, give its name, and no label.")
        return await _create(google, body)
    if not label:
        raise invalid("Give label, the name or id of a label.")
    if action == "delete" and body:
        raise invalid("To delete a label, give nothing but label.")
    if action == "update" and not body:
        raise invalid("Give what to change about the label: name, visibility or colours.")
    labels = await MailLabels.of(google)
    label_id = labels.ids([label])[0]
    if label_id not in labels.own:
        raise invalid(f"{labels.name(label_id)} is one of Gmail's own labels, which cannot be changed or deleted.")
    if action == "delete":
        return await _delete(google, labels, label_id)
    changed = [word for word, key in _WORDS.items() if key in body]
    await google.ask(
        f"change the label {quoted(labels.name(label_id), _MAX_NAME_CHARACTERS)}: {', '.join(_described(body))}",
        "organize",
    )
    try:
        after = await google.call("gmail.users.labels.patch", id=label_id, body=body, fields=LABEL_FIELDS)
    except GoogleError as error:
        raise _with_palette(error, body) from None
    return {"status": "updated", "changed": changed, **label_row(after)}


_WORDS = {
    "name": "name",
    "label_list_visibility": "labelListVisibility",
    "message_list_visibility": "messageListVisibility",
    "colours": "color",
}


def _described(body: dict[str, Any]) -> list[str]:
    """Say in a question what a label becomes."""
    found = [f"name {quoted(body['name'], _MAX_NAME_CHARACTERS)}"] if "name" in body else []
    found += [f"{word} {body[key]}" for word, key in _WORDS.items() if key.endswith("Visibility") and key in body]
    colors = body.get("color", {})
    return found + ([f"text {colors['textColor']} on {colors['backgroundColor']}"] if colors else [])


async def _create(google: GoogleClient, body: dict[str, Any]) -> dict[str, Any]:
    labels = await MailLabels.of(google)
    existing = labels.find(body["name"])
    if existing is not None:
        return {"status": "exists", "id": existing, "name": labels.name(existing)}
    looks = _described({key: value for key, value in body.items() if key != "name"})
    look = f" ({', '.join(looks)})" if looks else ""
    await google.ask(f"create the label {quoted(body['name'], _MAX_NAME_CHARACTERS)}{look}", "organize")
    try:
        made, is_new = await create_label(google, body, LABEL_FIELDS)
    except GoogleError as error:
        raise _with_palette(error, body) from None
    return {"status": "created" if is_new else "exists", **label_row(made)}


async def _delete(google: GoogleClient, labels: MailLabels, label_id: str) -> dict[str, Any]:
    name = labels.name(label_id)
    await google.ask(
        f"delete the label {listing([name])} permanently, taking it off all its mail, which stays", "delete"
    )
    await google.delete("gmail.users.labels.delete", id=label_id)
    return {"status": "deleted", "id": label_id, "name": name}


def _checked_name(name: str) -> str:
    text = name.strip()
    if not text or FORBIDDEN.search(text) or len(text) > _MAX_NAME_CHARACTERS:
        raise invalid(f"The name of a label has 1 to {_MAX_NAME_CHARACTERS} characters, and no line ends.")
    if not all(part.strip() for part in text.split("/")):
        raise invalid(f"{text[:100]!r} has an empty part; Parent/Child nests a label.")
    return text


def _color(background: str | None, text: str | None) -> dict[str, str]:
    if background is None and text is None:
        return {}
    if background is None or text is None:
        raise invalid("background_color and text_color go together.")
    colors = [each.strip().lower() for each in (background, text)]
    if not all(_COLOR.fullmatch(each) for each in colors):
        raise invalid("Colours are written like #16a766.")
    return {"backgroundColor": colors[0], "textColor": colors[1]}


def _with_palette(error: GoogleError, body: dict[str, Any]) -> GoogleError:
    """Say which colours there are, where a colour may be what Google does not accept."""
    if error.status != 400 or "color" not in body or set(body["color"].values()) <= _palette():
        return error
    return invalid(f"{error} Colours must be of Gmail's palette: {' '.join(sorted(_palette()))}.")


def _palette() -> set[str]:
    return {f"#{each}" for each in _PALETTE.split()}


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
