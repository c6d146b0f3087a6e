"""Run one program and end everything that it has started; :func:`oneclaw_core.process.run_program` starts this module.

The supervisor adopts orphans, so that on Linux all that the program starts stays among its descendants. It ends the
program when standard input is closed, so also when the caller ends, however that happens.

Each program waits for the start of the supervisor, so it imports nothing that takes time.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from oneclaw_core.process import python_worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SEPARATOR = b"\0"
# What a command leaves in the background may be about to end, such as the other end of a pipe.
LINGER_SECONDS = 0.3
# What hangs in the kernel or belongs to another user cannot be ended, and is given up.
KILL_SECONDS = 2.0
POLL_SECONDS = 0.02
NAMED_PROCESSES = 5
_NAME_BYTES = 120
_CONTROL, _REPORT = 0, 1


class Supervisor:
    """Supervises one program from its start to its end.

    Args:
        stop_signal: asks a process to end.
        grace_seconds: how long it has for that before it is killed.
        stdin: a descriptor for the program's standard input, closed here; ``None`` for no input.
        sandbox: what the program enters a sandbox by, as texts; nothing for no sandbox.
    """

    def __init__(self, stop_signal: int, grace_seconds: float, stdin: int | None, sandbox: Sequence[str]) -> None:
        self._stop_signal = stop_signal
        self._grace_seconds = grace_seconds
        self._stdin = stdin
        self._sandbox = sandbox
        self._program = 0
        self._is_running = False
        self._status: int | None = None
        self._is_control_open = True
        self._has_children = True
        self._wake, by_signal = os.pipe()
        self._awaited = [self._wake]
        for end in (self._wake, by_signal):
            os.set_blocking(end, False)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.set_wakeup_fd(by_signal, warn_on_full_buffer=False)
        # A command such as "pkill python" must not end this process; what is only ignored, the command would inherit.
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)

    def prepare(self) -> None:
        """Enter the sandbox, in the process that becomes the program."""
        if self._sandbox:
            python_worker.enter_sandbox(*map(int, self._sandbox))

    def run(self, command: list[bytes], stdout: int, stderr: int) -> list[bytes]:
        """Run a program until it ends, or until standard input does.

        Args:
            command: the program and its arguments.
            stdout: a descriptor, closed here.
            stderr: another one, or the same.

        Returns:
            The exit code, empty if the program was stopped; how many processes that it had left behind were ended;
            how many go on in separate sessions; and the names of some of them.
        """
        self._program = start(command, stdout, stderr, self.prepare, self._stdin)
        self._is_running = True
        while self._status is None and self._is_control_open:
            self._wait(None)
        until = time.monotonic() + LINGER_SECONDS
        while self._is_control_open and self._left() and time.monotonic() < until:
            self._wait(POLL_SECONDS)
        left = self._left()
        names = [_name(pid) for pid in left[:NAMED_PROCESSES]]
        if self._is_control_open and (left or not _HAS_PROC):
            self._end(is_all=False)
        if self._status is None or not self._is_control_open:
            self.end_all()
            return [b"", b"0", b"0"]
        if self._stdin is not None:  # a server: nothing that it has started is of use without it
            self.end_all()
        # A separate session is how a command says that something is to outlive it.
        going_on = list(self._descendants())
        names += [_name(pid) for pid in going_on[:NAMED_PROCESSES]]
        exit_code = os.waitstatus_to_exitcode(self._status)
        return [b"%d" % exit_code, b"%d" % len(left), b"%d" % len(going_on), *names]

    def end_all(self) -> None:
        """End all that the program has started."""
        self._end(is_all=True)

    def close(self) -> None:
        """End what was started for the sake of the program; the caller reads the report meanwhile."""

    def _left(self) -> list[int]:
        return [pid for pid, session in self._descendants().items() if session == self._program]

    def _descendants(self) -> dict[int, int]:
        """Find the running descendants. Without a child there are none, since this process adopts orphans."""
        self._reap()
        return python_worker.descendants(os.getpid()) if self._has_children else {}

    def _end(self, *, is_all: bool) -> None:
        # Ending one process can orphan others in the middle of a look around, so one look that finds none is no proof.
        quiet_looks = 0
        is_asked = False
        asked_until = time.monotonic() + self._grace_seconds
        while quiet_looks < 2 and time.monotonic() < asked_until + KILL_SECONDS:
            found = list(self._descendants()) if is_all else self._left()
            quiet_looks = 0 if found or (not _HAS_PROC and self._status is None) else quiet_looks + 1
            is_over = time.monotonic() >= asked_until
            if not is_asked or is_over:
                self._signal(found, signal.SIGKILL if is_over else self._stop_signal)
                is_asked = True
            if not quiet_looks:
                self._wait(POLL_SECONDS)
        if not _HAS_PROC:
            self._signal([], signal.SIGKILL)
        self._reap()

    def _signal(self, pids: list[int], number: int) -> None:
        if not _HAS_PROC:
            python_worker.send_signal(-self._program, number)
        for pid in pids:
            python_worker.send_signal(pid, number)
            if number != signal.SIGKILL:
                python_worker.send_signal(pid, signal.SIGCONT)  # a stopped process receives nothing else

    def _wait(self, seconds: float | None) -> None:
        """Wait until something happens: a child ends, or standard input does."""
        awaited = [*self._awaited, _CONTROL] if self._is_control_open else self._awaited
        for readable in select.select(awaited, [], [], seconds)[0]:
            if readable == _CONTROL:
                self._is_control_open = False
            else:
                self._take(readable, os.read(readable, 4096))
        self._reap()

    def _take(self, descriptor: int, data: bytes) -> None:
        """Take what was read; what a signal writes only ends the waiting."""

    def _reap(self) -> None:
        """Take note of the children that have ended, adopted ones too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._has_children = False
                return
            if not pid:
                return
            if pid == self._program:
                self._is_running = False
                if self._status is None:
                    self._status = status


