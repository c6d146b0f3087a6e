"""The router of a channel: stores what people send, has it worked on in their sessions, and delivers the answers."""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from typing import TYPE_CHECKING

from oneclaw_core.channels.chat import Chat
from oneclaw_core.channels.chat_channel import RetryLaterError, UndeliverableError
from oneclaw_core.channels.mailbox import Mailbox, OutgoingText, Pairing
from oneclaw_core.channels.message_view import split_text, wait_for_event
from oneclaw_core.channels.questions import Questions
from oneclaw_core.contract.contact_points import OutMessage
from oneclaw_core.errors import SessionBusyError, describe_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.app import OneClaw
    from oneclaw_core.channels.chat_channel import ChatChannel, Inbound
    from oneclaw_core.channels.mailbox import OutboxRow

POLL_SECONDS = 2.0
"""The pause between two looks at what other processes have stored."""
MAX_FAILURES = 10
DELIVERY_SECONDS = 24 * 3600
_LONGEST_PAUSE_SECONDS = 300.0
_START = re.compile(r"/(?:start|pair)(?:\s+(?P<code>\S{1,64}))?\s*", re.IGNORECASE)
_WELCOME = "You are paired with OneClaw. Send a message; /help lists the commands."
_log = logging.getLogger("oneclaw.channels")


