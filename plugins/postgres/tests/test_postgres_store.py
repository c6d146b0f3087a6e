"""What is particular to PostgreSQL: opening, errors, restarts, locks between processes, plans."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from databases import backend_of
from histories import assistant, call, change, database_url, opened, rows, success, user
from how_long import some
from oneclaw_postgres.address import parse
from postgres_server import administer, database_on_server

from oneclaw_core.errors import NotFoundError, SessionBusyError, StoreDamagedError, StoreError, StoreVersionError
from oneclaw_core.permissions import Decision, Grant
from oneclaw_core.search.words import parse_query
from oneclaw_core.secrets.redaction import redact
from oneclaw_core.sessions import messages as stored_messages
from oneclaw_core.sessions import settings
from oneclaw_core.sessions import usage as stored_usage
from oneclaw_core.sessions.backend import SCHEMA_VERSION
from oneclaw_core.sessions.database import Database
from oneclaw_core.sessions.search import SearchRange
from oneclaw_core.sessions.settings import UserStates, read_states
from oneclaw_core.sessions.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from postgres_server import PostgresServer

    from oneclaw_core.sessions.backend import Connection


def empty_database(server: PostgresServer, home: Path) -> str:
    return str(database_on_server(server.uri("postgres"), home, "template0"))


def open_and_close(url: str) -> None:
    async def main() -> None:
        await (await Database.open(backend_of(url))).close()

    asyncio.run(main())


# Opening


def test_the_tables_are_in_a_schema_of_their_own(postgres: PostgresServer, tmp_path: Path) -> None:
    url = empty_database(postgres, tmp_path)
    change_public = url.replace("+psycopg", "")
    administer(change_public, "CREATE TABLE sessions (song text)")
    open_and_close(url)
    open_and_close(url)
    assert rows(tmp_path, "SELECT version FROM schema_version") == [(SCHEMA_VERSION,)]
    assert rows(tmp_path, "SELECT count(*) FROM public.sessions") == [(0,)]


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    change(tmp_path, "UPDATE schema_version SET version = 99")
    message = rf"newer OneClaw \(schema 99, this one knows {SCHEMA_VERSION}\): upgrade oneclaw-core"
    with pytest.raises(StoreVersionError, match=message):
        open_and_close(database_url(tmp_path))
    with pytest.raises(StoreVersionError, match=message):
        read_states(backend_of(database_url(tmp_path)))


def test_another_programs_schema_is_refused_and_unchanged(postgres: PostgresServer, tmp_path: Path) -> None:
    url = empty_database(postgres, tmp_path)
    administer(url.replace("+psycopg", ""), "CREATE SCHEMA oneclaw CREATE TABLE songs (title text)")
    with pytest.raises(StoreDamagedError, match="belongs to another program and is left untouched"):
        open_and_close(url)
    assert rows(tmp_path, "SELECT tablename FROM pg_tables WHERE schemaname = 'oneclaw'") == [("songs",)]


@pytest.mark.parametrize("fault", ["DELETE FROM schema_version", "DROP TABLE schema_version", "DROP TABLE usage"])
def test_tables_that_are_missing_are_reported_as_damage(tmp_path: Path, fault: str) -> None:
    change(tmp_path, fault)

    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.usage_totals()

    with pytest.raises(StoreDamagedError, match="damaged or incomplete: restore a backup"):
        asyncio.run(main())


OPEN_WHEN_TOLD = """
import asyncio, sys, tempfile
from oneclaw_postgres.backend import open_backend
from pathlib import Path
from oneclaw_core.sessions.store import Store

async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    async with await Store.open(open_backend(sys.argv[1]), lock_directory=Path(tempfile.mkdtemp())) as store:
        print((await store.find_or_create_session("same", agent="default")).id)

