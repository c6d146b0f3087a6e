"""Begin a session with a copy of another one's history; end a history before one of its messages, and restore the rest.

The part of a history that is taken off is not changed: it becomes the history of a hidden session, whose parent is the
session. All that follows from a history, such as the loaded groups, then follows from what is left of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreError, UsageError
from oneclaw_core.sessions import schema, sessions
from oneclaw_core.sessions.backend import ENDLESS, Connection, insertion, now, value_of
from oneclaw_core.sessions.scripts import copy_scripts, move_scripts
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from oneclaw_core.sessions.sessions import Session

_PAGE = 500
_COPIED = tuple(each.name for each in schema.messages.columns if each.name not in ("sequence", "session_id"))
_READ = f"""
    SELECT sequence, {", ".join(_COPIED)} FROM messages
    WHERE session_id = :session AND sequence > :after AND sequence < :before ORDER BY sequence LIMIT :page"""
_WRITE = insertion("messages", ("session_id", *_COPIED))
_COPY_FILES = """
    INSERT INTO attachments (message_sequence, position, name, media_type, data, is_for_user)
    SELECT :new, position, name, media_type, data, is_for_user FROM attachments WHERE message_sequence = :old"""
_ORIGIN = "SELECT summary, summary_until, marks FROM sessions WHERE id = :session"
_SET_ORIGIN = "UPDATE sessions SET summary = :summary, summary_until = :until, marks = :marks WHERE id = :session"

_FIND_PART = "SELECT ended_from, summary, summary_until FROM sessions WHERE id = :part AND parent_id = :session"
_PARTS = """
    SELECT id FROM sessions WHERE parent_id = :session AND ended_from IS NOT NULL
    ORDER BY updated_at DESC, ended_from"""
_FIRST = "SELECT created_at FROM messages WHERE session_id = :session AND sequence = :first"
_NEWEST = "SELECT coalesce(max(sequence), 0) FROM messages WHERE session_id = :session"
_INSERT_PART = """
    INSERT INTO sessions (id, agent, created_at, updated_at, parent_id, summary, summary_until, ended_from)
    SELECT :part, agent, created_at, :now, id, summary, summary_until, :first FROM sessions WHERE id = :session"""
_MOVE = "UPDATE messages SET session_id = :to WHERE session_id = :from AND sequence >= :first"
# The system prompt is composed anew: what the model was told of changes may have been taken off.
_SET_SUMMARY = """
    UPDATE sessions SET summary = :summary, summary_until = :until, memory = NULL WHERE id = :session"""
# The service counted a longer conversation than the one that goes on.
_FORGET_COUNTS = """
    UPDATE usage SET tools_hash = NULL, system_hash = NULL, history_hash = NULL
    WHERE session_id = :session AND created_at >= :moment"""


def branch(connection: Connection, session_id: str, name: str | None = None, before: int | None = None) -> Session:
    """Begin a session with a copy of the history of another one.

    Args:
        session_id: the other session.
        name: of the new one; ``None`` for none.
        before: the ``sequence`` of the first message that is not copied; ``None`` to copy all.

    Raises:
        UsageError: the name is taken or not acceptable, or there is nothing to copy.
        NotFoundError: there is no session of that id.
        StoreError: the copy would separate a call from its result.
    """
    sessions.hold(connection, session_id)
    origin = sessions.find(connection, session_id)
    if origin is None or origin.id != session_id:
        raise sessions.refusal(connection, session_id)
    if before is not None and sessions.has_parted_call(connection, session_id, before):
        raise StoreError(f"a branch before message {before} would part a tool call from its result")
    made = sessions.create(
        connection, name, agent=origin.agent, model=origin.model, title=origin.title, directory=origin.directory
    )
    place = {"session": clean_text(session_id), "after": 0, "before": before or ENDLESS, "page": _PAGE}
    copied: dict[int, int] = {}
    while rows := connection.execute(_READ, place).fetchall():
        for old, *values in rows:
            row = dict(zip(_COPIED, values, strict=True))
            copied[old] = connection.insert_numbered(_WRITE, row | {"session_id": made.id}, "sequence")
            if row["attachment_count"]:
                connection.execute(_COPY_FILES, {"old": old, "new": copied[old]})
        place["after"] = rows[-1][0]
    if not copied:
        raise UsageError("there is nothing to copy: the session has no message before that")
    copy_scripts(connection, session_id, made.id, before)
    summary, until, marks = connection.execute(_ORIGIN, place).fetchone()
    until = copied.get(until)
    kept = {"summary": summary if until is not None else None, "until": until, "marks": marks}
    connection.execute(_SET_ORIGIN, {"session": made.id, **kept})
    return made


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
    if sessions.has_parted_call(connection, session_id, first):
        raise StoreError(f"a history that ends before message {first} would part a tool call from its result")
    connection.execute(_INSERT_PART, place | {"now": now()})
    move_scripts(connection, session_id, part_id, first)
    connection.execute(_MOVE, {"to": part_id, "from": place["session"], "first": first})
    summary, until, _ = sessions.read_summary(connection, session_id)
    if until is not None and until >= first:
        summary = until = None
    connection.execute(_SET_SUMMARY, place | {"summary": summary, "until": until})
    connection.execute(_FORGET_COUNTS, place | {"moment": row[0]})


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
    if until is None or until < first:
        summary, until, _ = sessions.read_summary(connection, session_id)
    connection.execute(_SET_SUMMARY, place | {"summary": summary, "until": until})
    connection.execute("DELETE FROM sessions WHERE id = :part", place)
