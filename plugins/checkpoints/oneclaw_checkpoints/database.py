"""The database of checkpoints: contents of files by their digests, and what calls and undos changed.

It is a SQLite file in the plugin's folder, also where the sessions are in PostgreSQL: the files are on this machine.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_checkpoints.processes import Process, this_process
from oneclaw_checkpoints.states import FileState, Kind, as_bytes, as_path
from oneclaw_core import OneClawError
from oneclaw_core.sessions import snapshot_before_migration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

_BUSY_SECONDS = 10.0
# After the oldest checkpoints were removed, there is room for some.
_KEPT_SHARE = 0.8
_VERSION = 2
_TABLES = """
CREATE TABLE contents (digest TEXT PRIMARY KEY, data BLOB NOT NULL, room INTEGER NOT NULL);
CREATE TABLE known_files (
    root BLOB NOT NULL, path BLOB NOT NULL, stamp TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (root, path)
) WITHOUT ROWID;
CREATE TABLE calls (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, call TEXT NOT NULL, tool TEXT NOT NULL, root BLOB,
    began REAL NOT NULL, ended REAL, process INTEGER NOT NULL, gap TEXT NOT NULL DEFAULT '', undone_by TEXT,
    process_began TEXT NOT NULL DEFAULT ''
);
CREATE INDEX calls_by_session ON calls (session, call);
CREATE TABLE changes (
    call INTEGER NOT NULL REFERENCES calls (id) ON DELETE CASCADE, path BLOB NOT NULL,
    before TEXT NOT NULL, after TEXT, is_certain INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (call, path)
) WITHOUT ROWID;
CREATE INDEX changes_by_path ON changes (path);
CREATE TABLE undos (
    id TEXT PRIMARY KEY, session TEXT NOT NULL, first INTEGER NOT NULL, at REAL NOT NULL, status TEXT NOT NULL,
    shown TEXT NOT NULL, process INTEGER NOT NULL DEFAULT 0, process_began TEXT NOT NULL DEFAULT ''
);
CREATE TABLE undone_files (
    undo TEXT NOT NULL REFERENCES undos (id) ON DELETE CASCADE, path BLOB NOT NULL,
    was TEXT NOT NULL, target TEXT NOT NULL, PRIMARY KEY (undo, path)
) WITHOUT ROWID;
"""

# Of version 1.
_UPGRADE = """
ALTER TABLE calls ADD COLUMN process_began TEXT NOT NULL DEFAULT '';
ALTER TABLE undos ADD COLUMN process INTEGER NOT NULL DEFAULT 0;
ALTER TABLE undos ADD COLUMN process_began TEXT NOT NULL DEFAULT '';
"""

_CALLS = "SELECT id, session, call, tool, root, ended IS NULL, process, process_began, gap FROM calls"
_OLDEST_CALLS = """
    SELECT id FROM calls WHERE ended IS NOT NULL ORDER BY id
    LIMIT (SELECT count(*) / 10 + 1 FROM calls)"""
_REMOVE_OLD_UNDOS = """
    DELETE FROM undos
    WHERE status = 'done' AND id NOT IN (SELECT undone_by FROM calls WHERE undone_by IS NOT NULL)"""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that may have changed files.

    Attributes:
        id: number in the order of calls.
        session: id of the session that the user talks in.
        call: id of the call in that session.
        tool: its name.
        root: the directory that was followed; ``None`` if only named files were.
        is_open: True if it has no end: it runs, or was killed.
        process: that made it.
        gap: what was not followed, for the user; empty if all was.
    """

    id: int
    session: str
    call: str
    tool: str
    root: str | None
    is_open: bool
    process: Process
    gap: str


@dataclass(frozen=True, slots=True)
class Change:
    """One file that a call changed.

    Attributes:
        call: the number of the call.
        path: absolute, without symbolic links in its directories.
        before: what stood there.
        after: what the call left there; ``None`` if it did not complete.
        is_certain: False if somebody else may have made the change, since the call was killed.
    """

    call: int
    path: str
    before: FileState
    after: FileState | None
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class Undo:
    """Messages and changes that were taken back.

    Attributes:
        id: that of the part of the history, see ``Sessions.end_history``.
        session: id of the session.
        first: the ``sequence`` of the first message that was taken back.
        status: ``begun``, ``done``, or ``redoing`` while it is taken back itself.
        shown: the messages of the user, a line each.
        process: that carries it out.
    """

    id: str
    session: str
    first: int
    status: str
    shown: str = ""
    process: Process = field(default_factory=Process)