asyncio.run(main())
"""


@pytest.mark.long
def test_processes_that_open_at_once_make_one_database_and_one_session(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = empty_database(postgres, tmp_path)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_WHEN_TOLD, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    ended = [(*process.communicate(timeout=30), process.returncode) for process in processes]
    assert [(errors, status) for _, errors, status in ended] == [("", 0)] * 3
    assert len({output for output, _, _ in ended}) == 1
    assert rows(tmp_path, "SELECT count(*) FROM sessions") == [(1,)]


VERSION_4 = Path(__file__).with_name("version_4_postgresql.sql").read_text(encoding="utf-8")
OLD_SESSION = "0123456789abcdef0123456789abcdef"


def schema(home: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Everything about the tables that has an effect, whatever the order of columns."""
    of_ours = "WHERE connamespace = 'oneclaw'::regnamespace"
    return {
        "columns": rows(
            home,
            "SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name "
            "FROM information_schema.columns WHERE table_schema = 'oneclaw' ORDER BY 1, 2",
        ),
        "indexes": rows(home, "SELECT indexdef FROM pg_indexes WHERE schemaname = 'oneclaw' ORDER BY 1"),
        "constraints": rows(home, f"SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint {of_ours} ORDER BY 1"),
        "triggers": rows(home, "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1"),
    }


def test_a_database_of_version_4_keeps_its_rows_and_gets_the_tables_of_a_new_one(
    postgres: PostgresServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = tmp_path / "old"
    administer(empty_database(postgres, old).replace("+psycopg", ""), VERSION_4)
    with pytest.raises(StoreVersionError, match=r"pg_dump\), then: oneclaw db migrate$"):
        backend_of(database_url(old)).prepare_read_only()

    async def main() -> None:
        async with opened(old) as store, opened(old) as other:
            session = await store.find_session("work")
            assert session is not None
            assert (session.id, session.title, session.model) == (OLD_SESSION, "a title", "openai/gpt")
            assert [each.content for each in await store.messages(OLD_SESSION)] == [
                "read it",
                "",
                "text",
                "it says text",
            ]
            assert await store.settings() == {"model": "openai/gpt"}
            assert (await store.usage_totals(OLD_SESSION)).input_tokens == 100
            # No lock of it has ever been signed.
            async with store.session_lock(OLD_SESSION, 0):
                with pytest.raises(SessionBusyError):
                    async with other.session_lock(OLD_SESSION, 0):
                        pass
                await store.append(OLD_SESSION, [user("more")])
            assert len((await store.search(parse_query("more"), SearchRange(), wants_all=True)).passages) == 1

    asyncio.run(main())
    assert any("no snapshot" in each and "pg_dump" in each for each in caplog.messages)
    assert rows(old, "SELECT version FROM schema_version") == [(SCHEMA_VERSION,)]
    new = tmp_path / "new"
    open_and_close(empty_database(postgres, new))
    assert schema(old) == schema(new)


# Errors


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+asyncpg://clara:hunter2@db.example/oneclaw",
        "postgresql://clara:hunter2%zz@db.example/oneclaw",
        "postgresql://clara:hunter2@db.example/oneclaw?nonsense=hunter2",
        "postgresql://clara:hunter2@db.example/one claw",
    ],
)
def test_a_url_that_is_not_understood_is_not_repeated(url: str) -> None:
    with pytest.raises(StoreError, match=r"write postgresql\+psycopg://USER:PASSWORD@HOST/DATABASE") as raised:
        backend_of(url, busy_seconds=1)
    assert "hunter2" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql+psycopg://clara:hunter%40two@db.example:5433/one", "postgresql://db.example:5433/one"),
        ("postgres://clara:hunter%40two@h1:1,h2:2/one?target_session_attrs=read-write", "postgresql://h1,h2:1,2/one"),
        (
            "postgresql://db.example/o%1b%5b2Jne?password=hunter@two&sslmode=verify-full",
            "postgresql://db.example/o?[2Jne",
        ),
        ("postgresql:///?password=hunter%40two", "postgresql:///"),
    ],
)
def test_a_database_is_shown_without_user_and_password(url: str, name: str) -> None:
    backend = backend_of(url, busy_seconds=1)
    assert backend.name == name
    assert "hunter@two" not in repr(parse(url)) + str(backend.explain(psycopg.OperationalError("x")))
    assert (
        redact("the password is hunter@two")
        == ("the password is [redacted]" if "hunter" in url else "the password is hunter@two")
        or "hunter" not in url
    )


