"""The tables that plugins make and use."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest
from histories import database_path, database_url, opened, rows, user

from oneclaw_core.errors import ConstraintError, StoreError, StoreVersionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from oneclaw_core.sessions.plugin_storage import PluginStorage, StorageConnection
    from oneclaw_core.sessions.store import Store

INSERT = "INSERT INTO audit_log__calls (tool, arguments, cost, is_error) VALUES (:tool, :arguments, :cost, :error)"


def create(connection: StorageConnection) -> None:
    connection.execute(
        f"""CREATE TABLE {connection.table("calls")} (
            id {connection.numbered_key},
            tool TEXT NOT NULL UNIQUE,
            arguments {connection.bytes_type},
            cost DOUBLE PRECISION,
            is_error BOOLEAN NOT NULL
        )"""
    )
    connection.execute(f"CREATE INDEX {connection.table('by_cost')} ON {connection.table('calls')} (cost)")


def add_moment(connection: StorageConnection) -> None:
    connection.execute("ALTER TABLE audit_log__calls ADD COLUMN at BIGINT NOT NULL DEFAULT 0")
    connection.execute("CREATE TABLE audit_log__notes (call_id BIGINT REFERENCES audit_log__calls (id))")


def add_call(connection: StorageConnection, tool: str) -> int:
    return connection.insert(INSERT, {"tool": tool, "arguments": b"\x00\xff", "cost": 0.5, "error": False})


def calls(connection: StorageConnection) -> list[Any]:
    return connection.execute("SELECT id, tool FROM audit_log__calls ORDER BY id").fetchall()


def with_storage(home: Path, work: Callable[[PluginStorage, Store], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with opened(home) as store:
            return await work(store.plugin_storage("audit-log"), store)

    return asyncio.run(main())


def test_tables_are_made_written_and_read(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        tables = await storage.tables([create])
        assert [await tables.write(add_call, tool) for tool in "ab"] == [1, 2]
        assert await tables.read(calls) == [(1, "a"), (2, "b")]
        found = await tables.read(
            lambda it: it.execute(
                "SELECT arguments, cost, is_error FROM audit_log__calls WHERE tool = :tool", {"tool": "a"}
            ).fetchone()
        )
        assert found == (b"\x00\xff", 0.5, False)

    with_storage(tmp_path, work)


def test_migrations_run_once_and_in_their_order(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        tables = await storage.tables([create])
        await tables.write(add_call, "a")
        for _ in range(2):
            tables = await storage.tables([create, add_moment])
        assert await tables.read(calls) == [(1, "a")]
        assert rows(tmp_path, "SELECT at FROM audit_log__calls") == [(0,)]
        assert rows(tmp_path, "SELECT plugin, version FROM plugin_schemas") == [("audit-log", 2)]

    with_storage(tmp_path, work)


def test_processes_that_migrate_at_once_do_it_once(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        async with opened(tmp_path) as elsewhere:
            storages = (storage, elsewhere.plugin_storage("audit-log"))
            await asyncio.gather(*(each.tables([create, add_moment]) for each in storages))

    with_storage(tmp_path, work)
    assert rows(tmp_path, "SELECT version FROM plugin_schemas") == [(2,)]


def test_a_migration_that_fails_leaves_the_version_before(tmp_path: Path) -> None:
    def fail(connection: StorageConnection) -> None:
        add_moment(connection)
        raise ZeroDivisionError

    async def work(storage: PluginStorage, store: Store) -> None:
        with pytest.raises(ZeroDivisionError):
            await storage.tables([create, fail])
        assert rows(tmp_path, "SELECT version FROM plugin_schemas") == [(1,)]
        tables = await storage.tables([create, add_moment])
        assert await tables.write(add_call, "a") == 1

    with_storage(tmp_path, work)


def test_tables_of_a_newer_plugin_are_left_alone(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        await storage.tables([create, add_moment])
        with pytest.raises(StoreVersionError, match=r"plugin audit-log .* \(schema 2, this one knows 1\): upgrade"):
            await storage.tables([create])

    with_storage(tmp_path, work)


def test_what_raises_stores_nothing(tmp_path: Path) -> None:
    def fail(connection: StorageConnection) -> None:
        add_call(connection, "b")
        raise ZeroDivisionError

    async def work(storage: PluginStorage, store: Store) -> None:
        tables = await storage.tables([create])
        await tables.write(add_call, "a")
        with pytest.raises(ZeroDivisionError):
            await tables.write(fail)
        with pytest.raises(ConstraintError):
            await tables.write(add_call, "a")
        with pytest.raises(StoreError):
            await tables.read(add_call, "c")
        assert [tool for _, tool in await tables.read(calls)] == ["a"]

    with_storage(tmp_path, work)


FORBIDDEN = [
    ("SELECT content FROM messages", "'messages'"),
    ("SELECT tool FROM audit_log__calls WHERE EXISTS (SELECT 1 FROM settings)", "'settings'"),
    ("SELECT count(*) FROM messages", "'messages'"),
    ("SELECT count(*) FROM other__calls", "other__calls"),
    ("SELECT missing FROM audit_log__calls", "is not understood: .*missing"),
    ("SELECT tool FROM audit_log__calls WHERE tool = :none", "is not understood"),
    ("SELECT tool FROM audit_log__missing", "is not understood: .*audit_log__missing"),
    ("WITH it AS (SELECT value FROM settings) SELECT * FROM it", "'settings'"),
    ("UPDATE settings SET value = '1'", "'settings'"),
    ("DELETE FROM messages", r"'(messages|attachments|message_search)'"),
    ("INSERT INTO audit_log__calls (tool, is_error) SELECT key, TRUE FROM settings", "'settings'"),
    ("UPDATE grants SET decision = 'grant'", "'grants'"),
    ("DROP TABLE messages", "'messages'"),
    ('ALTER TABLE "messages" ADD COLUMN x TEXT', "'messages'"),
    ("ALTER TABLE audit_log__calls RENAME TO messages2", "'messages2'"),
    ("CREATE TABLE others (id BIGINT)", "'others'"),
    ("CREATE INDEX audit_log__i ON messages (content)", "'messages'"),
    ("CREATE INDEX by_tool ON audit_log__calls (tool)", "'by_tool'"),
    ("UPDATE plugin_schemas SET version = 9", "'plugin_schemas'"),
    ("SELECT * FROM sqlite_master", "'sqlite_master'"),
    ("DELETE FROM sqlite_sequence", "'sqlite_sequence'"),
    ("SELECT pg_sleep(0)", "'pg_sleep'"),
    ("CREATE TEMP TABLE audit_log__x (id BIGINT)", "tables, indexes and views, and nothing else"),
    ("CREATE TRIGGER audit_log__t AFTER INSERT ON messages BEGIN SELECT 1; END", "one by one"),
    ("ATTACH DATABASE 'x' AS y", "begins with one of"),
    ("PRAGMA user_version = 5", "begins with one of"),
    ("COMMIT", "begins with one of"),
    ("SET search_path = public", "begins with one of"),
    ("SELECT 1; DROP TABLE messages", "one by one"),
    ("", "begins with one of"),
]


def test_a_statement_reaches_for_the_plugins_own_tables_alone(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        session = await store.create_session(agent="default")
        await store.append(session.id, [user()])
        await store.set_setting("key", 1)
        tables = await storage.tables([create, add_moment])
        for number, (statement, message) in enumerate(FORBIDDEN, 1):
            with pytest.raises(StoreError, match=message):
                await tables.write(lambda it, statement=statement: it.execute(statement))
            # Nothing happened, and the next transaction works.
            await tables.write(add_call, str(number))
            assert len(await tables.read(calls)) == number, statement
            assert await store.count_messages(session.id) == 1, statement
            assert await store.settings() == {"key": 1}, statement

    with_storage(tmp_path, work)
    assert rows(tmp_path, "SELECT count(*) FROM grants") == [(0,)]


def test_statements_that_plugins_need_are_allowed(tmp_path: Path) -> None:
    def work_on_tables(connection: StorageConnection) -> list[Any]:
        connection.execute_many(
            "INSERT INTO audit_log__calls (tool, is_error) VALUES (:tool, :error)",
            [{"tool": f"tool; {number} sqlite_master", "error": True} for number in range(3)],
        )
        connection.execute(
            """INSERT INTO audit_log__calls (tool, is_error) VALUES ('tool; 0 sqlite_master', FALSE)
            ON CONFLICT (tool) DO UPDATE SET cost = 7 -- settings"""
        )
        connection.execute("CREATE VIEW audit_log__dear AS SELECT tool FROM audit_log__calls WHERE cost > 1")
        connection.execute("ALTER TABLE audit_log__calls RENAME COLUMN cost TO price")
        connection.execute("ALTER TABLE audit_log__notes RENAME TO audit_log__remarks")
        connection.execute("DROP INDEX audit_log__by_cost")
        connection.execute("ALTER TABLE audit_log__calls ADD COLUMN more BIGINT NOT NULL DEFAULT 0 CHECK (more >= 0)")
        connection.execute("ALTER TABLE audit_log__calls DROP COLUMN more")
        return connection.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) "
            "SELECT count(*), lower(max(tool)) FROM audit_log__dear, n"
        ).fetchall()

    async def work(storage: PluginStorage, store: Store) -> None:
        tables = await storage.tables([create, add_moment])
        assert await tables.write(work_on_tables) == [(3, "tool; 0 sqlite_master")]
        await tables.write(lambda it: it.execute("DROP TABLE audit_log__remarks"))

    with_storage(tmp_path, work)


def test_a_transaction_on_tables_does_not_hold_up_the_store_for_readers(tmp_path: Path) -> None:
    go_on = threading.Event()

    def slow(connection: StorageConnection) -> int:
        number = add_call(connection, "a")
        assert go_on.wait(10)
        return number

    async def work(storage: PluginStorage, store: Store) -> None:
        tables = await storage.tables([create])
        writing = asyncio.create_task(tables.write(slow))
        assert await store.settings() == {}
        assert await storage.list() == {}
        go_on.set()
        assert await writing == 1

    with_storage(tmp_path, work)


def test_plugins_whose_tables_would_mix_are_told_apart(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        await storage.tables([create])
        with pytest.raises(StoreError, match="oneclaw plugins forget audit-log"):
            await store.plugin_storage("audit_log").tables([create])
        for name in ("audit__log", "audit-", "-x", "ü", "", "a b", "x" * 41):
            with pytest.raises(StoreError, match="can have no tables: its name needs to be letters and digits"):
                await store.plugin_storage(name).tables([])
            await store.plugin_storage(name).set("key", 1)

    with_storage(tmp_path, work)


def test_tables_are_not_a_sessions(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        session = await store.create_session(agent="default")
        with pytest.raises(UsageError, match="tables belong to a plugin"):
            await storage.of_session(session.id).tables([create])

    with_storage(tmp_path, work)


def test_an_engine_of_a_plugin_gets_a_url(tmp_path: Path, database_kind: str) -> None:
    async def work(storage: PluginStorage, store: Store) -> str:
        return storage.url

    url = with_storage(tmp_path, work)
    beside = f"sqlite:///{database_path(tmp_path).with_name('audit-log-tables.db')}"
    assert url == {"sqlite": beside, "postgresql": database_url(tmp_path)}[database_kind]


def test_what_a_plugin_stored_is_forgotten(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        tables = await storage.tables([create, add_moment])
        number = await tables.write(add_call, "a")
        insert = "INSERT INTO audit_log__notes (call_id) VALUES (:id)"
        await tables.write(lambda it: it.execute(insert, {"id": number}))
        await tables.write(lambda it: it.execute("CREATE VIEW audit_log__v AS SELECT tool FROM audit_log__calls"))
        session = await store.create_session(agent="default")
        await storage.set("key", 1)
        await storage.of_session(session.id).set("key", 1)
        other = store.plugin_storage("audit")
        await other.set("key", 1)
        await other.tables([lambda it: it.execute("CREATE TABLE audit__log (x BIGINT)")])
        found = await store.plugin_content("audit-log")
        assert (found.values, set(found.tables)) == (2, {"audit_log__calls", "audit_log__notes", "audit_log__v"})
        forgotten = await store.forget_plugin("audit-log")
        assert (forgotten.values, set(forgotten.tables)) == (2, set(found.tables))
        assert await store.plugin_content("audit-log") == await store.plugin_content("never-there")
        assert await other.list() == {"key": 1}
        assert (await store.plugin_content("audit")).tables == ("audit__log",)
        # It begins anew.
        assert await (await storage.tables([create])).write(add_call, "a") == 1

    with_storage(tmp_path, work)
