"""In the child process: keeps tools that are tried out from changing anything outside, and notes what they tried.

An audit hook (PEP 578) sees files being opened, programs being started and connections being made, whichever library
does it. It is a net for plugins that are careless, not a prison for hostile ones: native code passes it by.
"""

from __future__ import annotations

import os
import sys
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_HARMLESS_FILES = frozenset({os.devnull, "/dev/tty", ":memory:", ""})
# Where the path stands among an event's arguments, and where the directory that it is relative to.
_PATHS: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.remove": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.mkdir": ((0, 2),),
    "os.rmdir": ((0, 1),),
    "os.truncate": ((0, None),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.utime": ((0, 3),),
    "os.setxattr": ((0, None),),
    "os.removexattr": ((0, None),),
    "sqlite3.connect": ((0, None),),
}
_PROGRAMS = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn"}
)
_CONNECTIONS = frozenset(
    {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg"}
)
_OWN_WORKERS = "worker:main"


class Guard:
    """Refuses what reaches out of a directory.

    Args:
        root: the directory in which everything is allowed.
        allow: permissions; programs and connections are allowed with those for them.
    """

    def __init__(self, root: Path, allow: Iterable[str] = ()) -> None:
        self._root = os.path.realpath(root)
        parts = {each.partition(".")[0] for each in allow}
        self._are_programs_allowed = "shell" in parts
        self._are_connections_allowed = "network" in parts
        self._tried: list[str] = []
        self._observed: list[str] = []

    def install(self) -> None:
        """Begin; there is no end but that of the process."""
        sys.addaudithook(self._look)

    def take(self) -> list[str]:
        """Tell what was refused since this was last asked, such as ``write: /etc/passwd``."""
        tried, self._tried = list(dict.fromkeys(self._tried)), []
        return tried

    def take_observed(self) -> list[str]:
        """Tell which hosts and programs were used or asked for since the last time, such as ``host: a.example``."""
        observed, self._observed = list(dict.fromkeys(self._observed)), []
        return observed

    def _observe(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("socket.getaddrinfo", "socket.gethostbyname") and isinstance(arguments[0], str):
            self._observed.append(f"host: {arguments[0]}")
        elif event in ("subprocess.Popen", "os.exec", "os.posix_spawn") and _OWN_WORKERS not in str(arguments[1]):
            self._observed.append(f"program: {arguments[0]!s:.200}")

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        self._observe(event, arguments)
        if event == "open":
            path, mode, flags = arguments
            is_writing = any(each in mode for each in "wax+") if isinstance(mode, str) else flags & _WRITING_FLAGS
            if is_writing and self._is_outside(path, None):
                self._refuse("write", path)
        elif event in _PATHS:
            for position, directory in _PATHS[event]:
                path = arguments[position]
                if self._is_outside(path, None if directory is None else arguments[directory]):
                    self._refuse("write", path)
        elif event in _PROGRAMS and not self._are_programs_allowed:
            if not (event == "subprocess.Popen" and _OWN_WORKERS in str(arguments[1])):
                self._refuse("program", arguments[0] if arguments else event)
        elif event in _CONNECTIONS and not self._are_connections_allowed:
            address = arguments[1] if event.startswith(("socket.c", "socket.s")) else arguments[0]
            if not (event == "socket.getaddrinfo" and _is_numeric(address)):  # no one is asked then
                self._refuse("network", address)
        elif event in ("os.kill", "os.killpg") and arguments[1] != 0 and _is_foreign(arguments[0]):
            self._refuse("signal", f"process {arguments[0]}")

    def _is_outside(self, path: Any, directory: Any) -> bool:
        if isinstance(path, int):  # a file that is open already
            return False
        try:
            text = os.fsdecode(path)
        except TypeError:
            return False
        if text in _HARMLESS_FILES or text.startswith("file::memory:"):
            return False
        if isinstance(directory, int) and directory >= 0 and not os.path.isabs(text):  # noqa: PTH117
            try:
                text = f"{os.readlink(f'/proc/self/fd/{directory}')}/{text}"  # noqa: PTH115
            except OSError:  # there is no /proc here
                return False
        real = os.path.realpath(text.removeprefix("file:"))
        return real != self._root and not real.startswith(self._root + os.sep)

    def _refuse(self, what: str, detail: object) -> None:
        self._tried.append(f"{what}: {detail}"[:200])
        raise PermissionError(f"this is refused while plugins are checked: {what} {detail!s:.200}")


def _is_numeric(host: object) -> bool:
    try:
        ip_address(host if isinstance(host, str) else "")
    except ValueError:
        return False
    return True


def _is_foreign(process: int) -> bool:
    """Return True for a running process that is neither this one nor a child of it."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return False
