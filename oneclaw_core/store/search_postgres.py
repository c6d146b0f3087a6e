"""The full-text index in PostgreSQL: tables of ``tsvector``, made of the same terms as SQLite's.

Which messages are still to be indexed is written down by a trigger, message by message: unlike in SQLite, a message
with a lower number may be stored after one with a higher number, so that no number says how far the index reaches.
What is deleted goes from the index by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.search.words import index_terms
from oneclaw_core.store.search_statements import INDEXED_CHARACTERS, SearchStatements
from oneclaw_core.store.write_locks import is_alone, one_at_a_time

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection

_PAGE = 1_000
_MANY_PAGES = 5
# A tsvector holds less than a megabyte of text, and terms of less than 2 kB.
_TERM_BYTES = 2_000
_MOST_TERM_BYTES = 900_000

_WHAT = "search index"

# These texts are in users' databases: a change needs a migration.
_TABLES = (
    """CREATE TABLE message_search (
        sequence BIGINT PRIMARY KEY REFERENCES messages (sequence) ON DELETE CASCADE,
        terms TSVECTOR NOT NULL
    )""",
    # Many messages come at once; a list of those still to be sorted in would be read through by each search.
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
# Locked against being deleted while they are taken in; what is being deleted is passed over.
_NEW_MESSAGES = """
    SELECT m.sequence, substr(m.content, 1, %s)
    FROM search_queue AS q JOIN messages AS m ON m.sequence = q.sequence
    ORDER BY m.sequence LIMIT %s FOR KEY SHARE OF m SKIP LOCKED"""
_ADD_MESSAGE = "INSERT INTO message_search (sequence, terms) VALUES (%s, array_to_tsvector(%s::text[]))"
_DONE = "DELETE FROM search_queue WHERE sequence = ANY(%s)"
_NEW_SESSIONS = """
    SELECT id, name, title FROM sessions WHERE search_number IS NULL ORDER BY id FOR NO KEY UPDATE SKIP LOCKED"""
_LAST_NUMBER = "SELECT coalesce(max(search_number), 0) FROM sessions"
_NUMBER_SESSION = "UPDATE sessions SET search_number = %s WHERE id = %s"
_ADD_SESSION = """
    INSERT INTO session_search (session_id, terms) VALUES (%s, array_to_tsvector(%s::text[]))
    ON CONFLICT (session_id) DO UPDATE SET terms = excluded.terms"""


def _quoted(term: str) -> str:
    """A term as a ``tsquery`` takes it for nothing but a term."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


STATEMENTS = SearchStatements(
    # How a statement is best run depends on how common a word is.
    settings="SET LOCAL plan_cache_mode = force_custom_plan",
    newest="SELECT coalesce(max(sequence), 0) FROM messages",
    nth_newest="""
        SELECT sequence FROM message_search WHERE terms @@ %s::tsquery ORDER BY sequence DESC LIMIT 1 OFFSET %s""",
    count="SELECT count(*) FROM message_search WHERE terms @@ %s::tsquery",
    # The driver reads all rows at once, so the server stops at CHARACTERS_READ.
    find_messages="""
        SELECT sequence, type, content, created_at, id, name, title
        FROM (
            SELECT *, sum(length(content)) OVER (ORDER BY sequence DESC) - length(content) AS characters
            FROM (
                SELECT m.sequence, m.type, substr(m.content, 1, %s) AS content, m.created_at, s.id, s.name, s.title
                FROM message_search AS f
                JOIN messages AS m ON m.sequence = f.sequence
                JOIN sessions AS s ON s.id = m.session_id
                WHERE f.terms @@ %s::tsquery AND f.sequence >= %s AND f.sequence <= %s
                      AND m.created_at >= %s AND m.created_at < %s
                ORDER BY f.sequence DESC LIMIT %s
            ) AS newest
        ) AS counted
        WHERE characters < 600000
        ORDER BY sequence DESC""",
    find_sessions="""
        SELECT s.id, s.name, s.title, s.created_at
        FROM session_search AS f JOIN sessions AS s ON s.id = f.session_id
        WHERE f.terms @@ %s::tsquery AND s.created_at >= %s AND s.created_at < %s AND s.search_number IS NOT NULL
        ORDER BY s.search_number DESC LIMIT %s""",
    turn_start="""
        SELECT sequence FROM messages WHERE session_id = %s AND type = 'user' ORDER BY sequence DESC LIMIT 1""",
    moment_at="SELECT sequence, created_at FROM messages WHERE sequence >= %s ORDER BY sequence LIMIT 1",
    all_of=lambda terms: " & ".join(map(_quoted, dict.fromkeys(_held(terms)))),
    any_of=lambda terms: " | ".join(map(_quoted, dict.fromkeys(_held(terms)))),
)


def create_tables(connection: Connection) -> None:
    """Make an empty index."""
    for statement in _TABLES:
        connection.exec_driver_sql(statement)


def is_current(connection: Connection) -> bool:
    """Whether the index has all messages and sessions."""
    return bool(connection.exec_driver_sql(_IS_CURRENT).scalar_one())


def index_new(connection: Connection) -> None:
    """Take what is new into the index, after others that do the same are done."""
    one_at_a_time(connection, _WHAT)
    # Many at once, when a database was copied.
    connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
    pages = 0
    while _index_page(connection):
        pages += 1
    if pages >= _MANY_PAGES:
        # Else the server takes a word for rare, or for common, that is not, until it looks by itself.
        connection.exec_driver_sql("ANALYZE messages, message_search")
    last_number = connection.exec_driver_sql(_LAST_NUMBER).scalar_one()
    for number, (session_id, name, title) in enumerate(
        connection.exec_driver_sql(_NEW_SESSIONS).all(), last_number + 1
    ):
        heading = ": ".join(each for each in (name, title) if each)
        connection.exec_driver_sql(_ADD_SESSION, (session_id, _terms(heading)))
        connection.exec_driver_sql(_NUMBER_SESSION, (number, session_id))


def index_messages_if_idle(connection: Connection) -> None:
    """Take some new messages into the index, unless somebody is at it.

    It waits for nobody, for the caller holds a session, and does not do all where there are many.
    """
    if is_alone(connection, _WHAT):
        _index_page(connection)


def forget_title(connection: Connection, session_id: str) -> None:
    """Take a session's title out of the index, before it changes; the next search takes the new one in."""
    connection.exec_driver_sql("UPDATE sessions SET search_number = NULL WHERE id = %s", (session_id,))


def _index_page(connection: Connection) -> bool:
    """Take some new messages into the index; say whether there were any."""
    rows = connection.exec_driver_sql(_NEW_MESSAGES, (INDEXED_CHARACTERS, _PAGE)).all()
    if rows:
        entries = [(sequence, _terms(content)) for sequence, content in rows]
        connection.exec_driver_sql(_ADD_MESSAGE, entries)
        connection.exec_driver_sql(_DONE, ([sequence for sequence, _ in entries],))
    return bool(rows)


def _terms(text: str) -> list[str]:
    """The terms of a text, each once, as many as a ``tsvector`` holds."""
    found: dict[str, None] = {}
    length = 0
    for term in _held(index_terms(text)):
        if term not in found:
            length += len(term.encode())
            if length > _MOST_TERM_BYTES:
                break
            found[term] = None
    return list(found)


def _held(terms: Iterable[str]) -> Iterable[str]:
    """Terms as far as an index entry holds them, alike in texts and in queries."""
    return (term.encode()[:_TERM_BYTES].decode(errors="ignore") for term in terms)
