"""The sandbox of an isolated call: what its process may do, by the tool's permissions and the arguments of the call."""

from __future__ import annotations

import sys
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.files.hidden_paths import user_directory
from oneclaw_core.process.sandbox.policy import Network, SandboxPolicy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_core.tools.context import ToolContext

_MOST_TEXTS = 100
_MOST_PATH_CHARACTERS = 4096
_WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full")
# What libraries and programs are, and look up, wherever they run. Nothing in it is a secret of the user.
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/dev/random",
    "/dev/urandom",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu",
)
_NETWORK = ("/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/services", "/etc/protocols")


def isolated_policy(
    permissions: Iterable[str], arguments: Mapping[str, object], context: ToolContext, temporary: Path
) -> SandboxPolicy:
    """Return what the process of an isolated call may do.

    It reads the files that its arguments name, as far as tools may, and what Python and its libraries consist of. It
    writes the workspace if the tool needs ``files.write``, and connects if it needs one such as ``network.public``.

    Args:
        permissions: those that the tool requires.
        arguments: of the call; each text in them may be a path.
        context: of the call, as its process gets it.
        temporary: a directory for this call alone.
    """
    required = {permission.partition(":")[0] for permission in permissions}
    has_network = any(permission.startswith("network.") for permission in required)
    is_writing = "files.write" in required and "files.write" not in context.paths.denied
    read = (*_SYSTEM, *(_NETWORK if has_network else ()), *_python_paths())
    roots = _readable_roots(read, tuple(filter(None, (context.home, user_directory()))))
    return SandboxPolicy(
        write_roots=(*map(Path, _WRITABLE_DEVICES), *(_written(context) if is_writing else ())),
        read_roots=_outermost((*roots, *_named_files(arguments, context))),
        is_system_readable=False,
        network=Network.ALL if has_network else Network.NONE,
        temporary=temporary.resolve(),
    )


def _written(context: ToolContext) -> Iterator[Path]:
    yield context.paths.workspace.resolve()
    for name in context.paths.granted:
        permission, _, path = name.partition(":")
        if permission == "files.write":
            yield Path(path).parent  # a file is written beside its place, and renamed


def _python_paths() -> Iterator[str]:
    yield from (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)
    yield from filter(None, sys.path)


@lru_cache(maxsize=8)
def _readable_roots(paths: tuple[str, ...], closed: tuple[Path, ...]) -> tuple[Path, ...]:
    """Resolve paths; leave out those that hold the user's own, such as the directory of a program beside them."""
    own = {parent for each in closed for parent in (each.resolve(), *each.resolve().parents)}
    return _outermost({Path(each).resolve() for each in paths} - own)


def _outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Leave out what lies in another directory; Landlock lets none be listed that has a rule for a part of it."""
    given = set(paths)
    return tuple(sorted(each for each in given if given.isdisjoint(each.parents)))


def _named_files(arguments: Mapping[str, object], context: ToolContext) -> Iterator[Path]:
    for text in islice(_texts(arguments), _MOST_TEXTS):
        try:
            # It counts as read by the call: a process that was taken over may not tell.
            found = context.paths.readable(text)
        except (PermissionDeniedError, OSError, ValueError):  # it is no path, or none for tools
            continue
        if found.is_file():  # a directory could hold hidden files
            yield found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str | Path):
        text = str(value)
        if 0 < len(text) <= _MOST_PATH_CHARACTERS and "\0" not in text:
            yield text
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _texts(each)
