"""Summaries that replace the oldest part of a history in requests; the stored history stays complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreError
from oneclaw_core.sessions import sessions as stored_sessions
from oneclaw_core.sessions.schema import IS_CALL, IS_PENDING_CALL, IS_RESULT
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from oneclaw_core.sessions.connection import Connection


@dataclass(frozen=True, slots=True)
class Summary:
    """A text that replaces the oldest part of a history in requests.

    Attributes:
        text: the summary.
        until: the ``sequence`` of the last message that it stands for.
    """

    text: str
    until: int


_GET = "SELECT summary, summary_until FROM sessions WHERE id = :session"
_SET = "UPDATE sessions SET summary = :text, summary_until = :until WHERE id = :session"
_OF_SESSION = "SELECT sequence FROM messages WHERE session_id = :session"
_IS_THERE = f"{_OF_SESSION} AND sequence = :until"
_OPEN_CALL = f"{_OF_SESSION} AND {IS_PENDING_CALL} AND sequence <= :until"
_PARTED_CALL = f"""
    {_OF_SESSION} AND {IS_CALL} AND sequence <= :until AND tool_call_id IN (
        SELECT tool_call_id FROM messages WHERE session_id = :session AND {IS_RESULT} AND sequence > :until
    )"""


def read(connection: Connection, session_id: str) -> Summary | None:
    """Read a session's summary, ``None`` if it has none."""
    row = connection.execute(_GET, {"session": clean_text(session_id)}).fetchone()
    text, until = row or (None, None)
    return None if text is None or until is None else Summary(text, until)


def write(connection: Connection, session_id: str, summary: Summary) -> None:
    """Set a session's summary.

    Raises:
        NotFoundError: there is no session of that id.
        StoreError: the summary would end outside the history, or part a call from its result.
    """
    session = clean_text(session_id)
    stored_sessions.touch(connection, session)
    place = {"session": session, "until": summary.until}
    if connection.execute(_IS_THERE, place).fetchone() is None:
        raise StoreError(f"the session has no message {summary.until} at which a summary could end")
    for parted in (_OPEN_CALL, _PARTED_CALL):
        if connection.execute(parted, place).fetchone() is not None:
            raise StoreError(f"a summary until message {summary.until} would part a tool call from its result")
    connection.execute(_SET, place | {"text": clean_text(summary.text)})
