"""The full-text index in SQLite, with FTS5.

The index holds only terms and row numbers. Messages are indexed in batches, by the last message of each batch, and
before each search. So a turn costs little, and the index stays compact. The same transaction stores how far the index
reaches, so that no message is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.sessions.backend import SearchIndex, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE = 1_000

# Terms are separated by spaces, and the tokenizer "ascii" does not change them. Users' databases hold these statements:
# a change needs a migration.
_TABLES = tuple(
    f"CREATE VIRTUAL TABLE {name} USING fts5(terms, content='', detail=none, columnsize=0, tokenize='ascii')"
    for name in ("message_search", "session_search")
)
_ADD_MESSAGE = "INSERT INTO message_search (rowid, terms) VALUES (:number, :terms)"
_REMOVE_MESSAGE = "INSERT INTO message_search (message_search, rowid, terms) VALUES ('delete', :number, :terms)"
_ADD_SESSION = "INSERT INTO session_search (rowid, terms) VALUES (:number, :terms)"
_REMOVE_SESSION = "INSERT INTO session_search (session_search, rowid, terms) VALUES ('delete', :number, :terms)"
_STATE = "SELECT indexed_until FROM search_state"
_IS_CURRENT = """
    SELECT coalesce((SELECT max(sequence) FROM messages), 0) <= indexed_until
           AND NOT EXISTS (SELECT 1 FROM sessions WHERE search_number IS NULL)
    FROM search_state"""
_NEW_MESSAGES = """
    SELECT sequence, type, substr(content, 1, :characters) FROM messages
    WHERE sequence > :after ORDER BY sequence LIMIT :page"""
_NEW_SESSIONS = "SELECT id, name, title FROM sessions WHERE search_number IS NULL"
_NUMBER_SESSION = "UPDATE sessions SET search_number = :number WHERE id = :session"
_FAMILY = """
    WITH RECURSIVE family (id) AS (
        SELECT :session UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent_id = family.id
    )"""
_INDEXED_SESSIONS = f"""{_FAMILY}
    SELECT search_number, name, title FROM sessions WHERE id IN family AND search_number IS NOT NULL"""
_INDEXED_HEADING = """
    SELECT search_number, name, title FROM sessions WHERE id = :session AND search_number IS NOT NULL"""
_INDEXED_MESSAGES = f"""{_FAMILY}
    SELECT sequence, type, substr(content, 1, :characters) FROM messages
    WHERE session_id IN family AND sequence > :after AND sequence <= (SELECT indexed_until FROM search_state)
    ORDER BY sequence LIMIT :page"""


class SqliteSearchIndex(SearchIndex):
    """The index in a SQLite file."""

    newest = _STATE
    nth_newest = """
        SELECT rowid FROM message_search WHERE message_search MATCH :expression
        ORDER BY rowid DESC LIMIT 1 OFFSET :skipped"""
    count = "SELECT count(*) FROM message_search WHERE message_search MATCH :expression"
    find_messages = """
        SELECT m.sequence, m.type, substr(m.content, 1, :characters), m.created_at, s.id, s.name, s.title
        FROM message_search AS f
        CROSS JOIN messages AS m ON m.sequence = f.rowid
        CROSS JOIN sessions AS s ON s.id = m.session_id
        WHERE f.message_search MATCH :expression
              AND m.created_at >= :since AND m.created_at < :until AND s.ended_from IS NULL
        ORDER BY f.rowid DESC LIMIT :limit"""
    find_sessions = """
        SELECT s.id, s.name, s.title, s.created_at
        FROM session_search AS f
        CROSS JOIN sessions AS s ON s.search_number = f.rowid
        WHERE f.session_search MATCH :expression AND s.created_at >= :since AND s.created_at < :until
        ORDER BY f.rowid DESC LIMIT :limit"""

    def create_tables(self) -> None:
        """See :class:`~oneclaw_core.sessions.backend.SearchIndex`."""
        for statement in _TABLES:
            self.connection.execute(statement)
        self.connection.execute("INSERT INTO search_state (indexed_until) VALUES (0)")

    def is_current(self) -> bool:
        """See :class:`~oneclaw_core.sessions.backend.SearchIndex`."""
        return bool(value_of(self.connection.execute(_IS_CURRENT)))

    def index_new(self) -> None:
        """See :class:`~oneclaw_core.sessions.backend.SearchIndex`."""
        until = start = value_of(self.connection.execute(_STATE))
        while rows := self._page(_NEW_MESSAGES, {"after": until}):
            self.connection.execute_many(_ADD_MESSAGE, _message_entries(rows))
            until = rows[-1][0]
        if until != start:
            self.connection.execute("UPDATE search_state SET indexed_until = :until", {"until": until})
        last_number = value_of(self.connection.execute("SELECT coalesce(max(search_number), 0) FROM sessions"))
        new_sessions = self.connection.execute(_NEW_SESSIONS).fetchall()
        for number, (session_id, name, title) in enumerate(new_sessions, last_number + 1):
            self.connection.execute(_NUMBER_SESSION, {"number": number, "session": session_id})
            self.connection.execute(_ADD_SESSION, _session_entry(number, name, title))

    def index_batch(self) -> None:
        """Index new messages and sessions."""
        self.index_new()

    def forget_session(self, session_id: str) -> None:
        """See :class:`~oneclaw_core.sessions.backend.SearchIndex`."""
        after = 0
        while rows := self._page(_INDEXED_MESSAGES, {"session": session_id, "after": after}):
            self.connection.execute_many(_REMOVE_MESSAGE, _message_entries(rows))
            after = rows[-1][0]
        sessions = self.connection.execute(_INDEXED_SESSIONS, {"session": session_id}).fetchall()
        self.connection.execute_many(_REMOVE_SESSION, [_session_entry(*each) for each in sessions])

    def forget_heading(self, session_id: str) -> None:
        """See :class:`~oneclaw_core.sessions.backend.SearchIndex`."""
        rows = self.connection.execute(_INDEXED_HEADING, {"session": session_id}).fetchall()
        self.connection.execute_many(_REMOVE_SESSION, [_session_entry(*each) for each in rows])

    def all_of(self, terms: Iterable[str]) -> str:
        """See :class:`~oneclaw_core.sessions.backend.SearchIndex`."""
        return " AND ".join(map(_quoted, dict.fromkeys(terms)))

    def any_of(self, terms: Iterable[str]) -> str:
        """See :class:`~oneclaw_core.sessions.backend.SearchIndex`."""
        return " OR ".join(map(_quoted, dict.fromkeys(terms)))

    def prepare_search(self) -> None:
        """Do nothing: SQLite needs no configuration."""

    def _page(self, sql: str, parameters: dict[str, Any]) -> list[Any]:
        limits = {"characters": self.INDEXED_CHARACTERS, "page": _PAGE}
        return self.connection.execute(sql, limits | parameters).fetchall()


def _quoted(term: str) -> str:
    """Quote a term for FTS5."""
    return '"' + term.replace('"', '""') + '"'


def _message_entries(rows: Iterable[Any]) -> list[dict[str, Any]]:
    entries = (
        {"number": sequence, "terms": _terms(content)}
        for sequence, type_, content in rows
        if type_ in ("user", "assistant") and content
    )
    return [entry for entry in entries if entry["terms"]]


def _session_entry(number: int, name: str | None, title: str | None) -> dict[str, Any]:
    return {"number": number, "terms": _terms(SearchIndex.heading(name, title))}


def _terms(text: str) -> str:
    return " ".join(SearchIndex.terms(text))
