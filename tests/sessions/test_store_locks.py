from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from histories import opened, rows, user

from oneclaw_core.errors import NotFoundError, SessionBusyError, StoreError
from oneclaw_core.sessions.locks import FileLocks, remove_unheld
from oneclaw_core.sessions.sqlite_files import not_in_use

pytestmark = pytest.mark.every_python

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from oneclaw_core.sessions.backend import Connection


HOLD = """
import asyncio, sys
from pathlib import Path
from oneclaw_core.sessions.locks import FileLocks

lock = asyncio.run(FileLocks(Path(sys.argv[1])).acquire(sys.argv[2], 0))
print("held" if lock else "refused", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
sys.stdin.readline()
"""


@contextmanager
def holder(directory: Path, session_id: str = "session") -> Iterator[subprocess.Popen[str]]:
    """Another process that holds a lock until it reads a line, or is killed."""
    command = [sys.executable, "-c", HOLD, str(directory), session_id]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_of_two_tasks_the_second_waits_for_the_first(tmp_path: Path) -> None:
    async def main() -> list[str]:
        happened: list[str] = []
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            held, go_on = asyncio.Event(), asyncio.Event()

            async def first() -> None:
                async with store.session_lock(session.id, 0):
                    held.set()
                    await go_on.wait()
                    happened.append("first")

            async def second() -> None:
                await held.wait()
                with pytest.raises(SessionBusyError):
                    async with store.session_lock(session.id, 0):
                        pass
                happened.append("refused")
                go_on.set()
                async with store.session_lock(session.id, 10):
                    happened.append("second")

            await asyncio.gather(first(), second())
        return happened

    assert asyncio.run(main()) == ["refused", "first", "second"]