def test_parameters_of_a_url_reach_the_client_library() -> None:
    address = parse("postgresql://h/x?sslmode=verify-full&sslrootcert=/ca.pem&connect_timeout=3")
    values = psycopg.conninfo.conninfo_to_dict(address.conninfo)
    assert (values["sslmode"], values["sslrootcert"], values["connect_timeout"]) == ("verify-full", "/ca.pem", "3")


def test_a_server_that_is_not_there_is_reported_without_the_password() -> None:
    with pytest.raises(StoreError, match=r"database postgresql://127\.0\.0\.1:1/x cannot be reached") as raised:
        open_and_close("postgresql://clara:hunter2@127.0.0.1:1/x")
    with pytest.raises(StoreError, match="cannot be reached"):
        read_states(backend_of("postgresql://clara:hunter2@127.0.0.1:1/x"))
    assert "hunter2" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_database_or_user_that_is_not_there_is_reported(postgres: PostgresServer) -> None:
    with pytest.raises(StoreError, match="does not exist: have it made with CREATE DATABASE"):
        open_and_close(postgres.uri("nowhere"))
    with pytest.raises(StoreError, match="refuses this user"):
        open_and_close(postgres.uri("postgres").replace("postgres@", "nobody@"))


def error_of(url: str) -> str:
    try:
        open_and_close(url)
    except StoreError as error:
        return f"{error} {error.__cause__!r}"
    return ""


@pytest.mark.long
def test_a_password_that_is_refused_is_not_repeated(postgres: PostgresServer, tmp_path: Path) -> None:
    server = postgres.uri("postgres")
    administer(
        server, "DO $$ BEGIN CREATE ROLE clara LOGIN SUPERUSER; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
    )
    administer(server, "ALTER ROLE clara PASSWORD 'hunter:2@/ü'")
    rules = postgres.directory / "pg_hba.conf"
    before = rules.read_text(encoding="utf-8")
    url = empty_database(postgres, tmp_path).replace("postgres@", "{}@")
    rules.write_text("local all clara scram-sha-256\n" + before, encoding="utf-8")
    try:
        administer(server, "SELECT pg_reload_conf()")
        deadline = time.monotonic() + 10
        while "refuses" not in error_of(url.format("clara:wrong-secret")):  # the server reads its rules soon after
            assert time.monotonic() < deadline
        assert "wrong-secret" not in error_of(url.format("clara:wrong-secret"))
        open_and_close(url.format("clara:hunter%3A2%40%2F%C3%BC"))
        with pytest.raises(StoreError, match="refuses the user or the password"):
            open_and_close(url.format("clara"))
    finally:
        rules.write_text(before, encoding="utf-8")
        administer(server, "SELECT pg_reload_conf()")


