"""Python programs in processes that have done their imports before they start: forked from one that has.

Most of what a program costs is importing libraries. Such a process is one of its own in all that matters to what is
tested with it: its session, terminal, signals, directory, environment and exit status. That a program starts, and
imports what it needs, is to be tested with processes that Python starts itself.

For the tests of this repository; nothing here is public.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import weakref
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import fork_server
from fork_server import NUMBER_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Elsewhere, libraries of the system do not survive it (macOS), or there is no fork at all.
CAN_FORK = sys.platform == "linux"


def installed(modules: Sequence[str]) -> list[str]:
    """Return those of some modules whose packages are installed."""
    found = []
    for module in modules:
        with suppress(ModuleNotFoundError):
            if find_spec(module.partition(".")[0]):
                found.append(module)
    return found


class PreloadedPython:
    """Starts programs as ``python -c CODE ARGUMENTS`` does, with modules imported already.

    The first program starts the process that all are forked from. That ends with this object, at the latest with this
    process, and ends what goes on of the others then. Where the system cannot fork, Python is started for each program.

    Args:
        modules: the names of what most of the programs import. Importing them may start no thread: none survives a
            fork.
        python: the interpreter, by default this process's.
    """

    def __init__(self, modules: Sequence[str], python: str | Path = sys.executable) -> None:
        self._modules = modules
        self._python = str(python)
        self._control: socket.socket | None = None
        self._starting = threading.Lock()

    def start(
        self,
        command: Sequence[str],
        *,
        stdin: int | IO[Any],
        stdout: int | IO[Any],
        stderr: int | IO[Any],
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        start_new_session: bool = True,
        pass_fds: Sequence[int] = (),
    ) -> ForkedProcess | subprocess.Popen[bytes]:
        """Start a program; takes the place of ``subprocess.Popen``.

        Args:
            command: the interpreter, its options, of which ``-P`` alone counts, ``-c``, the code and the arguments.
            stdin: a file, a descriptor, ``subprocess.PIPE`` or ``subprocess.DEVNULL``.
            stdout: the same.
            stderr: the same.
            cwd: its directory, by default this process's.
            env: its environment, by default this process's; variables that are for Python itself count for the most
                part only where Python is started.
            start_new_session: is always true.
            pass_fds: further descriptors to inherit; Python is started if there are any.

        Returns:
            The process; its streams are binary.

        Raises:
            OSError: nothing can be forked; standard error says why.
        """
        if not start_new_session:
            raise ValueError("every process gets a separate session")
        if pass_fds or not CAN_FORK:
            return subprocess.Popen(  # Python itself, with a program of the tests
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env=env,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        place = command.index("-c")
        environ = dict(os.environ if env is None else env)
        imports_from = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
        if "-P" not in command[:place] and not environ.get("PYTHONSAFEPATH"):
            imports_from.insert(0, "")
        request = {
            "code": command[place + 1],
            "arguments": ["-c", *map(str, command[place + 2 :])],
            "directory": str(cwd or Path.cwd()),
            "environ": environ,
            "imports_from": imports_from,
        }
        data = json.dumps(request).encode() + b"\n"
        with self._starting, ExitStack() as ours:
            if self._control is None:
                self._control = self._start_server()
            ending, far_ending = socket.socketpair()
            ours.enter_context(ending)
            with far_ending, ExitStack() as theirs:
                opened = [
                    _open_stream(number, stream, ours, theirs) for number, stream in enumerate((stdin, stdout, stderr))
                ]
                descriptors = [descriptor for descriptor, _ in opened]
                sent = socket.send_fds(self._control, [data], [*descriptors, far_ending.fileno()])
                self._control.sendall(data[sent:])
            process = ForkedProcess(_receive_number(ending), [stream for _, stream in opened], ending)
            ours.pop_all()
            return process

    def _start_server(self) -> socket.socket:
        near, far = socket.socketpair()
        with far:
            server = subprocess.Popen(  # Python itself, with a file of this folder
                [self._python, "-P", fork_server.__file__, str(far.fileno()), *self._modules],
                pass_fds=[far.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # Nothing of the test that happens to come first.
                cwd="/",
                env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
                start_new_session=True,
            )
        weakref.finalize(self, _end_server, near, server)
        return near


class ForkedProcess:
    """A process that was forked, with what tests use of a ``subprocess.Popen``.

    Attributes:
        pid: its process id, which is also that of its session.
        stdin: where ``PIPE`` was asked for, the end to write to.
        stdout: the same, the end to read from.
        stderr: the same.
        returncode: its exit status once that was asked for after its end; the number of a signal that killed it,
            negative.
    """

    def __init__(self, pid: int, streams: Sequence[IO[bytes] | None], ending: socket.socket) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = streams
        self.returncode: int | None = None
        self._ending = ending

    def poll(self) -> int | None:
        """Give the exit status, or ``None`` while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Args:
            timeout: for how many seconds.

        Returns:
            Its exit status.

        Raises:
            TimeoutExpired: it goes on.
            ChildProcessError: no one can tell any more.
        """
        if self.returncode is None:
            self._ending.settimeout(timeout)
            try:
                self.returncode = _receive_number(self._ending)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("python", timeout or 0) from None
            except ChildProcessError:
                self._ending.close()
                raise
            self._ending.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def _open_stream(
    number: int, stream: int | IO[Any], ours: ExitStack, theirs: ExitStack
) -> tuple[int, IO[bytes] | None]:
    """Give the descriptor for the process, and the other end of a pipe."""
    if stream == subprocess.PIPE:
        reader, writer = os.pipe()
        near, far = (writer, reader) if number == 0 else (reader, writer)
        theirs.callback(os.close, far)
        pipe: IO[bytes] = os.fdopen(near, "wb", 0) if number == 0 else os.fdopen(near, "rb")
        return far, ours.enter_context(pipe)
    if stream == subprocess.DEVNULL:
        null = os.open(os.devnull, os.O_RDWR)
        theirs.callback(os.close, null)
        return null, None
    return stream if isinstance(stream, int) else stream.fileno(), None


def _end_server(control: socket.socket, server: subprocess.Popen[bytes]) -> None:
    control.close()
    server.wait()


def _receive_number(connection: socket.socket) -> int:
    data = connection.recv(NUMBER_BYTES, socket.MSG_WAITALL)
    if len(data) < NUMBER_BYTES:
        raise ChildProcessError("the process that others are forked from has ended: see standard error")
    return int.from_bytes(data, sys.byteorder, signed=True)
