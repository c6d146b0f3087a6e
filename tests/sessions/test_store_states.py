from __future__ import annotations

import asyncio
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from histories import database_path, opened

from oneclaw_core.errors import StoreDamagedError, StoreError, StoreVersionError
from oneclaw_core.sessions.settings import UserStates
from oneclaw_core.sessions.settings import read_states as read_states_of
from oneclaw_core.sessions.sqlite_backend import SqliteBackend

if TYPE_CHECKING:
    from pathlib import Path

# For PostgreSQL see plugins/postgres/tests.
pytestmark = pytest.mark.only("sqlite")


def read_states(path: Path) -> UserStates:
    return read_states_of(SqliteBackend(path))


STATES = UserStates(
    settings={"a": [1], "b": "ü"},
    permissions={"files.write": "deny"},
    disabled_tools=frozenset({"one"}),
    disabled_groups=frozenset({"two"}),
)


def set_states(home: Path, *, read_while_open: bool = False) -> UserStates | None:
    async def main() -> UserStates | None:
        async with opened(home) as store:
            await store.set_setting("b", "ü")
            await store.set_setting("a", [1])
            await store.set_permission("files.write", "deny")
            await store.set_tool_enabled("tool", "one", False)
            await store.set_tool_enabled("tool", "on", True)
            await store.set_tool_enabled("group", "two", False)
            return read_states(database_path(home)) if read_while_open else None

    return asyncio.run(main())


def test_what_the_store_wrote_is_read(tmp_path: Path) -> None:
    home = tmp_path / "a home? #1 100%"
    assert set_states(home, read_while_open=True) == STATES
    before = database_path(home).read_bytes()
    assert read_states(database_path(home)) == STATES
    assert database_path(home).read_bytes() == before
    # SQLite may leave empty files of its own beside it.
    assert {stat.S_IMODE(file.stat().st_mode) for file in home.glob("oneclaw.db*")} == {0o600}


def test_a_missing_or_empty_file_counts_as_empty_and_is_not_made(tmp_path: Path) -> None:
    path = database_path(tmp_path / "none")
    assert read_states(path) == UserStates()
    assert not path.parent.exists()
    empty = tmp_path / "empty.db"
    empty.touch()
    assert read_states(empty) == UserStates()
    assert empty.stat().st_size == 0


def test_what_cannot_be_read_is_reported(tmp_path: Path) -> None:
    set_states(tmp_path)
    path = database_path(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE settings SET value = '{' WHERE key = 'a'")
    with pytest.raises(StoreDamagedError, match="damaged setting"):
        read_states(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE schema_version SET version = 99")
    with pytest.raises(StoreVersionError, match="upgrade oneclaw-core"):
        read_states(path)
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreDamagedError, match="move it away"):
        read_states(path)
    with closing(sqlite3.connect(tmp_path / "songs.db")) as connection, connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    with pytest.raises(StoreDamagedError, match="another program"):
        read_states(tmp_path / "songs.db")
    with pytest.raises(StoreError, match="check the"):
        read_states(tmp_path)


def test_reading_imports_neither_pydantic_nor_asyncio() -> None:
    program = "import sys, oneclaw_core.sessions.settings; print({'asyncio', 'pydantic', 'psycopg'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert ended.stdout == "set()\n"