def test_a_user_that_may_not_make_the_schema_is_told_what_to_do(postgres: PostgresServer, tmp_path: Path) -> None:
    url = empty_database(postgres, tmp_path).replace("+psycopg", "")
    administer(url, "DO $$ BEGIN CREATE ROLE guest LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    as_guest = url.replace("postgres@", "guest@")
    with pytest.raises(StoreError, match="let the user make the schema 'oneclaw'"):
        open_and_close(as_guest)
    administer(url, "CREATE SCHEMA oneclaw AUTHORIZATION guest")
    open_and_close(as_guest)


@pytest.mark.long
def test_a_missing_driver_is_reported() -> None:
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from oneclaw_core.installation.stores import backend_of\n"
        "from oneclaw_core.errors import StoreError\n"
        "try:\n    backend_of('postgresql+psycopg://u:hunter2@h/x', {})\n"
        "except StoreError as error:\n    print(error)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert "plugin postgres" in ended.stdout
    assert "psycopg" in ended.stdout
    assert "hunter2" not in ended.stdout


def test_a_lock_that_another_process_keeps_is_reported(tmp_path: Path) -> None:
    async def main() -> None:
        url = database_url(tmp_path)
        database = await Database.open(backend_of(url, busy_seconds=0.05))
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as other:
            other.execute("BEGIN; LOCK TABLE oneclaw.settings")
            with pytest.raises(StoreError, match="is locked by another process: try again"):
                await database.write(settings.set_setting, "key", 1)
        await database.write(settings.set_setting, "key", 1)
        assert await database.read(settings.read_settings) == {"key": 1}
        await database.close()

    asyncio.run(main())


def test_a_statement_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    async def main() -> None:
        database = await Database.open(backend_of(f"{database_url(tmp_path)}&options=-c%20statement_timeout%3D50ms"))
        with pytest.raises(StoreError, match="took too long and was stopped, nothing was stored"):
            await database.read(lambda it: it.execute("SELECT pg_sleep(10)").close())
        assert await database.read(settings.read_settings) == {}
        await database.close()

    asyncio.run(main())


def test_what_reads_cannot_write_and_sees_one_state(tmp_path: Path) -> None:
    def look(connection: Connection) -> tuple[object, object]:
        before = settings.read_settings(connection)
        change(tmp_path, "INSERT INTO settings VALUES ('key', '1', 0)")
        return before, settings.read_settings(connection)

    async def main() -> None:
        async with opened(tmp_path) as store:
            assert await store._database.read(look) == ({}, {})
            assert await store.settings() == {"key": 1}
            with pytest.raises(StoreError, match="takes no changes"):
                await store._database.read(lambda it: settings.set_setting(it, "key", 2))

    asyncio.run(main())


def test_transactions_that_stop_each_other_are_run_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            first, second = [await store.create_session(agent="default") for _ in range(2)]
            tries = []
            meet = asyncio.Barrier(2)
            loop = asyncio.get_running_loop()

            def touch(connection: Connection, one: str, other: str) -> None:
                tries.append(one)
                statement = "UPDATE sessions SET title = 'x' WHERE id = :id"
                connection.execute(statement, {"id": one})
                if len(tries) <= 2:
                    asyncio.run_coroutine_threadsafe(meet.wait(), loop).result(10)
                connection.execute(statement, {"id": other})

            await asyncio.gather(
                store._database.write(touch, first.id, second.id), store._database.write(touch, second.id, first.id)
            )
            # The one that was stopped may get its row again before the other is woken, and stop it in turn.
            assert len(tries) >= 3
            listed = await store.list_sessions()
            assert [each.title for each in listed] == ["x", "x"]

    asyncio.run(main())


def test_a_restarted_server_is_found_again(postgres: PostgresServer, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            async with store.session_lock(session.id, 0):
                await store.append(session.id, [user()])
                with pytest.raises(StoreError, match=r"connection to the database .* was lost"):
                    await store._database.write(lambda it: [postgres.restart(), settings.set_setting(it, "key", 1)])
                await store.append(session.id, [assistant()])
                # Whoever takes a lock now, notices that the connection is a new one, and takes this one, too.
                other = await store.create_session(agent="default")
                async with store.session_lock(other.id, 0):
                    pass
                async with opened(tmp_path) as elsewhere:
                    with pytest.raises(SessionBusyError):
                        async with elsewhere.session_lock(session.id, 0):
                            pass
            assert await store.count_messages(session.id) == 2
            postgres.control("stop", "-m", "immediate")
            try:
                with pytest.raises(StoreError, match="cannot be reached"):
                    await store.settings()
                with pytest.raises(StoreError, match="cannot be reached"):
                    async with store.session_lock(session.id, 0):
                        pass
            finally:
                postgres.control("start", "-l", str(postgres.directory / "log"))
            assert await store.settings() == {}

    asyncio.run(main())


# Locks of sessions

HOLD = """
import asyncio, sys, tempfile
from oneclaw_postgres.backend import open_backend
from pathlib import Path
from oneclaw_core.sessions.store import Store

async def main():
    async with await Store.open(open_backend(sys.argv[1]), lock_directory=Path(tempfile.mkdtemp())) as store:
        async with store.session_lock(sys.argv[2], 0):
            print("held", flush=True)
            await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


@contextmanager
def holder(home: Path, session_id: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, database_url(home), session_id]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@pytest.mark.long
@pytest.mark.parametrize("end", some(["release", "kill"], 2))
def test_a_lock_of_another_process_is_waited_for(tmp_path: Path, end: str) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session("work", agent="default")
            with holder(tmp_path, session.id) as process:
                begun = time.monotonic()
                with pytest.raises(SessionBusyError, match=r"session 'work' is busy: .*use another session"):
                    async with store.session_lock(session.id, 0.1):
                        pass
                assert 0.1 <= time.monotonic() - begun < 25  # the other process holds it without end
                if end == "kill":
                    process.send_signal(signal.SIGKILL)
                else:
                    assert process.stdin is not None
                    process.stdin.write("\n")
                    process.stdin.flush()
                async with store.session_lock(session.id, 10):
                    pass
            assert not list((tmp_path / "locks").glob("*"))

    asyncio.run(main())


def test_a_cancelled_wait_keeps_no_lock(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")

            async def turn() -> None:
                async with store.session_lock(session.id, 10):
                    await asyncio.Event().wait()

            for steps in range(4):
                task = asyncio.create_task(turn())
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                async with store.session_lock(session.id, 0):
                    pass
            with pytest.raises(NotFoundError):
                await store.create_session(agent="default", parent_id="0" * 32)
            assert rows(tmp_path, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == [(0,)]

    asyncio.run(main())


# What runs at the same time


def test_what_is_stored_in_a_session_waits_for_what_is_being_stored(tmp_path: Path) -> None:
    """So whoever reads on from the last number that is known misses nothing."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection, session_id: str) -> None:
        stored_messages.finish_calls(connection, session_id, [success("1")])
        begun.set()
        assert go_on.wait(10)

    async def main() -> None:
        async with opened(tmp_path) as one, opened(tmp_path) as other:
            session = await one.create_session(agent="default")
            elsewhere = await one.create_session(agent="default")
            await one.append(session.id, [user(), call("1"), call("2")])
            first = asyncio.create_task(one._database.write(slow, session.id))
            assert await asyncio.to_thread(begun.wait, 10)
            second = asyncio.create_task(other.finish_calls(session.id, [success("2")]))
            third = asyncio.create_task(other.append(session.id, [user("more")]))
            await other.append(elsewhere.id, [user()])
            await asyncio.wait([second, third], timeout=0.05)
            assert not second.done()
            assert not third.done()
            go_on.set()
            await asyncio.gather(first, second, third)
            assert [each.tool_call_id for each in await one.messages(session.id)][:4] == [None, "1", "2", "1"]

    asyncio.run(main())


@pytest.mark.long
def test_turns_of_many_sessions_are_stored_at_the_same_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as one, opened(tmp_path) as other:
            sessions = [await one.create_session(agent="default") for _ in range(10)]
            await asyncio.gather(
                *(
                    store.append(session.id, [user(f"{number} a"), assistant(f"{number} b")])
                    for number in range(10)
                    for session in sessions
                    for store in (one, other)
                )
            )
            for session in sessions:
                history = await one.messages(session.id)
                assert len(history) == 40
                assert [each.content[-1] for each in history] == ["a", "b"] * 20
            searches = [store.search(parse_query("7 a"), SearchRange(), wants_all=True) for store in (one, other) * 3]
            for found in await asyncio.gather(*searches):
                assert len(found.passages) == 20
            assert rows(tmp_path, "SELECT count(*) FROM search_queue") == [(0,)]
            await asyncio.gather(*(one.delete_session(each.id) for each in sessions))
            assert rows(tmp_path, "SELECT count(*) FROM message_search") == [(0,)]

    asyncio.run(main())


@pytest.mark.long
def test_two_processes_that_find_or_make_the_same_get_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as one, opened(tmp_path) as other:
            made = await asyncio.gather(
                *(store.find_or_create_session("same", agent="default") for store in (one, other) * 10)
            )
            assert len({each.id for each in made}) == 1
            await asyncio.gather(*(store.set_setting("key", number) for number in range(10) for store in (one, other)))
            assert list(await one.settings()) == ["key"]

    asyncio.run(main())


# Plans


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (stored_messages._GROUP_LOADS, "group_loads"),
        (stored_messages._PENDING_CALLS, "pending_calls"),
        (stored_messages._BACKWARDS, "messages_by_session"),
        (stored_messages._FORWARDS, "messages_by_session"),
        (stored_usage._SPENT, "usage_by_time"),
    ],
)
def test_044_nothing_at_the_start_of_a_turn_reads_the_whole_history(tmp_path: Path, statement: str, index: str) -> None:
    values = {"session": "x", "before": 10, "after": 1, "page": 100, "since": 1, "until": 0}

    def plan(connection: Connection) -> str:
        connection.execute("SET LOCAL enable_seqscan = off")
        connection.execute("SET LOCAL enable_bitmapscan = off")
        return "\n".join(row[0] for row in connection.execute(f"EXPLAIN {statement}", values))

    async def main() -> str:
        async with opened(tmp_path) as store:
            return await store._database.read(plan)

    assert f"using {index} " in asyncio.run(main())


