"""Finding messages and sessions by their words, with SQLite's FTS5.

PostgreSQL has statements and an index of its own, see :mod:`oneclaw_core.store.search_postgres`.

The index holds terms and row numbers, nothing else: what is found is read from the messages and ranked outside the
database. That is what keeps a search fast where a word is in half a million messages: only the newest that match are
looked at.

Messages are indexed in batches, the last message of each taking the others along, and by each search what is new. So a
turn pays next to nothing, the index stays in few pieces, and nothing is ever missing: how far it reaches is written in
the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from oneclaw_core.search.ranking import Passage, Source
from oneclaw_core.search.words import index_terms
from oneclaw_core.store import search_postgres
from oneclaw_core.store.search_statements import CHARACTERS_READ, INDEXED_CHARACTERS, SearchStatements
from oneclaw_core.store.timestamps import to_datetime
from oneclaw_core.store.write_locks import runs_several

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection

    from oneclaw_core.search.query import Query

MESSAGES_PER_BATCH = 256

_PAGE = 1_000
_CANDIDATES = 400
_LOOSE_CANDIDATES = 80
_SESSION_CANDIDATES = 100
_SAMPLE = 200
_RAREST_UNITS = 4
# A pair of words is looked for only if one of them is in so few messages that this is quick.
_RARE_MESSAGES = 20_000
# Numbers follow time, but clocks are set.
_CLOCK_ERROR_MICROSECONDS = 86_400 * 1_000_000
# The year 10000: what is later is no moment that could be shown.
_END_OF_TIME = 253_402_300_800_000_000

# Terms come one by one with spaces between them, which the tokenizer "ascii" leaves as they are. These texts are on
# users' disks: a change needs a migration.
_TABLES = tuple(
    f"CREATE VIRTUAL TABLE {name} USING fts5(terms, content='', detail=none, columnsize=0, tokenize='ascii')"
    for name in ("message_search", "session_search")
)
_ADD_MESSAGE = "INSERT INTO message_search (rowid, terms) VALUES (?, ?)"
_REMOVE_MESSAGE = "INSERT INTO message_search (message_search, rowid, terms) VALUES ('delete', ?, ?)"
_ADD_SESSION = "INSERT INTO session_search (rowid, terms) VALUES (?, ?)"
_REMOVE_SESSION = "INSERT INTO session_search (session_search, rowid, terms) VALUES ('delete', ?, ?)"
_STATE = "SELECT indexed_until FROM search_state"
_IS_CURRENT = """
    SELECT coalesce((SELECT max(sequence) FROM messages), 0) <= indexed_until
           AND NOT EXISTS (SELECT 1 FROM sessions WHERE search_number IS NULL)
    FROM search_state"""
_NEW_MESSAGES = """
    SELECT sequence, type, substr(content, 1, ?) FROM messages WHERE sequence > ? ORDER BY sequence LIMIT ?"""
_NEW_SESSIONS = "SELECT id, name, title FROM sessions WHERE search_number IS NULL"
_LAST_NUMBER = "SELECT coalesce(max(search_number), 0) FROM sessions"
_NUMBER_SESSION = "UPDATE sessions SET search_number = ? WHERE id = ?"
_INDEXED_SESSIONS = """
    WITH RECURSIVE family (id) AS (
        SELECT ? UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent_id = family.id
    )
    SELECT search_number, name, title FROM sessions WHERE id IN family AND search_number IS NOT NULL"""
_INDEXED_MESSAGES = """
    WITH RECURSIVE family (id) AS (
        SELECT ? UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent_id = family.id
    )
    SELECT sequence, type, substr(content, 1, ?) FROM messages
    WHERE session_id IN family AND sequence > ? AND sequence <= (SELECT indexed_until FROM search_state)
    ORDER BY sequence LIMIT ?"""


def _all_of(terms: Iterable[str]) -> str:
    return " AND ".join(map(_quoted, dict.fromkeys(terms)))


def _any_of(terms: Iterable[str]) -> str:
    return " OR ".join(map(_quoted, dict.fromkeys(terms)))


def _quoted(term: str) -> str:
    """A term as FTS5 takes it for nothing but a term."""
    return '"' + term.replace('"', '""') + '"'


_SQLITE = SearchStatements(
    newest=_STATE,
    nth_newest="""
    SELECT rowid FROM message_search WHERE message_search MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?""",
    count="SELECT count(*) FROM message_search WHERE message_search MATCH ?",
    find_messages="""
    SELECT m.sequence, m.type, substr(m.content, 1, ?), m.created_at, s.id, s.name, s.title
    FROM message_search AS f
    CROSS JOIN messages AS m ON m.sequence = f.rowid
    CROSS JOIN sessions AS s ON s.id = m.session_id
    WHERE f.message_search MATCH ? AND f.rowid >= ? AND f.rowid <= ? AND m.created_at >= ? AND m.created_at < ?
    ORDER BY f.rowid DESC LIMIT ?""",
    find_sessions="""
    SELECT s.id, s.name, s.title, s.created_at
    FROM session_search AS f
    CROSS JOIN sessions AS s ON s.search_number = f.rowid
    WHERE f.session_search MATCH ? AND s.created_at >= ? AND s.created_at < ?
    ORDER BY f.rowid DESC LIMIT ?""",
    turn_start="SELECT sequence FROM messages WHERE session_id = ? AND type = 'user' ORDER BY sequence DESC LIMIT 1",
    moment_at="SELECT sequence, created_at FROM messages WHERE sequence >= ? ORDER BY sequence LIMIT 1",
    all_of=_all_of,
    any_of=_any_of,
)


@dataclass(frozen=True, slots=True)
class SearchRange:
    """Where to look.

    Attributes:
        since: from this moment on, as it is stored; ``None`` for no limit.
        until: before this moment.
        asking_sessions: whose turn under way, and whose title, are not to be found.
    """

    since: int | None = None
    until: int | None = None
    asking_sessions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Found:
    """What a search looks at more closely.

    Attributes:
        passages: messages and titles that may fit.
        frequencies: by unit of the query, the share of all messages that have it, estimated.
    """

    passages: tuple[Passage, ...]
    frequencies: tuple[float, ...]


def create_tables(connection: Connection) -> None:
    """Make an empty index."""
    if runs_several(connection):
        search_postgres.create_tables(connection)
        return
    for statement in _TABLES:
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql("INSERT INTO search_state (indexed_until) VALUES (0)")


def is_current(connection: Connection) -> bool:
    """Whether the index has all messages and sessions."""
    if runs_several(connection):
        return search_postgres.is_current(connection)
    return bool(connection.exec_driver_sql(_IS_CURRENT).scalar_one())


def index_new(connection: Connection) -> None:
    """Take what is new into the index."""
    if runs_several(connection):
        search_postgres.index_new(connection)
        return
    until = start = connection.exec_driver_sql(_STATE).scalar_one()
    while rows := connection.exec_driver_sql(_NEW_MESSAGES, (INDEXED_CHARACTERS, until, _PAGE)).all():
        _execute(connection, _ADD_MESSAGE, _message_entries(rows))
        until = rows[-1][0]
    if until != start:
        connection.exec_driver_sql("UPDATE search_state SET indexed_until = ?", (until,))
    last_number = connection.exec_driver_sql(_LAST_NUMBER).scalar_one()
    new_sessions = connection.exec_driver_sql(_NEW_SESSIONS).all()
    for number, (session_id, name, title) in enumerate(new_sessions, last_number + 1):
        connection.exec_driver_sql(_NUMBER_SESSION, (number, session_id))
        _execute(connection, _ADD_SESSION, [(number, _terms(_heading(name, title)))])


def index_batch(connection: Connection, sequence: int) -> None:
    """Take what is new into the index if a batch is full.

    Args:
        connection: the transaction.
        sequence: the number of the message that was just stored.
    """
    if sequence % MESSAGES_PER_BATCH != 0:
        return
    if runs_several(connection):
        search_postgres.index_messages_if_idle(connection)
    else:
        index_new(connection)


def forget_session(connection: Connection, session_id: str) -> None:
    """Take a session, and those begun in it, out of the index; they are still there."""
    if runs_several(connection):
        return  # the database does that by itself
    after = 0
    while rows := connection.exec_driver_sql(_INDEXED_MESSAGES, (session_id, INDEXED_CHARACTERS, after, _PAGE)).all():
        _execute(connection, _REMOVE_MESSAGE, _message_entries(rows))
        after = rows[-1][0]
    entries = connection.exec_driver_sql(_INDEXED_SESSIONS, (session_id,)).all()
    _execute(connection, _REMOVE_SESSION, [(number, _terms(_heading(name, title))) for number, name, title in entries])


def forget_title(connection: Connection, session_id: str) -> None:
    """Take a session's title out of the index, before it changes; the next search takes the new one in."""
    if runs_several(connection):
        search_postgres.forget_title(connection, session_id)
        return
    row = connection.exec_driver_sql(
        "SELECT search_number, name, title FROM sessions WHERE id = ? AND search_number IS NOT NULL", (session_id,)
    ).one_or_none()
    if row is not None:
        number, name, title = row
        _execute(connection, _REMOVE_SESSION, [(number, _terms(_heading(name, title)))])
        connection.exec_driver_sql("UPDATE sessions SET search_number = NULL WHERE id = ?", (session_id,))


