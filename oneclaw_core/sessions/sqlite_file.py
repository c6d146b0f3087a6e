"""All that is particular to SQLite and its file: where it is, whose it is, and what its errors mean."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import StoreDamagedError, StoreError, StoreVersionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SCHEMA_VERSION = 6

# Stands in the file's header, where file(1) and sqlite3 find it: "OClw".
APPLICATION_ID = 0x4F436C77

# What a file restored from an SQL dump, which loses the application id, is known by.
_TELLING_TABLES = frozenset({"schema_version", "sessions", "messages"})

# The least that SQLite makes beside a database.
_SHARED_MEMORY_BYTES = 32 * 1024

# The driver also fails to decode SQLite's message about a damaged name of a table.
DRIVER_ERRORS: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeDecodeError)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SQLITE_PREFIXES = ("sqlite:///", "sqlite+pysqlite:///")


def path_of(url: str) -> Path:
    """Find the file that a database URL names.

    Args:
        url: ``sqlite:///relative/path`` or ``sqlite:////absolute/path``; the path is taken as it stands.

    Raises:
        StoreError: the URL names no file. What it says instead is not repeated: it may hold a password.
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
    """Make an empty file that only its owner can read, and its directory; an existing one stays as it is.

    Raises:
        StoreError: it cannot be made.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise StoreError(
            f"the database {path} cannot be opened ({error.strerror}): "
            "check the path and that this user may write there"
        ) from error


def stored_version(
    query: Callable[[str], Iterable[Sequence[Any]]], path: Path, known_version: int = SCHEMA_VERSION
) -> int:
    """Find out which version of the schema a file holds.

    Args:
        query: runs a statement and gives its rows.
        path: the file, for messages.
        known_version: the newest version that this program can use.

    Returns:
        The version, 0 for a database that is still empty.

    Raises:
        StoreVersionError: the file was written by a newer OneClaw.
        StoreDamagedError: the file belongs to another program, or lacks its version.
    """
    [[application_id]] = query("PRAGMA application_id")
    tables = {name for (name,) in query("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables and application_id == 0:
        return 0
    if application_id != APPLICATION_ID and not (application_id == 0 and tables >= _TELLING_TABLES):
        raise StoreDamagedError(
            f"{path} is a database of another program and is left untouched: choose another file for OneClaw's"
        )
    rows = [tuple(row) for row in query("SELECT version FROM schema_version")] if "schema_version" in tables else []
    if len(rows) != 1 or not isinstance(rows[0][0], int) or rows[0][0] < 1:
        raise _damaged(path)
    version = int(rows[0][0])
    if version > known_version:
        raise StoreVersionError(
            f"the database {path} was written by a newer OneClaw (schema {version}, this one knows {known_version}): "
            "upgrade oneclaw-core"
        )
    return version


def explained(error: BaseException | None, path: Path) -> StoreError:
    """Say in one line what an error of SQLite means and what to do.

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
        return _damaged(path)
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
    # Where there is no room for the files beside the database, SQLite reports an error of the disk.
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


def _damaged(path: Path) -> StoreDamagedError:
    return StoreDamagedError(
        f"{path} is damaged or not a database: move it away, with its -wal and -shm files if there are any, "
        "to start afresh, or put a backup copy in its place"
    )
