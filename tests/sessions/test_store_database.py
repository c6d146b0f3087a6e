"""Transactions: all or nothing, through cancellation, full disks and locks."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest
from databases import backend_of
from histories import assistant, database_path, database_url, opened, user

from oneclaw_core.errors import StoreError
from oneclaw_core.sessions import settings
from oneclaw_core.sessions.backend import value_of
from oneclaw_core.sessions.database import Database

pytestmark = pytest.mark.every_python

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from oneclaw_core.sessions.backend import Connection


def test_what_raises_stores_nothing(tmp_path: Path) -> None:
    def work(connection: Connection) -> None:
        settings.set_setting(connection, "key", 1)
        raise ZeroDivisionError

    async def main() -> dict[str, object]:
        database = await Database.open(backend_of(database_url(tmp_path)))
        with pytest.raises(ZeroDivisionError):
            await database.write(work)
        found = await database.read(settings.read_settings)
        await database.close()
        return found

    assert asyncio.run(main()) == {}


def test_a_cancelled_task_does_not_stop_its_transaction_nor_one_that_waits(tmp_path: Path) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        started.set()
        assert go_on.wait(10)
        settings.set_setting(connection, "running", 1)

    async def main() -> dict[str, object]:
        database = await Database.open(backend_of(database_url(tmp_path)))
        running = asyncio.create_task(database.write(slow))
        assert await asyncio.to_thread(started.wait, 10)
        waiting = asyncio.create_task(database.write(settings.set_setting, "waiting", 2))
        await asyncio.sleep(0)
        running.cancel()
        waiting.cancel()
        outcomes = await asyncio.gather(running, waiting, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError] * 2
        closing_down = asyncio.create_task(database.close())
        go_on.set()
        await closing_down
        again = await Database.open(backend_of(database_url(tmp_path)))
        found = await again.read(settings.read_settings)
        await again.close()
        return found

    assert asyncio.run(main()) == {"running": 1, "waiting": 2}


async def writes_that_wait(database: Database, works: Sequence[Callable[[Connection], object]]) -> list[object]:
    """What comes of writes that all are in the queue before the first of them is run."""
    go_on = threading.Event()
    busy = [asyncio.create_task(database.read(lambda _: go_on.wait(10))) for _ in range(database.backend.threads)]
    waiting = [asyncio.create_task(database.write(work)) for work in works]
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(*busy)
    return await asyncio.gather(*waiting, return_exceptions=True)


def test_a_write_that_fails_is_no_harm_to_those_it_waits_with(tmp_path: Path) -> None:
    def fail(connection: Connection) -> None:
        settings.set_setting(connection, "failed", 1)
        raise ZeroDivisionError

    async def main() -> tuple[list[object], dict[str, object]]:
        database = await Database.open(backend_of(database_url(tmp_path)))
        works: list[Callable[[Connection], object]] = [
            partial(set_number, number=1),
            fail,
            partial(set_number, number=2),
        ]
        outcomes = await writes_that_wait(database, works)
        found = await database.read(settings.read_settings)
        await database.close()
        return outcomes, found

    outcomes, found = asyncio.run(main())
    assert [outcomes[0], type(outcomes[1]), outcomes[2]] == [1, ZeroDivisionError, 2]
    assert found == {"key 01": 1, "key 02": 2}


def set_number(connection: Connection, number: int) -> int:
    settings.set_setting(connection, f"key {number:02}", number)
    return number


def test_the_event_loop_runs_while_a_transaction_does(tmp_path: Path) -> None:
    go_on = threading.Event()

    async def main() -> bool:
        database = await Database.open(backend_of(database_url(tmp_path)))
        running = asyncio.create_task(database.read(lambda _: go_on.wait(10)))
        await asyncio.sleep(0)
        go_on.set()
        waited = await running
        await database.close()
        return waited

    assert asyncio.run(main())


def test_a_closed_database_says_so_and_closes_twice(tmp_path: Path) -> None:
    async def main() -> None:
        database = await Database.open(backend_of(database_url(tmp_path)))
        await database.close()
        await database.close()
        with pytest.raises(StoreError, match="is closed: open it again"):
            await database.read(settings.read_settings)

    asyncio.run(main())


@pytest.mark.only("sqlite")
def test_nothing_of_the_database_stays_behind(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.create_session(agent="default")

    asyncio.run(main())
    assert {file.name for file in tmp_path.iterdir()} == {database_path(tmp_path).name, "locks"}
    assert not list((tmp_path / "locks").iterdir())
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("oneclaw-store")]


@pytest.mark.only("sqlite")
def test_a_full_disk_stores_nothing_and_says_what_to_do(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user("before")])
            pages = await store._database.read(lambda it: value_of(it.execute("PRAGMA page_count")))
            await store._database.read(lambda it: value_of(it.execute(f"PRAGMA max_page_count = {pages}")))
            with pytest.raises(StoreError, match="disk is full, nothing was stored: free some space") as raised:
                await store.append(session.id, [assistant("short"), assistant("secret " * 10_000)])
            assert "secret" not in str(raised.value) + str(raised.value.__cause__)
            assert [message.content for message in await store.messages(session.id)] == ["before"]
            await store._database.read(lambda it: value_of(it.execute("PRAGMA max_page_count = 100000")))
            await store.append(session.id, [assistant("after")])
            assert await store.count_messages(session.id) == 2

    asyncio.run(main())


@pytest.mark.only("sqlite")
def test_a_database_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store._database.read(lambda it: it.execute("PRAGMA query_only = ON").close())
            with pytest.raises(StoreError, match="cannot be written: let this user write to the file"):
                await store.create_session(agent="default")

    asyncio.run(main())


@pytest.mark.only("sqlite")
def test_a_lock_that_another_process_keeps_is_reported(tmp_path: Path) -> None:
    async def main() -> None:
        database = await Database.open(backend_of(database_url(tmp_path), busy_seconds=0.05))
        with closing(sqlite3.connect(database_path(tmp_path), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="is locked by another process: try again"):
                await database.write(settings.set_setting, "key", 1)
            assert await database.read(settings.read_settings) == {}
            other.execute("ROLLBACK")
        await database.write(settings.set_setting, "key", 1)
        assert await database.read(settings.read_settings) == {"key": 1}
        await database.close()

    asyncio.run(main())


def test_two_databases_on_one_file_take_turns(tmp_path: Path) -> None:
    def count_up(connection: Connection) -> None:
        connection.lock("counting")
        settings.set_setting(connection, "n", settings.read_settings(connection).get("n", 0) + 1)

    async def main() -> dict[str, object]:
        databases = [await Database.open(backend_of(database_url(tmp_path))) for _ in range(2)]
        await asyncio.gather(*(database.write(count_up) for database in databases for _ in range(20)))
        found = await databases[0].read(settings.read_settings)
        for database in databases:
            await database.close()
        return found

    assert asyncio.run(main()) == {"n": 40}
