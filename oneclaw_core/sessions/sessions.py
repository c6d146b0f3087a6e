"""Create, find, list and delete sessions."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.errors import ConstraintError, NotFoundError, SessionBusyError, StoreDamagedError, UsageError
from oneclaw_core.sessions.fences import update_own
from oneclaw_core.sessions.timestamps import now, to_datetime
from oneclaw_core.types.text import DIRECTION_MARKS, LINE_SEPARATORS, clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from oneclaw_core.sessions.connection import Connection

_ID = re.compile(r"[0-9a-f]{32}")
_ID_PREFIX = re.compile(r"[0-9a-f]{6,31}")
# C0, C1, line ends and what turns the direction of text: a name is typed again, and shown in lists.
_CONTROL = re.compile(f"[\x00-\x1f\x7f-\x9f{LINE_SEPARATORS}{DIRECTION_MARKS}]")
_LAST_TEXT_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A conversation.

    Attributes:
        id: 32 hexadecimal digits.
        name: what the user calls it, unique; ``None`` for one that was not named.
        title: a few words on what it is about, ``None`` until there are any.
        agent: the agent that it was begun with.
        model: the model that it was begun with as ``PROVIDER/MODEL``, ``None`` for the default.
        created_at: in UTC.
        updated_at: when something was last stored in it, in UTC.
        parent_id: the session in which a tool call began it, ``None`` for one that the user began.
    """

    id: str
    name: str | None
    title: str | None
    agent: str
    model: str | None
    created_at: datetime
    updated_at: datetime
    parent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary(Session):
    """A session as a listing shows it.

    Attributes:
        message_count: how many entries its history has.
        last_text: the beginning of what the user or the model said last, ``""`` if nothing.
    """

    message_count: int
    last_text: str


_COLUMNS = ("id", "name", "title", "agent", "model", "created_at", "updated_at", "parent_id")
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM sessions"
_FIND_BY_NAME = f"{_SELECT} WHERE name = :it"
_FIND_BY_ID = f"{_SELECT} WHERE id = :it"
_FIND_BY_PREFIX = f"{_SELECT} WHERE id >= :first AND id < :end LIMIT 2"
_LIST = f"""
    SELECT {", ".join(_COLUMNS)},
        (SELECT count(*) FROM messages WHERE session_id = sessions.id),
        (SELECT substr(content, 1, {_LAST_TEXT_CHARACTERS}) FROM messages
         WHERE session_id = sessions.id AND type IN ('user', 'assistant') AND content <> ''
         ORDER BY sequence DESC LIMIT 1)
    FROM sessions ORDER BY updated_at DESC, id DESC LIMIT :limit"""
_WRITTEN = (*_COLUMNS, "memory", "lock_token")
_INSERT = f"INSERT INTO sessions ({', '.join(_WRITTEN)}) VALUES ({', '.join(f':{each}' for each in _WRITTEN)})"
_DELETE = "DELETE FROM sessions WHERE id = :it"
_TOUCH = "UPDATE sessions SET updated_at = :moment WHERE id = :it"
_HOLD = "SELECT lock_token FROM sessions WHERE id = :it"
_SET_TITLE = "UPDATE sessions SET updated_at = :moment, title = :title WHERE id = :it"
_ENDLESS = 2**63 - 1


def is_session_id(text: str) -> bool:
    """Return True if a text has the form of a session's id."""
    return _ID.fullmatch(text) is not None


def new_id() -> str:
    """Return an id for a new session."""
    return uuid.uuid4().hex


def create(
    connection: Connection,
    name: str | None,
    agent: str,
    model: str | None,
    title: str | None = None,
    parent_id: str | None = None,
    session_id: str | None = None,
    memory: str | None = None,
) -> Session:
    """Create a session, with an id from :func:`new_id` or a new one.

    What its models are shown of the memory may be given at once.

    Raises:
        UsageError: there is one of that name, or the name is empty or holds control characters.
        NotFoundError: the session in which it is begun is gone.
    """
    moment = now()
    row = (
        session_id or new_id(),
        _clean_name(name),
        title and clean_text(title),
        clean_text(agent),
        model and clean_text(model),
        moment,
        moment,
        parent_id,
    )
    try:
        values = dict(zip(_COLUMNS, row, strict=True))
        connection.execute(_INSERT, values | {"memory": memory, "lock_token": connection.token})
    except ConstraintError as error:
        if parent_id is not None and error.lacks_parent:
            raise _gone(parent_id) from None
        raise UsageError(f"there is a session named {name!r} already: go on with it, or choose another name") from None
    return _to_session(row)


def find_or_create(
    connection: Connection,
    name: str,
    agent: str,
    model: str | None,
    title: str | None = None,
    parent_id: str | None = None,
) -> Session:
    """Find a session by name or id, or create one of that name.

    Raises:
        UsageError: the name is empty or holds control characters, and there is no session of that name.
    """
    # Of two processes, the second finds what the first has begun.
    connection.lock("session names")
    return find(connection, name) or create(connection, name, agent, model, title, parent_id)


