"""Connections through a pooler: sessions that are kept are as good as direct ones, shared ones are refused."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import psycopg
import pytest
from databases import backend_of
from oneclaw_postgres import address, connecting
from postgres_server import database_on_server

from oneclaw_core.errors import StoreError
from oneclaw_core.sessions.database import Database
from oneclaw_core.sessions.settings import read_states

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from postgres_server import PostgresServer

# What a pooler answers with for the process of the server, which it has yet to choose.
NOBODYS_PROCESS = struct.pack("!cIII", b"K", 12, 0x7FFFFFFF, 0)


def read_exactly(stream: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        chunk = stream.recv(size - len(content))
        if not chunk:
            raise EOFError
        content += chunk
    return content


def read_message(stream: socket.socket) -> bytes:
    head = read_exactly(stream, 5)
    return head + read_exactly(stream, int.from_bytes(head[1:], "big") - 4)


def relay(source: socket.socket, ends: bytes) -> bytes:
    """Read messages up to one of some kinds."""
    messages = [read_message(source)]
    while messages[-1][:1] not in ends:
        messages.append(read_message(source))
    return b"".join(b"" if each[:1] == b"K" else each for each in messages)


@dataclass
class Pooler:
    """A connection pooler on a Unix socket; it speaks just enough of PostgreSQL's protocol.

    Attributes:
        server: the socket of the server.
        session_count: how many sessions of the server it has at most.
        is_shared: whether a session is given back after each transaction, to the end of the queue.
    """

    server: str
    session_count: int
    is_shared: bool
    sessions: list[socket.socket] = field(default_factory=list)
    open_sockets: list[socket.socket] = field(default_factory=list)
    greeting: bytes = b""
    changed: threading.Condition = field(default_factory=threading.Condition)
    made: int = 0

    def take(self, startup: bytes) -> socket.socket:
        with self.changed:
            if self.made < self.session_count:
                self.made += 1
                session = socket.socket(socket.AF_UNIX)
                self.open_sockets.append(session)
                session.connect(self.server)
                session.sendall(startup)
                self.greeting = relay(session, b"Z")
                return session
            assert self.changed.wait_for(lambda: self.sessions, timeout=10)
            return self.sessions.pop(0)

    def give_back(self, session: socket.socket) -> None:
        with self.changed:
            self.sessions.append(session)
            self.changed.notify()

    def serve(self, client: socket.socket) -> None:
        size = read_exactly(client, 4)
        startup = size + read_exactly(client, int.from_bytes(size, "big") - 4)
        session = None
        if not self.greeting:
            self.give_back(self.take(startup))
        # In front of the last message, which says that the server is ready.
        client.sendall(self.greeting[:-6] + NOBODYS_PROCESS + self.greeting[-6:])
        try:
            while True:
                asked = relay(client, b"QSX")
                if asked[:1] == b"X":
                    return
                session = session or self.take(startup)
                session.sendall(asked)
                answer = relay(session, b"Z")
                if self.is_shared and answer[-1:] == b"I":
                    self.give_back(session)
                    session = None
                client.sendall(answer)
        finally:
            if session is not None:
                self.give_back(session)

    def serve_safely(self, client: socket.socket) -> None:
        with closing(client), suppress(EOFError, OSError):
            self.serve(client)


@contextmanager
def pooler(server_url: str, *, session_count: int, is_shared: bool) -> Iterator[str]:
    """Run a pooler before a server, and give the URL of the database through it."""
    values = psycopg.conninfo.conninfo_to_dict(server_url.replace("+psycopg", ""))
    with TemporaryDirectory(prefix="ocpool") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/.s.PGSQL.5432")
        listener.listen()
        pool = Pooler(f"{values['host']}/.s.PGSQL.5432", session_count, is_shared)
        threads: list[threading.Thread] = []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    pool.open_sockets.append(client)
                    threads.append(threading.Thread(target=pool.serve_safely, args=(client,)))
                    threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield f"postgresql+psycopg://postgres:hunter2@/{values['dbname']}?host={folder}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for each in pool.open_sockets:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
            for each in pool.open_sockets:
                each.close()


def open_and_close(url: str) -> None:
    async def main() -> None:
        await (await Database.open(backend_of(url))).close()

    asyncio.run(main())


def hold_at_once(url: str, count: int) -> None:
    """Have a pooler open as many sessions."""
    with ExitStack() as stack:
        for _ in range(count):
            connection = stack.enter_context(closing(psycopg.connect(url.replace("+psycopg", ""), autocommit=True)))
            connection.execute("BEGIN")
            stack.callback(connection.execute, "ROLLBACK")


@pytest.mark.parametrize("session_count", [1, 2, 3])
def test_a_pooler_that_shares_sessions_out_is_refused(
    postgres: PostgresServer, tmp_path: Path, session_count: int
) -> None:
    url = database_on_server(postgres.uri("postgres"), tmp_path)
    with pooler(url, session_count=session_count, is_shared=True) as pooled:
        # All its sessions are open, as they are where a pooler is in use.
        hold_at_once(pooled, session_count)
        for opening in (open_and_close, lambda url: read_states(backend_of(url))):
            with pytest.raises(StoreError, match="PgBouncer: pool_mode=session") as raised:
                opening(pooled)
            assert "hunter2" not in str(raised.value)
        # Other programs get the sessions next, and find in them what they are used to.
        with closing(psycopg.connect(pooled.replace("+psycopg", ""), autocommit=True)) as connection:
            for _ in range(session_count):
                assert connection.execute("SHOW search_path").fetchone() == ('"$user", public',)


def test_a_pooler_that_keeps_sessions_is_as_good_as_none(postgres: PostgresServer, tmp_path: Path) -> None:
    url = database_on_server(postgres.uri("postgres"), tmp_path)
    with pooler(url, session_count=5, is_shared=False) as pooled:
        open_and_close(pooled)
        assert read_states(backend_of(pooled)) == read_states(backend_of(url))
        with closing(connecting.connect(address.parse(pooled), 3.0)) as connection:
            assert connection.execute("SHOW search_path").fetchone() == ("oneclaw",)


def test_a_pooler_without_another_session_is_not_waited_for(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_WAIT_SECONDS", 0.1)
    url = database_on_server(postgres.uri("postgres"), tmp_path)
    with pooler(url, session_count=1, is_shared=False) as pooled:
        assert read_states(backend_of(pooled)) == read_states(backend_of(url))
