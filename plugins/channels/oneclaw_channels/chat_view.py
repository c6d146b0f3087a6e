"""The display of a chat: a turn as one message that grows, and questions.

Each question is open to one person, for half an hour, and answered once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING

from oneclaw_core import (
    CompactedEvent,
    ModelSwitchedEvent,
    NoticeEvent,
    PermissionAnswer,
    TextEvent,
    TextWithdrawnEvent,
    ToolCallEvent,
    ToolResultEvent,
    TurnFinishedEvent,
)
from oneclaw_core.channels import ChatQuestion, RetryLaterError, split_text
from oneclaw_core.permissions import approval_question, question_text, user_question_text
from oneclaw_core.plugins import OutMessage
from oneclaw_core.process import describe_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core import Attachment, PermissionRequest, TurnEvent, UserQuestion
    from oneclaw_core.channels import ChatChannel

TYPING_SECONDS = 4.0
OPEN_SECONDS = 1800.0
_COLUMNS = 60
_LABELS = {
    PermissionAnswer.ONCE: "Allow once",
    PermissionAnswer.SCRIPT: "Allow for the rest of this script",
    PermissionAnswer.SESSION: "Allow in this session",
    PermissionAnswer.ALWAYS: "Allow always",
    PermissionAnswer.NO: "Deny",
    PermissionAnswer.NEVER: "Deny always",
}
_YES_OR_NO = (("yes", "Yes"), ("no", "No"))
_log = logging.getLogger("oneclaw.channels")


class MessageView:
    """Shows one turn in a message: what the model says, and a line for each tool call with its duration.

    Args:
        channel: sends and edits the message.
        chat: where it goes.
        sent: called with the channel's id of the message once it is there.
        receipt: a message that a turn which was cut off was shown in.

    Attributes:
        receipt: the channel's id of the message, ``None`` as long as none was sent.
        attachments: files that tools returned.
    """

    def __init__(
        self, channel: ChatChannel, chat: str, sent: Callable[[str], Awaitable[None]], receipt: str | None = None
    ) -> None:
        self.receipt = receipt
        self.attachments: list[Attachment] = []
        self._channel = channel
        self._chat = chat
        self._sent = sent
        self._parts: list[str] = []
        self._text = ""
        self._calls: dict[str, str] = {}
        self._notice: str | None = None
        self._shown = ""
        self._ended = asyncio.Event()

    def show(self, event: TurnEvent) -> None:
        """Show an event."""
        match event:
            case TextEvent():
                self._text += event.text
            case TextWithdrawnEvent():
                self._text = ""
            case ToolCallEvent() | ToolResultEvent() if event.parent_id is not None:
                pass  # a script is one line
            case ToolCallEvent():
                self._end_text()
                self._calls[event.id] = f"`{_name(event.name)}` …"
            case ToolResultEvent():
                self._calls.pop(event.id, None)
                seconds = f"{event.duration_ms / 1000:.1f} s"
                outcome = seconds if event.result.is_success else f"failed after {seconds}"
                self._parts.append(f"`{_name(event.name)}` {outcome}")
                self.attachments += event.result.attachments
            case CompactedEvent() | ModelSwitchedEvent() | NoticeEvent():
                self._parts.append(f"({event.notice})")
            case TurnFinishedEvent():
                self._text = event.text
                self._notice = event.notice

    def finish(self) -> None:
        """End the turn; calls without a result were stopped with it."""
        self._parts += [call.replace("…", "stopped") for call in self._calls.values()]
        self._calls.clear()

    @property
    def text(self) -> str:
        """The current screen."""
        parts = [*self._parts, *self._calls.values(), self._text.strip(), f"({self._notice})" if self._notice else ""]
        return "\n\n".join(each for each in parts if each)

    def _end_text(self) -> None:
        if self._text.strip():
            self._parts.append(self._text.strip())
        self._text = ""

    async def run(self) -> None:
        """Keep the message up to date until :meth:`close`."""
        typed_at = shown_at = 0.0
        pause = self._channel.edit_seconds
        begun = time.monotonic()
        while not self._ended.is_set():
            now = time.monotonic()
            if now - typed_at >= TYPING_SECONDS:
                typed_at = now
                await self._try(self._channel.typing(self._chat))
            # A quick answer is sent whole.
            if pause is not None and now - max(shown_at, begun) >= pause and self.text:
                shown_at = time.monotonic() + await self._try(self._update())
            await wait_for_event(self._ended, min(pause or TYPING_SECONDS, 1.0))

    def close(self) -> None:
        """Stop updating; a message that is being sent still gets its receipt."""
        self._ended.set()

    async def _try(self, work: Awaitable[None]) -> float:
        """Do what may fail without harm; return for how many seconds not to do it again."""
        try:
            await work
        except RetryLaterError as error:
            return error.seconds
        except Exception as error:  # noqa: BLE001  # the answer itself comes from the outbox
            _log.warning("%s: a message was not updated: %s", self._channel.name, describe_error(error))
            return TYPING_SECONDS
        return 0.0

    async def _update(self) -> None:
        limit = self._channel.max_characters
        # Dots say that more follows.
        pieces = split_text(self.text, None if limit is None else limit - 4, self._channel.length)
        text = pieces[0] + (" …" if len(pieces) > 1 else "")
        if text == self._shown:
            return
        if self.receipt is not None:
            await self._channel.edit(self._chat, self.receipt, text)
        else:
            receipt = await self._channel.send(OutMessage(to=self._chat, text=text))
            if receipt is not None and receipt.id is not None:
                self.receipt = receipt.id
                await self._sent(receipt.id)
        self._shown = text


async def wait_for_event(event: asyncio.Event, seconds: float) -> None:
    """Wait until an event is set, but no longer than some seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _name(name: str) -> str:
    return name.replace("`", "'")[:100]


