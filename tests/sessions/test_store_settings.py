"""Settings, permissions and disabled tools, in the store and read without opening it."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from histories import database_path, opened

from oneclaw_core.errors import SettingsError, StoreDamagedError, StoreError, StoreVersionError, UsageError
from oneclaw_core.sessions.settings import ToolStates, UserStates
from oneclaw_core.sessions.settings import read_states as read_states_of
from oneclaw_core.sessions.sqlite_backend import SqliteBackend

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_settings_keep_any_json_value(tmp_path: Path) -> None:
    values: dict[str, Any] = {"a": None, "b": [1, 2.5, "ü"], "c": {"d": False}, "e": "text", "f": 0}

    async def main() -> None:
        async with opened(tmp_path) as store:
            assert await store.settings() == {}
            for key in reversed(values):
                await store.set_setting(key, values[key])
            await store.set_setting("e", "other")
            await store.set_setting("e", "text")
        async with opened(tmp_path) as store:
            found = await store.settings()
            assert found == values
            assert list(found) == list(values)
            assert await store.remove_setting("a") is True
            assert await store.remove_setting("a") is False
            assert "a" not in await store.settings()

    asyncio.run(main())


def test_no_change_of_a_setting_is_lost(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store, opened(tmp_path) as other:

            def add(name: str) -> Callable[[Any], list[str]]:
                return lambda before: [*(before or []), name]

            stores = [store, other] * 10
            before = await asyncio.gather(
                *(each.change_setting("names", add(str(number))) for number, each in enumerate(stores))
            )
            assert before.count(None) == 1
            assert sorted((await store.settings())["names"], key=int) == [str(number) for number in range(20)]
            await other.change_setting("names", lambda names: None)
            assert await store.settings() == {}

    asyncio.run(main())


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
def test_a_value_that_json_cannot_hold_is_refused(tmp_path: Path, value: object) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_setting("key", 1)
            with pytest.raises(SettingsError, match="'key' must be what JSON can hold"):
                await store.set_setting("key", value)
            assert await store.settings() == {"key": 1}

    asyncio.run(main())


def test_a_damaged_setting_is_reported(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_setting("key", 1)
            await store._database.write(lambda it: it.execute("UPDATE settings SET value = '{'").close())
            with pytest.raises(StoreDamagedError, match=r"damaged setting \(key\)"):
                await store.settings()

    asyncio.run(main())


def test_decisions_on_permissions_are_remembered_changed_and_forgotten(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_permission("network.private", "grant")
            await store.set_permission("files.write", "grant")
            await store.set_permission("files.write", "deny")
            assert await store.permissions() == {"files.write": "deny", "network.private": "grant"}
            assert (await store.load_turn("0" * 32, 0)).permissions == await store.permissions()
            with pytest.raises(UsageError, match="'grant' or 'deny', not 'perhaps'"):
                await store.set_permission("files.write", "perhaps")  # type: ignore[arg-type]
            assert await store.remove_permission("files.write") is True
            assert await store.remove_permission("files.write") is False
            assert await store.reset_permissions() == 1
            assert await store.permissions() == {}

    asyncio.run(main())


def test_tools_and_groups_are_switched_off_and_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            assert await store.tool_states() == ToolStates()
            await store.set_tool_enabled("tool", "mail", False)
            await store.set_tool_enabled("group", "mail", False)
            await store.set_tool_enabled("tool", "other", False)
            await store.set_tool_enabled("tool", "other", True)
            expected = ToolStates(frozenset({"mail"}), frozenset({"mail"}))
            assert await store.tool_states() == expected
            assert (await store.load_turn("0" * 32, 0)).tool_states == expected
            await store.set_tool_enabled("tool", "mail", True)
            assert await store.tool_states() == ToolStates(frozenset(), frozenset({"mail"}))
            with pytest.raises(UsageError, match="not 'plugin'"):
                await store.set_tool_enabled("plugin", "mail", False)  # type: ignore[arg-type]

    asyncio.run(main())


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


@pytest.mark.only("sqlite")  # for PostgreSQL see plugins/postgres/tests
def test_what_the_store_wrote_is_read(tmp_path: Path) -> None:
    home = tmp_path / "a home? #1 100%"
    assert set_states(home, read_while_open=True) == STATES
    before = database_path(home).read_bytes()
    assert read_states(database_path(home)) == STATES
    assert database_path(home).read_bytes() == before
    # SQLite may leave empty files of its own beside it.
    assert {stat.S_IMODE(file.stat().st_mode) for file in home.glob("oneclaw.db*")} == {0o600}


@pytest.mark.only("sqlite")  # for PostgreSQL see plugins/postgres/tests
def test_a_missing_file_counts_as_empty_and_is_not_made(tmp_path: Path) -> None:
    path = database_path(tmp_path / "none")
    assert read_states(path) == UserStates()
    assert not path.parent.exists()


@pytest.mark.only("sqlite")  # for PostgreSQL see plugins/postgres/tests
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


@pytest.mark.only("sqlite")  # for PostgreSQL see plugins/postgres/tests
def test_reading_imports_neither_pydantic_nor_asyncio() -> None:
    program = "import sys, oneclaw_core.sessions.settings; print({'asyncio', 'pydantic', 'psycopg'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert ended.stdout == "set()\n"
