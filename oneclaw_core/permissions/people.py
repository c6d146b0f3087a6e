"""The people who are asked for permissions, and other questions of tools: who they are in which session."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from oneclaw_core.errors import NobodyToAskError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.permissions.requests import Asker
    from oneclaw_core.types.user_question import UserAsker, UserQuestion


class Asked(NamedTuple):
    """The people who are asked in a session, one question at a time."""

    ask: Asker | None
    ask_user: UserAsker | None
    asking: asyncio.Lock
    shows_forms: bool = False


class People:
    """Knows who is asked where.

    Args:
        ask: asks the user for a permission; ``None`` where there is no one to ask.
        ask_user: asks the user questions that are not about permissions; ``None`` where there is no one to ask.
    """

    def __init__(self, ask: Asker | None = None, ask_user: UserAsker | None = None) -> None:
        self._everywhere = Asked(ask, ask_user, asyncio.Lock())
        # With a lock each: a question in one conversation must not wait for the answer in another.
        self._in_session: dict[str, Asked] = {}

    def in_session(self, session_id: str | None) -> Asked:
        """Return the people who are asked in a session."""
        return self._in_session.get(session_id or "") or self._everywhere

    def can_ask_in(self, session_id: str | None) -> bool:
        """Return True if a person can be asked in a session."""
        return self.in_session(session_id).ask is not None

    async def ask_user(self, question: UserQuestion, timeout_seconds: float | None) -> str | None:
        """Ask the user a question that is about no permission; one question at a time.

        Args:
            question: with the session that it is asked in.
            timeout_seconds: how long to wait for the answer; ``None`` for as long as it takes.

        Returns:
            The answer; ``None`` if the user gives none.

        Raises:
            NobodyToAskError: there is no one, or no form can be shown.
            TimeoutError: the time is up.
        """
        people = self.in_session(question.session_id)
        if people.ask_user is None:
            raise NobodyToAskError("no one can be asked here")
        if question.form is not None and not people.shows_forms:
            raise NobodyToAskError("no form can be shown here: ask for one value after the other")
        async with people.asking, asyncio.timeout(timeout_seconds):
            return await people.ask_user(question)

    @contextmanager
    def answered_by(
        self,
        session_id: str,
        ask: Asker | None,
        ask_user: UserAsker | None = None,
        *,
        or_nobody: bool = False,
        shows_forms: bool = False,
    ) -> Iterator[None]:
        """Ask somebody else in one session while the block runs.

        Args:
            session_id: the session.
            ask: asks for permissions; ``None``, with the other, to leave it as it is.
            ask_user: asks questions of tools.
            or_nobody: True to ask no one if both are ``None``.
            shows_forms: True if ``ask_user`` takes questions with a form.
        """
        if ask is None and ask_user is None and not or_nobody:
            yield
            return
        before = self._in_session.get(session_id)
        self._in_session[session_id] = Asked(ask, ask_user, asyncio.Lock(), shows_forms)
        try:
            yield
        finally:
            if before is None:
                self._in_session.pop(session_id, None)
            else:
                self._in_session[session_id] = before
