"""Questions to the people of a channel. Each is open to one person, for half an hour, and answered once."""

from __future__ import annotations

import asyncio
import logging
from secrets import token_hex
from typing import TYPE_CHECKING

from oneclaw_core.channels.chat_channel import ChatQuestion
from oneclaw_core.errors import describe_error
from oneclaw_core.permissions.approval import approval_question, question_text, user_question_text
from oneclaw_core.permissions.requests import PermissionAnswer

if TYPE_CHECKING:
    from oneclaw_core.channels.chat_channel import ChatChannel
    from oneclaw_core.permissions.requests import PermissionRequest
    from oneclaw_core.types.user_question import UserQuestion

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
