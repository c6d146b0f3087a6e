"""Store where the text of sessions, and of files that tools wrote, comes from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from pathlib import PurePath
from typing import TYPE_CHECKING

from oneclaw_core.sessions.backend import Connection, rows_in, value_of
from oneclaw_core.types.messages import MessageType
from oneclaw_core.types.provenance import Mark, MarkKind, Provenance, marks_of_text, marks_to_text
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core.types.provenance import FileState, LinkSource, UsedFile

# How many entries the list of written files keeps.
MAX_WRITTEN_FILES = 50_000
_PRUNED_EVERY = 500
# The clock of a file system lags behind.
_CLOCK_LAG_NS = 50_000_000

_SESSION_MARKS = "SELECT marks FROM sessions WHERE id = :session"
_SET_SESSION_MARKS = "UPDATE sessions SET marks = :marks WHERE id = :session"
_MARKS_OF_SESSIONS = "SELECT marks FROM sessions WHERE id IN (:sessions) AND marks IS NOT NULL"
_LINK_SOURCES = """
    SELECT sequence, type, content, marks FROM messages
    WHERE session_id = :session AND sequence > :after AND (type = 'user' OR marks IS NOT NULL) ORDER BY sequence"""
_FORGET_FILE = "DELETE FROM written_files WHERE path = :path AND is_directory = :no"
_INSERT_FILE = """
    INSERT INTO written_files (path, is_directory, started_ns, ended_ns, marks)
    VALUES (:path, :is_directory, :started_ns, :ended_ns, :marks)"""
# What a program renames, links or copies with its times keeps the time of its content.
_WRITTEN_THEN = """
    SELECT started_ns, ended_ns, marks FROM written_files
    WHERE is_directory = :no AND started_ns <= :latest AND ended_ns >= :earliest"""
_WRITTEN = "SELECT path, is_directory, started_ns, ended_ns, marks FROM written_files WHERE path IN (:paths)"


def mark_session(connection: Connection, session_id: str, marks: Iterable[Mark]) -> None:
    """Add the marks of a message to those of its session, which outlast any summary."""
    before = value_of(connection.execute(_SESSION_MARKS, {"session": clean_text(session_id)}))
    provenance = Provenance()
    provenance.add(marks_of_text(before) if before else ())
    provenance.add(marks)
    after = marks_to_text(provenance.marks())
    if after != before:
        connection.execute(_SET_SESSION_MARKS, {"session": clean_text(session_id), "marks": after})


def session_marks(connection: Connection, session_ids: Iterable[str]) -> tuple[Mark, ...]:
    """Return the marks of some sessions together."""
    ids = sorted({clean_text(each) for each in session_ids})
    rows = rows_in(connection, _MARKS_OF_SESSIONS, "sessions", ids)
    return tuple(dict.fromkeys(mark for (text,) in rows for mark in marks_of_text(text)))


def link_sources(connection: Connection, session_id: str, after: int) -> list[LinkSource]:
    """Read the messages of a session whose links may be followed: those of the user, answers of theirs, and pages.

    Args:
        after: the ``sequence`` of the last message that is known already.

    Returns:
        The number of each, its content, and the URL of the page; ``None`` for a message of the user.
    """
    found: list[LinkSource] = []
    rows = connection.execute(_LINK_SOURCES, {"session": clean_text(session_id), "after": after})
    for sequence, type_, content, marks in rows.fetchall():
        kinds = marks_of_text(marks) if marks else ()
        pages = [each.origin for each in kinds if each.kind is MarkKind.PAGE]
        if pages:
            found.append((sequence, content, pages[0]))
            continue
        if any(each.kind is MarkKind.COMPOSED for each in kinds):
            continue
        # What a tool adds to an answer of the user may be from outside, such as that of an MCP server.
        is_answer = any(each.kind is MarkKind.USER for each in kinds) and not any(each.is_outside for each in kinds)
        if type_ == MessageType.USER or is_answer:
            found.append((sequence, content, None))
    return found


def file_marks(connection: Connection, files: Sequence[FileState]) -> list[tuple[tuple[Mark, ...], bool]]:
    """Return what is known about files.

    Returns:
        For each its marks, and whether that is all there is to say: a tool wrote it, and nothing has changed it since.
    """
    names = sorted({clean_text(name) for each in files for name in (each.path, *map(str, PurePath(each.path).parents))})
    by_path: dict[str, list[tuple[bool, int, int, str]]] = {}
    for path, *row in rows_in(connection, _WRITTEN, "paths", names):
        by_path.setdefault(path, []).append(tuple(row))
    found = [_marks_of_file(each, by_path) for each in files]
    moved = {
        number: files[number].modified_ns
        for number, (_, is_all) in enumerate(found)
        if not is_all and files[number].changed_ns != files[number].modified_ns
    }
    for number, marks in _marks_of_moved(connection, moved).items():
        found[number] = tuple(dict.fromkeys((*found[number][0], *marks))), False
    return found


def _marks_of_moved(connection: Connection, times: Mapping[int, int]) -> dict[int, list[Mark]]:
    """Return the marks of files that were written when the content of others was, by the numbers of these.

    Args:
        connection: to the database.
        times: when the content of each was written.
    """
    if not times:
        return {}
    numbers = sorted(times, key=lambda each: times[each])
    ordered = [times[each] for each in numbers]
    rows = connection.execute(_WRITTEN_THEN, {"no": False, "earliest": ordered[0], "latest": ordered[-1]}).fetchall()
    found: dict[int, list[Mark]] = {}
    for started_ns, ended_ns, text in rows:
        for number in numbers[bisect_left(ordered, started_ns) : bisect_right(ordered, ended_ns)]:
            found.setdefault(number, []).extend(marks_of_text(text))
    return found


def _marks_of_file(
    file: FileState, by_path: Mapping[str, Iterable[tuple[bool, int, int, str]]]
) -> tuple[tuple[Mark, ...], bool]:
    marks: dict[Mark, None] = {}
    is_all = False
    for _, started_ns, ended_ns, text in by_path.get(clean_text(file.path), ()):
        is_all = started_ns <= file.modified_ns <= ended_ns
        marks |= dict.fromkeys(marks_of_text(text))
    for parent in PurePath(file.path).parents:
        for is_directory, started_ns, ended_ns, text in by_path.get(clean_text(str(parent)), ()):
            is_within = any(started_ns <= each <= ended_ns for each in (file.modified_ns, file.changed_ns))
            if is_directory and is_within:
                marks |= dict.fromkeys(marks_of_text(text))
    return tuple(marks), is_all


def record_written(connection: Connection, files: Iterable[UsedFile], marks: Iterable[Mark], ended_ns: int) -> None:
    """Note that tools wrote files, or may have written any below a directory.

    Args:
        files: which ones, with the time from which on.
        marks: what they hold.
        ended_ns: when the call ended.
    """
    text = marks_to_text(marks) or "[]"
    for each in files:
        path = clean_text(str(each.path))
        if not each.is_directory:
            connection.execute(_FORGET_FILE, {"path": path, "no": False})
        row = {
            "path": path,
            "is_directory": each.is_directory,
            "started_ns": each.since_ns - _CLOCK_LAG_NS,
            "ended_ns": ended_ns,
            "marks": text,
        }
        number = connection.insert_numbered(_INSERT_FILE, row, "id")
        if number > MAX_WRITTEN_FILES and number % _PRUNED_EVERY == 0:
            connection.execute("DELETE FROM written_files WHERE id <= :id", {"id": number - MAX_WRITTEN_FILES})
