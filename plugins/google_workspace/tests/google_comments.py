"""Comments as the stand-in keeps them: once, shown by Drive and by the editors in their own forms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from google_service import ApiError, Call, bad_request, handles, not_found

UNKNOWN_REQUEST = "Invalid JSON payload received. Unknown name \"insertComment\" at 'requests[0]': Cannot find field."
UNKNOWN_VIEW = "Invalid value at 'comments_view_mode' (type.googleapis.com/CommentsViewMode)"


@dataclass
class Post:
    """A comment or a reply; one that was deleted keeps its id."""

    id: str
    content: str
    author: str
    action: str | None = None
    is_deleted: bool = False

    def document(self, user: str) -> dict[str, Any]:
        if self.is_deleted:
            return {"id": self.id, "deleted": True}
        author = {"displayName": self.author.partition("@")[0].capitalize(), "me": self.author == user}
        action = {"action": self.action} if self.action else {}
        return {"id": self.id, "content": self.content, "author": author, "deleted": False, **action}


@dataclass
class Thread:
    """A comment with its replies.

    Attributes:
        head: the comment.
        quote: what it quotes of the file.
        place: where it stands, in the form of the editor; ``None`` for the whole file.
    """

    head: Post
    quote: str = ""
    place: dict[str, Any] | None = None
    is_resolved: bool = False
    replies: list[Post] = field(default_factory=list)

    def by_drive(self, user: str) -> dict[str, Any]:
        quoted = {"quotedFileContent": {"mimeType": "text/html", "value": self.quote}} if self.quote else {}
        replies = [each.document(user) for each in self.replies]
        return {**self.head.document(user), **quoted, "resolved": self.is_resolved, "replies": replies}

    def by_editor(self, user: str) -> dict[str, Any]:
        def post(each: Post) -> dict[str, Any]:
            shown = each.document(user)
            return {"postId": shown["id"], **{key: shown[key] for key in shown if key not in ("id", "action")}}

        anchor = {"anchorId": f"kix.{self.head.id}"} if self.place is not None else {}
        return {
            "commentId": self.head.id,
            **anchor,
            "status": "RESOLVED" if self.is_resolved else "OPEN",
            **({"plainTextQuote": self.quote} if self.quote else {}),
            "headPost": post(self.head),
            "replies": [post(each) for each in self.replies],
        }


class Comments:
    """What Drive does with comments; a part of the stand-in's Drive.

    Attributes:
        threads: of each file, by its id.
    """

    threads: dict[str, list[Thread]]

    def comment(
        self,
        file_id: str,
        content: str,
        *,
        author: str = "bo@example.net",
        quote: str = "",
        place: dict[str, Any] | None = None,
    ) -> Thread:
        """Somebody comments on a file."""
        thread = Thread(Post(self.new_id("comment"), content, author), quote, place)  # type: ignore[attr-defined]
        self.threads.setdefault(file_id, []).append(thread)
        return thread

    def answer(self, thread: Thread, content: str, *, author: str = "bo@example.net") -> Post:
        """Somebody replies to a comment."""
        thread.replies.append(Post(self.new_id("reply"), content, author))  # type: ignore[attr-defined]
        return thread.replies[-1]

    def by_editor(self, file_id: str, user: str) -> list[dict[str, Any]]:
        """All threads of a file as an editor's API shows them."""
        return [each.by_editor(user) for each in self.threads.get(file_id, []) if not each.head.is_deleted]

    def _thread(self, call: Call, needs: str = "commenter") -> Thread:
        self._find(call, call["fileId"], needs=needs)  # type: ignore[attr-defined]
        for each in self.threads.get(call["fileId"], []):
            if each.head.id == call["commentId"] and not each.head.is_deleted:
                return each
        raise not_found(f"Comment: {call['commentId']}")

    def _reply(self, call: Call) -> Post:
        for each in self._thread(call).replies:
            if each.id == call["replyId"] and not each.is_deleted:
                return each
        raise not_found(f"Reply: {call['replyId']}")

    @staticmethod
    def _own(post: Post, call: Call) -> Post:
        if post.author != call.user:
            raise ApiError(403, "insufficientFilePermissions", "The user does not have sufficient permissions.")
        return post

    @staticmethod
    def _needs_fields(call: Call) -> None:
        if "fields" not in call.parameters:
            raise bad_request("The 'fields' parameter is required for this method.", "required")

    @handles("drive.comments.list")
    def list_comments(self, call: Call) -> dict[str, Any]:
        self._needs_fields(call)
        self._find(call, call["fileId"])  # type: ignore[attr-defined]
        shown = [each.by_drive(call.user) for each in self.threads.get(call["fileId"], []) if not each.head.is_deleted]
        items, following = self.page(call, shown, size="pageSize", default=20, most=100)  # type: ignore[attr-defined]
        return {"comments": items, **following}

    @handles("drive.comments.get")
    def get_comment(self, call: Call) -> dict[str, Any]:
        self._needs_fields(call)
        return self._thread(call, "reader").by_drive(call.user)

    @handles("drive.comments.create")
    def create_comment(self, call: Call) -> dict[str, Any]:
        self._needs_fields(call)
        self._find(call, call["fileId"], needs="commenter")  # type: ignore[attr-defined]
        quote = call.body.get("quotedFileContent", {}).get("value", "")
        made = self.comment(call["fileId"], call.body["content"], author=call.user, quote=quote)
        return made.by_drive(call.user)

    @handles("drive.comments.update")
    def update_comment(self, call: Call) -> dict[str, Any]:
        self._needs_fields(call)
        thread = self._thread(call)
        self._own(thread.head, call).content = call.body["content"]
        return thread.by_drive(call.user)

    @handles("drive.comments.delete")
    def delete_comment(self, call: Call) -> None:
        self._own(self._thread(call).head, call).is_deleted = True

    @handles("drive.replies.create")
    def create_reply(self, call: Call) -> dict[str, Any]:
        self._needs_fields(call)
        thread, action = self._thread(call), call.body.get("action")
        if action not in (None, "resolve", "reopen") or not (action or call.body.get("content")):
            raise bad_request("A reply has content or an action.")
        reply = self.answer(thread, call.body.get("content", ""), author=call.user)
        reply.action = action
        thread.is_resolved = {"resolve": True, "reopen": False}.get(action, thread.is_resolved)
        return reply.document(call.user)

    @handles("drive.replies.update")
    def update_reply(self, call: Call) -> dict[str, Any]:
        self._needs_fields(call)
        self._own(self._reply(call), call).content = call.body["content"]
        return self._reply(call).document(call.user)

    @handles("drive.replies.delete")
    def delete_reply(self, call: Call) -> None:
        self._own(self._reply(call), call).is_deleted = True
