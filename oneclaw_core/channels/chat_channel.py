"""The contract of a channel that people talk through: messages in, messages and questions out."""

from __future__ import annotations

import base64
import json
from abc import abstractmethod
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from oneclaw_core.contract.contact_points import Channel, Receipt
from oneclaw_core.errors import OneClawError
from oneclaw_core.permissions.requests import PermissionAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from oneclaw_core.permissions.approval import ApprovalQuestion
    from oneclaw_core.types.events import TurnEvent
    from oneclaw_core.types.user_question import UserQuestion

_FENCE = "```"


class RetryLaterError(OneClawError):
    """The channel cannot send now.

    Attributes:
        seconds: the time to wait before the next try.
    """

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class UndeliverableError(OneClawError):
    """A message can never be sent, such as to a person who has blocked the bot."""


@dataclass(frozen=True, slots=True)
class InboundFile:
    """A file that a person sent, to be fetched when its message is worked on.

    Attributes:
        id: the channel's id of it.
        name: of the file, as the person's program says.
        media_type: of the file, as the person's program says.
        size: in bytes, ``None`` if unknown.
        data: of the file, if it came with its message; ``None`` if it is to be fetched.
    """

    id: str
    name: str
    media_type: str = "application/octet-stream"
    size: int | None = None
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """A message from a person.

    Attributes:
        id: of the message, unique within the channel; the same message has the same id each time it comes.
        chat: where it was written and the answer goes, as for ``OutMessage.to``; each chat has its session.
        person: the id of its sender, as the channel has authenticated it.
        person_name: of the sender, as the sender writes it.
        text: of the message, or below its files.
        files: what comes with it.
        is_private: True if only the sender reads the chat.
        is_forwarded: True if others wrote the text; it is then no command.
        is_quoting: True if it quotes what others wrote.
        message: the channel's id of the message to reply to.
    """

    id: str
    chat: str
    person: str
    person_name: str = ""
    text: str = ""
    files: tuple[InboundFile, ...] = ()
    is_private: bool = True
    is_forwarded: bool = False
    is_quoting: bool = False
    message: str | None = None

    def to_json(self) -> str:
        """Write it for the inbox."""
        return json.dumps(asdict(self), ensure_ascii=True, default=_in_base64)

    @classmethod
    def from_json(cls, text: str) -> Inbound:
        """Read what :meth:`to_json` wrote."""
        values = json.loads(text)
        return cls(**values | {"files": tuple(_file(each) for each in values["files"])})


def _in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _file(values: dict[str, Any]) -> InboundFile:
    data = values.get("data")
    return InboundFile(**values | {"data": None if data is None else base64.b64decode(data)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatQuestion:
    """A question for one person.

    Attributes:
        id: random, for buttons: 16 characters of letters and digits.
        person: who may answer.
        text: the question, in lines of a fixed width.
        choices: what can be chosen: the value to pass to ``ChatRouter.answer``, and its label.
        approval: the question as data, if it is for a permission.
        user_question: the question as data, if a tool asks it.
    """

    id: str
    person: str
    text: str
    choices: tuple[tuple[str, str], ...] = ()
    approval: ApprovalQuestion | None = None
    user_question: UserQuestion | None = None


class TurnListener(Protocol):
    """Shows turns."""

    def show(self, event: TurnEvent) -> None:
        """Show an event."""
        ...

    def finish(self) -> None:
        """End what is being shown, whether or not the turn came to its end."""
        ...


class ChatChannel(Channel):
    """Sends messages and questions to chats; a service of its plugin passes those of people to a ``ChatRouter``.

    Methods that send raise ``RetryLaterError`` to be called again later, ``UndeliverableError`` if that is useless.

    Attributes:
        name: of the channel, such as ``telegram``.
        edit_seconds: the least time between two edits of a message; ``None`` if messages cannot be edited.
        answers: what people can answer to questions for permissions here.
    """

    name: ClassVar[str]
    edit_seconds: ClassVar[float | None] = None
    answers: ClassVar[Collection[PermissionAnswer]] = frozenset(
        {PermissionAnswer.ONCE, PermissionAnswer.SCRIPT, PermissionAnswer.SESSION, PermissionAnswer.NO}
    )

    @abstractmethod
    async def ask(self, chat: str, question: ChatQuestion) -> Receipt | None:
        """Show a question with its choices.

        Args:
            chat: where the person reads it.
            question: what is asked.
        """

    @abstractmethod
    async def settle(self, chat: str, question: ChatQuestion, receipt: Receipt | None, outcome: str) -> None:
        """Show that a question is closed, such as by taking its buttons away.

        Args:
            chat: as for :meth:`ask`.
            question: what was asked.
            receipt: what :meth:`ask` returned.
            outcome: a sentence for people.
        """

    @abstractmethod
    async def fetch(self, file: InboundFile) -> bytes:
        """Return the bytes of a file that a person sent.

        Raises:
            OneClawError: the file cannot be fetched; the message is for that person.
        """

    async def edit(self, chat: str, message_id: str, text: str) -> None:
        """Replace the text of a message that was sent; needed with :attr:`edit_seconds`.

        Args:
            chat: where the message is.
            message_id: of its receipt.
            text: Markdown.
        """
        raise NotImplementedError

    async def typing(self, chat: str) -> None:
        """Show for some seconds that an answer is being written."""

    def private_chat(self, person: str) -> str | None:
        """Return the chat that only a person reads, for questions about a group's messages; ``None`` for none."""
        return None

    def length(self, text: str) -> int:
        """Return the length of a text in the units of :attr:`max_characters`."""
        return len(text)

    def view(self, chat: str) -> TurnListener | None:
        """Return what shows the events of turns in a chat; ``None`` to have answers sent as messages."""
        return None


def split_text(text: str, limit: int | None, length: Callable[[str], int] = len) -> list[str]:
    """Split Markdown into parts of a length, at the ends of paragraphs or lines where there are some.

    A block of code that is split is closed in one part and opened again in the next.

    Args:
        text: Markdown.
        limit: how long a part may be; ``None`` for any length.
        length: measures a text.
    """
    parts: list[str] = []
    rest = text.strip()
    while limit is not None and length(rest) > limit:
        room = limit - len(_FENCE) - 1
        end = _longest(rest, room, length)
        for mark in ("\n\n", "\n", " "):
            found = rest.rfind(mark, end // 2, end)
            if found > 0:
                end = found
                break
        part, rest = rest[:end], rest[end:].lstrip("\n" if _is_in_code(rest[:end]) else None)
        if _is_in_code(part):
            opened = next(line for line in reversed(part.split("\n")) if line.lstrip().startswith(_FENCE)).strip()
            # A line that is a whole part leaves no room for a long opening.
            part, rest = f"{part}\n{_FENCE}", f"{opened[:20] if opened != _FENCE else _FENCE}\n{rest}"
        parts.append(part.strip())
    return [each for each in [*parts, rest.strip()] if each]


def _longest(text: str, limit: int, length: Callable[[str], int]) -> int:
    low, high = 1, min(len(text), limit)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if length(text[:middle]) <= limit else (low, middle - 1)
    return low


def _is_in_code(text: str) -> bool:
    return sum(line.lstrip().startswith(_FENCE) for line in text.split("\n")) % 2 == 1
