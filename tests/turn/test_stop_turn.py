"""Stop the turn of a session that another process or task runs."""

import asyncio
import time
from dataclasses import replace

import pytest
from histories import assistant, call, success, user

from oneclaw_core import NotFoundError, OneClawError, StoreError
from oneclaw_core.sessions import conversations as sessions
from oneclaw_core.sessions.conversations import Sessions, StoppedTurn, stop_turn
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.sessions.store import Store
from oneclaw_core.turn import stream
from oneclaw_core.turn.call_records import INTERRUPTED
from oneclaw_core.turn.stream import Deadline, StopRequests

PART = "0" * 32


def played(tmp_path, work, name="story"):
    async def run():
        async with await Store.open(SqliteBackend(tmp_path / "test.db"), lock_directory=tmp_path) as store:
            session = await store.create_session(name=name, agent="General Assistant")
            return await work(store, session)

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(sessions, "_STOP_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(stream, "STOP_POLL_SECONDS", 0.001)


async def runs(store, session, begun, end):
    """Run a turn that ends when it is asked to."""
    async with store.session_lock(session.id, 0):
        begun.set()
        while session.id not in await store.stop_requests():
            await asyncio.sleep(0.001)
        await store.append(session.id, end)
        await store.withdraw_stop(session.id)


def test_it_is_told_what_was_stopped(tmp_path):
    async def work(store, session):
        await store.append(session.id, [user("First"), assistant("Done"), user("Read it"), assistant(""), call("c1")])
        begun = asyncio.Event()
        cut = replace(INTERRUPTED, tool_call_id="c1", tool_name="read_file")
        turn = asyncio.create_task(runs(store, session, begun, [cut]))
        await begun.wait()
        stopped = await stop_turn(store, session)
        await turn
        return stopped, await store.stop_requests()

    assert played(tmp_path, work) == (StoppedTurn("Read it", ("read_file",)), set())


def test_calls_that_ended_were_not_interrupted(tmp_path):
    async def work(store, session):
        earlier = replace(INTERRUPTED, tool_call_id="c0", tool_name="write_file")
        await store.append(session.id, [user("Write it"), assistant(""), call("c0"), earlier])
        await store.append(session.id, [user("Read it"), assistant(""), call("c1"), success("c1")])
        begun = asyncio.Event()
        turn = asyncio.create_task(runs(store, session, begun, [assistant("It says")]))
        await begun.wait()
        stopped = await stop_turn(store, session)
        await turn
        return stopped

    assert played(tmp_path, work) == StoppedTurn("Read it", ())


@pytest.mark.parametrize("name", ["story", None])
def test_there_is_nothing_to_stop_where_no_turn_runs(tmp_path, name):
    async def work(store, session):
        with pytest.raises(OneClawError) as caught:
            await stop_turn(store, session)
        shown = repr(name or session.id)
        assert str(caught.value) == f"no turn of session {shown} is running: there is nothing to stop"
        return await store.stop_requests()

    assert played(tmp_path, work, name) == set()


@pytest.mark.parametrize("name", ["story", None])
def test_a_process_that_hangs_is_reported(tmp_path, monkeypatch, name):
    monkeypatch.setattr(sessions, "_STOP_SECONDS", 0.05)

    async def work(store, session):
        async with store.session_lock(session.id, 0):
            with pytest.raises(OneClawError) as caught:
                await stop_turn(store, session)
        assert str(caught.value) == (
            f"the turn of session {(name or session.id)!r} did not end within 0.05 seconds: its process may hang; end "
            "that process, and the next message answers the open calls as interrupted"
        )
        return await store.stop_requests()

    assert played(tmp_path, work, name) == set()


def test_the_turn_after_the_stopped_one_is_not_waited_for(tmp_path):
    async def work(store, session):
        async with store.session_lock(session.id, 0):  # by the next turn, without a pause
            stopping = asyncio.create_task(stop_turn(store, session))
            while session.id not in await store.stop_requests():
                await asyncio.sleep(0.001)
            await store.withdraw_stop(session.id)
            return await stopping

    assert played(tmp_path, work) == StoppedTurn("", ())


def test_plugins_stop_a_turn_if_one_runs(tmp_path):
    async def work(store, session):
        reader = Sessions(store)
        assert await reader.stop("story") is False
        begun = asyncio.Event()
        turn = asyncio.create_task(runs(store, session, begun, [assistant("Half")]))
        await begun.wait()
        assert await reader.stop("story") is True
        await turn
        with pytest.raises(NotFoundError, match="there is no session 'tale'; list them with: oneclaw sessions list"):
            await reader.stop("tale")

    played(tmp_path, work)


def test_a_running_turn_looks_for_requests_until_it_ends():
    asked, withdrawn = [], []

    async def requested():
        asked.append(len(asked))
        if asked == [0]:
            raise StoreError("away")
        return {"s1", "elsewhere"} if len(asked) > 2 else set()

    async def withdraw(session_id):
        withdrawn.append(session_id)

    async def run():
        stops = StopRequests(requested, withdraw)
        stopped, other = Deadline(60), Deadline(60)
        async with stops.watching("s2", other):
            async with stops.watching("s1", stopped):
                while not stopped.is_stopped:
                    await asyncio.sleep(0.001)
            assert withdrawn == ["s1"]
        assert not other.is_stopped
        await asyncio.sleep(0.005)
        seen = len(asked)
        await asyncio.sleep(0.01)
        assert len(asked) == seen  # no turn runs
        async with stops.watching("s3", Deadline(60)):
            while len(asked) == seen:
                await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(run(), 10))
    assert withdrawn == ["s1"]


