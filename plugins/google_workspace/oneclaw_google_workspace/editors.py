"""Editors of Docs, Sheets, Slides and Forms, in what they share: edits, texts, colours, folders and comments.

The editors' own APIs tell where in a file a comment stands, and Drive's API does not. Drive's API answers, resolves and
deletes threads of all three alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import (
    compact,
    excerpt,
    file_id,
    from_outside,
    json_length,
    listing,
    passage,
    quoted,
    setting_words,
)
from oneclaw_google_workspace.failures import GoogleError, invalid, lacking_scopes
from oneclaw_google_workspace.methods import api_request
from oneclaw_google_workspace.scopes import missing_scopes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_google_workspace.client import GoogleClient

# What both editors leave out of a text, so that it would take up no index.
_LEFT_OUT = re.compile("[\x00-\x08\x0c-\x1f\ue000-\uf8ff]")
_COLOR = re.compile(r"#?([0-9a-fA-F]{6}|[0-9a-fA-F]{3})")
FOLDER_TYPE = "application/vnd.google-apps.folder"
INCLUDED = "COMMENTS_VIEW_MODE_INCLUDED"
THREAD_FIELDS = (
    "comments(commentId,anchorId,status,plainTextQuote,headPost(content,author/displayName),"
    "replies(postId,content,author/displayName,deleted))"
)
_DRIVE_FIELDS = (
    "id,content,resolved,author(displayName,me),quotedFileContent/value,replies(id,content,deleted,author/displayName)"
)
_MAX_SHOWN = 200
_MAX_BYTES = 2048  # of a comment in the editors
# How Google's APIs refuse a field or a value that they do not know, or not for everybody.
_UNKNOWN = ("unknown name", "cannot find field", "cannot bind", "invalid value", "developer preview", "not enabled")
_MENTIONED = re.compile(r"[@+]([\w.+-]+@[\w-]+(?:\.[\w-]+)+)")


def utf16_length(text: str) -> int:
    """Count the UTF-16 code units of a text, as the indexes of both editors do: an emoji has two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_slice(text: str, start: int, end: int) -> str:
    """Cut out a part by UTF-16 code units; half a character becomes a question mark in a box."""
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "replace")


def insertable(text: str) -> str:
    """Leave of a text what the editors keep, so that its length is what they count."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return _LEFT_OUT.sub("", whole.replace("\r\n", "\n").replace("\r", "\n"))


def rgb(name: str, text: str) -> dict[str, float]:
    """Write a colour as the editors want it.

    Args:
        name: of the argument, for messages.
        text: ``#rrggbb`` or ``#rgb``.

    Returns:
        ``red``, ``green`` and ``blue`` from 0 to 1.

    Raises:
        GoogleError: it is no colour.
    """
    match = _COLOR.fullmatch(text.strip())
    if match is None:
        raise invalid(f"{name} must be a colour such as #1a73e8, not {text[:40]!r}.")
    digits = match[1] if len(match[1]) == 6 else "".join(2 * digit for digit in match[1])
    parts = zip(("red", "green", "blue"), range(0, 6, 2), strict=True)
    return {part: round(int(digits[at : at + 2], 16) / 255, 4) for part, at in parts}


@dataclass(frozen=True, slots=True)
class Look:
    """New values of formats, by the names of arguments; ``None`` for what stays."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arguments that set something."""
        return tuple(field.name for field in fields(self) if getattr(self, field.name) is not None)

    @property
    def described(self) -> str:
        """Words for the question to the user."""
        return ", ".join(setting_words(name, getattr(self, name)) for name in self.names)


def image_address(url: str | None) -> str:
    """Check the address of an image that Google is to fetch.

    Raises:
        GoogleError: it is missing, or Google would not fetch it.
    """
    if not url or not re.match(r"https?://", url):
        raise invalid("Give image_url: the public http or https address of a PNG, JPEG or GIF image.")
    if len(url.encode("utf-8", "replace")) > 2048:
        raise invalid("image_url is longer than the 2 kB that Google takes.")
    return url


