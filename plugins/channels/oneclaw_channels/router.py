"""The router of a channel: stores what people send, has it worked on in their sessions, and delivers the answers."""

from __future__ import annotations

import asyncio
import logging
import re
import time
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oneclaw_channels.chat_view import MessageView, Questions, wait_for_event
from oneclaw_channels.commands import SlashCommands, follow
from oneclaw_channels.conversation import Conversation, TurnQueue
from oneclaw_channels.mailbox import ChatState, Mailbox, OutgoingText, Pairing
from oneclaw_channels.plugin_commands import plugin_commands_of
from oneclaw_channels.received_files import message_with_files
from oneclaw_core import MessageType, OneClawError, PermissionAnswer, SessionBusyError, UsageError
from oneclaw_core.channels import (
    RetryLaterError,
    UndeliverableError,
    expandable_command,
    is_slash_command,
    split_text,
)
from oneclaw_core.plugins import OutMessage
from oneclaw_core.process import describe_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from oneclaw_channels.mailbox import InboxRow, OutboxRow
    from oneclaw_core import Attachment, Message, OneClaw, PermissionRequest, UserQuestion
    from oneclaw_core.channels import ChatChannel, Inbound

POLL_SECONDS = 2.0
"""The pause between two looks at what other processes have stored."""
MAX_FAILURES = 10
DELIVERY_SECONDS = 24 * 3600
_LONGEST_PAUSE_SECONDS = 300.0
_START = re.compile(r"/(?:start|pair)(?:\s+(?P<code>\S{1,64}))?\s*", re.IGNORECASE)
_WELCOME = "You are paired with OneClaw. Send a message; /help lists the commands."
FORWARDED = "forwarded message"
QUOTED = "quoted message"
_NOT_IN_GROUPS = ("/sessions", "/continue", "/copy")
_STOPPED = "(stopped; the session is kept)"
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
        self._chats: dict[str, _Chat] = {}
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

    async def _chat(self, chat: str) -> _Chat:
        found = self._chats.get(chat)
        if found is None:
            found = self._chats[chat] = _Chat(self, chat, await self._mailbox.chat(chat))
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


class _Line(str):
    """A line that came from the inbox."""

    __slots__ = ("row",)
    row: InboxRow


