"""Settings, permissions and disabled tools, in the store and read without opening it."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from histories import database_path, opened

from oneclaw_core.errors import SettingsError, StoreDamagedError, StoreError, StoreVersionError, UsageError
from oneclaw_core.permissions import Decision, Grant
from oneclaw_core.sessions import settings as stored_settings
from oneclaw_core.sessions.settings import ToolStates, UserStates
from oneclaw_core.sessions.settings import read_states as read_states_of
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.types.permissions import PermissionUse

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
            await store.set_grant(Grant("network.private"))
            await store.set_grant(Grant("files.write"))
            await store.set_grant(Grant("files.write", decision=Decision.DENY))
            stored = await store.grants()
            assert [(each.name, each.decision) for each in stored] == [
                ("files.write", Decision.DENY),
                ("network.private", Decision.GRANT),
            ]
            assert (await store.load_turn("0" * 32, 0)).grants == stored
            assert await store.remove_grants("files.write") == 1
            assert await store.remove_grants("files.write") == 0
            assert await store.reset_grants() == 1
            assert await store.grants() == ()

    asyncio.run(main())


def test_a_grant_keeps_all_that_it_holds_for_and_when_it_was_used(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            until = datetime(2100, 1, 1, tzinfo=UTC)
            grant = Grant("shell.execute", "make test", Decision.GRANT, until, "Ada", "report", "/srv", "question")
            await store.set_grant(Grant("shell.execute", "make test"))
            await store.set_grant(grant)
            everywhere, narrow = await store.grants()
            assert (everywhere.directory, everywhere.last_used_at) == (None, None)
            assert replace(narrow, created_at=None) == grant
            use = PermissionUse(
                permission="shell.execute",
                subject="make test",
                detail="run it",
                tool_name="exec",
                is_granted=True,
                decided_by="grant",
                session_id="s1",
                agent="Ada",
                task="report",
                directory="/srv",
                grant=grant.key,
            )
            await store.record_permission_use(use)
            await store.record_permission_use(PermissionUse("a.b", None, "", "other", False, "user"))
            everywhere, narrow = await store.grants()
            assert everywhere.last_used_at is None
            assert narrow.last_used_at is not None
            logged = await store.permission_log(10)
            assert [(each.permission, each.is_granted) for each in logged] == [("a.b", False), ("shell.execute", True)]
            assert [each._replace(at=use.at, grant=use.grant) for each in await store.permission_log(10, "s1")] == [use]

    asyncio.run(main())


def test_a_use_is_recorded_if_the_decisions_are_those_that_granted_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_grant(Grant("a.b"))
            known = await store.grants()
            use = PermissionUse("a.b", None, "", "other", True, "grant", grant=known[0].key)
            assert await store.record_known_permission_use(use, known)
            assert await store.record_known_permission_use(use, known)  # that it was used changes no decision
            await store.set_grant(Grant("a.b", decision=Decision.DENY))
            assert not await store.record_known_permission_use(use, known)
            assert len(await store.permission_log(10)) == 2

    asyncio.run(main())


@pytest.mark.only("sqlite")
def test_a_use_is_recorded_after_another_connection_has_written(tmp_path: Path) -> None:
    use = PermissionUse("a.b", None, "", "other", True, "option")

    async def main() -> None:
        async with opened(tmp_path) as store, opened(tmp_path) as other:
            assert await store.record_known_permission_use(use, ())
            with closing(sqlite3.connect(database_path(tmp_path), isolation_level=None)) as writer:
                writer.execute("BEGIN IMMEDIATE")
                recording = asyncio.create_task(store.record_known_permission_use(use, ()))
                await asyncio.wait({recording}, timeout=0.05)
                assert not recording.done()
                writer.execute("COMMIT")
            assert await recording
            await other.set_grant(Grant("a.b", decision=Decision.DENY))
            assert not await store.record_known_permission_use(use, ())
            assert len(await other.permission_log(10)) == 2

    asyncio.run(main())


def test_decisions_are_removed_one_by_one_or_for_a_task(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            plain, named = Grant("a.b"), Grant("a.b", "x", agent="Ada", task="t1", directory="/srv")
            others = [replace(named, **{name: "other"}) for name in ("pattern", "agent", "task", "directory")]
            for each in (plain, named, *others):
                await store.set_grant(each)
            assert await store.remove_grant(named) is True
            assert await store.remove_grant(named) is False
            assert len(await store.grants()) == 5
            assert await store.remove_task_grants("t1") == 3
            assert [each.task for each in await store.grants()] == [None, "other"]
            assert await store.remove_grants("a.b", "x") == 1
            assert [each.key for each in await store.grants()] == [plain.key]

    asyncio.run(main())


@pytest.mark.long
@pytest.mark.only("sqlite")
def test_the_log_of_the_database_stays_short_while_uses_are_recorded(tmp_path: Path) -> None:
    use = PermissionUse("a.b", None, "", "other", True, "option")

    async def main() -> None:
        async with opened(tmp_path) as store:
            for _ in range(2_500):
                await store.record_known_permission_use(use, ())
            log = database_path(tmp_path).with_name(f"{database_path(tmp_path).name}-wal")
            assert log.stat().st_size < 10_000_000
            assert len(await store.permission_log(10_000)) == 2_500

    asyncio.run(main())


def test_the_log_keeps_the_newest_entries_and_the_beginning_of_long_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_settings, "MAX_LOG_ENTRIES", 10)
    monkeypatch.setattr(stored_settings, "_PRUNED_EVERY", 5)
    text = "x" * 5_000

    async def main() -> None:
        async with opened(tmp_path) as store:
            for number in range(1, 15):
                session = "s1" if number % 2 else "s2"
                await store.record_permission_use(PermissionUse(f"p.{number}", None, "", "t", True, "user", session))
            assert [each.permission for each in await store.permission_log(99)] == [f"p.{n}" for n in range(14, 0, -1)]
            long = PermissionUse("p.15", text, text, "t", False, "user", "s1", text, text, text)
            await store.record_permission_use(long)
            logged = await store.permission_log(99)
            assert [each.permission for each in logged] == [f"p.{number}" for number in range(15, 5, -1)]
            newest = logged[0]
            texts = (newest.subject, newest.detail, newest.agent, newest.task, newest.directory)
            assert texts == ("x" * 4_000,) * 5
            assert [each.permission for each in await store.permission_log(2, "s1")] == ["p.15", "p.13"]
            assert abs(newest.at - datetime.now(UTC)).total_seconds() < 60

    asyncio.run(main())


def test_what_another_process_has_set_is_read_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store, opened(tmp_path) as other:
            assert await store.user_states() == UserStates()
            await other.set_grant(Grant("a.b", decision=Decision.DENY))
            await other.set_tool_enabled("tool", "mail", False)
            await other.set_setting("x", 1)
            states = await store.user_states()
            assert (states.settings, states.disabled_tools) == ({"x": 1}, {"mail"})
            assert states.grants == await other.grants()
            assert await store.user_states() == states
            await store.set_setting("x", 2)
            assert (await store.user_states()).settings == {"x": 2}
            await other.remove_setting("x")
            assert (await store.user_states()).settings == {}

    asyncio.run(main())


def test_states_of_a_closed_store_are_refused(tmp_path: Path) -> None:
    use = PermissionUse("a.b", None, "", "other", True, "option")

    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.user_states()
        with pytest.raises(StoreError, match="is closed"):
            await store.user_states()
        with pytest.raises(StoreError, match="is closed"):
            await store.record_known_permission_use(use, ())

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


STATES = {
    "settings": {"a": [1], "b": "ü"},
    "grants": [("files.write", Decision.DENY)],
    "disabled_tools": {"one"},
    "disabled_groups": {"two"},
}


def plain(states: UserStates) -> dict[str, Any]:
    """States without the moments at which they were set."""
    return asdict(states) | {"grants": [(each.name, each.decision) for each in states.grants]}


def set_states(home: Path, *, read_while_open: bool = False) -> dict[str, Any] | None:
    async def main() -> dict[str, Any] | None:
        async with opened(home) as store:
            await store.set_setting("b", "ü")
            await store.set_setting("a", [1])
            await store.set_grant(Grant("files.write", decision=Decision.DENY))
            await store.set_tool_enabled("tool", "one", False)
            await store.set_tool_enabled("tool", "on", True)
            await store.set_tool_enabled("group", "two", False)
            return plain(read_states(database_path(home))) if read_while_open else None

    return asyncio.run(main())


@pytest.mark.only("sqlite")  # for PostgreSQL see plugins/postgres/tests
def test_what_the_store_wrote_is_read(tmp_path: Path) -> None:
    home = tmp_path / "a home? #1 100%"
    assert set_states(home, read_while_open=True) == STATES
    before = database_path(home).read_bytes()
    assert plain(read_states(database_path(home))) == STATES
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
