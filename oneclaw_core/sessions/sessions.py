"""Sessions: create, find, list and delete them, and keep what belongs to each.

A summary replaces the oldest part of a history in requests; the stored history stays complete.

The sections that memory and plugins add to the system prompt are kept with the session. They stay the same, so that
each request has the prefix of the one before and hits the service's prompt cache. They are renewed when the cache is
lost anyway: after an hour without a request, or with a new summary. Their column is called ``memory``.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Required, TypedDict

from oneclaw_core.contract.arguments import SessionInfo
from oneclaw_core.errors import ConstraintError, NotFoundError, SessionBusyError, StoreError, UsageError
from oneclaw_core.sessions.backend import ENDLESS, Connection, damaged_value, insertion, now, to_datetime
from oneclaw_core.sessions.locks import update_own
from oneclaw_core.sessions.schema import IS_CALL, IS_PENDING_CALL, IS_RESULT
from oneclaw_core.types.text import DIRECTION_MARKS, LINE_SEPARATORS, clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    from typing_extensions import Unpack


_ID = re.compile(r"[0-9a-f]{32}")
_ID_PREFIX = re.compile(r"[0-9a-f]{6,31}")
# C0, C1, line ends and what turns the direction of text: a name is typed again, and shown in lists.
_CONTROL = re.compile(f"[\x00-\x1f\x7f-\x9f{LINE_SEPARATORS}{DIRECTION_MARKS}]")
_LAST_TEXT_CHARACTERS = 200
_REST_MICROSECONDS = 3_600 * 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(SessionInfo):
    """A stored conversation; its moments are known."""

    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class KeptSections:
    """The part of a system prompt that is kept with a session.

    Attributes:
        text: the sections of plugins.
        lists: the lists of skills, tool groups and tools, as JSON; ``None`` for those of now.
    """

    text: str
    lists: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary(Session):
    """A session as a listing shows it.

    Attributes:
        message_count: how many entries its history has.
        last_text: the beginning of what the user or the model said last, ``""`` if nothing.
    """

    message_count: int
    last_text: str


_COLUMNS = ("id", "name", "title", "agent", "model", "created_at", "updated_at", "parent_id", "directory")
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM sessions"
_FIND_BY_NAME = f"{_SELECT} WHERE name = :it"
_FIND_BY_ID = f"{_SELECT} WHERE id = :it AND ended_from IS NULL"
_FIND_BY_PREFIX = f"{_SELECT} WHERE id >= :first AND id < :end AND ended_from IS NULL LIMIT 2"
_LIST = f"""
    SELECT {", ".join(_COLUMNS)},
        (SELECT count(*) FROM messages WHERE session_id = sessions.id),
        (SELECT substr(content, 1, {_LAST_TEXT_CHARACTERS}) FROM messages
         WHERE session_id = sessions.id AND type IN ('user', 'assistant') AND content <> ''
         ORDER BY sequence DESC LIMIT 1)
    FROM sessions WHERE ended_from IS NULL ORDER BY updated_at DESC, id DESC LIMIT :limit"""
_LAST_USED = f"""
    {_SELECT} WHERE parent_id IS NULL
    ORDER BY CASE WHEN directory = :directory THEN 0 ELSE 1 END, updated_at DESC, id DESC LIMIT 1"""
_WRITTEN = (*_COLUMNS, "memory", "prompt_lists", "lock_token")
_INSERT = insertion("sessions", _WRITTEN)
_RENAME = "UPDATE sessions SET name = :name, search_number = NULL WHERE id = :it"
_TOUCH = "UPDATE sessions SET updated_at = :moment WHERE id = :it"
_HOLD = "SELECT lock_token FROM sessions WHERE id = :it"
_GET_SECTIONS = "SELECT memory, prompt_lists, updated_at FROM sessions WHERE id = :it"
_SET_SECTIONS = "UPDATE sessions SET memory = :sections, prompt_lists = :lists WHERE id = :it"
_GET_SUMMARY = "SELECT summary, summary_until, marks FROM sessions WHERE id = :session"
_SET_SUMMARY = "UPDATE sessions SET summary = :text, summary_until = :until WHERE id = :session"
_OF_SESSION = "SELECT sequence FROM messages WHERE session_id = :session"
_IS_THERE = f"{_OF_SESSION} AND sequence = :until"
_OPEN_CALL = f"{_OF_SESSION} AND {IS_PENDING_CALL} AND sequence <= :until"
_PARTED_CALL = f"""
    {_OF_SESSION} AND {IS_RESULT} AND sequence >= :first AND tool_call_id IN (
        SELECT tool_call_id FROM messages WHERE session_id = :session AND {IS_CALL} AND sequence < :first
    )"""


def check_id(text: str) -> None:
    """Reject a text that does not have the form of a session's id.

    Raises:
        NotFoundError: it does not.
    """
    if _ID.fullmatch(text) is None:
        raise NotFoundError(f"{text!r} is not a session's id: find the session first")


def new_id() -> str:
    """Return an id for a new session."""
    return uuid.uuid4().hex


class NewSession(TypedDict, total=False):
    """Values that a session begins with.

    Attributes:
        agent: its name; always given.
        model: as ``PROVIDER/MODEL``; ``None`` for the default.
        title: describes the session in a few words.
        parent_id: the session whose tool call creates this one.
        directory: the start directory of the program; ``None`` for none.
    """

    agent: Required[str]
    model: str | None
    title: str | None
    parent_id: str | None
    directory: str | None


def create(
    connection: Connection,
    name: str | None = None,
    *,
    session_id: str | None = None,
    prompt_sections: str | None = None,
    prompt_lists: str | None = None,
    **about: Unpack[NewSession],
) -> Session:
    """Create a session.

    Args:
        name: unique; ``None`` for none.
        session_id: from :func:`new_id`; ``None`` for a new one.
        prompt_sections: the sections of the system prompt to keep with it.
        prompt_lists: the lists of skills, tool groups and tools to keep with it, as JSON.
        about: see :class:`NewSession`.

    Raises:
        UsageError: the name is taken or empty, or holds control characters.
        NotFoundError: there is no session ``parent_id``.
    """
    moment, parent_id = now(), about.get("parent_id")
    given = {key: text and clean_text(str(text)) for key, text in about.items()}
    row = {
        **dict.fromkeys(_COLUMNS),
        **given,
        "id": session_id or new_id(),
        "name": _clean_name(name),
        "created_at": moment,
        "updated_at": moment,
    }
    kept = {"memory": prompt_sections, "prompt_lists": prompt_lists, "lock_token": connection.token}
    try:
        connection.execute(_INSERT, row | kept)
    except ConstraintError as error:
        if parent_id is not None and error.lacks_parent:
            raise _gone(parent_id) from None
        raise UsageError(f"there is a session named {name!r} already: continue it, or choose another name") from None
    return Session(**_values(tuple(row.values())))


def find_or_create(connection: Connection, name: str, **about: Unpack[NewSession]) -> Session:
    """Find a session by name or id, else create one of that name; concurrent processes get the same one.

    Raises:
        UsageError: the name is empty or holds control characters, and there is no session of that name.
    """
    # Of two processes, the second finds what the first has begun.
    connection.lock("session names")
    return find(connection, name) or create(connection, name, **about)


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
    return None if row is None else Session(**_values(row))


def last_used(connection: Connection, directory: str | None = None) -> Session | None:
    """Find the session that was used last and is not a part of another one.

    Args:
        directory: a session that was begun there goes before others; ``None`` for any.
    """
    row = connection.execute(_LAST_USED, {"directory": clean_text(directory or "")}).fetchone()
    return None if row is None else Session(**_values(row))


def summaries(connection: Connection, limit: int | None = None) -> list[SessionSummary]:
    """List sessions, the last used first."""
    rows = connection.execute(_LIST, {"limit": ENDLESS if limit is None else limit})
    return [
        SessionSummary(**_values(of_session), message_count=message_count, last_text=last_text or "")
        for *of_session, message_count, last_text in rows
    ]


def rename(connection: Connection, session_id: str, name: str) -> None:
    """Give a session another name.

    Raises:
        UsageError: the name is taken or empty, or holds control characters.
    """
    connection.lock("session names")
    cleaned = _clean_name(name)
    connection.search_index.forget_heading(clean_text(session_id))
    try:
        connection.execute(_RENAME, {"it": clean_text(session_id), "name": cleaned})
    except ConstraintError:
        raise UsageError(f"there is a session named {name!r} already: choose another name") from None


def remove(connection: Connection, session_id: str) -> bool:
    """Delete a session with its messages; return True if it existed. Its usage stays counted.

    Raises:
        SessionBusyError: it is another turn's by now.
    """
    hold(connection, session_id)
    connection.search_index.forget_session(clean_text(session_id))
    return connection.execute("DELETE FROM sessions WHERE id = :it", {"it": clean_text(session_id)}).rowcount > 0


def touch(connection: Connection, session_id: str, moment: int | None = None) -> None:
    """Mark a session as used, at a moment as it is stored; ``None`` for now.

    Raises:
        NotFoundError: there is no session of that id.
        SessionBusyError: it is another turn's by now.
    """
    if update_own(connection, _TOUCH, {"it": clean_text(session_id), "moment": moment or now()}) == 0:
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
    found = Session(**_values(row))
    return SessionBusyError(
        f"session {found.name or found.id!r} went to another turn while this one had lost its connection to the "
        "database, so this one stores nothing more: see in `oneclaw sessions show` what was done, and send the message "
        "again if it was not answered"
    )


def kept_sections(connection: Connection, session_id: str) -> KeptSections | None:
    """Return the sections of the system prompt kept with a session, ``None`` if they are to be renewed."""
    row = connection.execute(_GET_SECTIONS, {"it": clean_text(session_id)}).fetchone()
    if row is None or row[0] is None or now() - row[2] > _REST_MICROSECONDS:
        return None
    return KeptSections(row[0], row[1])


def keep_sections(connection: Connection, session_id: str, sections: str, lists: str | None = None) -> None:
    """Store the sections of the system prompt to keep with a session.

    Raises:
        SessionBusyError: it is another turn's by now.
    """
    kept = {"sections": clean_text(sections), "lists": lists and clean_text(lists)}
    changed = update_own(connection, _SET_SECTIONS, {"it": clean_text(session_id), **kept})
    if changed == 0 and connection.token is not None:
        raise refusal(connection, session_id)


def read_summary(connection: Connection, session_id: str) -> tuple[str | None, int | None, str | None]:
    """Read a session's summary, the number of the last message that it stands for, and the session's marks.

    Each is ``None`` where there is none; the marks are text, see :mod:`oneclaw_core.types.provenance`.
    """
    row = connection.execute(_GET_SUMMARY, {"session": clean_text(session_id)}).fetchone()
    text, until, marks = row or (None, None, None)
    return (None, None, marks) if text is None or until is None else (text, until, marks)


def set_summary(connection: Connection, session_id: str, text: str, until: int) -> None:
    """Replace the oldest part of a history by a summary in later turns.

    Args:
        text: the summary of that part, including the part of an earlier summary.
        until: the ``sequence`` of the part's last message.

    Raises:
        NotFoundError: there is no session of that id.
        StoreError: the session has no such message, or the part would separate a call from its result.
    """
    touch(connection, session_id)
    place = {"session": clean_text(session_id), "until": until}
    if connection.execute(_IS_THERE, place).fetchone() is None:
        raise StoreError(f"the session has no message {until} at which a summary could end")
    is_open = connection.execute(_OPEN_CALL, place).fetchone() is not None
    if is_open or has_parted_call(connection, session_id, until + 1):
        raise StoreError(f"a summary until message {until} would part a tool call from its result")
    connection.execute(_SET_SUMMARY, place | {"text": clean_text(text)})


def has_parted_call(connection: Connection, session_id: str, first: int) -> bool:
    """Return True if the result of a call before a message stands behind the beginning of that message."""
    place = {"session": clean_text(session_id), "first": first}
    return connection.execute(_PARTED_CALL, place).fetchone() is not None


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


def _values(row: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of a session from its row."""
    values = dict(zip(_COLUMNS, row, strict=True))
    try:
        return values | {each: to_datetime(values[each]) for each in ("created_at", "updated_at")}
    except (TypeError, OverflowError) as error:
        raise damaged_value(f"session ({values['id']})") from error
