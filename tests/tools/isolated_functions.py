"""Functions that test_isolation.py and test_manifest.py run in worker processes."""

from __future__ import annotations

import ctypes
import datetime  # noqa: TC003  # the schemas are made from the hints
import errno
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.tool_functions.function import tool
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from oneclaw_core.tools.context import ToolContext

PR_GET_DUMPABLE = 3


@dataclass
class Report:
    pid: int
    tool_name: str
    day: datetime.date


class UnpicklableError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")
        self.stream = sys.stdin

    def __reduce__(self):
        raise TypeError("not this one")


@tool(isolation="process")
def report(day: datetime.date, context: ToolContext) -> Report:
    """Say where it runs."""
    return Report(os.getpid(), context.tool_name, day)


@tool(isolation="process")
def fail(how: str, context: ToolContext) -> str:
    """Fail in one of several ways."""
    if how == "exit":
        os._exit(7)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "sys.exit":
        sys.exit("enough")
    if how == "unpicklable":
        raise UnpicklableError("this", "that")
    if how == "forbidden":
        context.paths.readable("/etc/hostname")
    if how == "group":
        raise ExceptionGroup("unhandled errors", [ValueError("one"), ExceptionGroup("inner", [OSError("two")])])
    if how == "forbidden group":
        try:
            context.paths.readable("/etc/hostname")
        except PermissionDeniedError as error:
            raise ExceptionGroup("unhandled errors", [OSError("two"), error]) from None
    if how == "progress":
        context.progress("half", 0.5)
    if how == "result":
        return ToolResult.error("too_hard", "I give up.")
    if how == "object":
        return object()
    raise ValueError("héllo\nworld")


@tool(isolation="process", required_permissions=["files.write"])
def hang(pid_file: str, with_child: bool = False) -> str:
    """Write down process ids, then never end."""
    pids = [os.getpid()]
    if with_child:
        pids.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)
    ready = Path(pid_file + ".new")
    ready.write_text(" ".join(map(str, pids)))
    ready.rename(pid_file)
    while True:
        time.sleep(60)


@tool(isolation="process")
def noisy() -> str:
    """Write to every standard stream, and read from one."""
    print("to standard output")  # noqa: T201  # the noise is the point
    print("to standard error", file=sys.stderr)  # noqa: T201  # the noise is the point
    os.write(1, b"straight to the descriptor\n")
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    return f"read {sys.stdin.read()!r}"


@tool(isolation="process")
def talk(characters: int) -> str:
    """Gives a long text."""
    return "x" * characters


@tool(isolation="process")
def variables() -> list[str]:
    """Give the names of the environment variables."""
    return sorted(os.environ)


def plain(number: int, context: ToolContext) -> str:
    return f"{number} in {'the test' if 'pytest' in sys.modules else 'a worker'} for {context.session_id}"


async def asynchronous() -> str:
    return "never"


@tool(isolation="process")
def picture() -> ToolResult:
    """Gives a picture."""
    return ToolResult.success("a picture", (Attachment("a.png", "image/png", b"\x89PNG\x00"),), loads_groups=("pdf",))


def outcome(attempt):
    try:
        return attempt() and "done"
    except OSError as error:
        return errno.errorcode[error.errno]


def attempts(secret: str) -> dict[str, str]:
    """Try to get out."""
    beside = Path(secret).with_name("made-by-a-tool")
    calls = {
        "read a key": lambda: Path(secret).read_text(),
        "list its folder": lambda: list(Path(secret).parent.iterdir()),
        "read the environment of the program": lambda: Path(f"/proc/{os.environ['CALLER']}/environ").read_bytes(),
        "write beside it": lambda: beside.write_text("x"),
        "write to the temporary files of others": lambda: Path("/tmp/oneclaw-made-by-a-tool").write_text("x"),
        "connect": lambda: socket.create_connection(("127.0.0.1", 9), timeout=2),
        "make a socket of the machine": lambda: socket.socket(socket.AF_UNIX),
        "signal the program": lambda: os.kill(int(os.environ["CALLER"]), 0) or True,
    }
    found = {name: outcome(call) for name, call in calls.items()}
    program = subprocess.run(["cat", secret], capture_output=True, check=False)
    return found | {
        "have a program read a key": "done" if program.stdout else "refused",
        "be read by others": "done" if ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) else "refused",
        "write a temporary file": outcome(lambda: TemporaryFile().write(b"x")),
    }


@tool(isolation="process")
def escape(folder: list[str]) -> dict[str, str]:
    """Try to get out; the path is in pieces, so that it is no file that the call names."""
    return attempts("/".join(folder))


@tool(isolation="process", required_permissions=["network.public"])
def escape_to_the_network(folder: list[str]) -> dict[str, str]:
    """The same of a tool that may connect."""
    return attempts("/".join(folder))


@tool(isolation="process")
def read_named(path: str, other: str, unused: str = "") -> list[str]:
    """Read one file that the call names, and one that it does not, its name being reversed."""
    return [Path(path).read_text(), outcome(lambda: Path(other[::-1]).read_text())]


@tool(isolation="process")
def write_undeclared(path: str) -> str:
    """Write without having said that it writes."""
    return outcome(lambda: Path(path).write_text("x"))


@tool(isolation="process", required_permissions=["files.write"])
def write_declared(path: str) -> str:
    """Write."""
    return outcome(lambda: Path(path).write_text("x"))
