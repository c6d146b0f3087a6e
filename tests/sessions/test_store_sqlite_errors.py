"""Errors of SQLite and the file system, each one line that says what to do; and files that are always whole."""

import fcntl
import sqlite3
import stat
from types import SimpleNamespace

import pytest

from oneclaw_core.errors import StoreDamagedError, StoreError, StoreUnavailableError
from oneclaw_core.sessions import sqlite_connection, sqlite_files
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.sessions.sqlite_connection import explain
from oneclaw_core.sessions.sqlite_files import exclusive, is_there, new_file, private_copy, remove_beside

pytestmark = pytest.mark.only("sqlite")
DAMAGED = (
    "is damaged or not a database: move it away, with its -wal and -shm files if there are any, to start afresh, or "
    "put a backup copy in its place, or rescue what can be read with oneclaw db salvage FILE"
)
UNWRITABLE = "cannot be written: let this user write to the file and its directory"
LOCKED = "is locked by another process: try again, or end the process that holds it"


def error_of(code, text="it  did\nnot work"):
    error = sqlite3.OperationalError(text)
    if code is not None:
        error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (error_of(sqlite3.SQLITE_CORRUPT), StoreDamagedError, f"PATH {DAMAGED}"),
        (error_of(sqlite3.SQLITE_CORRUPT | 1 << 8), StoreDamagedError, f"PATH {DAMAGED}"),
        (error_of(sqlite3.SQLITE_NOTADB), StoreDamagedError, f"PATH {DAMAGED}"),
        (error_of(None, "no such table: x"), StoreDamagedError, f"PATH {DAMAGED}"),
        (error_of(None, "no such column: x"), StoreDamagedError, f"PATH {DAMAGED}"),
        (error_of(None, "Could not decode to UTF-8"), StoreDamagedError, f"PATH {DAMAGED}"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "odd"), StoreDamagedError, f"PATH {DAMAGED}"),
        (
            error_of(None, "no such module: fts5"),
            StoreError,
            "the SQLite of this Python lacks full-text search (no such module: fts5): use a Python whose SQLite has "
            "FTS5, such as those of python.org and of Linux distributions",
        ),
        (error_of(sqlite3.SQLITE_READONLY), StoreError, f"the database PATH {UNWRITABLE}"),
        (error_of(sqlite3.SQLITE_PERM), StoreError, f"the database PATH {UNWRITABLE}"),
        (
            error_of(sqlite3.SQLITE_CANTOPEN),
            StoreError,
            "the database PATH cannot be opened: check the path and that this user may read and write there",
        ),
        (
            error_of(sqlite3.SQLITE_FULL),
            StoreUnavailableError,
            "the disk is full, nothing was stored: free some space where the database PATH is",
        ),
        (
            error_of(sqlite3.SQLITE_IOERR | 4 << 8),
            StoreError,
            "reading or writing the database PATH failed (it did not work): check the disk and its free space",
        ),
        (error_of(sqlite3.SQLITE_BUSY), StoreUnavailableError, f"the database PATH {LOCKED}"),
        (error_of(sqlite3.SQLITE_LOCKED), StoreUnavailableError, f"the database PATH {LOCKED}"),
        (
            error_of(sqlite3.SQLITE_AUTH),
            StoreError,
            "the database PATH refused the operation (it did not work); nothing was stored",
        ),
        (error_of(None), StoreError, "the database PATH refused the operation (it did not work); nothing was stored"),
    ],
)
def test_an_error_says_what_to_do(tmp_path, error, kind, said):
    found = explain(error, tmp_path / "test.db")
    assert type(found) is kind
    assert str(found) == said.replace("PATH", str(tmp_path / "test.db"))
    assert type(SqliteBackend(tmp_path / "test.db").explain(error)) is kind


@pytest.mark.parametrize(("free", "is_full"), [(31, True), (32, False), (None, False)])
def test_an_error_of_a_full_disk_is_told_from_one_of_the_disk(tmp_path, monkeypatch, free, is_full):
    def statvfs(path):
        assert path == tmp_path
        if free is None:
            raise OSError("gone")
        return SimpleNamespace(f_bavail=free, f_frsize=1024)

    monkeypatch.setattr(sqlite_connection.os, "statvfs", statvfs)
    found = explain(error_of(sqlite3.SQLITE_IOERR), tmp_path / "test.db")
    assert isinstance(found, StoreUnavailableError) is is_full


