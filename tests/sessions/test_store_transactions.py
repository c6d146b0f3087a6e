"""Transactions that fail, stand in each other's way or are cancelled, with a database that does so on purpose."""

import asyncio
import sqlite3
import threading

import pytest

from oneclaw_core.errors import NotFoundError, StoreDamagedError, StoreError, StoreUnavailableError
from oneclaw_core.sessions import database as database_module
from oneclaw_core.sessions.database import Database
from oneclaw_core.sessions.sqlite_backend import SqliteBackend

pytestmark = pytest.mark.only("sqlite")
BUSY = sqlite3.OperationalError("busy")


class OddBackend(SqliteBackend):
    """A file whose errors are transient, as those of a server may be."""

    has_odd_values = False
    unable_to_roll_back = False

    def is_transient(self, error):
        return error is BUSY

    def has_invalid_values(self, connection):
        return self.has_odd_values

    def explain(self, error):
        return StoreUnavailableError(f"explained: {error}")

    def connect(self):
        connection = super().connect()
        roll_back = connection.rollback

        def rollback():
            if self.unable_to_roll_back:
                raise BUSY
            roll_back()

        connection.rollback = rollback
        return connection


def played(tmp_path, work, *, threads=1, **traits):
    backend = OddBackend(tmp_path / "test.db")
    for name, value in traits.items():
        setattr(backend, name, value)

    async def run():
        backend.prepare().close()
        database = Database(backend, threads=threads)
        try:
            return await work(database)
        finally:
            await database.close()

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    pauses = []
    monkeypatch.setattr(database_module.time, "sleep", pauses.append)
    monkeypatch.setattr(database_module.random, "random", lambda: 0.5)
    return pauses


def fails(count, error=BUSY):
    """Return work that fails some times, and how often it was tried."""
    tries = []

    def work(connection, value="done"):
        tries.append(value)
        if len(tries) <= count:
            raise error
        return value

    return work, tries


@pytest.mark.parametrize("threads", [1, 2])
def test_what_stood_in_the_way_of_another_is_tried_again(tmp_path, short_pauses, threads):
    async def run(database):
        for method in (database.read, database.write):
            work, tries = fails(3)
            assert await method(work, value="kept") == "kept"
            assert tries == ["kept"] * 4

    played(tmp_path, run, threads=threads)
    assert short_pauses == [0.0025, 0.005, 0.01] * 2


def test_it_is_tried_eight_times(tmp_path, short_pauses):
    async def run(database):
        work, tries = fails(100)
        with pytest.raises(StoreUnavailableError, match=r"^explained: busy$") as caught:
            await database.read(work)
        assert caught.value.__cause__ is BUSY
        assert len(tries) == 8

    played(tmp_path, run)
    assert len(short_pauses) == 7


@pytest.mark.parametrize("error", [sqlite3.OperationalError("full"), NotFoundError("gone"), ValueError("odd")])
def test_what_would_fail_again_is_tried_once(tmp_path, error):
    async def run(database):
        work, tries = fails(1, error)
        kind = StoreUnavailableError if isinstance(error, sqlite3.Error) else type(error)
        with pytest.raises(kind):
            await database.read(work)
        assert len(tries) == 1

    played(tmp_path, run)


@pytest.mark.parametrize("error", [TypeError("t"), AttributeError("a"), ValueError("v"), OverflowError("o")])
def test_a_value_of_the_wrong_type_is_damage_if_there_is_one(tmp_path, error):
    async def run(database):
        with pytest.raises(StoreDamagedError, match="the database holds a damaged value: put a backup copy"):
            await database.read(fails(1, error)[0])

    played(tmp_path, run, has_odd_values=True)


def test_nothing_of_a_transaction_that_fails_is_stored(tmp_path):
    insert = "INSERT INTO settings (key, value, updated_at) VALUES (:key, '', 0)"

    def one(connection, key, error=None):
        connection.execute(insert, {"key": key})
        if error is not None:
            raise error

    async def run(database):
        # Together in one transaction, of which the second fails.
        wrong = NotFoundError("gone")
        writes = [database.write(one, "a"), database.write(one, "b", wrong), database.write(one, "c")]
        first, second, third = await asyncio.gather(*writes, return_exceptions=True)
        assert (first, second, third) == (None, wrong, None)
        return await database.read(lambda it: it.execute("SELECT key FROM settings ORDER BY key").fetchall())

    assert played(tmp_path, run) == [("a",), ("c",)]


def test_a_connection_that_cannot_roll_back_is_closed_and_another_made(tmp_path):
    async def run(database):
        work, _ = fails(2)
        assert await database.read(work) == "done"
        return len(database._connections)

    assert played(tmp_path, run, unable_to_roll_back=True) == 1


def test_a_closed_database_says_so_and_closes_again(tmp_path):
    async def run(database):
        await database.close()
        for method in (database.read, database.write):
            with pytest.raises(StoreError, match=r"^the database .*test\.db is closed: open it again$"):
                await method(lambda it: None)

    played(tmp_path, run)


def test_what_follows_a_cancelled_transaction_waits_for_it(tmp_path):
    may_end, then = threading.Event(), []

    async def run(database):
        database.when_settled(lambda: then.append("at once"))
        assert then == ["at once"]
        slow = asyncio.create_task(database.write(lambda it: may_end.wait(10)))
        behind = asyncio.create_task(database.write(lambda it: None))
        await asyncio.sleep(0.01)
        for task in (slow, behind):
            task.cancel()
        await asyncio.wait({slow, behind})
        database.when_settled(lambda: then.append("later"))
        assert then == ["at once"]
        may_end.set()
        await database.read(lambda it: None)
        await asyncio.sleep(0)
        assert then == ["at once", "later"]
        database.when_settled(lambda: then.append("again at once"))
        assert then[-1] == "again at once"

    played(tmp_path, run)


def test_a_task_gets_its_own_error(tmp_path):
    async def run(database):
        with pytest.raises(KeyError, match="mine"):
            await database.write(lambda it: {}["mine"])
        assert await database.write(lambda it: 5) == 5

    played(tmp_path, run)
