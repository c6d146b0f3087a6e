"""Begin a session with a copy of another one's history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreError, UsageError
from oneclaw_core.sessions import schema, sessions
from oneclaw_core.sessions.connection import ENDLESS, insertion
from oneclaw_core.sessions.endings import has_parted_call
from oneclaw_core.sessions.scripts import copy_scripts
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from oneclaw_core.sessions.connection import Connection
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
    if before is not None and has_parted_call(connection, session_id, before):
        raise StoreError(f"a branch before message {before} would part a tool call from its result")
    made = sessions.create(
        connection,
        name,
        agent=origin.agent,
        model=origin.model,
        title=origin.title,
        directory=origin.directory,
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
