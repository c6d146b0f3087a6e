"""Messages that came while a turn ran, in the inbox of the database until their turn has ended.

Each process writes to a separate place in the inbox, whose lock it holds. The lock of a process that ends is
released, and another process takes its messages over.
"""

from __future__ import annotations

import uuid
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from oneclaw_core import MessageType, SessionBusyError
from oneclaw_core.channels import Inbound, Mailbox

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core import Message, OneClaw

CHANNEL = "web"
_MOST_PLACES = 1_000


class WaitingText(str):
    """A message that waits.

    Attributes:
        id: of the message in the inbox.
        session: where it is to be said.
        after_message: the ``sequence`` of the last message when it came.
    """

    __slots__ = ("after_message", "id", "session")
    id: str
    session: str
    after_message: int

    @classmethod
    def of(cls, inbound: Inbound, after_message: int) -> WaitingText:
        """Make one of a message in the inbox."""
        made = cls(inbound.text)
        made.id, made.session, made.after_message = inbound.id, inbound.chat, after_message
        return made


class WaitingMessages:
    """The messages that wait, of all sessions.

    Args:
        claw: the open home.
        mailbox: of the channel.
    """

    def __init__(self, claw: OneClaw, mailbox: Mailbox) -> None:
        self._claw = claw
        self._mailbox = mailbox
        self._place = ""
        self._places: set[str] = set()
        self._held = AsyncExitStack()
        self._taken: set[str] = set()

    @classmethod
    async def open(cls, claw: OneClaw) -> WaitingMessages:
        """Open the inbox, at a place that no living process has."""
        made = cls(claw, await Mailbox.open(claw, CHANNEL))
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

    async def put(self, session: str, text: str, turn_after: int) -> WaitingText:
        """Store a message; once this returns, it is not lost.

        Args:
            session: where it is to be said.
            text: the message.
            turn_after: the ``sequence`` of the last message before the turn under way.
        """
        later = await self._claw.services.sessions.messages(session, turn_after)
        after = (later[-1].sequence if later else None) or turn_after
        inbound = Inbound(id=f"{self._place}:{uuid.uuid4().hex}", chat=session, person=CHANNEL, text=text)
        self._taken.add(inbound.id)
        await self._mailbox.put(inbound, session_id=session, after_sequence=after)
        return WaitingText.of(inbound, after)

    async def finish(self, texts: Iterable[str]) -> None:
        """Forget messages that were said."""
        found = {each.id: each for each in texts if isinstance(each, WaitingText)}
        for row in await self._mailbox.waiting() if found else ():
            if row.inbound.id in found:
                await self._mailbox.finish(row.id, row.inbound.chat)
        self._taken -= found.keys()

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
        for row in await self._mailbox.waiting():
            inbound = row.inbound
            if inbound.id in self._taken or not await self._hold(inbound.id.partition(":")[0]):
                continue
            text = WaitingText.of(inbound, row.after_sequence)
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


def _is_answered(rest: Sequence[Message]) -> bool:
    """Return True if nothing is left to do for a message, judging by what stands behind it."""
    if any(each.type is MessageType.USER for each in rest):
        return True  # the model read both
    return bool(rest) and rest[-1].type is MessageType.ASSISTANT and not rest[-1].is_incomplete


def _place_of(text: str, later: Sequence[Message], said: set[int]) -> int | None:
    """Return the place of a message in the history behind it; each message of the history is found once."""
    for place, each in enumerate(later):
        is_it = each.type is MessageType.USER and (each.content == text or each.content.endswith(text))
        if is_it and (number := each.sequence or 0) not in said:
            said.add(number)
            return place
    return None
