"""Messages that are not answered, in the inbox of the database until their turn has ended.

Each process writes to a separate place in the inbox, whose lock it holds. The lock of a process that ends is
released, and another process takes its messages over.
"""

from __future__ import annotations

import json
import uuid
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from oneclaw_channels import Mailbox, message_with_files

from oneclaw_core import Attachment, MessageType, SessionBusyError
from oneclaw_core.channels import Inbound, InboundFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core import Message, OneClaw
    from oneclaw_serve.event_log import EventLog

CHANNEL = "web"
_OPTIONS = "options of messages"
_MOST_PLACES = 1_000


@dataclass(frozen=True, slots=True)
class Options:
    """The limits of a process that has restricted itself.

    Attributes:
        agent: that answers; ``None`` for that of the session.
        model: that answers; ``None`` for that of the session.
        command: a command that a plugin expands into the message.
        arguments: of the command.
    """

    agent: str | None = None
    model: str | None = None
    command: str | None = None
    arguments: str = ""


class WaitingText(str):
    """A message that waits.

    Attributes:
        id: of the message in the inbox.
        session: where it is to be said.
        after_message: the ``sequence`` of the last message when it came.
        attachments: for the model to look at.
        options: of it alone.
    """

    __slots__ = ("after_message", "attachments", "id", "options", "session")
    id: str
    session: str
    after_message: int
    attachments: tuple[Attachment, ...]
    options: Options

    @classmethod
    def of(cls, inbound: Inbound, after_message: int, options: Options) -> WaitingText:
        """Make one of a message in the inbox."""
        made = cls(inbound.text)
        made.id, made.session, made.after_message = inbound.id, inbound.chat, after_message
        made.attachments = tuple(Attachment(each.name, each.media_type, each.data or b"") for each in inbound.files)
        made.options = options
        return made

    @property
    def is_plain(self) -> bool:
        """True if it is nothing but text, which a turn under way can read."""
        return not self.attachments and self.options == Options()


class WaitingMessages:
    """The messages that wait, of all sessions.

    Args:
        claw: the open home.
        mailbox: of the channel.
        log: keeps the options of messages.

    Attributes:
        mailbox: of the channel.
    """

    def __init__(self, claw: OneClaw, mailbox: Mailbox, log: EventLog) -> None:
        self.mailbox = mailbox
        self._claw = claw
        self._log = log
        self._place = ""
        self._places: set[str] = set()
        self._held = AsyncExitStack()
        self._taken: set[str] = set()

    @classmethod
    async def open(cls, claw: OneClaw, log: EventLog) -> WaitingMessages:
        """Open the inbox, at a place that no living process has."""
        made = cls(claw, await Mailbox.open(claw, CHANNEL), log)
        for number in range(_MOST_PLACES):
            if await made._hold(place := str(number)):
                made._place = place
                return made
        raise SessionBusyError(f"{_MOST_PLACES} web servers use this database already")

    async def aclose(self) -> None:
        """Leave what waits to the next process."""
        await self._held.aclose()

    async def _hold(self, place: str) -> bool:
        if place not in self._places:
            lock = uuid.uuid5(uuid.NAMESPACE_URL, f"inbox:{CHANNEL}:{place}").hex
            try:
                await self._held.enter_async_context(self._claw.store.session_lock(lock, 0))
            except SessionBusyError:
                return False
            self._places.add(place)
        return True

    async def put(self, session: str, text: str, files: Sequence[InboundFile], options: Options) -> WaitingText:
        """Store a message; once this returns, it is not lost.

        Args:
            session: where it is to be said.
            text: the message.
            files: with their data.
            options: of it alone.
        """
        number = uuid.uuid4().hex
        folder = self._claw.home.path / "channels" / CHANNEL
        text, attachments = await message_with_files(text, files, folder, number)
        inbound = Inbound(
            id=f"{self._place}:{number}",
            chat=session,
            person=CHANNEL,
            text=text,
            files=tuple(map(self.file_of, attachments)),
        )
        after = await self.last_sequence(session)
        self._taken.add(inbound.id)
        if options != Options():
            await self._log.keep(_OPTIONS, inbound.id, json.dumps(asdict(options)))
        await self.mailbox.put(inbound, session_id=session, after_sequence=after)
        return WaitingText.of(inbound, after, options)

    @staticmethod
    def file_of(attachment: Attachment) -> InboundFile:
        """Return an attachment as a file that came with its message."""
        return InboundFile("", attachment.name, attachment.media_type, attachment.size, attachment.data)

    async def last_sequence(self, session: str) -> int:
        """Return the ``sequence`` of the last message of a session, 0 without one."""
        history = (await self._claw.store.load_turn(session, 0)).history
        return (history[-1].sequence if history else None) or 0

    async def finish(self, texts: Iterable[WaitingText]) -> None:
        """Forget messages that were said."""
        found = [each.id for each in texts]
        await self.mailbox.done(found)
        self._taken -= set(found)

    def leave(self, text: WaitingText) -> None:
        """Have a message that cannot be said now taken again later."""
        self._taken.discard(text.id)

    async def take(self) -> list[tuple[WaitingText, bool]]:
        """Take the messages that no living process works on, in order.

        Returns:
            Each message, and True if it stands in the history already, and its turn was not finished.
        """
        found = []
        said: dict[str, set[int]] = {}
        for each in await self.mailbox.waiting_ids():
            if each in self._taken or not await self._hold(each.partition(":")[0]):
                continue
            row = await self.mailbox.find(each)
            if row is None:
                continue
            text = WaitingText.of(row.inbound, row.after_sequence, await self._options(each))
            if await self._claw.store.find_session(text.session) is None:
                await self.finish([text])
                continue
            later = await self._claw.services.sessions.messages(text.session, text.after_message)
            place = _place_of(text, later, said.setdefault(text.session, set()))
            if place is None:
                found.append((text, False))
            elif _is_answered(later[place + 1 :]):
                await self.finish([text])
            else:
                found.append((text, True))
        self._taken |= {text.id for text, _ in found}
        return found

    async def _options(self, message: str) -> Options:
        kept = await self._log.kept(_OPTIONS, message)
        return Options() if kept is None else Options(**json.loads(kept))


def _is_answered(rest: Sequence[Message]) -> bool:
    """Return True if nothing is left to do for a message, judging by what stands behind it."""
    if any(each.type is MessageType.USER for each in rest):
        return True  # the model read both
    return bool(rest) and rest[-1].type is MessageType.ASSISTANT and not rest[-1].is_incomplete


def _place_of(text: WaitingText, later: Sequence[Message], said: set[int]) -> int | None:
    """Return the place of a message in the history behind it; each message of the history is found once."""
    end = text.options.arguments if text.options.command else text
    for place, each in enumerate(later):
        is_it = each.type is MessageType.USER and each.content.endswith(end)
        if is_it and (number := each.sequence or 0) not in said:
            said.add(number)
            return place
    return None
