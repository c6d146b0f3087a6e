"""Summaries that stand for the oldest part of a history; the history itself stays whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select, update

from oneclaw_core.errors import StoreError
from oneclaw_core.store import sessions as stored_sessions
from oneclaw_core.store.schema import IS_CALL, IS_PENDING_CALL, IS_RESULT, messages, sessions
from oneclaw_core.store.statements import run
from oneclaw_core.tools.result import clean_text

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True)
class Summary:
    """What a model is sent in place of the oldest part of a history.

    Attributes:
        text: the summary.
        until: the ``sequence`` of the last message that it stands for.
    """

    text: str
    until: int


_GET = select(sessions.c.summary, sessions.c.summary_until).where(sessions.c.id == bindparam("session"))
_SET = (
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(summary=bindparam("text"), summary_until=bindparam("until"))
)
_OF_SESSION = messages.c.session_id == bindparam("session")
_IS_THERE = select(messages.c.sequence).where(_OF_SESSION, messages.c.sequence == bindparam("until"))
_OPEN_CALL = select(messages.c.sequence).where(_OF_SESSION, IS_PENDING_CALL, messages.c.sequence <= bindparam("until"))
_LATER_RESULTS = select(messages.c.tool_call_id).where(_OF_SESSION, IS_RESULT, messages.c.sequence > bindparam("until"))
_PARTED_CALL = select(messages.c.sequence).where(
    _OF_SESSION, IS_CALL, messages.c.tool_call_id.in_(_LATER_RESULTS), messages.c.sequence <= bindparam("until")
)


def read(connection: Connection, session_id: str) -> Summary | None:
    """Read a session's summary, ``None`` if it has none."""
    row = run(connection, _GET, {"session": clean_text(session_id)}).fetchone()
    text, until = row or (None, None)
    return None if text is None or until is None else Summary(text, until)


def write(connection: Connection, session_id: str, summary: Summary | None) -> None:
    """Set or take away a session's summary.

    Raises:
        NotFoundError: there is no session of that id.
        StoreError: the summary would end outside the history, or part a call from its result.
    """
    session = clean_text(session_id)
    stored_sessions.touch(connection, session)
    if summary is None:
        connection.execute(_SET, {"session": session, "text": None, "until": None})
        return
    place = {"session": session, "until": summary.until}
    if connection.execute(_IS_THERE, place).first() is None:
        raise StoreError(f"the session has no message {summary.until} at which a summary could end")
    for parted in (_OPEN_CALL, _PARTED_CALL):
        if connection.execute(parted, place).first() is not None:
            raise StoreError(f"a summary until message {summary.until} would part a tool call from its result")
    connection.execute(_SET, place | {"text": clean_text(summary.text)})