def find(connection: Connection, query: Query, where: SearchRange, *, wants_all: bool) -> Found:
    """Find what may fit a query; how well it does is for :func:`oneclaw_core.search.ranking.rank` to say.

    Args:
        connection: the transaction.
        query: not an empty one.
        where: in what part of what is stored.
        wants_all: look for what has all units of the query, else for what has some.
    """
    sql = search_postgres.STATEMENTS if runs_several(connection) else _SQLITE
    if sql.settings is not None:
        connection.exec_driver_sql(sql.settings)
    newest = connection.exec_driver_sql(sql.newest).scalar_one()
    frequencies = tuple(_share(connection, sql, unit.terms, newest) for unit in query.units)
    if wants_all:
        searches = [(sql.all_of(term for unit in query.units for term in unit.terms), _CANDIDATES)]
    else:
        searches = [(each, _LOOSE_CANDIDATES) for each in _loose_searches(sql, query, frequencies, newest)]
    limits = _limits(connection, sql, where, newest)
    turns = {each: _turn_start(connection, sql, each) for each in where.asking_sessions}
    passages: dict[int, Passage] = {}
    for expression, limit in searches:
        for passage in _messages(connection, sql, expression, (*limits, limit), turns):
            passages.setdefault(passage.sequence or 0, passage)
    return Found((*passages.values(), *_sessions(connection, sql, query, where, wants_all=wants_all)), frequencies)