def start(command: list[bytes], stdout: int, stderr: int, prepare: Callable[[], None], stdin: int | None) -> int:
    """Start a program in a new session, without a terminal, and without input unless there is a descriptor for it.

    Returns:
        Its process id, which is that of its session too.
    """
    source_of_input = os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for source, target in ((source_of_input, 0), (stdout, 1), (stderr, 2)):
                os.dup2(source, target)
            for descriptor in {stdout, stderr, *([] if stdin is None else [stdin])}:
                os.close(descriptor)
            for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            prepare()
            os.execvp(command[0], command)  # noqa: S606  # the caller chooses the program
        except OSError as error:
            os.write(2, command[0] + f" cannot be run: {error.strerror}\n".encode())
        finally:
            os._exit(127)
    for descriptor in {source_of_input, stdout, stderr}:
        os.close(descriptor)
    return pid


def _name(pid: int) -> bytes:
    return (
        python_worker.read_proc(f"/proc/{pid}/cmdline").replace(SEPARATOR, b" ").strip()[:_NAME_BYTES]
        or b"process %d" % pid
    )


def main() -> None:
    """Run a program without a sandbox, or in one that it enters itself."""
    supervise(Supervisor)


def supervise(kind: type[Supervisor]) -> None:
    """Read a command from standard input, run it, and report to standard output.

    Args:
        kind: what supervises it.
    """
    stdout, stderr, stop_signal = map(int, sys.argv[1:4])
    stdin = int(sys.argv[5])
    python_worker.adopt_orphans()
    supervisor = kind(stop_signal, float(sys.argv[4]), stdin if stdin >= 0 else None, sys.argv[6:])
    try:
        length = int.from_bytes(python_worker.read_exactly(_CONTROL, python_worker.LENGTH_BYTES), "big")
        report = supervisor.run(python_worker.read_exactly(_CONTROL, length).split(SEPARATOR), stdout, stderr)
        os.write(_REPORT, SEPARATOR.join(report))
        os.close(_REPORT)
    except BaseException:
        supervisor.end_all()
        raise
    finally:
        supervisor.close()
    os._exit(0)  # taking the interpreter apart takes a while


_HAS_PROC = bool(python_worker.read_proc("/proc/self/stat"))