def find(connection: Connection, name_or_id: str) -> Session | None:
    """Find a session by its exact name, its id, or the first 6 or more digits of its id if no other begins so."""
    wanted = clean_text(name_or_id)
    row = connection.execute(_FIND_BY_NAME, {"it": wanted}).fetchone()
    if row is None and _ID.fullmatch(wanted):
        row = connection.execute(_FIND_BY_ID, {"it": wanted}).fetchone()
    if row is None and _ID_PREFIX.fullmatch(wanted):
        # "g" follows on "f", the greatest digit.
        rows = connection.execute(_FIND_BY_PREFIX, {"first": wanted, "end": wanted + "g"}).fetchall()
        row = rows[0] if len(rows) == 1 else None
    return None if row is None else _to_session(row)


def summaries(connection: Connection, limit: int | None) -> list[SessionSummary]:
    """List up to ``limit`` sessions, the last used first."""
    found = []
    for row in connection.execute(_LIST, {"limit": _ENDLESS if limit is None else limit}):
        *of_session, message_count, last_text = row
        session = _to_session(of_session)
        found.append(
            SessionSummary(
                id=session.id,
                name=session.name,
                title=session.title,
                agent=session.agent,
                model=session.model,
                created_at=session.created_at,
                updated_at=session.updated_at,
                parent_id=session.parent_id,
                message_count=message_count,
                last_text=last_text or "",
            )
        )
    return found


def remove(connection: Connection, session_id: str) -> bool:
    """Delete a session with all that belongs to it.

    Returns:
        Whether there was one of that id.

    Raises:
        SessionBusyError: it is another turn's by now.
    """
    hold(connection, session_id)
    connection.search_index.forget_session(clean_text(session_id))
    return connection.execute(_DELETE, {"it": clean_text(session_id)}).rowcount > 0


def touch(connection: Connection, session_id: str, moment: int | None = None) -> None:
    """Mark a session as used, now or at a stored moment.

    Raises:
        NotFoundError: there is no session of that id.
        SessionBusyError: it is another turn's by now.
    """
    parameters = {"it": clean_text(session_id), "moment": now() if moment is None else moment}
    if update_own(connection, _TOUCH, parameters) == 0:
        raise refusal(connection, session_id)


def hold(connection: Connection, session_id: str) -> None:
    """Lock the row of a session until this transaction ends.

    So numbers that are given later belong to what is stored later, and who reads a history from a number on misses
    nothing.

    Raises:
        SessionBusyError: it is another turn's by now.
    """
    row = connection.read_locked(_HOLD, {"it": clean_text(session_id)}).fetchone()
    if row is not None and connection.token is not None and row[0] != connection.token:
        raise refusal(connection, session_id)


def refusal(connection: Connection, session_id: str) -> NotFoundError | SessionBusyError:
    """Return the error for a session that was deleted, or whose lock another turn has."""
    row = connection.execute(_FIND_BY_ID, {"it": clean_text(session_id)}).fetchone()
    if row is None or connection.token is None:
        return _gone(session_id)
    found = _to_session(row)
    return SessionBusyError(
        f"session {found.name or found.id!r} went to another turn while this one had lost its connection to the "
        "database, so this one stores nothing more: see in `oneclaw sessions show` what was done, and send the message "
        "again if it was not answered"
    )


def set_title(connection: Connection, session_id: str, title: str | None) -> None:
    """Set the title of a session.

    Raises:
        NotFoundError: there is no session of that id.
    """
    connection.search_index.forget_title(clean_text(session_id))
    parameters = {"it": clean_text(session_id), "moment": now(), "title": title and clean_text(title)}
    if connection.execute(_SET_TITLE, parameters).rowcount == 0:
        raise _gone(session_id)


def _gone(session_id: str) -> NotFoundError:
    return NotFoundError(
        f"there is no session {clean_text(session_id)} (any more): `oneclaw sessions list` shows those there are"
    )


def _clean_name(name: str | None) -> str | None:
    if name is None:
        return None
    cleaned = clean_text(name)
    if not cleaned.strip():
        raise UsageError("a session's name must not be empty: give it a name, or none at all")
    if _CONTROL.search(cleaned):
        raise UsageError(
            f"a session's name must hold no line ends or other control characters, as {cleaned[:100]!a} does: "
            "give it another name"
        )
    return cleaned


def _to_session(row: Sequence[Any]) -> Session:
    session_id, name, title, agent, model, created_at, updated_at, parent_id = row
    try:
        return Session(
            id=session_id,
            name=name,
            title=title,
            agent=agent,
            model=model,
            created_at=to_datetime(created_at),
            updated_at=to_datetime(updated_at),
            parent_id=parent_id,
        )
    except (TypeError, OverflowError) as error:
        raise StoreDamagedError(
            f"the database holds a damaged session ({session_id}): put a backup copy in its place"
        ) from error
