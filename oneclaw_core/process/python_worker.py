"""Run a function in the process that :func:`oneclaw_core.process.python_process` starts.

The process ends with its parent, however the parent ends: a thread waits until standard input is closed, and kills the
process with everything that it has started.

Killing a process group is not enough: a process that calls ``setsid`` leaves it, and a process whose parent ends gets
another parent. On Linux a process can adopt the orphans below it, so that they stay among its descendants, which
``/proc`` lists. Elsewhere only process groups can be killed.

Processes without site packages import this module, so it imports nothing that takes time, neither ``pathlib`` nor
``contextlib``.
"""

from __future__ import annotations

import _thread
import marshal
import os
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LENGTH_BYTES = 8
IS_BARE = bool(sys.flags.no_site)
"""True in a process without site packages: see ``is_bare`` of :func:`oneclaw_core.process.python_process`."""
_PR_SET_CHILD_SUBREAPER = 36
_ENDED_STATES = (b"Z", b"X")
# Killing one process can reveal others that it had just started.
_MOST_ROUNDS = 100


def main() -> None:
    """Serve a request in a process that was started for it; see :func:`oneclaw_core.process.python_process`."""
    # Before the thread is started: what is confined are this thread and those that it starts.
    target = take_request(is_forked=False)
    _thread.start_new_thread(_end_with_parent, (os.dup(0),))
    call_target(target)


def request_of(
    target: str, arguments: Sequence[str], environ: dict[str, str], sandbox: Sequence[int], modules: Sequence[str]
) -> bytes:
    """Write what a worker reads from its standard input first.

    Args:
        target: ``module:function``.
        arguments: ``sys.argv[1:]`` of the function.
        environ: The environment.
        sandbox: The descriptors of a Landlock ruleset, -1 for none, and of a seccomp filter; empty for no sandbox.
        modules: Imported before the sandbox is entered.
    """
    data = marshal.dumps((target, list(arguments), environ, list(sandbox), list(modules)))
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def take_request(*, is_forked: bool) -> str:
    """Read a request, and become the process that it asks for.

    Args:
        is_forked: True in the fork of a process, which has imported the modules that can be imported ahead.

    Returns:
        The target.
    """
    length = int.from_bytes(read_exactly(0, LENGTH_BYTES), "big")
    target, arguments, environ, sandbox, modules = marshal.loads(read_exactly(0, length))  # noqa: S302  # comes from the caller
    if environ != dict(os.environ):
        os.environ.clear()
        os.environ.update(environ)
        if "tempfile" in sys.modules:
            sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]  # looked up again
    sys.argv = ["-c", *arguments]
    if not IS_BARE:
        adopt_orphans()
    if sandbox:
        for module in () if is_forked else modules:
            __import__(module)
        enter_sandbox(*sandbox)
    return str(target)


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