def _loose_searches(sql: SearchStatements, query: Query, frequencies: Sequence[float], newest: int) -> list[str]:
    """Look for each unit, and for each two of the rarest: what has both may be older than the newest of each."""
    by_rarity = sorted(zip(frequencies, query.units, strict=True), key=lambda each: each[0])
    searches = [
        sql.all_of((*unit.terms, *other.terms))
        for (share, unit), (_, other) in combinations(by_rarity[:_RAREST_UNITS], 2)
        if share * newest <= _RARE_MESSAGES
    ]
    return searches + [sql.all_of(unit.terms) for _, unit in by_rarity]


def _messages(
    connection: Connection, sql: SearchStatements, expression: str, limits: tuple[Any, ...], turns: Mapping[str, int]
) -> list[Passage]:
    """Find messages.

    Args:
        connection: the transaction.
        sql: the database's statements.
        expression: made by them.
        limits: see :class:`~oneclaw_core.store.search_statements.SearchStatements`.
        turns: by session, the number from which on its messages are not to be found.
    """
    found: list[Passage] = []
    characters = 0
    rows = connection.exec_driver_sql(sql.find_messages, (INDEXED_CHARACTERS, expression, *limits))
    for sequence, role, content, created_at, session_id, name, title in rows:
        if sequence >= turns.get(session_id, _END_OF_TIME):
            continue
        characters += len(content)
        if found and characters > CHARACTERS_READ:
            break
        found.append(
            Passage(
                source=Source.MESSAGE,
                text=content,
                moment=to_datetime(created_at),
                role=role,
                sequence=sequence,
                session_id=session_id,
                session_name=name,
                session_title=title,
            )
        )
    rows.close()
    return found


