"""Start workers as forks of a process that has imported what they need, instead of a fresh interpreter each.

A fork server is started at the first call that needs it, and ends with this process, however that ends. It serves all
calls of one kind: the same modules, import path and environment. See :mod:`oneclaw_core.process.fork_server`.
"""

from __future__ import annotations

import array
import asyncio
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from typing import NamedTuple

from oneclaw_core.process.fork_server import NUMBER_BYTES
from oneclaw_core.process.python_worker import kill_group

# Elsewhere, libraries of the system do not survive a fork (macOS), or there is none at all.
CAN_FORK = sys.platform == "linux"
# Of different environments or modules; each takes memory.
_MOST_SERVERS = 8
_BUSY_SECONDS = 0.01
# Too many requests, or descriptors, are on their way.
_BUSY = (errno.EAGAIN, errno.ENOBUFS, errno.ETOOMANYREFS)


class ServerKind(NamedTuple):
    """All that the workers of a server have in common.

    Attributes:
        command: the program that starts it, without the modules.
        modules: what it imports ahead.
        environ: its environment, as pairs.
    """

    command: tuple[str, ...]
    modules: tuple[str, ...]
    environ: tuple[tuple[str, str], ...]


class ForkRequest(NamedTuple):
    """A worker that is wanted.

    Attributes:
        streams: descriptors for standard input, output and error. The worker reads what
            :func:`oneclaw_core.process.python_worker.request_of` has written first.
        directory: the working directory; ``None`` for that of this process.
        pass_descriptors: descriptors that keep their numbers.
    """

    streams: tuple[int, int, int]
    directory: str | None
    pass_descriptors: tuple[int, ...]


class ForkedProcess:
    """A worker; its parent is the fork server, which ends what it leaves, and tells of its end.

    Attributes:
        pid: the process id, which is also that of its group and session.
        returncode: the exit status, below 0 for the signal that ended it; ``None`` before :meth:`wait` has seen the
            end.
    """

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._connection = connection

    async def wait(self, timeout_seconds: float) -> None:
        """Wait for the end of the process, and until the fork server has collected it."""
        if self.returncode is not None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                data = await _received(self._connection)
                self.close()
                if not data:  # a server that is killed takes its worker with it, and nothing else
                    kill_group(self.pid)
                self.returncode = _number(data) if data else -signal.SIGKILL

    def kill(self) -> None:
        """Have the server kill it with everything that it has started, unless it has ended."""
        with suppress(OSError):  # the server has ended
            self._connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Wait for its end no longer."""
        self._connection.close()


class _ServerEndedError(Exception):
    """A fork server has ended before it had forked a worker."""


class _ForkServer:
    """A running fork server.

    Attributes:
        is_ready: True if it has forked a worker, so that its imports have ended.
        waiting: how many calls wait for a worker.
    """

    def __init__(self, kind: ServerKind) -> None:
        self.is_ready = False
        self.waiting = 0
        self._control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with far:
            self._process = subprocess.Popen(  # noqa: S603  # Python itself, with a fixed program
                [*kind.command, str(os.getpid()), *kind.modules],
                stdin=far.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=dict(kind.environ),
                start_new_session=True,
            )
        self._control.setblocking(False)

    def has_ended(self) -> bool:
        """Return True if its process has ended, or belongs to the process that has forked this one."""
        return self._process.poll() is not None

    async def fork(self, request: ForkRequest) -> ForkedProcess:
        """Have it fork a worker.

        Raises:
            _ServerEndedError: it has ended.
            OSError: there can be no more processes or descriptors, or there is no such directory.
        """
        near, far = socket.socketpair()
        near.setblocking(False)
        self.waiting += 1
        try:
            with far:
                await self._send(request, far.fileno())
            data = await _received(near)
            if not data:
                raise _ServerEndedError
            self.is_ready = True
            number = _number(data)
            if number < 0:
                raise OSError(-number, os.strerror(-number))
            return ForkedProcess(number, near)
        except BaseException:
            near.close()
            raise
        finally:
            self.waiting -= 1

    async def _send(self, request: ForkRequest, connection: int) -> None:
        directory = os.open(request.directory or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            message = array.array("i", [len(request.pass_descriptors), *request.pass_descriptors]).tobytes()
            descriptors = [*request.streams, directory, connection, *request.pass_descriptors]
            while True:
                try:
                    socket.send_fds(self._control, [message], descriptors)
                    return
                except (BrokenPipeError, ConnectionResetError):
                    raise _ServerEndedError from None
                except OSError as error:
                    if error.errno not in _BUSY:
                        raise
                await asyncio.sleep(_BUSY_SECONDS)
        finally:
            os.close(directory)

    def close(self) -> None:
        """Have it end as soon as its workers have."""
        self._control.close()

    def kill(self) -> None:
        """End it at once, with its workers."""
        self.close()
        self._process.kill()
        self._process.wait()


class ForkServers:
    """The fork servers of this process, by what they have imported; they end with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[ServerKind, _ForkServer] = {}
        self._ending: list[_ForkServer] = []
        self._unusable: set[ServerKind] = set()

    async def fork(self, kind: ServerKind, request: ForkRequest) -> ForkedProcess | None:
        """Fork a worker, of a process that has imported as many of the modules as leave it fit to be forked.

        Returns:
            The worker; ``None`` if none is fit.

        Raises:
            OSError: there can be no more processes or descriptors, or there is no such directory.
        """
        for count in range(len(kind.modules), 0, -1):
            process = await self._fork(kind._replace(modules=kind.modules[:count]), request)
            if process is not None:
                return process
        return None

    async def _fork(self, kind: ServerKind, request: ForkRequest) -> ForkedProcess | None:
        for _ in range(2):  # a server that was killed is started once more
            if kind in self._unusable:
                return None
            server = self._server(kind)
            try:
                return await server.fork(request)
            except _ServerEndedError:
                if not server.is_ready:
                    self._unusable.add(kind)
                self._drop(kind, server)
            finally:
                # A call that was cancelled while modules were imported: the import may never end.
                if not server.is_ready and not server.waiting:
                    self._drop(kind, server)
        return None

    def _server(self, kind: ServerKind) -> _ForkServer:
        with self._lock:
            server = self._servers.pop(kind, None)
            if server is not None and server.has_ended():
                server.close()
                server = None
            if server is None:
                server = _ForkServer(kind)
            self._servers[kind] = server
            self._ending = [each for each in self._ending if not each.has_ended()]
            if len(self._servers) > _MOST_SERVERS:
                oldest = self._servers.pop(next(iter(self._servers)))
                oldest.close()
                self._ending.append(oldest)
            return server

    def _drop(self, kind: ServerKind, server: _ForkServer) -> None:
        with self._lock:
            if self._servers.get(kind) is server:
                del self._servers[kind]
            server.kill()


SERVERS = ForkServers()
"""Belongs to the process, like the interpreter that its workers are copies of."""


async def _received(connection: socket.socket) -> bytes:
    """Receive a number; nothing if the other end is closed."""
    try:
        return await asyncio.get_running_loop().sock_recv(connection, NUMBER_BYTES)
    except ConnectionError:
        return b""


def _number(data: bytes) -> int:
    return int.from_bytes(data, sys.byteorder, signed=True)
