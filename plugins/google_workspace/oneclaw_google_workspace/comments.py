"""Comments on documents, spreadsheets and presentations: listing threads, and answering them by way of Drive.

The editors' own APIs tell where in a file a comment stands, and Drive's API does not. Drive's API answers, resolves and
deletes threads of all three alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside
from oneclaw_google_workspace.failures import lacking_scopes
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.scopes import missing_scopes
from oneclaw_google_workspace.shown_size import json_length
from oneclaw_google_workspace.wording import excerpt, listing, passage, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_google_workspace.client import GoogleClient

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
