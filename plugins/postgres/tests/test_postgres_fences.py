"""A turn that lost the lock of its session with a connection goes on, unless somebody else has taken it."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest
from histories import assistant, call, database_url, opened, rows, success, user
from how_long import some

from oneclaw_core.errors import NotFoundError, SessionBusyError
from oneclaw_core.sessions import messages as stored_messages
from oneclaw_core.sessions.sessions import new_id
from oneclaw_core.sessions.store import _writes_own
from oneclaw_core.sessions.usage import PrefixFingerprint, UsageRecord
from oneclaw_core.types.messages import Message, MessageType, TokenUsage, ToolCallStatus

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from oneclaw_core.sessions.backend import Connection
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.store import Store


INTERRUPTED = Message(
    type=MessageType.TOOL_RESULT, content="?", tool_status=ToolCallStatus.ERROR, error_type="interrupted"
)
SEARCH_PATH = "-c search_path=oneclaw"
TAKEN = r"went to another turn while this one had lost its connection .*: see in `oneclaw sessions show`"


def lose_locks(home: Path) -> None:
    """End the connections on which locks of sessions are held."""
    holders = "SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory'"
    ended = rows(home, f"SELECT pg_terminate_backend(pid, 10000) FROM ({holders}) AS holders")
    assert set(ended) == {(True,)}


async def locks_are(home: Path, count: int) -> None:
    """Wait until so many locks are held: they are given back without anybody waiting for it."""
    await found(home, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", count)


async def found(home: Path, statement: str, count: int) -> None:
    async with asyncio.timeout(10):
        while rows(home, statement) != [(count,)]:
            await asyncio.sleep(0.005)


def token(home: Path, session: Session) -> int | None:
    return rows(home, "SELECT lock_token FROM sessions WHERE id = ?", session.id)[0][0]  # type: ignore[no-any-return]


def contents(history: Sequence[Message]) -> list[str]:
    return [each.content or each.tool_call_id or "" for each in history]


@asynccontextmanager
async def begun(home: Path) -> AsyncIterator[tuple[Store, Store, Session]]:
    """Two stores, of which the first is in the middle of a turn of the session, with a call open, and lost its lock."""
    async with opened(home) as one, opened(home) as other:
        session = await one.create_session("work", agent="default")
        async with one.session_lock(session.id, 0):
            await one.begin_turn(session.id, user("first"), INTERRUPTED, None, "memory")
            await one.append(session.id, [call("1")])
            lose_locks(home)
            yield one, other, session


async def turn(store: Store, session: Session, text: str = "second") -> None:
    async with store.session_lock(session.id, 10):
        await store.begin_turn(session.id, user(text), INTERRUPTED, None)
        await store.append(session.id, [assistant(f"answer to {text}")])


@pytest.mark.long
def test_a_turn_goes_on_when_no_one_has_taken_its_lock(tmp_path: Path) -> None:
    async def main() -> None:
        async with begun(tmp_path) as (one, other, session):
            await one.finish_calls(session.id, [success("1")])
            await one.append(session.id, [assistant("answer")])
            await one.keep_sections(session.id, "new")
            # The token is no other session's, whichever thread writes to that.
            elsewhere = await other.create_session(agent="default")
            await asyncio.gather(*(one.append(elsewhere.id, [user()]) for _ in range(20)))
        async with opened(tmp_path) as store:
            assert contents(await store.messages(session.id)) == ["first", "1", "done", "answer"]
            assert (await store.kept_sections(session.id)).text == "new"

    asyncio.run(main())


@pytest.mark.parametrize(
    "write",
    some(
        [
            lambda store, it: store.append(it, [assistant()]),
            lambda store, it: store.append(it, []),
            lambda store, it: store.finish_calls(it, [success("1")]),
            lambda store, it: store.finish_calls(it, [success("1"), success("1")]),
            lambda store, it: store.begin_turn(it, user(), INTERRUPTED, None, "memory"),
            lambda store, it: store.set_summary(it, "summary", 1),
            lambda store, it: store.keep_sections(it, "new"),
            lambda store, it: store.delete_session(it),
        ],
        4,
    ),
    ids=some(["append", "touch", "finish", "finish-several", "begin", "summary", "memory", "delete"], 4),
)
@pytest.mark.parametrize("other_turn", some(["under way", "done"], 2))
def test_what_a_turn_writes_after_another_has_begun_is_refused(
    tmp_path: Path, write: Callable[[Store, str], Awaitable[object]], other_turn: str
) -> None:
    async def main() -> None:
        async with begun(tmp_path) as (one, other, session):

            async def refused() -> None:
                before = rows(tmp_path, "SELECT * FROM messages ORDER BY 1"), rows(tmp_path, "SELECT * FROM sessions")
                with pytest.raises(SessionBusyError, match="session 'work' " + TAKEN):
                    await write(one, session.id)
                after = rows(tmp_path, "SELECT * FROM messages ORDER BY 1"), rows(tmp_path, "SELECT * FROM sessions")
                assert after == before

            if other_turn == "under way":
                async with other.session_lock(session.id, 0):
                    await refused()
                    await other.begin_turn(session.id, user("second"), INTERRUPTED, None)
                    await other.append(session.id, [assistant("answer to second")])
            else:
                await turn(other, session)
            await refused()
        await one_more(session)

    async def one_more(session: Session) -> None:
        async with opened(tmp_path) as store:
            await turn(store, session, "third")
            history = await store.messages(session.id)
            assert contents(history) == ["first", "1", "?", "second", "answer to second", "third", "answer to third"]
            assert [each.tool_status for each in history[1:3]] == [ToolCallStatus.ERROR] * 2

    asyncio.run(main())


def test_a_store_whose_turn_was_refused_can_begin_the_next(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as one, opened(tmp_path) as other:
            session = await one.create_session("work", agent="default")
            async with one.session_lock(session.id, 0):
                lose_locks(tmp_path)
                await turn(other, session)
                with pytest.raises(SessionBusyError, match=TAKEN):
                    await one.append(session.id, [user("first")])
            # Outside a lock anybody may write.
            await one.append(session.id, [user("aside")])
            await turn(one, session, "third")
            await turn(other, session, "fourth")
            said = ["second", "answer to second", "aside", "third", "answer to third", "fourth", "answer to fourth"]
            assert contents(await one.messages(session.id)) == said
            await locks_are(tmp_path, 0)

    asyncio.run(main())


def test_what_is_still_being_stored_when_the_lock_is_taken_is_seen_by_the_new_turn(tmp_path: Path) -> None:
    is_writing, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection, session_id: str) -> None:
        stored_messages.append(connection, session_id, [assistant("straggler")])
        is_writing.set()
        assert go_on.wait(10)

    async def main() -> None:
        async with begun(tmp_path) as (one, other, session):
            before = token(tmp_path, session)
            straggler = asyncio.create_task(_writes_own(slow)(one, session.id))
            assert await asyncio.to_thread(is_writing.wait, 10)
            with pytest.raises(SessionBusyError, match="'work' is busy"):
                async with other.session_lock(session.id, 0):
                    pass
            assert token(tmp_path, session) == before
            await locks_are(tmp_path, 0)
            waiting = asyncio.create_task(turn(other, session))
            # It keeps no one else waiting.
            elsewhere = await other.create_session(agent="default")
            async with other.session_lock(elsewhere.id, 5):
                assert not waiting.done()
            go_on.set()
            await asyncio.gather(straggler, waiting)
            with pytest.raises(SessionBusyError, match=TAKEN):
                await one.finish_calls(session.id, [success("1")])
            history = await one.messages(session.id)
            assert contents(history) == ["first", "1", "straggler", "?", "second", "answer to second"]

    asyncio.run(main())


def test_a_write_that_waits_for_the_one_who_takes_the_lock_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with begun(tmp_path) as (one, _, session):
            with psycopg.connect(database_url(tmp_path).replace("+psycopg", ""), options=SEARCH_PATH) as other:
                other.execute("UPDATE sessions SET lock_token = 1 WHERE id = %s", (session.id,))
                writes = [
                    asyncio.create_task(each)
                    for each in (
                        one.append(session.id, [assistant()]),
                        one.finish_calls(session.id, [success("1")]),
                        one.keep_sections(session.id, "new"),
                    )
                ]
                await found(
                    tmp_path, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", len(writes)
                )
                other.commit()
                for ended in await asyncio.gather(*writes, return_exceptions=True):
                    assert isinstance(ended, SessionBusyError)
            assert contents(await one.messages(session.id)) == ["first", "1"]

    asyncio.run(main())


def test_locks_are_taken_again_with_the_next_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with begun(tmp_path) as (one, other, session):
            signed = token(tmp_path, session)
            assert signed is not None
            next_one = await one.create_session(agent="default")
            new = new_id()
            async with one.session_lock(next_one.id, 0), one.session_lock(new, 0):
                await locks_are(tmp_path, 3)
                assert token(tmp_path, session) == signed
                for held in (session.id, next_one.id, new):
                    with pytest.raises(SessionBusyError, match="is busy"):
                        async with other.session_lock(held, 0):
                            pass
                    with pytest.raises(SessionBusyError, match="is busy"):
                        async with one.session_lock(held, 0):
                            pass
                lose_locks(tmp_path)
                async with one.session_lock(new_id(), 0):
                    # No one knows of a session that has not begun.
                    await locks_are(tmp_path, 3)
            await locks_are(tmp_path, 1)
            await one.finish_calls(session.id, [success("1")])
            assert token(tmp_path, session) == signed
        await locks_are(tmp_path, 0)

    asyncio.run(main())


@pytest.mark.long
def test_a_lock_that_another_turn_has_had_meanwhile_is_not_taken_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with begun(tmp_path) as (one, other, session):
            async with other.session_lock(session.id, 0):
                await other.begin_turn(session.id, user("second"), INTERRUPTED, None)
                async with one.session_lock(new_id(), 0):
                    pass
            signed = token(tmp_path, session)
            async with one.session_lock(new_id(), 0):
                await locks_are(tmp_path, 1)
            # The turn that is refused keeps no one from beginning the next.
            await turn(other, session, "third")
            assert token(tmp_path, session) != signed
            with pytest.raises(SessionBusyError, match=TAKEN):
                await one.finish_calls(session.id, [success("1")])

    asyncio.run(main())


@pytest.mark.parametrize("is_taken", [False, True])
def test_a_session_that_begins_with_its_turn_bears_its_token(tmp_path: Path, is_taken: bool) -> None:
    async def main() -> None:
        async with opened(tmp_path) as one, opened(tmp_path) as other:
            session_id = new_id()
            async with one.session_lock(session_id, 0):
                lose_locks(tmp_path)
                session, _ = await one.begin_session_with_turn(session_id, user("first"), agent="default")
                assert token(tmp_path, session) is not None
                if is_taken:
                    await turn(other, session)
                    with pytest.raises(SessionBusyError, match=f"session '{session_id}' " + TAKEN):
                        await one.append(session_id, [assistant()])
                else:
                    await one.append(session_id, [assistant()])

    asyncio.run(main())


def test_a_session_that_was_deleted_meanwhile_is_gone(tmp_path: Path) -> None:
    async def main() -> None:
        async with begun(tmp_path) as (one, other, session):
            await other.delete_session(session.id)
            for write in (
                one.append(session.id, [assistant()]),
                one.keep_sections(session.id, "new"),
                one.begin_turn(session.id, user(), INTERRUPTED, None, "memory"),
            ):
                with pytest.raises(NotFoundError, match="there is no session"):
                    await write
            assert await one.delete_session(session.id) is False

    asyncio.run(main())


def test_what_a_refused_answer_used_is_counted(tmp_path: Path) -> None:
    used = UsageRecord("p", "m", TokenUsage(input_tokens=70), 0.5, prefix=PrefixFingerprint("t", "s", "h"))

    async def main() -> None:
        async with begun(tmp_path) as (one, other, session):
            await turn(other, session)
            with pytest.raises(SessionBusyError, match=TAKEN):
                await one.append(session.id, [assistant()], usage=used)
            await one.record_usage(session.id, used)
            totals = await other.usage_totals(session.id)
            assert (totals.requests, totals.input_tokens, totals.cost) == (2, 140, 1.0)
            # The other turn's next request does not go on from it.
            assert rows(tmp_path, "SELECT history_hash FROM usage ORDER BY id") == [(None,), ("h",)]

    asyncio.run(main())
