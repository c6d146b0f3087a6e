"""The output of plugins in chats: answers of chat commands, and notices at the beginning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneclaw_core.types.messages import Attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAnswer:
    """The answer of a chat command; the channel does what it says, in this order.

    Attributes:
        text: to show, such as what the command did.
        session: the id of the session that the chat goes on with; ``""`` begins a new one with the next message, and
            ``None`` stays where the chat is.
        copy: a text for the user's clipboard.
        resume: True to finish the last turn of the session.
        send: a message to send in the session, as if the user had typed it; ``None`` for none.
        attachments: files to send with it.
        leave: True to leave the chat, where it can be left.
    """

    text: str = ""
    session: str | None = None
    copy: str | None = None
    resume: bool = False
    send: str | None = None
    attachments: tuple[Attachment, ...] = ()
    leave: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatNotice:
    """A line to show to a person who begins to chat, with the place where there is more.

    Attributes:
        text: the line.
        command: the chat command that shows more, such as ``/inbox``; ``""`` for none.
        page: the page that shows more, as a path below ``/PLUGIN/``; ``None`` for none.
    """

    text: str
    command: str = ""
    page: str | None = None
