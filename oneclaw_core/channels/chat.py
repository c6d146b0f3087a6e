"""One chat of a channel: its messages are worked on one by one, in its session."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from oneclaw_core.channels.commands import (
    SlashCommands,
    expandable_command,
    follow,
    is_slash_command,
    plugin_commands_of,
)
from oneclaw_core.channels.conversation import Conversation, TurnQueue
from oneclaw_core.channels.mailbox import ChatState, OutgoingText
from oneclaw_core.channels.message_files import message_with_files
from oneclaw_core.channels.message_view import MessageView, split_text
from oneclaw_core.errors import OneClawError, UsageError
from oneclaw_core.permissions.requests import PermissionAnswer
from oneclaw_core.types.messages import MessageType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from oneclaw_core.app import OneClaw
    from oneclaw_core.channels.chat_channel import ChatChannel, Inbound
    from oneclaw_core.channels.conversation import TurnListener
    from oneclaw_core.channels.mailbox import InboxRow, Mailbox
    from oneclaw_core.channels.questions import Questions
    from oneclaw_core.permissions.requests import PermissionRequest
    from oneclaw_core.types.events import TurnEvent
    from oneclaw_core.types.messages import Attachment, Message
    from oneclaw_core.types.user_question import UserQuestion

FORWARDED = "forwarded message"
QUOTED = "quoted message"
_NOT_IN_GROUPS = ("/sessions", "/continue", "/copy")
_STOPPED = "(stopped; the session is kept)"
_log = logging.getLogger("oneclaw.channels")


class _Line(str):
    """A line that came from the inbox."""

    __slots__ = ("row",)
    row: InboxRow


class _Views:
    """Shows the events of the turn under way; nothing between turns."""

    def __init__(self) -> None:
        self.view: TurnListener | None = None

    def show(self, event: TurnEvent) -> None:
        if self.view is not None:
            self.view.show(event)

    def finish(self) -> None:
        if self.view is not None:
            self.view.finish()


class Chat:
    """A chat.

    Args:
        claw: the open home.
        channel: of the chat.
        chat: the channel's id of it.
        mailbox: of the channel.
        questions: of the channel.
        agents: the only agents that can be chosen, the first one unless another is; empty for all.
        state: kept from earlier.
        has_answer: called when something is to be sent.
    """

    def __init__(
        self,
        claw: OneClaw,
        channel: ChatChannel,
        chat: str,
        mailbox: Mailbox,
        questions: Questions,
        agents: Collection[str],
        state: ChatState,
        has_answer: Callable[[], None],
    ) -> None:
        self._claw = claw
        self._channel = channel
        self._chat = chat
        self._mailbox = mailbox
        self._questions = questions
        self._agents = list(agents)
        self._state = state
        self._has_answer = has_answer
        self._views = _Views()
        self._commands = SlashCommands(claw)
        self._waiting: dict[int, _Line] = {}
        self._inbound: Inbound | None = None
        self._is_closing = False
        self._conversation = Conversation(
            claw,
            self._views,
            self._notify,
            session_name=state.session,
            agent=state.agent or (self._agents[0] if self._agents else None),
            model=state.model,
            reasoning=state.reasoning,
            channel=channel.name,
            confirm=self._confirm,
            ask=self._ask,
            ask_user=self._ask_user,
        )
        self._queue = TurnQueue(self._conversation, self._work, self._is_immediate)
        self._conversation.stop = self._queue.stop
        self._notices: list[str] = []
        self._shown: _Shown | None = None

    @property
    def is_busy(self) -> bool:
        """True while a message is worked on or waits."""
        return self._queue.is_busy or bool(self._waiting)

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
        view = await self._begin_view(row)
        try:
            await follow(self._conversation, answer)
        finally:
            await self._end_view(view)
        await self._answer(row, view)

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
        view = await self._begin_view(row)
        try:
            if found is not None:
                self._conversation.attachments.clear()
                if view.message is not None:
                    view.message.attachments += found.files
                await self._conversation.resume()
            else:
                await self._note_begin(text, row)
                await self._conversation.send(text, command=command, files=files)
        finally:
            await self._end_view(view)
        await self._answer(row, view)

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

    async def _begin_view(self, row: InboxRow | None) -> _Shown:
        shown = _Shown(row, self._channel.view(self._chat))
        if shown.listener is None:

            async def sent(receipt: str) -> None:
                if row is not None:
                    await self._mailbox.note_streamed(row.id, self._chat, receipt)

            receipt = await self._mailbox.streamed(row.id) if row is not None else None
            shown.message = MessageView(self._channel, self._chat, sent, receipt)
            shown.task = asyncio.create_task(shown.message.run(), name=f"{self._channel.name}: message")
        self._views.view = shown.listener or shown.message
        self._shown = shown
        return shown

    async def _end_view(self, shown: _Shown) -> None:
        self._views.view = None
        if shown.task is not None and shown.message is not None:
            shown.message.close()
            await asyncio.wait({shown.task})

    async def _answer(self, row: InboxRow | None, shown: _Shown) -> None:
        if shown.message is None:
            await self._finish(row, [])
        else:
            await self._finish(row, [shown.message.text or "(no answer)"])

    async def _finish(self, row: InboxRow | None, texts: list[str], files: Iterable[Attachment] = ()) -> None:
        """Mark a message as done, and put what answers it into the outbox in the same transaction."""
        message = None
        if self._shown is not None and self._shown.row is row:
            message, self._shown = self._shown.message, None
        receipt, attachments = None, list(files)
        if message is not None:
            receipt, attachments = message.receipt, message.attachments
            if texts == [_STOPPED] and message.text:
                texts = [f"{message.text}\n\n{_STOPPED}"]
            elif receipt is not None and message.text not in texts:
                texts = [message.text, *texts]
        if self._notices:
            texts, self._notices = [*self._notices, *texts], []
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

    def _notify(self, text: str) -> None:
        self._notices.append(text)

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


class _Shown:
    """The view of a message's turn: the channel itself, or a message to the chat."""

    def __init__(self, row: InboxRow | None, listener: TurnListener | None) -> None:
        self.row = row
        self.listener = listener
        self.message: MessageView | None = None
        self.task: asyncio.Task[None] | None = None


def _is_forwarded(line: str) -> bool:
    return isinstance(line, _Line) and line.row.inbound.is_forwarded


def _is_said(message: Message, text: str) -> bool:
    return message.type is MessageType.USER and (message.content == text or message.content.endswith(text))