# Listings


def test_what_the_user_has_set_is_read_without_opening_the_store(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_setting("a", [1, "ü%"])
            await store.set_grant(Grant("files.write", decision=Decision.DENY))
            await store.set_tool_enabled("tool", "one", False)
            await store.set_tool_enabled("tool", "on", True)
            await store.set_tool_enabled("group", "two", False)

    asyncio.run(main())
    states = read_states(backend_of(database_url(tmp_path)))
    assert states == UserStates(frozenset({"one"}), frozenset({"two"}), {"a": [1, "ü%"]}, states.grants)
    assert [(each.name, each.decision) for each in states.grants] == [("files.write", Decision.DENY)]
    change(tmp_path, "UPDATE settings SET value = '{'")
    with pytest.raises(StoreDamagedError, match="damaged setting"):
        read_states(backend_of(database_url(tmp_path)))


def test_a_database_without_tables_counts_as_empty_and_stays_so(postgres: PostgresServer, tmp_path: Path) -> None:
    url = empty_database(postgres, tmp_path)
    assert read_states(backend_of(url)) == UserStates()
    assert rows(tmp_path, "SELECT to_regnamespace('oneclaw') IS NULL") == [(True,)]


def test_a_store_shows_its_database_without_the_user(tmp_path: Path) -> None:
    async def main() -> str:
        store = await Store.open(backend_of(database_url(tmp_path)), lock_directory=tmp_path)
        await store.close()
        await store.close()
        return store.name

    name = asyncio.run(main())
    assert name.startswith("postgresql:///")
    assert "postgres@" not in name


def test_what_a_test_leaves_in_a_database_is_not_there_for_the_next(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However much the tests before have let this database grow.
    monkeypatch.setattr("postgres_server.MOST_GROWTH_BYTES", sys.maxsize)

    async def leave_something() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session("left", agent="default")
            await store.append(session.id, [user(), assistant()])

    def identity() -> object:
        return rows(tmp_path, "SELECT oid FROM pg_database WHERE datname = current_database()")

    made = identity()
    asyncio.run(leave_something())
    postgres.clear_databases()
    assert identity() == made
    assert rows(tmp_path, "SELECT count(*) FROM sessions, messages") == [(0,)]
    assert rows(tmp_path, "SELECT version FROM schema_version") == [(SCHEMA_VERSION,)]
    asyncio.run(leave_something())
    assert rows(tmp_path, "SELECT min(sequence) FROM messages") == [(1,)]
    # What is more than rows is not undone, but stays with the one database.
    change(tmp_path, "ALTER TABLE sessions ALTER COLUMN name SET DEFAULT 'odd'")
    postgres.clear_databases()
    assert identity() != made
