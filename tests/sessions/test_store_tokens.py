"""Writes of a turn whose session another turn has acquired meanwhile, and what is known of a whole database."""

import asyncio
import stat
from contextlib import closing

import pytest
from histories import user

from oneclaw_core.errors import NotFoundError, SessionBusyError, StoreError
from oneclaw_core.sessions import messages, sessions
from oneclaw_core.sessions.backend import without_literals
from oneclaw_core.sessions.locks import FileLocks, fenced, update_own
from oneclaw_core.sessions.schema import TABLES
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.sessions.store import Store

pytestmark = pytest.mark.only("sqlite")

OWN, OTHER = 7, 8


def played(tmp_path, work, name="story"):
    """Do some work with a session that the turn with the token ``OWN`` has."""

    async def run():
        async with await Store.open(SqliteBackend(tmp_path / "test.db"), lock_directory=tmp_path) as store:
            session = await store.create_session(name=name, agent="General Assistant")
            statement = "UPDATE sessions SET lock_token = :token WHERE id = :it"
            await store._database.write(lambda it: it.execute(statement, {"it": session.id, "token": OWN}))
            return await work(store._database, session.id)

    return asyncio.run(run())


WRITES = {
    "append": lambda it, session_id: messages.append(it, session_id, [user("Hi")]),
    "touch": sessions.touch,
    "hold": sessions.hold,
    "keep_sections": lambda it, session_id: sessions.keep_sections(it, session_id, "It is Monday."),
}


@pytest.mark.parametrize("write", WRITES)
def test_only_the_turn_that_has_a_session_writes_to_it(tmp_path, write):
    async def work(database, session_id):
        await database.write(fenced(WRITES[write], OWN), session_id)
        await database.write(fenced(WRITES[write], None), session_id)
        with pytest.raises(SessionBusyError) as caught:
            await database.write(fenced(WRITES[write], OTHER), session_id)
        assert str(caught.value) == (
            "session 'story' went to another turn while this one had lost its connection to the database, so this one "
            "stores nothing more: see in `oneclaw sessions show` what was done, and send the message again if it was "
            "not answered"
        )
        # The token is for one piece of work.
        await database.write(WRITES[write], session_id)

    played(tmp_path, work)


def test_a_session_without_a_name_is_named_by_its_id(tmp_path):
    async def work(database, session_id):
        with pytest.raises(SessionBusyError, match=f"session '{session_id}' went to another turn"):
            await database.write(fenced(sessions.touch, OTHER), session_id)
        return True

    assert played(tmp_path, work, None)


@pytest.mark.parametrize("token", [None, OTHER])
def test_a_session_that_is_gone_is_not_busy(tmp_path, token):
    async def work(database, session_id):
        with pytest.raises(NotFoundError):
            await database.write(fenced(sessions.touch, token), "0" * 32)
        return True

    assert played(tmp_path, work)


def test_a_row_is_changed_by_its_own_turn(tmp_path):
    statement = "UPDATE sessions SET title = :title WHERE id = :it"

    async def work(database, session_id):
        def changed(connection, title):
            return update_own(connection, statement, {"it": session_id, "title": title})

        counts = [await database.write(fenced(changed, token), str(token)) for token in (None, OWN, OTHER)]
        found = await database.read(sessions.find, session_id)
        return counts, found.title

    assert played(tmp_path, work) == ([1, 1, 0], "7")


def test_a_function_keeps_its_name_and_its_arguments():
    def work(connection, first, *, second):
        """Do some work."""
        return connection.token, first, second

    class Connection:
        token = None

    made = fenced(work, OWN)
    assert made(Connection(), 1, second=2) == (OWN, 1, 2)
    assert (made.__name__, made.__doc__) == ("work", "Do some work.")


def test_numbers_that_were_given_are_not_given_again(tmp_path):
    backend = SqliteBackend(tmp_path / "test.db")
    numbered = [table for table in TABLES if table.numbers_once]
    others = [table for table in TABLES if not table.numbers_once and table.name == "settings"]
    assert numbered
    assert others
    with closing(backend.prepare()) as connection, connection.transaction(writes=True):
        for number, table in enumerate(numbered):
            assert backend.last_number(connection, table) == 0
            for last in (5, 40 + number):
                backend.set_last_number(connection, table, last)
            backend.set_last_number(connection, others[0], 9)
        assert [backend.last_number(connection, table) for table in numbered] == [40 + n for n in range(len(numbered))]
        assert backend.last_number(connection, others[0]) == 0
        count = connection.execute("SELECT count(*) FROM sqlite_sequence WHERE seq >= 40").fetchone()
        assert count == (len(numbered),)


@pytest.mark.parametrize(
    ("sql", "bare"),
    [
        ("SELECT :a, :b_2", "SELECT :a, :b_2"),
        ("x = ':a' AND y = :a", "x =   AND y = :a"),
        ("'it''s :a' || :b", "  || :b"),
        ('SELECT "a:b" FROM t', "SELECT a:b FROM t"),
        ("a::text = :a", "a::text = :a"),
        ("a -- :no\n= :a", "a  \n= :a"),
        ("a /* :no\n */ = :a", "a   = :a"),
        ("$$ :no $$ = $x$ :no $$ $x$ AND :a", "  =   AND :a"),
    ],
)
def test_placeholders_are_told_from_literals(sql, bare):
    assert without_literals(sql) == bare


def test_lock_files_are_their_owners_alone(tmp_path):
    async def run():
        locks = FileLocks(tmp_path / "locks")
        held = await locks.acquire("s", 0)
        mode = stat.S_IMODE((tmp_path / "locks" / "s.lock").stat().st_mode)
        assert await locks.acquire("s", 0.02) is None
        held.release()
        again = await locks.acquire("s", 0)
        again.release()
        await locks.close()
        return mode, stat.S_IMODE((tmp_path / "locks").stat().st_mode), held.token

    assert asyncio.run(run()) == (0o600, 0o700, None)
    (tmp_path / "file").write_text("")
    with pytest.raises(
        StoreError, match=r"^the lock file .*s\.lock cannot be used \(.+\): check the path and that this "
    ):
        asyncio.run(FileLocks(tmp_path / "file").acquire("s", 0))