Known = dict[str, tuple[str, FileState]]
"""The stamp and state of each file of a directory, by path."""


class CheckpointDatabase:
    """The database; every method is one transaction, and may be called in any thread.

    Args:
        path: of the file, created if missing.

    Raises:
        OneClawError: it cannot be opened, or a newer version wrote it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._using = threading.RLock()
        try:
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            with self._changing():
                version = self._connection.execute("PRAGMA user_version").fetchone()[0]
                if 0 < version < _VERSION:
                    snapshot_before_migration(path, version, _VERSION)
                if version < _VERSION:
                    for statement in filter(str.strip, (_UPGRADE if version else _TABLES).split(";")):
                        self._connection.execute(statement)
                    self._connection.execute(f"PRAGMA user_version = {_VERSION}")
        except sqlite3.Error as error:
            raise OneClawError(
                f"the checkpoints in {path} cannot be used ({error}); remove that file to begin anew"
            ) from error
        if version > _VERSION:
            raise OneClawError(f"{path} was written by a newer oneclaw-checkpoints: upgrade it")

    def close(self) -> None:
        """Close the file."""
        with self._using:
            self._connection.close()

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction that writes.

        Raises:
            OneClawError: the database cannot be written, such as on a full disk.
        """
        with self._using:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                except BaseException:
                    self._connection.rollback()
                    raise
                self._connection.commit()
            except sqlite3.Error as error:
                if self._connection.in_transaction:
                    self._connection.rollback()
                raise OneClawError(f"the checkpoints in {self._path} cannot be written: {error}") from error

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._using:
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.Error as error:
                raise OneClawError(f"the checkpoints in {self._path} cannot be read: {error}") from error

    # Contents

    def content(self, digest: str) -> bytes:
        """Read a content.

        Raises:
            OneClawError: it is gone.
        """
        rows = self._rows("SELECT data FROM contents WHERE digest = ?", digest)
        if not rows:
            raise OneClawError("its content is not kept any more")
        return zlib.decompress(rows[0][0])

    # Directories

    @property
    def version(self) -> int:
        """Changes when another process has changed the database."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def known_files(self, root: str) -> Known:
        """Read what is known of the files below a directory."""
        rows = self._rows("SELECT path, stamp, state FROM known_files WHERE root = ?", as_bytes(root))
        return {as_path(path): (str(stamp), FileState.from_text(str(state))) for path, stamp, state in rows}

    def learn(
        self, root: str, learned: Mapping[str, tuple[str, FileState] | None], contents: Mapping[str, bytes]
    ) -> None:
        """Store what is new about the files below a directory.

        Args:
            root: the directory.
            learned: by path, ``None`` for those that are gone.
            contents: of these files, by digest.
        """
        with self._changing() as it:
            _store_contents(it, contents)
            _store_known(it, root, learned)

    def begin_call(
        self,
        *,
        session: str,
        call: str,
        tool: str,
        root: str | None,
        gap: str,
        contents: Mapping[str, bytes],
        before: Mapping[str, FileState],
    ) -> int:
        """Store a call that is about to run, with what it may change.

        Args:
            session: id of the session that the user talks in.
            call: id of the call in it.
            tool: its name.
            root: the directory that is followed.
            gap: what is not followed.
            contents: of the files that the call names, by digest.
            before: what stands at the paths that the call names.

        Returns:
            The number of the call.
        """
        own = this_process()
        with self._changing() as it:
            _store_contents(it, contents)
            number = it.execute(
                "INSERT INTO calls (session, call, tool, root, began, process, process_began, gap)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (session, call, tool, root and as_bytes(root), time.time(), own.number, own.began, gap),
            ).lastrowid
            it.executemany(
                "INSERT INTO changes (call, path, before) VALUES (?, ?, ?)",
                [(number, as_bytes(path), state.to_text()) for path, state in before.items()],
            )
        return number or 0

    def finish_call(
        self,
        number: int,
        changes: Iterable[Change],
        *,
        root: str | None = None,
        gap: str = "",
        contents: Mapping[str, bytes] | None = None,
        learned: Mapping[str, tuple[str, FileState] | None] | None = None,
    ) -> None:
        """Store what a call changed; one that changed nothing is forgotten.

        Args:
            number: of the call.
            changes: of files; those that were stored at its beginning are replaced.
            root: the directory that was followed.
            gap: what was not followed.
            contents: new contents, by digest.
            learned: as for :meth:`learn`.
        """
        rows = [
            (number, as_bytes(each.path), each.before.to_text(), each.after and each.after.to_text(), each.is_certain)
            for each in changes
        ]
        with self._changing() as it:
            _store_contents(it, contents or {})
            _store_known(it, root, learned or {})
            it.execute("DELETE FROM changes WHERE call = ?", (number,))
            if not rows and not gap:
                it.execute("DELETE FROM calls WHERE id = ?", (number,))
                return
            it.executemany("INSERT INTO changes (call, path, before, after, is_certain) VALUES (?, ?, ?, ?, ?)", rows)
            it.execute("UPDATE calls SET ended = ?, gap = ? WHERE id = ?", (time.time(), gap, number))

    # Calls

    def open_calls(self) -> list[RecordedCall]:
        """Return the calls without an end: they run, or were killed."""
        return _as_calls(self._rows(f"{_CALLS} WHERE ended IS NULL ORDER BY id"))

    def calls_of(self, session: str, call_ids: Collection[str]) -> list[RecordedCall]:
        """Return the calls of a session, by their ids, in order; without those that were taken back."""
        rows = self._rows(f"{_CALLS} WHERE session = ? AND undone_by IS NULL ORDER BY id", session)
        return [each for each in _as_calls(rows) if each.call in call_ids]

    def changes_of(self, number: int) -> list[Change]:
        """Return what a call changed."""
        rows = self._rows("SELECT path, before, after, is_certain FROM changes WHERE call = ? ORDER BY path", number)
        return [
            Change(
                number,
                as_path(path),
                FileState.from_text(str(before)),
                None if after is None else FileState.from_text(str(after)),
                bool(is_certain),
            )
            for path, before, after, is_certain in rows
        ]

    # Undos

    def begin_undo(
        self,
        undo: Undo,
        files: Mapping[str, tuple[FileState, FileState]],
        contents: Mapping[str, bytes],
        numbers: Collection[int],
    ) -> None:
        """Store what is about to be taken back, before it is.

        Args:
            undo: with the status ``begun``.
            files: by path, what stands there and what is to stand there.
            contents: new contents, by digest.
            numbers: of the calls whose changes are taken back.
        """
        own = this_process()
        with self._changing() as it:
            _store_contents(it, contents)
            it.execute(
                "INSERT INTO undos (id, session, first, at, status, shown, process, process_began)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (undo.id, undo.session, undo.first, time.time(), undo.status, undo.shown, own.number, own.began),
            )
            it.executemany(
                "INSERT INTO undone_files (undo, path, was, target) VALUES (?, ?, ?, ?)",
                [(undo.id, as_bytes(path), was.to_text(), target.to_text()) for path, (was, target) in files.items()],
            )
            it.executemany("UPDATE calls SET undone_by = ? WHERE id = ?", [(undo.id, number) for number in numbers])

    def set_status(self, undo_id: str, status: str) -> None:
        """Store how far an undo has come, and that it is carried out by this process."""
        own = this_process()
        with self._changing() as it:
            it.execute(
                "UPDATE undos SET status = ?, process = ?, process_began = ? WHERE id = ?",
                (status, own.number, own.began, undo_id),
            )

    def leave_files(self, undo_id: str, paths: Collection[str]) -> None:
        """Take files out of an undo that were not changed after all."""
        with self._changing() as it:
            it.executemany(
                "DELETE FROM undone_files WHERE undo = ? AND path = ?", [(undo_id, as_bytes(each)) for each in paths]
            )

    def remove_undo(self, undo_id: str) -> None:
        """Forget an undo that was taken back itself."""
        with self._changing() as it:
            it.execute("UPDATE calls SET undone_by = NULL WHERE undone_by = ?", (undo_id,))
            it.execute("DELETE FROM undos WHERE id = ?", (undo_id,))

    def has_unfinished_undo(self) -> bool:
        """Return True if an undo was begun and not finished."""
        return bool(self._rows("SELECT 1 FROM undos WHERE status <> 'done' LIMIT 1"))

    def undos(self, session: str | None = None) -> list[Undo]:
        """Return the undos of a session, the last one first; those of all sessions without one."""
        rows = self._rows(
            "SELECT id, session, first, status, shown, process, process_began FROM undos ORDER BY at DESC"
        )
        undos = (
            Undo(name, of, first, status, shown, Process(number, began))
            for name, of, first, status, shown, number, began in rows
        )
        return [undo for undo in undos if session in (None, undo.session)]

    def undone_files(self, undo_id: str) -> dict[str, tuple[FileState, FileState]]:
        """Return the files of an undo: by path, what stood there and what stands there since."""
        rows = self._rows("SELECT path, was, target FROM undone_files WHERE undo = ? ORDER BY path", undo_id)
        return {as_path(path): (FileState.from_text(str(was)), FileState.from_text(str(to))) for path, was, to in rows}

    # Room

    def forget_session(self, session: str) -> None:
        """Remove the calls and undos of a session that was deleted."""
        with self._changing() as it:
            it.execute("DELETE FROM calls WHERE session = ?", (session,))
            it.execute("DELETE FROM undos WHERE session = ?", (session,))

    def room(self) -> tuple[int, int]:
        """Return the bytes that contents take, and the number of calls that can be taken back."""
        ((room, count),) = self._rows(
            "SELECT (SELECT coalesce(sum(room), 0) FROM contents), (SELECT count(*) FROM calls WHERE ended IS NOT NULL)"
        )
        return int(str(room)), int(str(count))

    def prune(self, max_bytes: int, max_days: float) -> None:
        """Remove checkpoints that are too old, and the oldest ones where all take too much room."""
        with self._changing() as it:
            limit = time.time() - max_days * 86_400
            old = it.execute("DELETE FROM calls WHERE began < ?", (limit,)).rowcount
            old += it.execute("DELETE FROM undos WHERE at < ? AND status = 'done'", (limit,)).rowcount
            if not old and _room(it) <= max_bytes:
                return
            _remove_unused(it)
            while _room(it) > max_bytes * _KEPT_SHARE:
                oldest = it.execute(_OLDEST_CALLS).fetchall()
                if oldest:
                    it.executemany("DELETE FROM calls WHERE id = ?", oldest)
                    it.execute(_REMOVE_OLD_UNDOS)
                elif not it.execute("DELETE FROM known_files").rowcount:
                    break
                _remove_unused(it)


def _as_calls(rows: Iterable[tuple[Any, ...]]) -> list[RecordedCall]:
    return [
        RecordedCall(number, session, call, tool, root and as_path(root), bool(is_open), Process(process, began), gap)
        for number, session, call, tool, root, is_open, process, began, gap in rows
    ]


def _store_contents(it: sqlite3.Connection, contents: Mapping[str, bytes]) -> None:
    packed = ((digest, zlib.compress(content, 1)) for digest, content in contents.items())
    it.executemany(
        "INSERT OR IGNORE INTO contents (digest, data, room) VALUES (?, ?, ?)",
        ((digest, data, len(data)) for digest, data in packed),
    )


def _store_known(it: sqlite3.Connection, root: str | None, learned: Mapping[str, tuple[str, FileState] | None]) -> None:
    if root is None:
        return
    name = as_bytes(root)
    gone = [(name, as_bytes(path)) for path, each in learned.items() if each is None]
    it.executemany("DELETE FROM known_files WHERE root = ? AND path = ?", gone)
    it.executemany(
        "INSERT OR REPLACE INTO known_files (root, path, stamp, state) VALUES (?, ?, ?, ?)",
        [(name, as_bytes(path), each[0], each[1].to_text()) for path, each in learned.items() if each is not None],
    )


def _room(it: sqlite3.Connection) -> int:
    return int(it.execute("SELECT coalesce(sum(room), 0) FROM contents").fetchone()[0])


def _remove_unused(it: sqlite3.Connection) -> None:
    used: set[str] = set()
    for sql in (
        "SELECT state FROM known_files",
        "SELECT before FROM changes",
        "SELECT after FROM changes WHERE after IS NOT NULL",
        "SELECT was FROM undone_files",
        "SELECT target FROM undone_files",
    ):
        for (text,) in it.execute(sql):
            state = FileState.from_text(text)
            if state.kind is Kind.FILE:
                used.add(state.content)
    unused = [row for row in it.execute("SELECT digest FROM contents").fetchall() if row[0] not in used]
    it.executemany("DELETE FROM contents WHERE digest = ?", unused)