class ChatRouter:
    """Connects a channel with sessions.

    A service opens one, keeps :meth:`run` running, and passes each message to :meth:`accept` before it tells the source
    that it has it. Of several processes one works at a time; all may accept.

    Args:
        claw: the open home.
        channel: sends.
        mailbox: of the channel.
        pairing: of the channel.
        agents: the only agents that can be chosen, the first one unless another is; empty for all. An agent's toolset
            says what may be used through the channel.

    Attributes:
        pairing: the people who are heard.
    """

    def __init__(
        self, claw: OneClaw, channel: ChatChannel, mailbox: Mailbox, pairing: Pairing, agents: Sequence[str] = ()
    ) -> None:
        self.pairing = pairing
        self._claw = claw
        self._channel = channel
        self._mailbox = mailbox
        self._agents = tuple(agents)
        self._questions = Questions(channel)
        self._chats: dict[str, Chat] = {}
        self._came = asyncio.Event()
        self._wants_delivery = asyncio.Event()
        self._last_row = 0

    @classmethod
    async def open(cls, claw: OneClaw, channel: ChatChannel, *, agents: Sequence[str] = ()) -> ChatRouter:
        """Open the router of a channel.

        Args:
            claw: the open home, as ``ServiceContext.app``.
            channel: sends.
            agents: as for the class.

        Raises:
            NotFoundError: there is no such agent.
        """
        names = [(await claw.agents.get(each)).name for each in agents]
        pairing = await Pairing.open(claw, channel.name)
        return cls(claw, channel, await Mailbox.open(claw, channel.name), pairing, names)

    async def accept(self, inbound: Inbound) -> bool:
        """Store a message; once this returns, it is not lost.

        Args:
            inbound: the message. Of strangers, only the right code in a private chat is heard.

        Returns:
            False if it was not taken: its sender is not paired, or it came before.
        """
        is_paired = await self.pairing.is_paired(inbound.person)
        start = None if inbound.is_forwarded or not inbound.is_private else _START.fullmatch(inbound.text)
        if start is not None and (code := start["code"]) is not None and not is_paired:
            if not await self.pairing.redeem(code, inbound.person, inbound.person_name):
                return False
            _log.info("%s: a person was paired", self._channel.name)
        elif not is_paired:
            return False
        if start is not None:
            await self.tell(inbound.chat, _WELCOME)
            return True
        is_new = await self._mailbox.put(inbound)
        self._came.set()
        return is_new

    async def answer(self, question_id: str, value: str, person: str) -> str:
        """Take an answer to a question; return a sentence for the person.

        Args:
            question_id: of the ``ChatQuestion``.
            value: of the choice.
            person: who chose, as the channel has authenticated it. Only the person who was asked can answer, while
                they are paired.
        """
        if not await self.pairing.is_paired(person):
            return "Only the person who was asked can answer."
        return self._questions.answer(question_id, value, person)

    async def tell(self, chat: str, text: str) -> None:
        """Put a message into the outbox."""
        pieces = split_text(text, self._channel.max_characters, self._channel.length)
        await self._mailbox.finish(None, chat, [OutgoingText(each) for each in pieces])
        self._wants_delivery.set()

    async def run(self) -> None:
        """Work until cancelled; as long as another process works for the channel, wait."""
        lock = uuid.uuid5(uuid.NAMESPACE_URL, f"channel:{self._channel.name}").hex
        while True:
            try:
                async with self._claw.store.session_lock(lock, 0):
                    await self._run()
            except SessionBusyError:
                await asyncio.sleep(POLL_SECONDS)

    async def _run(self) -> None:
        self._last_row = 0
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._take_messages())
                tasks.create_task(self._deliver())
        finally:
            chats, self._chats = self._chats, {}
            await asyncio.gather(*(each.close() for each in chats.values()))

    async def _take_messages(self) -> None:
        while True:
            self._came.clear()
            for row in await self._mailbox.waiting(self._last_row):
                self._last_row = row.id
                await (await self._chat(row.inbound.chat)).put(row)
            await wait_for_event(self._came, POLL_SECONDS)

    async def _chat(self, chat: str) -> Chat:
        found = self._chats.get(chat)
        if found is None:
            state = await self._mailbox.chat(chat)
            found = self._chats[chat] = Chat(
                self._claw,
                self._channel,
                chat,
                self._mailbox,
                self._questions,
                self._agents,
                state,
                self._wants_delivery.set,
            )
        return found

    async def _deliver(self) -> None:
        while True:
            self._wants_delivery.clear()
            by_chat: dict[str, list[OutboxRow]] = {}
            for row in await self._mailbox.to_send():
                by_chat.setdefault(row.chat, []).append(row)
            await asyncio.gather(*(self._deliver_to_chat(rows) for rows in by_chat.values()))
            await wait_for_event(self._wants_delivery, POLL_SECONDS if not by_chat else 0.2)

    async def _deliver_to_chat(self, rows: list[OutboxRow]) -> None:
        for row in rows:
            if row.not_before > time.time() or not await self._send(row):
                return  # the next ones wait for it

    async def _send(self, row: OutboxRow) -> bool:
        """Send a message; return False if it has to wait."""
        is_old = time.time() - row.made_at > DELIVERY_SECONDS
        try:
            await self._mailbox.sending(row.id)
            await self._send_or_edit(row)
        except RetryLaterError as error:
            if not is_old:
                await self._mailbox.send_later(row.id, error.seconds, is_failure=False)
                return False
            await self._give_up(row, error)
        except UndeliverableError as error:
            await self._give_up(row, error)
        except Exception as error:  # noqa: BLE001  # tried again
            if row.tries + 1 < MAX_FAILURES and not is_old:
                _log.warning("%s: a message was not sent: %s", self._channel.name, describe_error(error))
                pause = min(2.0**row.tries, _LONGEST_PAUSE_SECONDS)
                await self._mailbox.send_later(row.id, pause, is_failure=True)
                return False
            await self._give_up(row, error)
        else:
            await self._mailbox.sent(row.id)
        return True

    async def _send_or_edit(self, row: OutboxRow) -> None:
        if row.receipt is not None:
            try:
                await self._channel.edit(row.chat, row.receipt, row.text)
            except UndeliverableError:
                pass  # it was deleted
            else:
                return
        text = f"(This may be there already.)\n\n{row.text}" if row.is_repeated and row.text else row.text
        await self._channel.send(OutMessage(to=row.chat, text=text, attachments=row.attachments, reply_to=row.reply_to))

    async def _give_up(self, row: OutboxRow, error: Exception) -> None:
        _log.error("%s: a message cannot be sent: %s", self._channel.name, describe_error(error))
        await self._mailbox.give_up(row.id)