class Questions:
    """The open questions of one channel."""

    def __init__(self, channel: ChatChannel) -> None:
        self._channel = channel
        # By id: the question, the chat that it is asked in, and its answer.
        self._open: dict[str, tuple[ChatQuestion, str, asyncio.Future[str]]] = {}

    async def permission(self, request: PermissionRequest, chat: str, person: str) -> PermissionAnswer:
        """Ask a person for a permission; no answer is a no."""
        asked = approval_question(request)
        answers = [each.answer for each in asked.choices if each.answer in self._channel.answers]
        question = ChatQuestion(
            id=token_hex(8),
            person=person,
            text=question_text(asked, _COLUMNS),
            choices=tuple((str(each), _LABELS[each]) for each in answers),
            approval=asked,
        )
        answer = await self._ask(question, chat)
        return PermissionAnswer.NO if answer is None else PermissionAnswer(answer)

    async def user_question(self, asked: UserQuestion, chat: str, person: str) -> str | None:
        """Ask a person a question of a tool; ``None`` for no answer."""
        question = ChatQuestion(
            id=token_hex(8),
            person=person,
            text=user_question_text(asked, _COLUMNS),
            choices=tuple((str(number), each) for number, each in enumerate(asked.choices, 1)),
            user_question=asked,
        )
        answer = await self._ask(question, chat)
        return None if answer is None else asked.answer_to(answer)

    async def confirm(self, text: str, chat: str, person: str) -> bool:
        """Ask a person a question of yes or no."""
        question = ChatQuestion(id=token_hex(8), person=person, text=text, choices=_YES_OR_NO)
        return await self._ask(question, chat) == "yes"

    def answer(self, question_id: str, value: str, person: str) -> str:
        """Take an answer.

        Args:
            question_id: of the question.
            value: of a choice.
            person: who gave it, as the channel has authenticated it.

        Returns:
            A sentence for that person.
        """
        if question_id not in self._open or self._open[question_id][-1].done():
            return "This question is closed."
        question, _, answer = self._open[question_id]
        if person != question.person:
            _log.warning("%s: a person who was not asked tried to answer a question", self._channel.name)
            return "Only the person who was asked can answer."
        label = dict(question.choices).get(value)
        if label is None:
            return "This is none of the choices."
        answer.set_result(value)
        return f"Your answer: {label}"

    def answer_in_words(self, text: str, chat: str, person: str) -> bool:
        """Take a message as the answer to a question of a tool; return False if none is open or it is no answer."""
        for question, asked_in, answer in self._open.values():
            asked = question.user_question
            is_meant = asked_in == chat and question.person == person and not answer.done()
            if asked is not None and is_meant and asked.answer_to(text) is not None:
                answer.set_result(text)
                return True
        return False

    async def _ask(self, question: ChatQuestion, chat: str) -> str | None:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._open[question.id] = question, chat, answer
        receipt, outcome = None, "This question is closed."
        try:
            receipt = await self._channel.ask(chat, question)
            async with asyncio.timeout(OPEN_SECONDS):
                value = await answer
        except TimeoutError:
            outcome = "No answer came in time: it was not allowed."
            return None
        except Exception as error:  # noqa: BLE001  # no answer is a no
            _log.warning("%s: a question was not asked: %s", self._channel.name, describe_error(error))
            return None
        else:
            outcome = f"Answer: {dict(question.choices).get(value, value)}"
            return value
        finally:
            del self._open[question.id]
            await self._settle(chat, question, receipt, outcome)

    async def _settle(self, chat: str, question: ChatQuestion, receipt: object, outcome: str) -> None:
        if receipt is None:
            return
        try:
            await self._channel.settle(chat, question, receipt, outcome)  # type: ignore[arg-type]  # its own receipt
        except Exception as error:  # noqa: BLE001  # no answer is a no
            # The buttons stay, and say that the question is closed.
            _log.warning("%s: a question was not closed: %s", self._channel.name, describe_error(error))
