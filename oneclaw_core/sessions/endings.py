"""End a history before one of its messages, and restore what was taken off.

The part that is taken off is not changed: it becomes the history of a hidden session, whose parent is the session. All
that follows from a history, such as the loaded groups, then follows from what is left of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreError, UsageError
from oneclaw_core.sessions import sessions
from oneclaw_core.sessions.connection import value_of
from oneclaw_core.sessions.schema import IS_CALL, IS_RESULT
from oneclaw_core.sessions.scripts import move_scripts
from oneclaw_core.sessions.timestamps import now
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from oneclaw_core.sessions.connection import Connection

_FIND_PART = "SELECT ended_from, summary, summary_until FROM sessions WHERE id = :part AND parent_id = :session"
_PARTS = """
    SELECT id FROM sessions WHERE parent_id = :session AND ended_from IS NOT NULL
    ORDER BY updated_at DESC, ended_from"""
_FIRST = "SELECT created_at FROM messages WHERE session_id = :session AND sequence = :first"
_PARTED_CALL = f"""
    SELECT sequence FROM messages
    WHERE session_id = :session AND {IS_RESULT} AND sequence >= :first AND tool_call_id IN (
        SELECT tool_call_id FROM messages WHERE session_id = :session AND {IS_CALL} AND sequence < :first
    )"""
_NEWEST = "SELECT coalesce(max(sequence), 0) FROM messages WHERE session_id = :session"
_INSERT_PART = """
    INSERT INTO sessions (id, agent, created_at, updated_at, parent_id, summary, summary_until, ended_from)
    SELECT :part, agent, created_at, :now, id, summary, summary_until, :first FROM sessions WHERE id = :session"""
_MOVE = "UPDATE messages SET session_id = :to WHERE session_id = :from AND sequence >= :first"
# The system prompt is composed anew: what the model was told of changes may have been taken off.
_SET_SUMMARY = """
    UPDATE sessions SET summary = :summary, summary_until = :until, memory = NULL WHERE id = :session"""
_KEEP_SUMMARY = "UPDATE sessions SET memory = NULL WHERE id = :session"
# The service counted a longer conversation than the one that goes on.
_FORGET_COUNTS = """
    UPDATE usage SET tools_hash = NULL, system_hash = NULL, history_hash = NULL
    WHERE session_id = :session AND created_at >= :moment"""
_DELETE_PART = "DELETE FROM sessions WHERE id = :part"


def end_history(connection: Connection, session_id: str, first: int, part_id: str) -> None:
    """Take a message and all that follows it off a history; done already, it does nothing.

    Args:
        first: the ``sequence`` of the first message of the part that is taken off.
        part_id: names the part, from :func:`oneclaw_core.sessions.sessions.new_id`.

    Raises:
        NotFoundError: there is no session of that id.
        SessionBusyError: it is another turn's by now.
        UsageError: the session has no such message.
        StoreError: the part would separate a call from its result.
    """
    sessions.check_id(part_id)
    sessions.touch(connection, session_id)
    place = {"session": clean_text(session_id), "first": first, "part": part_id}
    if connection.execute(_FIND_PART, place).fetchone() is not None:
        return
    row = connection.execute(_FIRST, place).fetchone()
    if row is None:
        raise UsageError(f"the session has no message {first} at which its history could end")
    if has_parted_call(connection, session_id, first):
        raise StoreError(f"a history that ends before message {first} would part a tool call from its result")
    connection.execute(_INSERT_PART, place | {"now": now()})
    move_scripts(connection, session_id, part_id, first)
    connection.execute(_MOVE, {"to": part_id, "from": place["session"], "first": first})
    _, until, _ = sessions.read_summary(connection, session_id)
    if until is not None and until >= first:
        connection.execute(_SET_SUMMARY, place | {"summary": None, "until": None})
    else:
        connection.execute(_KEEP_SUMMARY, place)
    connection.execute(_FORGET_COUNTS, place | {"moment": row[0]})


def has_parted_call(connection: Connection, session_id: str, first: int) -> bool:
    """Return True if the result of a call before a message stands behind the beginning of that message."""
    place = {"session": clean_text(session_id), "first": first}
    return connection.execute(_PARTED_CALL, place).fetchone() is not None


def ended_parts(connection: Connection, session_id: str) -> list[str]:
    """Return the ids of the parts that are taken off a history now, the last one first."""
    return [row[0] for row in connection.execute(_PARTS, {"session": clean_text(session_id)}).fetchall()]


def restore_history(connection: Connection, session_id: str, part_id: str) -> None:
    """Put a part back at the end of the history that it was taken off; done already, it does nothing.

    Args:
        part_id: as for :func:`end_history`.

    Raises:
        NotFoundError: there is no session of that id.
        SessionBusyError: it is another turn's by now.
        UsageError: the session went on since.
    """
    sessions.touch(connection, session_id)
    place = {"session": clean_text(session_id), "part": part_id}
    row = connection.execute(_FIND_PART, place).fetchone()
    if row is None:
        return
    first, summary, until = row
    if value_of(connection.execute(_NEWEST, place)) > first:
        raise UsageError(
            "the session went on since these messages were taken back: take back first what was said since"
        )
    move_scripts(connection, part_id, place["session"], first)
    connection.execute(_MOVE, {"to": place["session"], "from": part_id, "first": first})
    if until is not None and until >= first:
        connection.execute(_SET_SUMMARY, place | {"summary": summary, "until": until})
    else:
        connection.execute(_KEEP_SUMMARY, place)
    connection.execute(_DELETE_PART, place)