def _sessions(
    connection: Connection, sql: SearchStatements, query: Query, where: SearchRange, *, wants_all: bool
) -> list[Passage]:
    terms = [term for unit in query.units for term in unit.terms]
    expression = sql.all_of(terms) if wants_all else sql.any_of(terms)
    rows = connection.exec_driver_sql(
        sql.find_sessions,
        (
            expression,
            where.since or 0,
            _END_OF_TIME if where.until is None else where.until,
            _SESSION_CANDIDATES,
        ),
    )
    return [
        Passage(
            source=Source.SESSION,
            text=_heading(name, title),
            moment=to_datetime(created_at),
            session_id=session_id,
            session_name=name,
            session_title=title,
        )
        for session_id, name, title, created_at in rows
        if session_id not in where.asking_sessions
    ]


def _limits(connection: Connection, sql: SearchStatements, where: SearchRange, newest: int) -> tuple[Any, ...]:
    """What stands for a range in the statement that finds messages."""
    first, last = 1, newest
    if where.since is not None:
        first = _first_since(connection, sql, where.since - _CLOCK_ERROR_MICROSECONDS, newest)
    if where.until is not None:
        last = min(_first_since(connection, sql, where.until + _CLOCK_ERROR_MICROSECONDS, newest), newest)
    return first, last, where.since or 0, _END_OF_TIME if where.until is None else where.until


def _turn_start(connection: Connection, sql: SearchStatements, session_id: str) -> int:
    """The number of the message that began a session's last turn."""
    return int(connection.exec_driver_sql(sql.turn_start, (session_id,)).scalar_one_or_none() or _END_OF_TIME)


def _first_since(connection: Connection, sql: SearchStatements, moment: int, newest: int) -> int:
    """Find the number of the first message since a moment by halving, as if no clock had ever been set."""
    low, high = 1, newest + 1
    while low < high:
        middle = (low + high) // 2
        row = connection.exec_driver_sql(sql.moment_at, (middle,)).one_or_none()
        if row is None or row[1] >= moment:
            high = middle
        else:
            low = row[0] + 1
    return low


def _share(connection: Connection, sql: SearchStatements, terms: Iterable[str], newest: int) -> float:
    """Estimate what share of the messages have some terms, by that of the rarest among the newest messages."""
    return min(_share_of_term(connection, sql, sql.all_of([term]), newest) for term in terms)


def _share_of_term(connection: Connection, sql: SearchStatements, expression: str, newest: int) -> float:
    nth = connection.exec_driver_sql(sql.nth_newest, (expression, _SAMPLE - 1)).scalar_one_or_none()
    if nth is not None:
        return float(min(1.0, _SAMPLE / (newest - nth + 1)))
    return int(connection.exec_driver_sql(sql.count, (expression,)).scalar_one()) / max(newest, 1)


def _message_entries(rows: Iterable[Any]) -> list[tuple[int, str]]:
    entries = (
        (sequence, _terms(content)) for sequence, type_, content in rows if type_ in ("user", "assistant") and content
    )
    return [entry for entry in entries if entry[1]]


def _heading(name: str | None, title: str | None) -> str:
    return ": ".join(each for each in (name, title) if each)


def _terms(text: str) -> str:
    return " ".join(index_terms(text))


def _execute(connection: Connection, statement: str, entries: Sequence[tuple[int, str]]) -> None:
    if entries:
        connection.exec_driver_sql(statement, list(entries))