_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Replacements:
    """Pairs of texts, applied in order.

    Attributes:
        requests: the bodies of ``replaceAllText``, one for each.
    """

    requests: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, pairs: Sequence[Mapping[str, Any]]) -> Replacements:
        """Read what a model gave: ``find``, ``replace``, ``match_case`` and ``regex``.

        Raises:
            GoogleError: a pair cannot be applied.
        """
        return cls(tuple(_request(pair) for pair in pairs))

    @property
    def described(self) -> str:
        """The name of the items in a question to the user."""
        shown = [
            f"{_kind(each)}{passage(each['containsText']['text'], 60)} by {passage(each['replaceText'], 150)}"
            for each in self.requests[:_SHOWN]
        ]
        more = len(self.requests) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")

    def counts(self, replies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Say how often each was replaced; Google leaves a 0 out."""
        padded = [*replies, *({} for _ in self.requests)]
        return [
            {
                "find": each["containsText"]["text"],
                "count": int(reply.get("replaceAllText", {}).get("occurrencesChanged", 0)),
            }
            for each, reply in zip(self.requests, padded, strict=False)
        ]


def _kind(request: Mapping[str, Any]) -> str:
    return "the regular expression " if request["containsText"].get("searchByRegex") else ""


def _request(pair: Mapping[str, Any]) -> dict[str, Any]:
    find, is_regex = insertable(pair["find"]), bool(pair.get("regex", False))
    if not find:
        raise invalid("find must not be empty.")
    if "\n" in find and not is_regex:
        raise invalid("find must lie within one paragraph, without newlines.")
    criteria: dict[str, Any] = {"text": find, "matchCase": bool(pair.get("match_case", True))}
    if is_regex:
        criteria["searchByRegex"] = True
    return {"containsText": criteria, "replaceText": insertable(pair["replace"])}


async def send_edits(
    google: GoogleClient,
    method_id: str,
    body: Mapping[str, Any],
    *,
    look_with: str,
    fields: str,
    has_own_ids: bool = False,
    **ids: str,
) -> dict[str, Any]:
    """Send a batch of edits.

    One that holds for a certain revision only, or makes things of ids of our own, is sent again if no one knows whether
    it was carried out: after the first success there is another revision, or a thing of that id, and it is refused.

    Args:
        google: the client; the user has agreed.
        method_id: of a ``batchUpdate``.
        body: with ``requests``, and ``writeControl`` if it holds for a certain revision.
        look_with: the tool that shows the present state, such as ``docs_read``.
        fields: of the answer.
        has_own_ids: whether all of it fails if what it makes is there already.
        ids: parameters of the path.

    Raises:
        GoogleError: nothing was changed; or it may have been, which is told as ``unknown_outcome``.
    """
    has_revision = "requiredRevisionId" in body.get("writeControl", {})
    hint = f"Look with {look_with} whether it was done"
    request = api_request(
        method_id, body=body, fields=fields, is_repeatable=has_revision or has_own_ids, unclear_hint=hint, **ids
    )
    try:
        return await google.send(request)
    except GoogleError as error:
        if error.was_unclear:
            message = f"Google did not confirm the change, so it may have been made or not. {hint} before trying again."
            raise GoogleError("unknown_outcome", message, status=error.status, reasons=error.reasons) from None
        if has_revision and is_outdated(error):
            message = f"It was changed by somebody else meanwhile, so nothing was done. Read it again with {look_with}."
            raise GoogleError("conflict", message, status=error.status, reasons=error.reasons) from None
        raise


def is_outdated(error: GoogleError) -> bool:
    """Return True if edits were refused because they refer to an older revision."""
    return error.status == 400 and "revision" in str(error).lower()


def is_office_file(error: GoogleError) -> bool:
    """Return True if a file was refused because it is none of Google's own kinds, such as one of Word kept in Drive."""
    return error.status == 400 and "not supported for this document" in str(error).lower()


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of Drive."""

    id: str
    name: str


def in_folder(folder: Folder | None) -> str:
    """Say in a question where something new is put; empty for My Drive."""
    return f" in the folder {listing([folder.name])}" if folder else ""


async def find_folder(google: GoogleClient, text: str) -> Folder:
    """Look at the folder that something new is to be put into, before anything is made.

    Args:
        google: the client.
        text: id or link.

    Raises:
        GoogleError: there is none, or it cannot be seen with the scopes that the user has consented to.
    """
    try:
        found = await google.call(
            "drive.files.get", fileId=file_id(text, "folder_id"), fields="id,name,mimeType,capabilities/canAddChildren"
        )
    except GoogleError as error:
        raise _hidden(google, error) from None
    if found.get("mimeType") != FOLDER_TYPE:
        raise invalid(f"folder_id must be that of a folder; {found.get('name', text)!r} is none.")
    if found.get("capabilities", {}).get("canAddChildren") is False:
        raise GoogleError(
            "permission_denied", f"{google.account.label} may not put anything into the folder {found.get('name')!r}."
        )
    return Folder(str(found["id"]), str(found.get("name", "")))


async def move_into(google: GoogleClient, made_id: str, folder: Folder) -> None:
    """Move something new from My Drive, where it was made, into a folder.

    Args:
        google: the client; the user has agreed.
        made_id: of the new file.
        folder: from :func:`find_folder`.

    Raises:
        GoogleError: it did not work out.
    """
    try:
        await google.call(
            "drive.files.update", fileId=made_id, addParents=folder.id, removeParents="root", body={}, fields="id"
        )
    except GoogleError as error:
        raise _hidden(google, error) from None


def _hidden(google: GoogleClient, error: GoogleError) -> GoogleError:
    """Say that it may be for want of a scope that a folder is not there."""
    if error.status not in (403, 404) or not missing_scopes(("drive",), google.account.scopes):
        return error
    needed = lacking_scopes(google.account, google.need, ("drive",))
    return GoogleError(
        "not_available", f"A folder that was not made by OneClaw is out of sight. {needed}", status=error.status
    )


def comment_rows(
    threads: Sequence[Mapping[str, Any]], room: int | None = None, places: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Show the open threads, as many as there is room for.

    Args:
        threads: as the editors' APIs have them.
        room: in characters of JSON, ``None`` for any number.
        places: what to say of the place of a comment, by the id of its anchor.
    """
    is_open = [thread for thread in threads if thread.get("status") != "RESOLVED"]
    rows = [
        compact(
            {
                "id": thread.get("commentId"),
                **(places or {}).get(str(thread.get("anchorId", "")), {}),
                "quote": thread.get("plainTextQuote"),
                **_post(thread.get("headPost", {})),
                "replies": [_post(each) for each in thread.get("replies", []) if not each.get("deleted")],
            }
        )
        for thread in is_open[:_MAX_SHOWN]
    ]
    if room is not None:
        ends = accumulate(json_length(row) + len(", ") for row in rows)
        rows = rows[: sum(end <= room for end in ends)]
    return {"comments": rows, **compact({"more_comments": len(is_open) - len(rows) or None})}


def _post(post: Mapping[str, Any]) -> dict[str, Any]:
    words = {"author": post.get("author", {}).get("displayName"), "text": post.get("content")}
    return compact({"reply_id": post.get("postId"), **words})


def is_unknown_to_the_editor(error: GoogleError) -> bool:
    """Return True if an editor's API refused comments as such, as it does while a project may not use them."""
    text = str(error).lower()
    return error.status in (400, 403) and "comment" in text and any(word in text for word in _UNKNOWN)


async def threads_by_drive(google: GoogleClient, file_id: str) -> list[dict[str, Any]]:
    """List the threads of a file by way of Drive, in the form of the editors' APIs, without their places.

    Raises:
        GoogleError: it did not work out; or the sign-in does not include reading Drive.
    """
    google.require_scopes("drive.readonly")
    found, _ = await google.all_items(
        "drive.comments.list",
        "comments",
        fields=f"comments({_DRIVE_FIELDS}),nextPageToken",
        limit=1000,
        fileId=file_id,
        pageSize=100,
    )
    return [
        {
            "commentId": each.get("id"),
            "status": "RESOLVED" if each.get("resolved") else "OPEN",
            "plainTextQuote": each.get("quotedFileContent", {}).get("value"),
            "headPost": each,
            "replies": [{**reply, "postId": reply.get("id")} for reply in each.get("replies", [])],
        }
        for each in found
    ]


@dataclass(frozen=True, slots=True)
class Remark:
    """Arguments of a comment tool, without the place.

    Attributes:
        action: ``add``, ``reply``, ``edit``, ``resolve``, ``reopen`` or ``delete``.
        text: of the comment or the answer.
        comment_id: of the thread that is there.
        reply_id: of an answer in it, to be edited or deleted.
        look_with: the tool that lists comments, with the arguments for it.

    Raises:
        GoogleError: these do not go together.
    """

    action: str
    text: str | None
    comment_id: str | None
    reply_id: str | None
    look_with: str

    def __post_init__(self) -> None:
        if (self.action == "add") == bool(self.comment_id):
            raise invalid("Give comment_id with every action but add, which goes without it.")
        if self.action in ("add", "reply", "edit") and not (self.text or "").strip():
            raise invalid(f"The action {self.action} needs a text.")
        if self.action == "delete" and self.text is not None:
            raise invalid("The action delete goes without text.")
        if self.reply_id and self.action not in ("edit", "delete"):
            raise invalid("reply_id goes with the actions edit and delete.")
        if len((self.text or "").encode("utf-8", "replace")) > _MAX_BYTES:
            raise invalid(f"A comment can have {_MAX_BYTES} bytes at most.")

    @property
    def unclear_hint(self) -> str:
        """Advice on finding out if it was written."""
        return f"Look with {self.look_with}"

    @property
    def said(self) -> str:
        """The text, for a question, with those whom Google mails for it."""
        named = list(dict.fromkeys(_MENTIONED.findall(self.text or "")))
        mailed = f", which mentions {listing(named)}" if named else ""
        return f"{passage(self.text or '')}{mailed}"


async def add_by_drive(google: GoogleClient, file_id: str, remark: Remark, named: str, quote: str = "") -> str:
    """Comment on a file as a whole; gives the id of the comment.

    Args:
        google: the client.
        file_id: the file.
        remark: what to write.
        named: how a question calls the file; empty if the user has agreed.
        quote: text of the file that it is about.

    Raises:
        GoogleError: it did not work out.
    """
    if named:
        await google.ask(f"comment on {named}: {remark.said}")
    quoted_content = {"mimeType": "text/plain", "value": quote} if quote else None
    made = await _by_drive(
        google,
        "drive.comments.create",
        body=compact({"content": remark.text, "quotedFileContent": quoted_content}),
        fields="id",
        unclear_hint=remark.unclear_hint,
        fileId=file_id,
    )
    return str(made.get("id", ""))


async def answer_by_drive(google: GoogleClient, file_id: str, remark: Remark, kind: str) -> dict[str, Any]:
    """Reply to a thread, or edit, resolve, reopen or delete it; gives the answer of the tool.

    Args:
        google: the client.
        file_id: the file.
        remark: what to do.
        kind: what a question calls the file, such as ``document``.

    Raises:
        GoogleError: there is no such comment, or it is not the user's to change.
    """
    ids: dict[str, Any] = {"fileId": file_id, "commentId": remark.comment_id}
    thread = await _by_drive(google, "drive.comments.get", fields=_DRIVE_FIELDS, **ids)
    reply = _reply(thread, remark.reply_id) if remark.reply_id else None
    answer: dict[str, Any] = {"action": remark.action, "comment_id": remark.comment_id, **_shown(reply or thread)}
    if remark.action in ("resolve", "reopen") and bool(thread.get("resolved")) == (remark.action == "resolve"):
        return from_outside({**answer, "unchanged": True}, "comments")
    file = await _by_drive(google, "drive.files.get", fields="name", fileId=file_id)
    what = _described(thread, reply)
    where = f"{what} in the {kind} {listing([file.get('name', file_id)])}"
    words = {
        "reply": f"reply to {where}: {remark.said}",
        "edit": f"change {where} to {remark.said}",
        "delete": f"delete {where}",
    }.get(remark.action, f"{remark.action} {where}{f', saying {remark.said}' if remark.text else ''}")
    await google.ask(words, "delete" if remark.action == "delete" else "write")
    if remark.reply_id:
        ids["replyId"] = remark.reply_id
    resource = "replies" if remark.reply_id or remark.action not in ("edit", "delete") else "comments"
    if remark.action == "delete":
        await google.delete(f"drive.{resource}.delete", **ids)
    elif remark.action == "edit":
        await google.call(f"drive.{resource}.update", body={"content": remark.text}, fields="id", **ids)
    else:
        action = remark.action if remark.action != "reply" else None
        made = await google.call(
            "drive.replies.create",
            body=compact({"content": remark.text, "action": action}),
            fields="id",
            unclear_hint=remark.unclear_hint,
            **ids,
        )
        answer["reply_id"] = made.get("id")
    return from_outside(compact(answer), "comments")


async def _by_drive(google: GoogleClient, method_id: str, **arguments: Any) -> dict[str, Any]:
    """Call Drive, and say that it may be for want of a scope that a file is not there."""
    try:
        return await google.call(method_id, **arguments)
    except GoogleError as error:
        if error.status not in (403, 404) or not missing_scopes(("drive",), google.account.scopes):
            raise
        needed = lacking_scopes(google.account, google.need, ("drive",))
        message = f"Comments on a file that was not made by OneClaw are out of sight. {needed}"
        raise GoogleError("not_available", message, status=error.status) from None


def _reply(thread: Mapping[str, Any], reply_id: str) -> Mapping[str, Any]:
    for each in thread.get("replies", []):
        if each.get("id") == reply_id:
            reply: Mapping[str, Any] = each
            return reply
    raise GoogleError("not_found", f"The comment has no reply {reply_id[:60]!r}.")


def _described(thread: Mapping[str, Any], reply: Mapping[str, Any] | None) -> str:
    """Name a comment or a reply for a question."""
    post, kind = (thread, "comment") if reply is None else (reply, "reply")
    author = post.get("author", {})
    whose = "your" if author.get("me") else f"the {kind} of {quoted(str(author.get('displayName') or 'somebody'), 60)}"
    named = f"your {kind}" if whose == "your" else whose
    quote = thread.get("quotedFileContent", {}).get("value")
    about = f" on {quoted(str(quote), 60)}" if quote else ""
    return f"{named} {quoted(str(post.get('content', '')), 150)}{about}"


def _shown(post: Mapping[str, Any]) -> dict[str, Any]:
    quote = post.get("quotedFileContent", {}).get("value")
    return compact({"quote": excerpt(str(quote), 200) if quote else None, "comment": post.get("content")})


def check_place(remark: Remark, **place: str | None) -> None:
    """Check that a comment is given a place only where it is new.

    Raises:
        GoogleError: it is not.
    """
    given = [name for name, value in place.items() if value is not None]
    if given and remark.action != "add":
        raise invalid(f"{', '.join(given)} goes with action add.")
    if given == ["tab_id"]:
        raise invalid("tab_id goes with anchor_text.")


def added(comment_id: str) -> dict[str, Any]:
    """Make the answer about a new comment."""
    return compact({"action": "add", "comment_id": comment_id})


def made_id(replies: Sequence[Mapping[str, Any]]) -> str:
    """Read the id of a new comment out of what an editor answers."""
    made = replies[0].get("insertComment", {}) if replies else {}
    return str(made.get("commentThread", {}).get("commentId", ""))
