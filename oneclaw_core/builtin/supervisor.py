"""Runs one shell command, and ends all that it has started: a program by itself, which ``processes`` starts.

A process group is not enough for that: whoever calls ``setsid`` leaves it, and whose parent ends is lost from sight. On
Linux this process adopts what is orphaned below it, so that everything that the command starts stays among its
descendants, which ``/proc`` lists. Elsewhere only the command's process group can be ended.

The command ends with the caller, however that ends: standard input is open as long as the command is to go on.

Every command waits until this program has started, so it imports what costs next to nothing: neither ``pathlib``,
``contextlib`` nor ``dataclasses``.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

LENGTH_BYTES = 8
SEPARATOR = b"\0"
SHELL = "/bin/sh"
# What a command leaves in the background may be about to end, such as the other end of a pipe.
LINGER_SECONDS = 0.3
GRACE_SECONDS = 0.8
# What hangs in the kernel or belongs to another user cannot be ended, and is given up.
KILL_SECONDS = 2.0
_POLL_SECONDS = 0.02
NAMED_PROCESSES = 5
_NAME_BYTES = 120
_PR_SET_CHILD_SUBREAPER = 36
_CONTROL, _REPORT = 0, 1
_ENDED_STATES = (b"Z", b"X")


def descendants(ancestor: int) -> dict[int, int]:
    """Find the running descendants of a process.

    Returns:
        Their sessions by their process ids; empty where there is no ``/proc``.
    """
    children: dict[int, list[int]] = {}
    sessions: dict[int, int] = {}
    ended = set()
    for pid in _all_pids():
        # The name, in parentheses, can hold anything; after it come state, parent, group and session.
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split(maxsplit=4)
        if len(fields) < 5:  # it has ended just now
            continue
        children.setdefault(int(fields[1]), []).append(pid)
        sessions[pid] = int(fields[3])
        if fields[0] in _ENDED_STATES:
            ended.add(pid)
    found = list(children.get(ancestor, ()))
    for pid in found:
        found += children.get(pid, ())
    return {pid: sessions[pid] for pid in found if pid not in ended}


class Supervisor:
    """Watches over one command from its start to its end."""

    def __init__(self) -> None:
        self._shell = 0
        self._status: int | None = None
        self._is_control_open = True
        self._wake, by_signal = os.pipe()
        for end in (self._wake, by_signal):
            os.set_blocking(end, False)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.set_wakeup_fd(by_signal, warn_on_full_buffer=False)
        # A command such as "pkill python" must not end this process; what is only ignored, the command would inherit.
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)

    def run(self, command: bytes, stdout: int, stderr: int) -> list[bytes]:
        """Run a command until it ends, or until standard input does.

        Args:
            command: for the shell.
            stdout: a descriptor, closed here.
            stderr: another one.

        Returns:
            The exit code, empty if the command was stopped; how many processes that it had left behind were ended;
            how many go on in sessions of their own; and the names of some of them.
        """
        self._shell = start(command, stdout, stderr)
        while self._status is None and self._is_control_open:
            self._wait(None)
        until = time.monotonic() + LINGER_SECONDS
        while self._is_control_open and self._left() and time.monotonic() < until:
            self._wait(_POLL_SECONDS)
        left = self._left()
        names = [_name(pid) for pid in left[:NAMED_PROCESSES]]
        if self._is_control_open and (left or not _HAS_PROC):
            self._end(is_all=False)
        if self._status is None or not self._is_control_open:
            self.end_all()
            return [b"", b"0", b"0"]
        # A session of its own is how a command says that something is to outlive it.
        going_on = list(descendants(os.getpid()))
        names += [_name(pid) for pid in going_on[:NAMED_PROCESSES]]
        exit_code = os.waitstatus_to_exitcode(self._status)
        return [b"%d" % exit_code, b"%d" % len(left), b"%d" % len(going_on), *names]

    def end_all(self) -> None:
        """Leave nothing running."""
        self._end(is_all=True)

    def _left(self) -> list[int]:
        return [pid for pid, session in descendants(os.getpid()).items() if session == self._shell]

    def _end(self, *, is_all: bool) -> None:
        # Ending one process can orphan others in the middle of a look around, so one look that finds none is no proof.
        quiet_looks = 0
        is_asked = False
        asked_until = time.monotonic() + GRACE_SECONDS
        while quiet_looks < 2 and time.monotonic() < asked_until + KILL_SECONDS:
            found = list(descendants(os.getpid())) if is_all else self._left()
            quiet_looks = 0 if found or (not _HAS_PROC and self._status is None) else quiet_looks + 1
            is_over = time.monotonic() >= asked_until
            if not is_asked or is_over:
                self._signal(found, signal.SIGKILL if is_over else signal.SIGTERM)
                is_asked = True
            if not quiet_looks:
                self._wait(_POLL_SECONDS)
        if not _HAS_PROC:
            self._signal([], signal.SIGKILL)
        self._reap()

    def _signal(self, pids: list[int], number: signal.Signals) -> None:
        if not _HAS_PROC:
            _kill(os.killpg, self._shell, number)
        for pid in pids:
            _kill(os.kill, pid, number)
            if number == signal.SIGTERM:
                _kill(os.kill, pid, signal.SIGCONT)  # what is stopped hears of nothing else

    def _wait(self, seconds: float | None) -> None:
        """Wait until something happens: a child ends, or standard input does."""
        awaited = [self._wake, _CONTROL] if self._is_control_open else [self._wake]
        readable = select.select(awaited, [], [], seconds)[0]
        if self._wake in readable:
            os.read(self._wake, 4096)
        if _CONTROL in readable:
            self._is_control_open = False
        self._reap()

    def _reap(self) -> None:
        """Take note of the children that have ended, adopted ones too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid == self._shell:
                self._status = status


