"""Processes of Python that have done their imports before they start: forked from one that has.

Such a process is one of its own in all that matters to what is tested here: its session, terminal, signals, environment
and exit status. That the program starts and imports what it needs is tested with processes that Python starts itself.
"""

import array
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace

PRELOADED = (
    "genai_prices",
    "httpx",
    "jsonschema",
    "oneclaw_core.agent_service",
    "oneclaw_core.app",
    "oneclaw_core.builtin",
    "oneclaw_core.chat.turn",
    "oneclaw_core.cli.call",
    "oneclaw_core.cli.chat",
    "oneclaw_core.cli.chat_input",
    "oneclaw_core.cli.conversation",
    "oneclaw_core.cli.main",
    "oneclaw_core.cli.rendering",
    "oneclaw_core.cli.run",
    "oneclaw_core.conformance.calls",
    "oneclaw_core.providers.offline.rules",
    "oneclaw_core.providers.openai_chat",
    "oneclaw_core.store.sqlite_backend",
    "oneclaw_core.store.store",
    "oneclaw_core.tools.function",
    "prompt_toolkit.shortcuts",
    "pydantic",
    "sqlalchemy.dialects.sqlite.aiosqlite",
    "sqlalchemy.sql.default_comparator",
    "yaml",
)
_MAX_PIECE_BYTES = 1 << 20


class ForkedPython:
    """Stands in for ``subprocess.Popen`` where a program is started as ``python -c CODE ARGUMENTS``.

    Every process gets a session of its own.

    Args:
        command: the interpreter, its options, which count for nothing, ``-c``, the code and the arguments.
        stdin, stdout, stderr: a file, a descriptor, or ``subprocess.PIPE``.
        cwd: its directory, by default this process's.
        env: its environment, by default this process's.
        start_new_session: is always true.
    """

    def __init__(self, command, *, stdin, stdout, stderr, cwd=None, env=None, start_new_session=True):
        assert start_new_session
        place = command.index("-c")
        ours, theirs, given = [], [], []
        for number, stream in enumerate((stdin, stdout, stderr)):
            if stream != subprocess.PIPE:
                given.append(stream if isinstance(stream, int) else stream.fileno())
                ours.append(None)
                continue
            reader, writer = os.pipe()
            near, far = (writer, reader) if number == 0 else (reader, writer)
            given.append(far)
            theirs.append(far)
            ours.append(os.fdopen(near, "wb", 0) if number == 0 else os.fdopen(near, "rb"))
        self.stdin, self.stdout, self.stderr = ours
        self.returncode = None
        self._ending, far_ending = socket.socketpair()
        request = {
            "code": command[place + 1],
            "arguments": ["-c", *map(str, command[place + 2 :])],
            "directory": str(cwd or Path.cwd()),
            "environ": dict(os.environ if env is None else env),
        }
        with far_ending:
            data = json.dumps(request).encode() + b"\n"
            sent = socket.send_fds(_server(), [data], [*given, far_ending.fileno()])
            _server().sendall(data[sent:])
        for descriptor in theirs:
            os.close(descriptor)
        self.pid = self._receive(None)

    def poll(self):
        """The exit status, or ``None`` while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout=None):
        """Wait for its end, and give its exit status."""
        if self.returncode is None:
            self.returncode = self._receive(timeout)
            self._ending.close()
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def _receive(self, timeout):
        self._ending.settimeout(timeout)
        try:
            data = self._ending.recv(8, socket.MSG_WAITALL)
        except (TimeoutError, BlockingIOError):
            raise subprocess.TimeoutExpired("python", timeout) from None
        assert len(data) == 8, "the process that others are forked from has ended"
        return array.array("q", data)[0]


def fork_probes(monkeypatch):
    """Let the checks of plugins look at them in such processes."""
    from oneclaw_core.conformance import process

    streams = {"PIPE": subprocess.PIPE, "TimeoutExpired": subprocess.TimeoutExpired}
    monkeypatch.setattr(process, "subprocess", SimpleNamespace(Popen=ForkedPython, **streams))


@cache
def _server():
    """Start the process that the others are forked from; it ends with this one."""
    near, far = socket.socketpair()
    with far:
        process = subprocess.Popen(
            [sys.executable, __file__, str(far.fileno())],
            pass_fds=[far.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # Nothing of the test that happens to come first.
            cwd="/",
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            start_new_session=True,
        )

    def end():
        near.close()
        process.wait()

    atexit.register(end)
    return near


def _serve(control):
    """Fork a process for each request; returns in that, with its code, and never in the server."""
    import gc
    from importlib import import_module
    from select import select

    for name in PRELOADED:
        import_module(name)
    gc.freeze()
    endings = {}
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    while True:
        ready = select([control, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 1024)
            _tell_endings(endings)
        if control in ready:
            data, descriptors, _, _ = socket.recv_fds(control, _MAX_PIECE_BYTES, 4)
            if not data:
                os._exit(0)
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


def _tell_endings(endings):
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with endings.pop(ended[0]) as ending, suppress(OSError):
                ending.sendall(array.array("q", [os.waitstatus_to_exitcode(ended[1])]))


def _become(request, descriptors, ending):
    """Make of a forked process what the request asks for."""
    os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environ"])
    time.tzset()
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.argv[:] = request["arguments"]
    sys.path[0] = ""
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    # As Python makes them: lines are written at once on terminals only.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    with ending:
        ending.sendall(array.array("q", [os.getpid()]))
    return request["code"]


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as _control:
        _code = _serve(_control)
    exec(compile(_code, "<string>", "exec"), {"__name__": "__main__"})
