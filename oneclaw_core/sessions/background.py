"""Work that goes on in the background, such as sub-agents and commands: known to every process that uses the home.

Each work has a record among the settings, which every turn reads anyway. The record stays until the conversation that
it belongs to has been told of its end. Work ends with its process; a lock file tells whether that still runs.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
import uuid
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import NotFoundError, StoreError
from oneclaw_core.sessions.locks import FileLocks, HeldSession
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from oneclaw_core.sessions.store import Store

BACKGROUND_SETTING = "background:"
RUNNING, INTERRUPTED = "running", "interrupted"
STOP_POLL_SECONDS = 0.3
STOP_SECONDS = 10.0
# For records of conversations that are not continued.
_KEPT_SECONDS = 7 * 86_400

_log = logging.getLogger("oneclaw.background")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundWork:
    """A piece of work in the background.

    Attributes:
        id: unique in the home; letters, digits and dashes.
        kind: such as ``agent`` or ``command``.
        title: for people, as others wrote it.
        plugin: the plugin that does it.
        session_id: the conversation that gets a message when it ends.
        state: ``running``, ``ended``, ``failed``, ``stopped``, or ``interrupted`` if its process has ended before.
        outcome: a few words of the plugin, such as ``exit code 1``; nothing that others wrote.
        process: the process that runs it.
        host: the machine of that process.
        began_at: seconds since 1970.
    """

    id: str
    kind: str
    title: str
    plugin: str
    session_id: str | None = None
    state: str = RUNNING
    outcome: str = ""
    process: str = ""
    host: str = ""
    began_at: float = field(default_factory=time.time)

    @property
    def is_running(self) -> bool:
        """True if it goes on."""
        return self.state == RUNNING

    def end_in_words(self) -> str:
        """Say how it ended, without its title."""
        how = f"{self.state}, because the program ended" if self.state == INTERRUPTED else self.state
        return f"{self.kind} {self.id}: {how}" + (f", {self.outcome}" if self.outcome else "")


class Background:
    """The work of all processes that use a home.

    Args:
        store: keeps the records.
        directory: for the lock file of this process.

    Attributes:
        untold: conversations in which something has ended here since they were told.
    """

    def __init__(self, store: Store, directory: Path) -> None:
        self._store = store
        self._directory = directory
        self._locks = FileLocks(directory)
        self._process = uuid.uuid4().hex
        self._host = socket.gethostname()
        self._lock: HeldSession | None = None
        self._locking = asyncio.Lock()
        self._running: dict[str, tuple[BackgroundWork, Callable[[], None]]] = {}
        self._polling: asyncio.Task[None] | None = None
        self._listeners: list[Callable[[BackgroundWork], None]] = []
        self.untold: set[str] = set()

    async def begin(self, work: BackgroundWork, stop: Callable[[], None]) -> None:
        """Note that a work has begun in this process.

        Args:
            work: with an id that is not in use.
            stop: called, on the event loop of the program, when a person or a model wants it stopped.
        """
        async with self._locking:
            if self._lock is None:
                self._lock = await self._locks.acquire(_lock_name(self._process), 0)
                await self._prune()
        work = replace(work, process=self._process, host=self._host)
        await self._store.set_setting(BACKGROUND_SETTING + work.id, asdict(work))
        self._running[work.id] = work, stop
        if self._polling is None:
            self._polling = asyncio.create_task(self._stop_requested())

    async def end(self, work_id: str, state: str, outcome: str = "") -> None:
        """Note that a work of this process has ended; its conversation is told with the next message.

        Args:
            work_id: which.
            state: ``ended``, ``failed`` or ``stopped``.
            outcome: a few words, such as ``exit code 1``.
        """
        found = self._running.pop(work_id, None)
        if found is None:
            return
        work = replace(found[0], state=state, outcome=outcome)
        if work.session_id is None:
            await self._store.remove_setting(BACKGROUND_SETTING + work_id)
        else:
            await self._store.set_setting(BACKGROUND_SETTING + work_id, asdict(work))
            self.untold.add(work.session_id)
        for listener in self._listeners:
            listener(work)

    async def all_work(self) -> list[BackgroundWork]:
        """Return the work that goes on, and that whose end was not told yet, in the order of its beginning."""
        return await self._read(await self._store.settings())

    def here(self) -> list[BackgroundWork]:
        """Return the work that goes on in this process, and would end with it."""
        return [work for work, _ in self._running.values()]

    async def stop(self, work_id: str) -> BackgroundWork:
        """Stop a work, in whatever process it runs; return it as it was.

        Raises:
            NotFoundError: no work of that id goes on.
            StoreError: its process did not stop it in time.
        """
        found = next((each for each in await self.all_work() if each.id == work_id), None)
        if found is None or not found.is_running:
            raise NotFoundError(f"nothing of the id {work_id!r} runs; list what does with: oneclaw background list")
        own = self._running.get(work_id)
        if own is not None:
            own[1]()
        else:
            await self._store.request_stop(work_id)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            stored = (await self._store.settings()).get(BACKGROUND_SETTING + work_id)
            if not isinstance(stored, dict) or stored.get("state") != RUNNING:
                return found
            await asyncio.sleep(0.05)
        raise StoreError(f"{work_id} did not stop within {STOP_SECONDS:g} s; its process may hang")

    def listen(self, listener: Callable[[BackgroundWork], None]) -> None:
        """Have a function called with each work of this process that ends."""
        self._listeners.append(listener)

    async def told(self, work_ids: Iterable[str]) -> None:
        """Forget work whose end is known in its conversation."""
        for work_id in work_ids:
            await self._store.remove_setting(BACKGROUND_SETTING + work_id)

    async def news_for(self, session_id: str, stored: Mapping[str, Any]) -> tuple[str, list[str]]:
        """Find what a conversation is to be told.

        Args:
            session_id: the conversation.
            stored: settings as they are now.

        Returns:
            A text without anything that others wrote, empty for nothing; and the ids that it tells of.
        """
        self.untold.discard(session_id)
        ended = [each for each in await self._read(stored) if each.session_id == session_id and not each.is_running]
        if not ended:
            return "", []
        lines = [f"- {each.end_in_words()}" for each in ended]
        return "\n".join(["Ended in the background:", *lines]), [each.id for each in ended]

    async def aclose(self) -> None:
        """Stop looking for requests; what still runs counts as interrupted from now on."""
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.wait({self._polling})
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()

    async def _read(self, stored: Mapping[str, Any]) -> list[BackgroundWork]:
        found = []
        for key, value in stored.items():
            if key.startswith(BACKGROUND_SETTING) and isinstance(value, dict):
                try:
                    found.append(BackgroundWork(**value))
                except TypeError:  # of another version
                    _log.debug("the record %s cannot be read", key)
        gone = {each.process for each in found if each.is_running and not await self._is_alive(each.process, each.host)}
        found = [
            replace(each, state=INTERRUPTED) if each.is_running and each.process in gone else each for each in found
        ]
        return sorted(found, key=lambda each: (each.began_at, each.id))

    async def _is_alive(self, process: str, host: str) -> bool:
        if process == self._process or host != self._host:  # another machine cannot be checked
            return True
        path = self._directory / f"{_lock_name(process)}.lock"
        if not await run_in_thread(path.exists):
            return False
        lock = await self._locks.acquire(_lock_name(process), 0)
        if lock is None:
            return True
        lock.release()
        return False

    async def _prune(self) -> None:
        oldest = time.time() - _KEPT_SECONDS
        await self.told(each.id for each in await self.all_work() if not each.is_running and each.began_at < oldest)

    async def _stop_requested(self) -> None:
        """Look for requests of other processes as long as something runs here."""
        while self._running:
            await asyncio.sleep(STOP_POLL_SECONDS)
            try:
                for work_id in await self._store.stop_requests():
                    if work_id in self._running:
                        await self._store.withdraw_stop(work_id)
                        self._running[work_id][1]()
            except StoreError as error:
                _log.debug("requests to stop work could not be read", exc_info=error)
        self._polling = None


def _lock_name(process: str) -> str:
    return f"process-{process}"