def start(command: bytes, stdout: int, stderr: int) -> int:
    """Start the shell in a session of its own, without a terminal and with nothing to read.

    Returns:
        Its process id, which is that of its session too.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            for source, target in ((null, 0), (stdout, 1), (stderr, 2)):
                os.dup2(source, target)
            os.close(stdout)
            os.close(stderr)
            for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            os.execv(SHELL, [b"sh", b"-c", command])  # noqa: S606  # it is the shell that is started
        except OSError as error:
            os.write(2, f"{SHELL} cannot be run: {error.strerror}\n".encode())
        finally:
            os._exit(127)
    for descriptor in (null, stdout, stderr):
        os.close(descriptor)
    return pid


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends; only Linux can do that."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):  # what is orphaned is lost, everything else works
        return


def _kill(send: object, pid: int, number: int) -> None:
    assert callable(send)
    try:
        send(pid, number)
    except (ProcessLookupError, PermissionError):  # it has ended, or belongs to another user
        return


def _all_pids() -> list[int]:
    try:
        with os.scandir("/proc") as entries:
            return [int(entry.name) for entry in entries if entry.name.isdigit()]
    except OSError:
        return []


def _name(pid: int) -> bytes:
    return _read(f"/proc/{pid}/cmdline").replace(SEPARATOR, b" ").strip()[:_NAME_BYTES] or b"process %d" % pid


def _read(path: str) -> bytes:
    """Read the beginning of a file of ``/proc``; what has ended has none."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _read_command() -> bytes:
    data = bytearray()
    while len(data) < LENGTH_BYTES or len(data) < LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big"):
        piece = os.read(_CONTROL, 65_536)
        if not piece:  # the caller has gone before it had said what to run
            raise SystemExit(1)
        data += piece
    return bytes(data[LENGTH_BYTES:])


def main() -> None:
    """Read the command from standard input, run it, and report to standard output."""
    stdout, stderr = map(int, sys.argv[1:])
    adopt_orphans()
    supervisor = Supervisor()
    try:
        report = supervisor.run(_read_command(), stdout, stderr)
    except BaseException:
        supervisor.end_all()
        raise
    os.write(_REPORT, SEPARATOR.join(report))


_HAS_PROC = bool(_read("/proc/self/stat"))

if __name__ == "__main__":
    main()
