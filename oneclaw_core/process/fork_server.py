"""Fork workers from a process that has imported what they need; :mod:`oneclaw_core.process.forking` starts it.

The server itself never sees a request: each worker reads its own from its standard input, serves it, and ends. So what
the server holds in memory and environment, and each worker gets a copy of, is free of secrets and of earlier calls.

A process can only be forked safely while it has one thread and no open files, whose positions all workers
would share. If importing a module changes that, the server ends before the first worker, and another is tried.

A server for bare workers has no site packages, and imports nothing that takes time.
"""

from __future__ import annotations

import _socket
import fcntl
import gc
import os
import select
import signal
import sys

from oneclaw_core.process import python_worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NUMBER_BYTES = 4
MAX_DESCRIPTORS = 32
# Standard input, output and error, the working directory, and the connection that tells of the worker's end.
OWN_DESCRIPTORS = 5
_MESSAGE_BYTES = NUMBER_BYTES * (MAX_DESCRIPTORS + 1)
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
# A command such as "pkill python" must not end this process.
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_CANNOT_FORK = 3


class ForkServer:
    """Forks a worker for each request, until the caller has ended.

    Args:
        control: a descriptor of the connection on which requests come.
        caller: a descriptor of the caller's process; -1 for none.
        handlers: those of the signals that the server itself ignores, for its workers.
    """

    def __init__(self, control: int, caller: int, handlers: dict[int, Any]) -> None:
        self._control = _socket.socket(fileno=control)
        self._caller = caller
        self._handlers = handlers
        self._workers: dict[int, int] = {}  # their process ids by the connections that tell of their ends
        self._poll = select.poll()
        self._wake, self._by_signal = os.pipe()
        for end in (self._wake, self._by_signal):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._by_signal, warn_on_full_buffer=False)
        for descriptor in (self._wake, caller, control):
            if descriptor >= 0:
                self._poll.register(descriptor, select.POLLIN)

    def serve(self) -> bool:
        """Fork workers until the caller asks for no more, and all have ended; return True in a worker."""
        is_accepting = True
        while is_accepting or self._workers:
            # One at a time, since a descriptor that was closed can get its number again.
            descriptor, _ = self._poll.poll()[0]
            if descriptor == self._wake:
                os.read(self._wake, 4096)
                self._report_ends()
                continue
            if descriptor == self._control.fileno() and (request := self._receive()):
                if self._fork(*request):
                    return True
                continue
            self._poll.unregister(descriptor)
            if descriptor in self._workers:
                self._kill(descriptor)
            else:
                is_accepting = False
            if descriptor == self._caller:
                for connection in self._workers:
                    self._kill(connection)

        return False

    def _receive(self) -> tuple[list[int], list[int]] | None:
        """Read a request: descriptors, and the numbers that some are to have; ``None`` at the end of the requests."""
        size = _socket.CMSG_SPACE(MAX_DESCRIPTORS * NUMBER_BYTES)
        message, attached, *_ = self._control.recvmsg(_MESSAGE_BYTES, size, _socket.MSG_CMSG_CLOEXEC)
        descriptors = [number for _, _, data in attached for number in _numbers(data)]
        return (descriptors, _numbers(message)[1:]) if message else None

    def _fork(self, descriptors: list[int], targets: list[int]) -> bool:
        """Fork a worker; return True in it."""
        server, connection = os.getpid(), descriptors[OWN_DESCRIPTORS - 1]
        try:
            pid = os.fork()
        except OSError as error:
            _tell(connection, -(error.errno or 1))
            pid = -1
        if pid == 0:
            python_worker.set_process_option(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != server:
                os._exit(1)
            self._leave()
            top = max(connection, *self._workers, self._by_signal, *descriptors, *targets) + 1
            _take_descriptors(descriptors, targets, top)
            return True
        if pid > 0:
            self._workers[connection] = pid
            self._poll.register(connection, select.POLLIN)
            _tell(connection, pid)
            descriptors.remove(connection)
        for descriptor in descriptors:
            os.close(descriptor)
        return False

    def _leave(self) -> None:
        """Become a separate process, in which nothing is left of the server's work."""
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._control.detach()  # closed by its number

    def _kill(self, connection: int) -> None:
        """End a worker with everything that it has started: the caller has gone, or needs it no more."""
        pid = self._workers[connection]
        python_worker.kill_descendants(pid)
        python_worker.send_signal(pid, signal.SIGKILL)  # it may have no group yet

    def _report_ends(self) -> None:
        for connection, pid in list(self._workers.items()):
            # It stays a zombie at first, so that its group is not that of another process.
            found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None:
                continue
            python_worker.kill_group(pid)
            os.waitpid(pid, 0)
            del self._workers[connection]
            try:  # noqa: SIM105  # contextlib takes time to import
                self._poll.unregister(connection)
            except KeyError:  # the caller has closed it before
                pass
            _tell(connection, found.si_status if found.si_code == os.CLD_EXITED else -found.si_status)
            os.close(connection)


def main() -> None:
    """Import modules, then serve the process whose number the command line gives."""
    caller, modules = int(sys.argv[1]), sys.argv[2:]
    control, null = os.dup(0), os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    caller_descriptor = _process_descriptor(caller)
    before = _names("/proc/self/fd")
    for module in modules:
        try:
            __import__(module)
        except (Exception, SystemExit):  # noqa: BLE001, S112  # the worker imports it again, and says what is wrong
            continue
    if _names("/proc/self/fd") != before or len(_names("/proc/self/task")) > 1:
        os._exit(_CANNOT_FORK)
    handlers: dict[int, Any] = {number: signal.signal(number, lambda *_: None) or signal.SIG_DFL for number in _IGNORED}
    # No other process of the user may read it or its workers.
    python_worker.set_process_option(_PR_SET_DUMPABLE, 0)
    gc.collect()
    gc.freeze()  # or the garbage collection of each worker would copy all of it
    if ForkServer(control, caller_descriptor, handlers).serve():
        python_worker.call_target(python_worker.take_request(is_forked=True))


def _take_descriptors(descriptors: list[int], targets: list[int], top: int) -> None:
    """Put what the caller has sent in its places, and close everything else.

    Args:
        descriptors: those received.
        targets: the numbers of those beyond :data:`OWN_DESCRIPTORS`.
        top: above all numbers that are in use.
    """
    sources = [fcntl.fcntl(each, fcntl.F_DUPFD, top) for each in descriptors]
    os.fchdir(sources[3])
    pairs = dict(zip([0, 1, 2, *targets], [*sources[:3], *sources[OWN_DESCRIPTORS:]], strict=True))
    for target, source in pairs.items():
        os.dup2(source, target)
    kept = sorted(pairs)
    for low, high in zip(kept, [*kept[1:], max(sources) + 1], strict=True):
        os.closerange(low + 1, high)


def _tell(connection: int, number: int) -> None:
    try:
        python_worker.write_all(connection, number.to_bytes(NUMBER_BYTES, sys.byteorder, signed=True))
    except OSError:  # the caller has gone
        return


def _numbers(data: bytes) -> list[int]:
    return list(memoryview(data[: len(data) // NUMBER_BYTES * NUMBER_BYTES]).cast("i"))


def _process_descriptor(pid: int) -> int:
    try:
        descriptor = os.pidfd_open(pid)
    except (OSError, AttributeError):  # an old kernel; the end of the connection tells the same
        descriptor = -1
    if os.getppid() != pid:  # it has ended before
        os._exit(1)
    return descriptor


def _names(directory: str) -> set[str]:
    with os.scandir(directory) as entries:
        return {entry.name for entry in entries}
