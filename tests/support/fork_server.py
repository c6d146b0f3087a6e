"""The program that other programs are forked from; see :mod:`preloaded_python`.

Usage: ``python -P fork_server.py DESCRIPTOR MODULE...``. It imports the modules and then waits at the descriptor, a
socket. Each request there is a line of JSON, with the descriptors of the standard streams and of another socket, which
is told the process id first and the exit status at the end. When no one is left to make requests, it kills what it has
forked, and ends. Only the standard library is imported by itself, and the programs have nothing of it but its modules.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NUMBER_BYTES = 8
_MAX_PIECE_BYTES = 1 << 20


def _serve(control: socket.socket) -> str:
    """Fork a process for each request; returns in that, with its code, and never in the server."""
    endings: dict[int, socket.socket] = {}
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    while True:
        ready, _, _ = select.select([control.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 1024)
            _tell_endings(endings)
        if control.fileno() in ready:
            data, descriptors, _, _ = socket.recv_fds(control, _MAX_PIECE_BYTES, 4)
            if not data:
                _end(endings)
            while not data.endswith(b"\n"):
                data += control.recv(_MAX_PIECE_BYTES)
            ending = socket.socket(fileno=descriptors.pop())
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (control, *endings.values()):
                    each.close()
                os.close(woken)
                os.close(wake)
                return _become(json.loads(data), descriptors, ending)
            endings[pid] = ending
            for descriptor in descriptors:
                os.close(descriptor)


def _tell_endings(endings: dict[int, socket.socket]) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with endings.pop(ended[0]) as ending, suppress(OSError):  # no one waits for it
                _send_number(ending, os.waitstatus_to_exitcode(ended[1]))


def _send_number(connection: socket.socket, number: int) -> None:
    connection.sendall(number.to_bytes(NUMBER_BYTES, sys.byteorder, signed=True))


def _end(processes: Mapping[int, socket.socket]) -> NoReturn:
    for pid in processes:
        os.kill(pid, signal.SIGKILL)  # a child that no one has waited for: the number is no other's
    os._exit(0)


def _become(request: Mapping[str, Any], descriptors: Sequence[int], ending: socket.socket) -> str:
    """Make of a forked process what the request asks for; gives its code."""
    os.setsid()
    with ending:
        _send_number(ending, os.getpid())
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.argv[:] = request["arguments"]
    sys.path[:0] = request["imports_from"]
    # As Python makes them: lines are written at once on terminals only.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # these three are open to the end
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    return str(request["code"])


def _end_at_once() -> None:
    """Leave out taking the interpreter apart, which copies most of its memory: ten times what the fork takes.

    Registered before everything else, so that it is called after threads have ended and what else is to be done has
    been. Where output cannot be written, Python says so.
    """
    if _status is not None:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_status)


_status: int | None = None


if __name__ == "__main__":
    atexit.register(_end_at_once)
    for _module in sys.argv[2:]:
        import_module(_module)
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as _control:
        _code = _serve(_control)
    try:
        exec(compile(_code, "<string>", "exec"), {"__name__": "__main__"})  # a program of the tests
    except SystemExit as _end_of_program:
        if isinstance(_end_of_program.code, int | None):
            _status = (_end_of_program.code or 0) & 0xFF
        raise
    else:
        _status = 0