@pytest.mark.long
@pytest.mark.only("sqlite")
def test_another_process_is_waited_for_no_longer_than_told(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session("work", agent="default")
            other = await store.create_session(agent="default")
            with holder(tmp_path / "locks", session.id):
                begun = time.monotonic()
                with pytest.raises(SessionBusyError, match=r"session 'work' is busy: .*use another session"):
                    async with store.session_lock(session.id, 0.1):
                        pass
                assert 0.1 <= time.monotonic() - begun < 25  # the other process holds it without end
                async with store.session_lock(other.id, 0):
                    pass

    asyncio.run(main())


@pytest.mark.long
@pytest.mark.only("sqlite")
@pytest.mark.parametrize("end", ["release", "kill"])
def test_a_lock_is_free_when_the_other_process_is_done_or_killed(tmp_path: Path, end: str) -> None:
    async def main() -> None:
        with holder(tmp_path) as process:
            waiting = asyncio.create_task(FileLocks(tmp_path).acquire("session", 10))
            await asyncio.sleep(0)
            if end == "kill":
                process.send_signal(signal.SIGKILL)
            else:
                assert process.stdin is not None
                process.stdin.write("\n")
                process.stdin.flush()
            lock = await waiting
            assert lock is not None
            lock.release()

    asyncio.run(main())


def test_a_lock_is_given_back_when_the_turn_fails_or_is_cancelled(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            with pytest.raises(ZeroDivisionError):
                async with store.session_lock(session.id, 0):
                    raise ZeroDivisionError

            async def turn() -> None:
                async with store.session_lock(session.id, 0):
                    await asyncio.Event().wait()

            task = asyncio.create_task(turn())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            async with store.session_lock(session.id, 0):
                pass

    asyncio.run(main())


def test_the_lock_of_a_cancelled_turn_is_kept_until_what_it_stores_is_stored(tmp_path: Path) -> None:
    started, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        started.set()
        assert go_on.wait(10)

    async def main() -> None:
        async with opened(tmp_path) as store, opened(tmp_path) as other:
            session = await store.create_session(agent="default")

            async def turn() -> None:
                async with store.session_lock(session.id, 0):
                    await store._database.read(slow)

            task = asyncio.create_task(turn())
            assert await asyncio.to_thread(started.wait, 10)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with pytest.raises(SessionBusyError):
                async with other.session_lock(session.id, 0):
                    pass
            go_on.set()
            async with other.session_lock(session.id, 10):
                pass

    asyncio.run(main())


@pytest.mark.only("sqlite")
def test_the_loop_runs_while_a_lock_is_waited_for(tmp_path: Path) -> None:
    async def main() -> None:
        lock = await FileLocks(tmp_path).acquire("session", 0)
        assert lock is not None
        waiting = asyncio.create_task(FileLocks(tmp_path).acquire("session", 10))
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
        assert isinstance((await asyncio.gather(waiting, return_exceptions=True))[0], asyncio.CancelledError)
        lock.release()
        again = await FileLocks(tmp_path).acquire("session", 0)
        assert again is not None
        again.release()

    asyncio.run(main())


@pytest.mark.only("sqlite")
def test_lock_files_are_private(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            async with store.session_lock(session.id, 0):
                path = tmp_path / "locks" / f"{session.id}.lock"
                assert stat.S_IMODE(path.stat().st_mode) == 0o600
                assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    asyncio.run(main())


@pytest.mark.parametrize("session_id", ["../../etc/passwd", "", "work"])
def test_only_the_id_of_a_session_can_be_locked(tmp_path: Path, session_id: str) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            with pytest.raises(NotFoundError, match="not a session's id"):
                async with store.session_lock(session_id, 0):
                    pass

    asyncio.run(main())


@pytest.mark.only("sqlite")
def test_a_lock_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"lock file .* cannot be used .*check the path"):
        asyncio.run(FileLocks(tmp_path / "file").acquire("session", 0))


@pytest.mark.only("sqlite")
def test_locks_beside_a_file_have_no_tokens(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            async with store.session_lock(session.id, 0):
                await store.append(session.id, [user()])
            assert rows(tmp_path, "SELECT lock_token FROM sessions") == [(None,)]

    asyncio.run(main())


@pytest.mark.only("sqlite")
def test_no_lock_file_stays_behind_a_turn(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            for _ in range(3):
                session = await store.create_session(agent="default")
                async with store.session_lock(session.id, 0):
                    assert [each.name for each in (tmp_path / "locks").iterdir()] == [f"{session.id}.lock"]
            await asyncio.sleep(0)
        assert list((tmp_path / "locks").iterdir()) == []

    asyncio.run(main())


def test_of_many_that_remove_the_file_one_holds_the_lock(tmp_path: Path) -> None:
    holders, most = [0], [0]

    async def take_turns() -> None:
        locks = FileLocks(tmp_path)
        for _ in range(100):
            lock = await locks.acquire("session", 30)
            assert lock is not None
            holders[0] += 1
            most[0] = max(most[0], holders[0])
            await asyncio.sleep(0)
            holders[0] -= 1
            lock.release()

    async def main() -> None:
        await asyncio.gather(*(asyncio.to_thread(asyncio.run, take_turns()) for _ in range(4)))

    asyncio.run(main())
    assert most == [1]


def test_no_lock_begins_while_a_database_is_replaced(tmp_path: Path) -> None:
    async def main() -> None:
        locks = FileLocks(tmp_path)
        with not_in_use(tmp_path / "oneclaw.db", tmp_path):
            assert await locks.acquire("session", 0.02) is None
        lock = await locks.acquire("session", 0)
        assert lock is not None
        lock.release()

    asyncio.run(main())


def test_lock_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    left, held, new = ("".join([each] * 32) for each in "abc")
    with holder(tmp_path, held):
        for name in (f"{left}.lock", f"process-{left}.lock", f"{new}.lock", "keys.lock"):
            (tmp_path / name).touch(0o600)
        for each in tmp_path.iterdir():
            if each.stem != new:
                os.utime(each, (0, 0))
        remove_unheld(tmp_path)
        assert {each.name for each in tmp_path.iterdir()} == {f"{held}.lock", f"{new}.lock", "keys.lock"}
    remove_unheld(tmp_path / "missing")