def test_a_stopped_turn_has_no_time_left():
    deadline = Deadline(60)
    assert 59 < deadline.remaining_seconds() <= 60
    deadline.stop()
    assert deadline.remaining_seconds() == 0
    assert Deadline(-1).remaining_seconds() == 0


def test_plugins_read_sessions_in_the_order_of_use(tmp_path):
    async def work(store, session):
        reader = Sessions(store)
        second = await store.create_session(name="tale", agent="Author", directory="/here")
        part = await store.create_session(agent="Critic", parent_id=session.id)
        await store.append(session.id, [user("One"), assistant("Two"), user("Three")])
        assert [each.name for each in await reader.list()] == ["story", None, "tale"]
        assert [each.name for each in await reader.list(1)] == ["story"]
        found = await reader.find("tale")
        assert (found.id, found.agent, found.parent_id) == (second.id, "Author", None)
        assert (await reader.find(part.id)).parent_id == session.id
        assert await reader.find("novel") is None
        assert (await reader.last_used()).name == "story"
        assert (await reader.last_used("/here")).name == "tale"
        first, *_ = await reader.messages(session.id)
        assert [each.content for each in await reader.messages(session.id, first.sequence, 1)] == ["Two"]

    played(tmp_path, work)


def test_a_history_is_taken_off_and_put_back_while_no_turn_runs(tmp_path):
    async def work(store, session):
        reader = Sessions(store)
        _, _, third = await store.append(session.id, [user("One"), assistant("Two"), user("Three")])
        worked = []
        await reader.end_history(session.id, third.sequence, PART, lambda: worked.append(time.monotonic()))
        assert [each.content for each in await reader.messages(session.id)] == ["One", "Two"]
        assert list(await reader.ended_parts(session.id)) == [PART]
        async with store.session_lock(session.id, 0):
            with pytest.raises(OneClawError, match="busy"):
                await reader.restore_history(session.id, PART)
        await reader.restore_history(session.id, PART)
        assert [each.content for each in await reader.messages(session.id)] == ["One", "Two", "Three"]
        assert len(worked) == 1

    played(tmp_path, work)