class _Chat:
    """One chat of a channel: its messages are worked on one by one, in its session.

    Args:
        router: of the channel.
        chat: the channel's id of it.
        state: kept from earlier.
    """

    def __init__(self, router: ChatRouter, chat: str, state: ChatState) -> None:
        self._claw = router._claw
        self._channel = router._channel
        self._mailbox = router._mailbox
        self._questions = router._questions
        self._agents = router._agents
        self._has_answer = router._wants_delivery.set
        self._chat = chat
        self._state = state
        self._commands = SlashCommands(self._claw)
        self._waiting: dict[int, _Line] = {}
        self._inbound: Inbound | None = None
        self._is_closing = False
        self._notices: list[str] = []
        self._conversation = Conversation(
            self._claw,
            MessageView(self._channel, chat, self._note_streamed),  # another one for each turn
            self._notices.append,
            session_name=state.session,
            agent=state.agent or next(iter(self._agents), None),
            model=state.model,
            reasoning=state.reasoning,
            channel=self._channel.name,
            confirm=self._confirm,
            ask=self._ask,
            ask_user=self._ask_user,
        )
        self._queue = TurnQueue(self._conversation, self._work, self._is_immediate)
        self._conversation.stop = self._queue.stop
        # The message whose turn is shown, and what shows it; None if the channel does it.
        self._shown: tuple[InboxRow | None, MessageView | None] = None, None

    async def put(self, row: InboxRow) -> None:
        """Take a message from the inbox."""
        inbound = row.inbound
        if not inbound.is_forwarded and self._questions.answer_in_words(inbound.text, inbound.chat, inbound.person):
            await self._mailbox.finish(row.id, self._chat)
            return
        line = _Line(inbound.text)
        line.row = row
        self._waiting[row.id] = line
        if not self._queue.put(line):
            del self._waiting[row.id]
            await self._finish(row, ["This was not taken: too many messages wait. /queue lists them, /stop stops."])

    async def close(self) -> None:
        """Stop the work; what is not done is done when the channel is opened again."""
        self._is_closing = True
        await self._queue.close()

    def _is_immediate(self, line: str) -> bool:
        return not _is_forwarded(line) and self._commands.is_immediate(line)

    async def _work(self, line: str) -> None:
        row = line.row if isinstance(line, _Line) else None
        if row is not None and not self._is_immediate(line):
            self._inbound = row.inbound
        try:
            await self._do(line, row)
        except asyncio.CancelledError:
            if not self._is_closing:
                await self._finish(row, [_STOPPED])
            raise
        except OneClawError as error:
            await self._finish(row, [str(error)])
        except Exception as error:  # noqa: BLE001  # one message that broke is no reason to lose the others
            _log.error("%s: unexpected %s", self._channel.name, type(error).__name__, exc_info=error)
            await self._finish(row, [f"unexpected {type(error).__name__}; the log in OneClaw's home has the details"])
        finally:
            if not self._is_immediate(line):
                # What a model does not take must not go with the next message.
                self._conversation.attachments.clear()
            if not self._is_closing:
                await self._keep()
                await self._drop_gone()

    async def _do(self, line: str, row: InboxRow | None) -> None:
        is_forwarded = _is_forwarded(line)
        expandable = None if is_forwarded else await expandable_command(self._claw, line)
        if is_slash_command(line) and expandable is None and not is_forwarded:
            await self._command(line, row)
            return
        command, text = expandable or (None, str(line))
        await self._say(text, command, row)

    async def _command(self, line: str, row: InboxRow | None) -> None:
        typed = line.split(maxsplit=1)[0]
        name = typed.lower()
        in_group = row is not None and not row.inbound.is_private
        if in_group and (name in _NOT_IN_GROUPS or typed[1:] in plugin_commands_of(self._claw).private()):
            raise UsageError(f"{name} works in a private chat only: others read along here")
        answer = await self._commands.run(self._conversation, line)
        await self._check_agent()
        if answer.leave:
            answer = replace(answer, text="There is nothing to leave. /clear begins a new session.")
        texts = [each for each in (answer.text, answer.copy) if each]
        if not answer.resume and answer.send is None:
            await follow(self._conversation, answer)
            if name == "/clear" and not texts:
                texts = ["A new session begins with your next message."]
            await self._finish(row, texts)
            return
        if texts:
            await self._finish(None, texts)
        async with self._turn(row):
            await follow(self._conversation, answer)

    async def _check_agent(self) -> None:
        """Take back the choice of an agent that this channel does not allow."""
        chosen = self._conversation.agent
        if not self._agents or chosen is None or chosen in self._agents:
            return
        if (await self._claw.agents.get(chosen)).name not in self._agents:
            self._conversation.agent = self._state.agent or self._agents[0]
            raise UsageError(f"this channel has the agents {', '.join(self._agents)} only")

    async def _say(self, text: str, command: str | None, row: InboxRow | None) -> None:
        files: tuple[str, ...] = ()
        if row is not None:
            text, files = await self._with_files(text, row)
        if command is None and not text.strip() and not self._conversation.attachments:
            raise UsageError("this message holds nothing that can be read here: send text, a photo or a file")
        found = await self._said(row, text)
        if found is not None and not found.is_open:
            await self._finish(row, [found.answer or _STOPPED], found.files)
            return
        async with self._turn(row) as message:
            if found is not None:
                self._conversation.attachments.clear()
                if message is not None:
                    message.attachments += found.files
                await self._conversation.resume()
            else:
                await self._note_begin(text, row)
                await self._conversation.send(text, command=command, files=files)

    async def _with_files(self, text: str, row: InboxRow) -> tuple[str, tuple[str, ...]]:
        inbound = row.inbound
        if inbound.is_forwarded:
            text = f"[{FORWARDED}, written by others]\n{text}"
        elif not inbound.is_private and inbound.person_name:
            text = f"{inbound.person_name}: {text}"
        folder = self._claw.home.path / "channels" / self._channel.name
        text, attachments = await message_with_files(text, inbound.files, folder, str(row.id), self._channel)
        self._conversation.attachments += attachments
        if inbound.is_forwarded:
            return text, (FORWARDED,)
        return text, (QUOTED,) if inbound.is_quoting else ()

    async def _note_begin(self, text: str, row: InboxRow | None) -> None:
        """Begin the session, and store where its history ends, to find out after a crash what was said."""
        conversation = self._conversation
        session = await conversation.session()
        if session is None:
            session = await self._claw.begin_session(agent=conversation.agent, model=conversation.model, title=text)
        conversation.session_name = session.id
        await self._keep()
        if row is not None:
            history = (await self._claw.store.load_turn(session.id, 0)).history
            await self._mailbox.begin(row.id, session.id, (history[-1].sequence or 0) if history else 0)

    async def _said(self, row: InboxRow | None, text: str) -> _Said | None:
        """Find out if a message was said before the program ended; return ``None`` if not."""
        if row is None or row.session_id is None or await self._claw.store.find_session(row.session_id) is None:
            return None
        later = await self._claw.services.sessions.messages(row.session_id, row.after_sequence)
        places = [number for number, each in enumerate(later) if _is_said(each, text)]
        if not places:
            return None
        self._conversation.session_name = row.session_id
        turn = list(later[places[0] + 1 :])
        ends = [number for number, each in enumerate(turn) if each.type is MessageType.USER]
        turn = turn[: ends[0]] if ends else turn
        files = [file for each in turn for file in each.attachments if file.is_for_user]
        answers = [each.content for each in turn if each.type is MessageType.ASSISTANT] if ends else []
        return _Said(answers[-1] if answers else "", files, is_open=not ends)

    @asynccontextmanager
    async def _turn(self, row: InboxRow | None) -> AsyncIterator[MessageView | None]:
        """Show a turn while it runs, in a message or as the channel does it, and send what it has ended with."""
        listener = self._channel.view(self._chat)
        if listener is not None:
            self._conversation.view, self._shown = listener, (row, None)
            yield None
            await self._finish(row, [])
            return
        receipt = await self._mailbox.streamed(row.id) if row is not None else None
        message = MessageView(self._channel, self._chat, self._note_streamed, receipt)
        self._conversation.view, self._shown = message, (row, message)
        task = asyncio.create_task(message.run(), name=f"{self._channel.name}: message")
        try:
            yield message
        finally:
            message.close()
            await asyncio.wait({task})
        await self._finish(row, [message.text or "(no answer)"])

    async def _note_streamed(self, receipt: str) -> None:
        row = self._shown[0]
        if row is not None:
            await self._mailbox.note_streamed(row.id, self._chat, receipt)

    async def _finish(self, row: InboxRow | None, texts: list[str], files: Iterable[Attachment] = ()) -> None:
        """Mark a message as done, and put what answers it into the outbox in the same transaction."""
        message = self._shown[1] if self._shown[0] is row else None
        if message is not None:
            self._shown = None, None
        receipt, attachments = None, list(files)
        if message is not None:
            receipt, attachments = message.receipt, message.attachments
            if texts == [_STOPPED] and message.text:
                texts = [f"{message.text}\n\n{_STOPPED}"]
            elif receipt is not None and message.text not in texts:
                texts = [message.text, *texts]
        if self._notices:
            texts = [*self._notices, *texts]
            self._notices.clear()
            receipt = None
        limit = self._channel.max_characters
        pieces = [piece for each in texts for piece in split_text(each, limit, self._channel.length)]
        out = [OutgoingText(each, receipt=receipt if not number else None) for number, each in enumerate(pieces)]
        out += [OutgoingText("", (each,)) for each in attachments]
        if row is not None:
            self._waiting.pop(row.id, None)
        reply_to = row.inbound.message if row is not None and not row.inbound.is_private else None
        await self._mailbox.finish(row.id if row is not None else None, self._chat, out, reply_to)
        self._has_answer()

    async def _keep(self) -> None:
        conversation = self._conversation
        session = await conversation.session()
        session_id = session.id if session else None
        state = ChatState(session_id, conversation.agent, conversation.model, conversation.reasoning)
        if state != self._state:
            await self._mailbox.keep_chat(self._chat, state)
            self._state = state

    async def _drop_gone(self) -> None:
        """Mark what was cleared from the queue, or said while a turn ran, as done."""
        conversation = self._conversation
        there = {id(each) for each in [*conversation.waiting, *conversation.steering]} | {id(self._queue.line)}
        for number, line in list(self._waiting.items()):
            if id(line) not in there:
                del self._waiting[number]
                await self._mailbox.finish(number, self._chat)

    def _place(self) -> tuple[str, str] | None:
        """Return the chat where the person whose message is worked on is asked, and that person."""
        inbound = self._inbound
        if inbound is None:
            return None
        chat = inbound.chat if inbound.is_private else self._channel.private_chat(inbound.person)
        return None if chat is None else (chat, inbound.person)

    async def _ask(self, request: PermissionRequest) -> PermissionAnswer:
        place = self._place()
        return PermissionAnswer.NO if place is None else await self._questions.permission(request, *place)

    async def _ask_user(self, question: UserQuestion) -> str | None:
        place = self._place()
        return None if place is None else await self._questions.user_question(question, *place)

    async def _confirm(self, text: str) -> bool:
        place = self._place()
        return place is not None and await self._questions.confirm(text, *place)


@dataclass(frozen=True, slots=True)
class _Said:
    """A message in the history: its answer and files by now, and True if its turn can be resumed."""

    answer: str
    files: list[Attachment]
    is_open: bool


def _is_forwarded(line: str) -> bool:
    return isinstance(line, _Line) and line.row.inbound.is_forwarded


def _is_said(message: Message, text: str) -> bool:
    return message.type is MessageType.USER and (message.content == text or message.content.endswith(text))