def test_a_database_is_there_or_was_emptied(tmp_path):
    path = tmp_path / "test.db"
    assert not is_there(path)
    path.write_bytes(b"x" * 99)
    with pytest.raises(StoreDamagedError) as caught:
        is_there(path)
    assert str(caught.value) == (
        f"the database {path} is damaged: it was emptied, 99 bytes are left; restore a copy with oneclaw db restore "
        "FILE, or delete it, with its -wal and -shm files if there are any, to start afresh"
    )
    assert not is_there(path / "below a file")
    path.write_bytes(b"x" * 100)
    assert is_there(path)
    assert is_there(tmp_path)
    with pytest.raises(StoreError, match=r"cannot be read \(File name too long\): let this user read its directory$"):
        is_there(tmp_path / ("x" * 5_000))


def test_a_new_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "test.db"
    (tmp_path / "test.db-wal").write_text("of an older file")
    with new_file(path) as temporary:
        assert (temporary.parent, temporary.read_bytes()) == (tmp_path, b"")
        assert temporary.name.startswith(".test.db.")
        assert temporary.name.endswith(".tmp")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        temporary.write_text("whole")
        (tmp_path / f"{temporary.name}-journal").write_text("")
        assert not path.exists()
    assert [each.name for each in tmp_path.iterdir()] == ["test.db"]
    assert path.read_text() == "whole"

    def fill(given):
        with new_file(path) as half:
            half.write_text("half")
            raise given

    with pytest.raises(RuntimeError):
        fill(RuntimeError("killed"))
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("test.db", "whole")]


def test_a_directory_that_cannot_be_used_is_named(tmp_path):
    said = r"cannot be opened \(.+\): check the path and that this user may write there$"
    with pytest.raises(StoreError, match=said), new_file(tmp_path / "missing" / "test.db"):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=said), exclusive(tmp_path / "file" / "test.db"):
        pass
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "x").write_text("")
    with pytest.raises(StoreError, match=said), new_file(tmp_path / "taken"):
        pass
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "taken"]


def test_one_process_at_a_time_makes_a_database(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_files, "_WAIT_SECONDS", 0.03)
    path = tmp_path / "home" / "test.db"
    with exclusive(path):
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        with pytest.raises(StoreError) as caught, exclusive(path):
            pass
        assert str(caught.value) == (
            f"another process is making, migrating or restoring the database {path}: try again when it is done"
        )
    with exclusive(path):
        pass
    assert list(path.parent.iterdir()) == []


def test_a_file_system_without_locks_is_used_all_the_same(tmp_path, monkeypatch):
    def flock(descriptor, operation):
        raise OSError("not supported")

    monkeypatch.setattr(fcntl, "flock", flock)
    with exclusive(tmp_path / "test.db"):
        pass


def test_a_copy_has_the_files_beside_the_database_and_is_removed(tmp_path):
    path = tmp_path / "test.db"
    path.write_text("data")
    with private_copy(path) as copy:
        assert [each.name for each in copy.parent.iterdir()] == ["copy.db"]
    for suffix in ("-wal", "-journal", "-shm"):
        (tmp_path / f"test.db{suffix}").write_text(suffix)
    with private_copy(path) as copy:
        found = {each.name: each.read_text() for each in copy.parent.iterdir()}
        assert found == {"copy.db": "data", "copy.db-wal": "-wal", "copy.db-journal": "-journal"}
    assert not copy.parent.exists()
    remove_beside(path)
    remove_beside(path)
    assert [each.name for each in tmp_path.iterdir()] == ["test.db"]
    with pytest.raises(StoreError) as caught, private_copy(tmp_path / "gone.db"):
        pass
    assert str(caught.value) == (
        f"the database {tmp_path / 'gone.db'} cannot be copied for reading: No such file or directory"
    )
