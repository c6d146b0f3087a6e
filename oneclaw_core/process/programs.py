"""Run a program with everything that it starts, and leave none of it running."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.errors import OneClawError, SandboxError
from oneclaw_core.process.python_runner import python_process
from oneclaw_core.process.python_worker import LENGTH_BYTES
from oneclaw_core.process.sandbox.policy import Network, SandboxBackend, SandboxPolicy
from oneclaw_core.process.sandbox_supervisor import NOT_STARTED
from oneclaw_core.process.supervisor import NAMED_PROCESSES, SEPARATOR
from oneclaw_core.secrets.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    OnConnection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]

# A tool that is cancelled has two seconds in all.
GRACE_SECONDS = 0.8
# Beyond the grace that processes get.
_STOPPING_SECONDS = 0.8
_PIECE_BYTES = 65_536
# What a pipe can still hold when all its writers have ended.
_REMAINING_BYTES = 1_048_576


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """The end of a program.

    Attributes:
        exit_code: below 0 for the signal that ended it; ``None`` if it exceeded its time limit.
        left_count: the number of processes that it had left in the background, which were ended with it.
        left_names: the beginnings of the command lines of some of them.
        detached_count: the number of processes that run on, in separate sessions.
        detached_names: the beginnings of the command lines of some of them.
    """

    exit_code: int | None
    left_count: int = 0
    left_names: tuple[str, ...] = ()
    detached_count: int = 0
    detached_names: tuple[str, ...] = ()


async def run_program(
    command: Sequence[str],
    *,
    directory: Path,
    environ: Mapping[str, str] | None = None,
    timeout_seconds: float | None,
    on_stdout: Callable[[bytes], None],
    on_stderr: Callable[[bytes], None] | None = None,
    stop_signal: signal.Signals = signal.SIGTERM,
    grace_seconds: float = GRACE_SECONDS,
    sandbox: tuple[SandboxBackend, SandboxPolicy] | None = None,
    on_connection: OnConnection | None = None,
    stdin: int | None = None,
) -> ProgramEnd:
    """Run a program without a terminal, and without input unless there is a descriptor for it.

    Everything that it has started is ended when it exceeds its time limit, when this is cancelled, and when this
    process ends, even by SIGKILL; orphans and daemons too on Linux. When the program ends by itself, processes left
    in its session are ended, and those with a separate session run on. Of a program with input, all are ended.

    Args:
        command: The program and its arguments.
        directory: The working directory.
        environ: Its environment; by default that of this process without secrets.
        timeout_seconds: Time limit; ``None`` for a server that runs until its input ends or this is cancelled.
        on_stdout: Receives standard output piece by piece.
        on_stderr: Receives standard error piece by piece; by default ``on_stdout`` receives both, in order.
        stop_signal: Asks processes to end before they are killed.
        grace_seconds: How long they have for that.
        sandbox: A backend and the policy to run it by, whose environment it gets; ``None`` for no sandbox. With
            bubblewrap nothing runs on, processes with a separate session included.
        on_connection: Serves what connects to the proxy of a sandbox with ``Network.DOMAINS``, such as
            ``accept`` of :func:`oneclaw_core.http.command_proxy`; needed there and only there.
        stdin: A descriptor for its standard input, such as the end of a pipe; the caller closes its own afterwards.

    Raises:
        SandboxError: The sandbox cannot be set up; the program has not run.
        OSError: The program is not found, its directory cannot be entered, or no process can be started.
        ValueError: The command contains a NUL character.
        OneClawError: Another process has killed the supervisor of the program.
    """
    if any("\0" in each for each in command):
        raise ValueError("a command must not contain NUL characters")
    if (sandbox is not None and sandbox[1].network is Network.DOMAINS) != (on_connection is not None):
        raise ValueError("on_connection goes with a sandbox whose policy has Network.DOMAINS")
    if sandbox is not None:
        environ = dict(sandbox[1].environment)
    elif environ is None:
        environ = without_secrets()
    if shutil.which(command[0], path=environ.get("PATH")) is None:
        raise FileNotFoundError(f"no program {command[0]} is found")
    with ExitStack() as stack:
        options: list[str] = []
        supervisor = "supervisor"
        inherited: tuple[int, ...] = ()
        if sandbox is not None:
            backend, policy = sandbox
            prepared = stack.enter_context(backend.wrap(command, policy, directory))
            command, directory, environ = prepared.command, prepared.directory, prepared.environment
            options, inherited = prepared.supervisor_options(), prepared.inherited()
            supervisor = "sandbox_supervisor" if prepared.has_namespaces else "supervisor"
        if on_connection is not None:
            listener = stack.enter_context(closing(_SandboxListener(on_connection)))
            options, inherited = [*options, str(listener.channel)], (*inherited, listener.channel)
        stdout = stack.enter_context(closing(_Drain(on_stdout)))
        stderr = stdout if on_stderr is None else stack.enter_context(closing(_Drain(on_stderr)))
        async with python_process(
            f"oneclaw_core.process.{supervisor}:main",
            str(stdout.write_end),
            str(stderr.write_end),
            str(int(stop_signal)),
            str(grace_seconds),
            str(-1 if stdin is None else stdin),
            *options,
            is_bare=True,
            directory=directory,
            environ=environ,
            pass_descriptors=(*{stdout.write_end, stderr.write_end}, *inherited, *([] if stdin is None else [stdin])),
            ends_itself=True,
        ) as process:
            try:
                request = SEPARATOR.join(map(os.fsencode, command))
                async with asyncio.timeout(timeout_seconds):
                    await process.send(len(request).to_bytes(LENGTH_BYTES, "big") + request)
                    report = await process.stdout.read()
            except TimeoutError:
                report = SEPARATOR.join((b"", b"0", b"0"))
            finally:
                process.stdin.close()
                await process.wait(grace_seconds + _STOPPING_SECONDS)
        stdout.read_remaining()
        stderr.read_remaining()
    return _end_of(report)


def _end_of(report: bytes) -> ProgramEnd:
    exit_code, *counts_and_names = report.split(SEPARATOR)
    if len(counts_and_names) < 2:
        raise OneClawError("its supervisor was killed, perhaps by the program itself")
    left_count, detached_count = map(int, counts_and_names[:2])
    names = [name.decode("utf-8", "replace") for name in counts_and_names[2:]]
    if exit_code == NOT_STARTED:
        raise SandboxError("the sandbox cannot be set up")
    named_left = min(left_count, NAMED_PROCESSES)
    return ProgramEnd(
        int(exit_code) if exit_code else None,
        left_count,
        tuple(names[:named_left]),
        detached_count,
        tuple(names[named_left:]),
    )


class _Drain:
    """A pipe that never gets full: its reader passes on what is written as it comes.

    Attributes:
        write_end: for the process that writes.
    """

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._read_end, self._read)

    def read_remaining(self) -> None:
        """Read what is there by now, without waiting for an end: a process that goes on may hold the pipe open."""
        read_bytes = 0
        while (count := self._read()) and read_bytes < _REMAINING_BYTES:
            read_bytes += count

    def close(self) -> None:
        """Read no more; processes that still write get ``SIGPIPE``."""
        self._loop.remove_reader(self._read_end)
        os.close(self._read_end)
        os.close(self.write_end)

    def _read(self) -> int:
        """Read a piece; 0 at the end, and as long as there is none."""
        try:
            piece = os.read(self._read_end, _PIECE_BYTES)
        except BlockingIOError:
            return 0
        self._take(piece)
        return len(piece)


class _SandboxListener:
    """A listener in the network namespace of a sandbox; connections are served on the running event loop.

    Attributes:
        channel: a descriptor by which the supervisor sends the socket: see ``network_namespace``.
    """

    def __init__(self, on_connection: OnConnection) -> None:
        self._on_connection = on_connection
        self._near, self._far = socket.socketpair()
        self.channel = self._far.fileno()
        self._loop = asyncio.get_running_loop()
        self._near.setblocking(False)
        self._loop.add_reader(self._near, self._receive)
        self._socket: socket.socket | None = None
        self._server: asyncio.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Accept no more; connections that were accepted go on."""
        self._loop.remove_reader(self._near)
        if self._serving is not None:
            self._serving.cancel()
        if self._server is not None:
            self._server.close()
        for each in (self._near, self._far, self._socket):
            if each is not None:
                each.close()

    def _receive(self) -> None:
        self._loop.remove_reader(self._near)
        _, descriptors, *_ = socket.recv_fds(self._near, 1, 1)
        if descriptors:
            self._socket = socket.socket(fileno=descriptors[0])
            self._serving = asyncio.create_task(self._serve(self._socket))

    async def _serve(self, listener: socket.socket) -> None:
        # What is there before it serves can be closed if this is cancelled.
        self._server = await asyncio.start_server(self._on_connection, sock=listener, start_serving=False)
        await self._server.start_serving()
