"""Supervise a program in a sandbox; the supervisor imports this module where there is one.

With namespaces, three processes belong to the sandbox itself: bubblewrap, its first process inside, and a shell that
watches the program. The shell reports the start and the end of the program. If the program has left others, the shell
stops itself, so that they can be named and asked to end before the sandbox is killed; looking for them takes a while.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time

from oneclaw_core.process.python_worker import read_proc
from oneclaw_core.process.supervisor import KILL_SECONDS, POLL_SECONDS, Supervisor, supervise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# The shell that watches names it.
REPORT_DESCRIPTOR = 9
# Bubblewrap says by the first which process it has made, and goes on when there is something to read from the other.
INFO_DESCRIPTOR, BLOCK_DESCRIPTOR = 8, 7
_FIRST_DESCRIPTOR = 20
_REPORT_BYTES = 100
NOT_STARTED = b"not started"
# Within their namespace: the first process of bubblewrap, and the shell.
_OWN_NUMBERS = (b"1", b"2")


class SandboxSupervisor(Supervisor):
    """Supervises a program in its own namespaces, where nothing that it starts outlives it.

    Args:
        stop_signal: see the base class.
        grace_seconds: see the base class.
        stdin: see the base class.
        sandbox: the descriptor of a ruleset of Landlock that bubblewrap enters, ``""`` for none; and that of the Unix
            socket through which the listener for the sandbox is sent, if there is one.
    """

    def __init__(self, stop_signal: int, grace_seconds: float, stdin: int | None, sandbox: Sequence[str]) -> None:
        super().__init__(stop_signal, grace_seconds, stdin, sandbox)
        self._reading, self._writing = _pipe()
        os.set_blocking(self._reading, False)
        self._awaited.append(self._reading)
        self._said = b""
        self._is_alone = False
        self._is_report_due = True
        self._channel = int(sandbox[1]) if sandbox[1:] else None
        self._info = b""
        if self._channel is not None:
            self._info_reading, self._info_writing = _pipe()
            self._block_reading, self._block_writing = _pipe()
            self._awaited.append(self._info_reading)

    def prepare(self) -> None:
        """Give bubblewrap and the shell their descriptors, in the process that becomes bubblewrap."""
        if self._sandbox[0]:
            from oneclaw_core.process.sandbox.confinement import enter_scope

            enter_scope(int(self._sandbox[0]))
        os.dup2(self._writing, REPORT_DESCRIPTOR)
        if self._channel is not None:
            os.dup2(self._info_writing, INFO_DESCRIPTOR)
            os.dup2(self._block_reading, BLOCK_DESCRIPTOR)

    def run(self, command: list[bytes], stdout: int, stderr: int) -> list[bytes]:
        """Run a program; see the base class. The exit code is ``not started`` if the sandbox cannot be set up."""
        report = super().run(command, stdout, stderr)
        return report if self._said or not report[0] else [NOT_STARTED, *report[1:]]

    def close(self) -> None:
        """Kill bubblewrap, and with it all that is inside."""
        until = time.monotonic() + KILL_SECONDS
        self._reap()
        if self._is_running:
            self._signal([self._program], signal.SIGKILL)
        while self._has_children and time.monotonic() < until:
            self._wait(POLL_SECONDS)

    def _take(self, descriptor: int, data: bytes) -> None:
        """Read the report: a line when the program is started, and one with its exit status, and if any are left."""
        if self._channel is not None and descriptor == self._info_reading:
            self._info += data
            if data.rstrip().endswith(b"}"):
                self._open_network()
        if descriptor != self._reading:
            return
        self._said = (self._said + data)[:_REPORT_BYTES]
        _, _, rest = self._said.partition(b"\n")
        status, is_whole, _ = rest.partition(b"\n")
        if is_whole:
            # The program reaches the shell's descriptor by way of /proc, and can write there what it likes.
            number, _, left = status.partition(b" ")
            self._is_alone = not left
            if self._status is None:
                is_number = len(number) <= 3 and number.isdigit()
                self._status = (int(number) & 0xFF if is_number else 255) << 8  # as the system reports it

    def _reap(self) -> None:
        super()._reap()
        if not self._is_running and self._is_report_due:
            # Bubblewrap ends after the shell, whose report may have come in the meantime.
            self._is_report_due = False
            try:
                self._take(self._reading, os.read(self._reading, _REPORT_BYTES))
            except BlockingIOError:
                return

    def _open_network(self) -> None:
        """Hand out the listener, then let bubblewrap go on; without a listener it must not."""
        from oneclaw_core.process.network_namespace import hand_out_listener

        assert self._channel is not None
        # In JSON, for which there is no time: {"child-pid": 12, ...}
        number = self._info.partition(b'"child-pid":')[2].partition(b",")[0].strip(b" \n}")
        if number.isdigit() and hand_out_listener(int(number), self._channel):
            os.write(self._block_writing, b"\n")
        else:
            self._signal([self._program], signal.SIGKILL)

    def _descendants(self) -> dict[int, int]:
        if self._is_alone:
            return {}
        return {pid: session for pid, session in super()._descendants().items() if not self._is_own(pid)}

    def _left(self) -> list[int]:
        return list(self._descendants())

    def _is_own(self, pid: int) -> bool:
        if pid == self._program:
            return True
        numbers = read_proc(f"/proc/{pid}/status").partition(b"\nNSpid:")[2].partition(b"\n")[0].split()
        return numbers[-1:] == [] or (len(numbers) > 1 and numbers[-1] in _OWN_NUMBERS)


def main() -> None:
    """Run a program in its own namespaces."""
    supervise(SandboxSupervisor)


def _pipe() -> tuple[int, int]:
    """Make a pipe beyond the descriptors that are given to others by number."""
    ends = os.pipe()
    reading, writing = (fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR) for each in ends)
    for each in ends:
        os.close(each)
    return reading, writing
