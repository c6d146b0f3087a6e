"""Run a function in the process that :func:`oneclaw_core.process.python_process` starts.

The process ends with its parent, however the parent ends: a process above it waits until standard input is closed, and
kills it with everything that it has started.

Killing a process group is not enough: a process that calls ``setsid`` leaves it, and a process whose parent ends gets
another parent. On Linux a process can adopt the orphans below it, so that they stay among its descendants, which
``/proc`` lists. Elsewhere only process groups can be killed.

Processes without site packages import this module, so it imports nothing that takes time, neither ``pathlib`` nor
``contextlib``.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

LENGTH_BYTES = 8
IS_BARE = bool(sys.flags.no_site)
"""True in a process without site packages: see ``is_bare`` of :func:`oneclaw_core.process.python_process`."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_MOST_DESCRIPTORS = 1 << 16
_ENDED_STATES = (b"Z", b"X")
# Killing one process can reveal others that it had just started.
_MOST_ROUNDS = 100


def main() -> None:
    """Call a function, in a child of this process, which is never in a sandbox and ends all with the parent.

    The command line has the function as ``module:function``, the modules to import first, the descriptors of the
    sandbox, and the arguments of the function.
    """
    target, modules, sandbox, *arguments = sys.argv[1:]
    if not IS_BARE:
        adopt_orphans()
    worker = os.fork()
    if worker:
        _guard(worker)
    set_process_option(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for module in modules.split():
        try:
            __import__(module)
        except (Exception, SystemExit):  # noqa: BLE001, S112  # the function imports it again, and says what is wrong
            continue
    if sandbox and len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208  # pathlib takes time to import
        # Landlock does not hold for the threads that the last module has started: it is imported in the sandbox.
        fewer = modules.rpartition(" ")[0]
        command = [fewer if each == modules else each for each in sys.orig_argv]
        os.execv(sys.executable, command)  # noqa: S606  # this program
    if sandbox:
        enter_sandbox(*map(int, sandbox.split()))
    sys.argv[1:] = arguments
    call_target(target)


def _guard(worker: int) -> NoReturn:
    """Wait for a process and end as it does; if standard input is closed, end it with all that it has started."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)  # its reader sees the end of the worker's output
    os.closerange(3, _MOST_DESCRIPTORS)
    _thread.start_new_thread(_end_with_parent, (0,))
    code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def enter_sandbox(ruleset: int, program: int) -> None:
    """Confine this process and all that it starts.

    Args:
        ruleset: The descriptor of a Landlock ruleset, -1 for none; closed here.
        program: That of a seccomp filter; closed here.
    """
    from oneclaw_core.process.sandbox.confinement import confine

    confine(ruleset if ruleset >= 0 else None, os.read(program, 1 << 20))
    for descriptor in (ruleset, program):
        if descriptor >= 0:
            os.close(descriptor)


def call_target(target: str) -> None:
    """Import a function and call it.

    Args:
        target: ``module:function``.
    """
    module, _, function = target.partition(":")
    __import__(module)
    getattr(sys.modules[module], function)()


def take_pipes() -> tuple[int, int]:
    """Take the pipes to the parent away from standard input and output, which then read and write nothing.

    A tool, C code or a child process may use the standard streams; that must not disturb the conversation.

    Returns:
        The descriptors to read from and to write to.
    """
    reading, writing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return reading, writing


def read_exactly(descriptor: int, length: int) -> bytes:
    """Read a number of bytes; end the process if the parent has closed the pipe."""
    data = bytearray()
    while len(data) < length:
        piece = os.read(descriptor, min(length - len(data), 1 << 20))
        if not piece:
            raise SystemExit(1)
        data += piece
    return bytes(data)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of some data."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _end_with_parent(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, 0)  # a hang-up is always reported
    poll.poll()
    kill_descendants(os.getpid())
    if os.getpgrp() == os.getpid():
        kill_group(os.getpid())
    os._exit(1)


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
        fields = read_proc(f"/proc/{pid}/stat").rpartition(b")")[2].split(maxsplit=4)
        if len(fields) < 5:  # it has just ended
            continue
        children.setdefault(int(fields[1]), []).append(pid)
        sessions[pid] = int(fields[3])
        if fields[0] in _ENDED_STATES:
            ended.add(pid)
    found = list(children.get(ancestor, ()))
    for pid in found:
        found += children.get(pid, ())
    return {pid: sessions[pid] for pid in found if pid not in ended}


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends; only Linux supports it."""
    set_process_option(_PR_SET_CHILD_SUBREAPER, 1)  # without it orphans are lost, everything else works


def set_process_option(option: int, value: int) -> None:
    """Call ``prctl`` of Linux; does nothing on other systems."""
    if sys.platform != "linux":
        return
    try:
        call_system("prctl", option, value, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


def call_system(name: str, *arguments: int) -> int:
    """Call a function of the C library that takes and returns numbers, and that Python does not offer."""
    import ctypes

    result: int = getattr(ctypes.CDLL(None), name)(*arguments)
    return result


def kill_descendants(ancestor: int) -> None:
    """Kill all descendants of a process, except those that belong to other users."""
    refused: set[int] = set()
    for _ in range(_MOST_ROUNDS):
        found = [pid for pid in descendants(ancestor) if pid not in refused]
        if not found:
            return
        refused.update(pid for pid in found if not send_signal(pid, signal.SIGKILL))


def kill_group(group: int) -> None:
    """Kill a process group."""
    send_signal(-group, signal.SIGKILL)


def has_group(group: int) -> bool:
    """Return True if a process group has members."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to another user
        return True
    return True


def send_signal(pid: int, number: int) -> bool:
    """Send a signal; return False if the process has ended or belongs to another user."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def read_proc(path: str) -> bytes:
    """Read the beginning of a file of ``/proc``; empty for a process that has ended."""
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


def _all_pids() -> list[int]:
    try:
        with os.scandir("/proc") as entries:
            return [int(entry.name) for entry in entries if entry.name.isdigit()]
    except OSError:
        return []
