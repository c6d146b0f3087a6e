"""The file of a SQLite database: its path, its owner, and the meaning of errors."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreDamagedError, StoreError

if TYPE_CHECKING:
    from oneclaw_core.sessions.connection import Connection

# Stands in the file's header, where file(1) and sqlite3 find it: "OClw".
APPLICATION_ID = 0x4F436C77

# Identify a file restored from an SQL dump, which loses the application id.
_TELLING_TABLES = frozenset({"schema_version", "sessions", "messages"})

# The smallest file that SQLite creates beside a database.
_SHARED_MEMORY_BYTES = 32 * 1024

# The driver may also fail to decode SQLite's message about a damaged name of a table.
DRIVER_ERRORS: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeDecodeError)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SQLITE_PREFIXES = ("sqlite:///", "sqlite+pysqlite:///")


def path_of(url: str) -> Path:
    """Return the file that a database URL names.

    Args:
        url: ``sqlite:///relative/path`` or ``sqlite:////absolute/path``; the path is not decoded.

    Raises:
        StoreError: the URL names no file. The message does not repeat it: it may hold a password.
    """
    for prefix in _SQLITE_PREFIXES:
        if url.startswith(prefix):
            name = url.removeprefix(prefix)
            if not name or name.startswith((":memory:", "file:")) or "\x00" in name:
                raise StoreError("the database URL names no file: write sqlite:///PATH")
            return Path(name).absolute()
    scheme = _SCHEME.match(url)
    what = f"databases of type {scheme[1]!r} are not supported" if scheme else "the database URL is not understood"
    raise StoreError(f"{what}: write sqlite:///PATH, or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE")


def create_file(path: Path) -> None:
    """Create an empty file that only its owner can read, and its directory; keep an existing file.

    Raises:
        StoreError: it cannot be created.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(
            f"the database {path} cannot be opened ({error.strerror}): "
            "check the path and that this user may write there"
        ) from error


def has_tables(connection: Connection, path: Path) -> bool:
    """Return True if a file has OneClaw's tables, False if it is empty.

    Raises:
        StoreDamagedError: the file belongs to another program, or lacks the table of its version.
    """
    [[application_id]] = connection.execute("PRAGMA application_id")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables and application_id == 0:
        return False
    if application_id != APPLICATION_ID and not (application_id == 0 and tables >= _TELLING_TABLES):
        raise StoreDamagedError(
            f"{path} is a database of another program and is left untouched: choose another file for OneClaw's"
        )
    if "schema_version" not in tables:
        raise damaged(path)
    return True


def explain(error: BaseException | None, path: Path) -> StoreError:
    """Describe an error of SQLite in one line that says what to do.

    Args:
        error: as the driver raised it.
        path: the file.
    """
    text = " ".join(str(error).split())
    # The upper bits of a code are details; the driver's own errors have no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    is_undecodable = isinstance(error, UnicodeDecodeError)
    if (
        is_undecodable
        or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        or text.startswith(("no such table", "no such column", "Could not decode"))
    ):
        return damaged(path)
    if text.startswith("no such module"):
        return StoreError(
            f"the SQLite of this Python lacks full-text search ({text}): use a Python whose SQLite has FTS5, such as "
            "those of python.org and of Linux distributions"
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreError(f"the database {path} cannot be written: let this user write to the file and its directory")
    if code == sqlite3.SQLITE_CANTOPEN:
        return StoreError(
            f"the database {path} cannot be opened: check the path and that this user may read and write there"
        )
    # Without room for the files beside the database, SQLite reports an I/O error.
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_disk_full(path)):
        return StoreError(f"the disk is full, nothing was stored: free some space where the database {path} is")
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(f"reading or writing the database {path} failed ({text}): check the disk and its free space")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(
            f"the database {path} is locked by another process: try again, or end the process that holds it"
        )
    return StoreError(f"the database {path} refused the operation ({text}); nothing was stored")


def _is_disk_full(path: Path) -> bool:
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _SHARED_MEMORY_BYTES


def damaged(path: Path) -> StoreDamagedError:
    """Return the error for a file that is damaged."""
    return StoreDamagedError(
        f"{path} is damaged or not a database: move it away, with its -wal and -shm files if there are any, "
        "to start afresh, or put a backup copy in its place"
    )
