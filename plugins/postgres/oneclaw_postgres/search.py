"""The full-text index in PostgreSQL: tables of ``tsvector`` with the same terms as the index in SQLite.

A trigger queues each message to be indexed. Unlike in SQLite, a message with a lower number may be committed after one
with a higher number, so that no number can say how far the index reaches. Foreign keys delete entries of the index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.sessions import SearchIndex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_postgres.connection import PostgresConnection

_PAGE = 1_000
_MANY_PAGES = 5
# A tsvector holds less than a megabyte of text, and terms of less than 2 kB.
_TERM_BYTES = 2_000
_MOST_TERM_BYTES = 900_000

_TOPIC = "search index"

# Users' databases hold these statements: a change needs a migration.
_TABLES = (
    """CREATE TABLE message_search (
        sequence BIGINT PRIMARY KEY REFERENCES messages (sequence) ON DELETE CASCADE,
        terms TSVECTOR NOT NULL
    )""",
    # Many messages are indexed at once, and each search would scan the pending list.
    "CREATE INDEX message_search_terms ON message_search USING gin (terms) WITH (fastupdate = off)",
    """CREATE TABLE session_search (
        session_id TEXT COLLATE "C" PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
        terms TSVECTOR NOT NULL
    )""",
    "CREATE INDEX session_search_terms ON session_search USING gin (terms)",
    """CREATE TABLE search_queue (
        sequence BIGINT PRIMARY KEY REFERENCES messages (sequence) ON DELETE CASCADE
    )""",
    """CREATE FUNCTION queue_for_search() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO search_queue (sequence) VALUES (NEW.sequence); RETURN NULL; END $$""",
    """CREATE TRIGGER queue_for_search AFTER INSERT ON messages
    FOR EACH ROW WHEN (NEW.type IN ('user', 'assistant') AND NEW.content <> '')
    EXECUTE FUNCTION queue_for_search()""",
)
_IS_CURRENT = """
    SELECT NOT EXISTS (SELECT 1 FROM search_queue)
           AND NOT EXISTS (SELECT 1 FROM sessions WHERE search_number IS NULL)"""
# Locked against deletion while they are indexed; messages that are being deleted are skipped.
_NEW_MESSAGES = """
    SELECT m.sequence, substr(m.content, 1, :characters)
    FROM search_queue AS q JOIN messages AS m ON m.sequence = q.sequence
    ORDER BY m.sequence LIMIT :page FOR KEY SHARE OF m SKIP LOCKED"""
_ADD_MESSAGE = "INSERT INTO message_search (sequence, terms) VALUES (:sequence, array_to_tsvector(:terms::text[]))"
_DONE = "DELETE FROM search_queue WHERE sequence = ANY(:sequences)"
_NEW_SESSIONS = """
    SELECT id, name, title FROM sessions WHERE search_number IS NULL ORDER BY id FOR NO KEY UPDATE SKIP LOCKED"""
_LAST_NUMBER = "SELECT coalesce(max(search_number), 0) FROM sessions"
_NUMBER_SESSION = "UPDATE sessions SET search_number = :number WHERE id = :session"
_ADD_SESSION = """
    INSERT INTO session_search (session_id, terms) VALUES (:session, array_to_tsvector(:terms::text[]))
    ON CONFLICT (session_id) DO UPDATE SET terms = excluded.terms"""


class PostgresSearchIndex(SearchIndex):
    """The index in PostgreSQL."""

    connection: PostgresConnection

    newest = "SELECT coalesce(max(sequence), 0) FROM messages"
    nth_newest = """
        SELECT sequence FROM message_search WHERE terms @@ :expression::tsquery
        ORDER BY sequence DESC LIMIT 1 OFFSET :skipped"""
    count = "SELECT count(*) FROM message_search WHERE terms @@ :expression::tsquery"
    # The driver reads all rows at once, so the server stops at CHARACTERS_READ.
    find_messages = f"""
        SELECT sequence, type, content, created_at, id, name, title
        FROM (
            SELECT *, sum(length(content)) OVER (ORDER BY sequence DESC) - length(content) AS characters
            FROM (
                SELECT m.sequence, m.type, substr(m.content, 1, :characters) AS content, m.created_at,
                       s.id, s.name, s.title
                FROM message_search AS f
                JOIN messages AS m ON m.sequence = f.sequence
                JOIN sessions AS s ON s.id = m.session_id
                WHERE f.terms @@ :expression::tsquery
                      AND m.created_at >= :since AND m.created_at < :until AND s.ended_from IS NULL
                ORDER BY f.sequence DESC LIMIT :limit
            ) AS newest
        ) AS counted
        WHERE characters < {SearchIndex.CHARACTERS_READ}
        ORDER BY sequence DESC"""
    find_sessions = """
        SELECT s.id, s.name, s.title, s.created_at
        FROM session_search AS f JOIN sessions AS s ON s.id = f.session_id
        WHERE f.terms @@ :expression::tsquery AND s.created_at >= :since AND s.created_at < :until
              AND s.search_number IS NOT NULL
        ORDER BY s.search_number DESC LIMIT :limit"""

    def create_tables(self) -> None:
        """See :class:`~oneclaw_core.sessions.SearchIndex`."""
        for statement in _TABLES:
            self.connection.execute(statement)

    def is_current(self) -> bool:
        """See :class:`~oneclaw_core.sessions.SearchIndex`."""
        return bool(self.connection.execute(_IS_CURRENT).fetchone()[0])

    def index_new(self) -> None:
        """Index new messages and sessions, after other transactions that do the same."""
        connection = self.connection
        connection.lock(_TOPIC)
        # After a copy there are many.
        connection.execute("SET LOCAL statement_timeout = 0")
        pages = 0
        while self._index_page():
            pages += 1
        if pages >= _MANY_PAGES:
            # Otherwise the server plans searches with outdated frequencies until its next analysis.
            connection.execute("ANALYZE messages, message_search")
        [last_number] = connection.execute(_LAST_NUMBER).fetchone()
        new_sessions = connection.execute(_NEW_SESSIONS).fetchall()
        for number, (session_id, name, title) in enumerate(new_sessions, last_number + 1):
            connection.execute(_ADD_SESSION, {"session": session_id, "terms": _terms(self.heading(name, title))})
            connection.execute(_NUMBER_SESSION, {"number": number, "session": session_id})

    def index_batch(self) -> None:
        """Index one page of new messages, unless another transaction does.

        It does not wait, because the caller holds a lock on a session.
        """
        if self.connection.try_lock(_TOPIC):
            self._index_page()

    def forget_session(self, session_id: str) -> None:
        """Do nothing: foreign keys delete the entries."""

    def forget_heading(self, session_id: str) -> None:
        """Do nothing: a session without a number is not found, and its entry is replaced."""

    def all_of(self, terms: Iterable[str]) -> str:
        """See :class:`~oneclaw_core.sessions.SearchIndex`."""
        return " & ".join(map(_quoted, dict.fromkeys(_held(terms))))

    def any_of(self, terms: Iterable[str]) -> str:
        """See :class:`~oneclaw_core.sessions.SearchIndex`."""
        return " | ".join(map(_quoted, dict.fromkeys(_held(terms))))

    def prepare_search(self) -> None:
        """Plan each statement separately: the best plan depends on the frequency of a word."""
        self.connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")

    def _index_page(self) -> bool:
        """Index one page of new messages; return True if there were any."""
        limits = {"characters": self.INDEXED_CHARACTERS, "page": _PAGE}
        rows = self.connection.execute(_NEW_MESSAGES, limits).fetchall()
        if rows:
            entries = [{"sequence": sequence, "terms": _terms(content)} for sequence, content in rows]
            self.connection.execute_many(_ADD_MESSAGE, entries)
            self.connection.execute(_DONE, {"sequences": [sequence for sequence, _ in rows]})
        return bool(rows)


def _quoted(term: str) -> str:
    """Quote a term for a ``tsquery``."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def _terms(text: str) -> list[str]:
    """List the terms of a text, as many as a ``tsvector`` holds."""
    found: dict[str, None] = {}
    length = 0
    for term in _held(SearchIndex.terms(text)):
        if term not in found:
            length += len(term.encode())
            if length > _MOST_TERM_BYTES:
                break
            found[term] = None
    return list(found)


def _held(terms: Iterable[str]) -> Iterable[str]:
    """Truncate terms to the size of an index entry, alike in texts and in queries."""
    return (term.encode()[:_TERM_BYTES].decode(errors="ignore") for term in terms)
