"""Start workers as forks of a process that has imported what they need, instead of a fresh interpreter each.

A fork server is started at the first call that needs it, and ends with this process, however that ends. It serves all
calls of one kind: the same modules, import path and environment. See :mod:`oneclaw_core.process.fork_server`.
"""

from __future__ import annotations

import array
import asyncio
import atexit
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from oneclaw_core.process.fork_server import NUMBER_BYTES

# Elsewhere, libraries of the system do not survive a fork (macOS), or there is none at all.
CAN_FORK = sys.platform == "linux"
# Of different environments or modules; each takes memory.
_MOST_SERVERS = 8
_BUSY_SECONDS = 0.01
_RELEASE_SECONDS = 2.0
_END_SECONDS = 0.5
# Too many requests, or descriptors, are on their way.
_BUSY = (errno.EAGAIN, errno.ENOBUFS, errno.ETOOMANYREFS)


@dataclass(frozen=True, slots=True)
class ServerKind:
    """All that the workers of a server have in common.

    Attributes:
        command: the program that starts it, without the modules.
        modules: what it imports ahead.
        environ: its environment, as pairs.
    """

    command: tuple[str, ...]
    modules: tuple[str, ...]
    environ: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """A worker that is wanted.

    Attributes:
        streams: descriptors for standard input, output and error. The worker reads what
            :func:`oneclaw_core.process.fork_server.request_of` has written first.
        directory: the working directory; ``None`` for that of this process.
        pass_descriptors: descriptors that keep their numbers.
    """

    streams: tuple[int, int, int]
    directory: str | None = None
    pass_descriptors: tuple[int, ...] = ()


class ForkedProcess:
    """A worker; its parent is the fork server, which tells of its end.

    Attributes:
        pid: the process id, which is also that of its group and session. No other process gets it before :meth:`wait`
            has seen the end.
        returncode: the exit status, below 0 for the signal that ended it; ``None`` before the end is known.
    """

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._connection = connection

    def poll(self) -> int | None:
        """Return the exit status; ``None`` while it runs."""
        if self.returncode is None:
            try:
                data = self._connection.recv(NUMBER_BYTES)
            except BlockingIOError:
                return None
            except OSError:
                data = b""
            # A server that is killed takes its workers with it.
            self.returncode = _number(data) if data else -signal.SIGKILL
        return self.returncode

    async def wait(self, timeout_seconds: float) -> None:
        """Wait for the end of the process, and until the fork server has collected it."""
        if self._connection.fileno() < 0:
            return
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    while self.poll() is None:
                        await _readable(self._connection)
                with suppress(OSError):  # the server has ended
                    self._connection.shutdown(socket.SHUT_WR)
                async with asyncio.timeout(_RELEASE_SECONDS):
                    await _readable(self._connection)
        finally:  # a caller that is cancelled does not wait once more
            if self.returncode is not None:
                self._connection.close()

    def kill(self) -> None:
        """End it alone, unless its end is known."""
        if self.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)

    def abandon(self) -> None:
        """Have the server kill the worker, if it still runs, and everything that it has started."""
        self._connection.close()

    release = abandon


class _ServerEndedError(Exception):
    """A fork server has ended before it had forked a worker."""


class _ForkServer:
    """A running fork server.

    Attributes:
        kind: what it has imported.
        is_ready: True if it has forked a worker, so that its imports have ended.
        waiting: how many calls wait for a worker.
    """

    def __init__(self, kind: ServerKind) -> None:
        self.kind = kind
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
        """Return True if its process has ended."""
        return self._process.poll() is not None

    async def fork(self, request: ForkRequest) -> ForkedProcess:
        """Have it fork a worker.

        Raises:
            _ServerEndedError: it has ended.
            OSError: there can be no more processes or descriptors, or the directory cannot be entered.
        """
        near, far = socket.socketpair()
        near.setblocking(False)
        self.waiting += 1
        try:
            with far:
                await self._send(request, far.fileno())
            await _readable(near)
            try:
                data = near.recv(NUMBER_BYTES)
            except ConnectionError:
                data = b""
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
        with ExitStack() as stack:
            directory = _open_directory(request.directory)
            stack.callback(os.close, directory)
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

    def close(self) -> None:
        """Have it end as soon as its workers have."""
        self._control.close()

    def kill(self) -> None:
        """End it at once, with its workers."""
        self.close()
        self._process.kill()
        self._process.wait()

    def wait(self) -> None:
        """Wait a moment for its end."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)


class ForkServers:
    """The fork servers of this process, by what they have imported."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = 0
        self._servers: dict[ServerKind, _ForkServer] = {}
        self._ending: list[_ForkServer] = []
        self._unusable: set[ServerKind] = set()

    async def fork(self, kind: ServerKind, request: ForkRequest) -> ForkedProcess | None:
        """Fork a worker.

        Returns:
            The worker; ``None`` if a process that has imported these modules cannot be forked.

        Raises:
            OSError: there can be no more processes or descriptors, or the directory cannot be entered.
        """
        for _ in range(2):  # a server that was killed is started once more
            server = self._server(kind)
            if server is None:
                return None
            try:
                return await server.fork(request)
            except _ServerEndedError:
                self._drop(server, is_usable=server.is_ready)
            finally:
                # A call that was cancelled while modules were imported: the import may never end.
                if not server.is_ready and not server.waiting:
                    self._drop(server, is_usable=True)
        return None

    def close(self) -> None:
        """End the servers."""
        with self._lock:
            servers = [*self._servers.values(), *self._ending]
            self._servers.clear()
            for server in servers:
                server.close()
            for server in servers:
                server.wait()

    def _server(self, kind: ServerKind) -> _ForkServer | None:
        with self._lock:
            if self._process != os.getpid():  # this process was forked itself, and has none yet
                if not self._process:
                    atexit.register(self.close)
                self._process = os.getpid()
                for each in self._servers.values():
                    each.close()
                self._servers.clear()
            if kind in self._unusable:
                return None
            server: _ForkServer | None = self._servers.pop(kind, None)
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

    def _drop(self, server: _ForkServer, *, is_usable: bool) -> None:
        with self._lock:
            if not is_usable:
                self._unusable.add(server.kind)
            if self._servers.get(server.kind) is server:
                del self._servers[server.kind]
            server.kill()


SERVERS = ForkServers()
"""Belongs to the process, like the interpreter that its workers are copies of."""


async def _readable(connection: socket.socket) -> None:
    """Wait until something can be received, or nothing any more."""
    loop = asyncio.get_running_loop()
    is_readable = asyncio.Event()
    loop.add_reader(connection, is_readable.set)
    try:
        await is_readable.wait()
    finally:
        loop.remove_reader(connection)


def _open_directory(directory: str | None) -> int:
    descriptor = os.open(directory or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    if directory is not None and not os.access(directory, os.X_OK):
        os.close(descriptor)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), directory)
    return descriptor


def _number(data: bytes) -> int:
    return int.from_bytes(data, sys.byteorder, signed=True)
