"""Questions of a turn for a person at the page: for permissions, and of tools."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

from oneclaw_core import PermissionAnswer
from oneclaw_core.permissions import approval_question

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core import PermissionRequest, UserQuestion
    from oneclaw_serve.event_log import EventLog

WAIT_SECONDS = 1_800.0
_LOOK_SECONDS = 0.5


class Questions:
    """Asks the person at the page; the first answer counts, from whatever process it comes.

    Args:
        session: the id of the session.
        log: where questions and answers are stored.
        publish: shows a question, and its outcome.
    """

    def __init__(self, session: str, log: EventLog, publish: Callable[[str, dict[str, Any]], None]) -> None:
        self._session = session
        self._log = log
        self._publish = publish
        self._waiting: dict[str, asyncio.Future[str]] = {}

    async def ask(self, request: PermissionRequest) -> PermissionAnswer:
        """Ask for a permission; without an answer within half an hour it is refused."""
        question = approval_question(request)
        answer = await self._answer("approval", question.to_dict())
        return PermissionAnswer(answer) if answer in question.answers else PermissionAnswer.NO

    async def ask_user(self, question: UserQuestion) -> str | None:
        """Ask a question of a tool; return ``None`` without an answer."""
        answer = await self._answer("question", question.to_dict())
        return question.answer_to(answer) if answer else None

    def answered(self, approval: str, answer: str) -> None:
        """Take an answer that is stored already."""
        future = self._waiting.get(approval)
        if future is not None and not future.done():
            future.set_result(answer)

    async def _answer(self, kind: str, question: dict[str, Any]) -> str | None:
        approval = secrets.token_hex(16)
        await self._log.ask(approval, self._session, kind, question)
        future = self._waiting[approval] = asyncio.get_running_loop().create_future()
        self._publish(kind, {"id": approval, **question})
        answer: str | None = None
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                answer = await self._wait(approval, future)
        except TimeoutError:
            await self._log.answer(approval, "", "timeout")
        finally:
            del self._waiting[approval]
            self._publish(f"{kind}_decided", {"id": approval, "answer": answer})
        return answer

    async def _wait(self, approval: str, future: asyncio.Future[str]) -> str:
        while not future.done():
            await asyncio.wait({future}, timeout=_LOOK_SECONDS)
            if not future.done() and (stored := await self._log.answer_to(approval)) is not None:
                return stored
        return future.result()
