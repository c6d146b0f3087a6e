"""The sandbox of a server that is a program: what it may read, write and connect to."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote

from oneclaw_core import UsageError
from oneclaw_core.files import PathGuard
from oneclaw_core.process import Network, SandboxError, SandboxScope, run_in_thread, sandbox_policy
from oneclaw_mcp.connection import ServerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oneclaw_core.plugins import HomeServices
    from oneclaw_core.process import SandboxBackend, SandboxPolicy
    from oneclaw_mcp.servers import Server

_PACKAGE_FILES = ("package.json", "pyproject.toml")
_SYSTEM = frozenset({"usr", "bin", "sbin", "lib", "lib64", "etc", "opt", "dev", "proc", "sys"})
_NAME = re.compile(r"-{0,2}[A-Za-z][\w.-]*")
# Such as file:///x, sqlite:////x and sqlite+aiosqlite:///x?mode=ro.
_LOCAL_URL = re.compile(r"[A-Za-z][\w.+-]*:///(?P<path>[^?#]+).*", re.DOTALL)
_VARIABLE = re.compile(r"\$\{env:([^}]+)\}")
_SEPARATOR = re.compile(r"[:;,](?=[/~])")
_LONGEST_VALUE = 4_000


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Rights of a server beyond its own directory.

    Attributes:
        reads: directories and files that it reads, beside the system and programs.
        writes: directories that it reads and writes.
        has_network: True if it can connect to any place.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    has_network: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {"read": list(self.reads), "write": list(self.writes), "network": "all" if self.has_network else "none"}

    @classmethod
    def from_dict(cls, name: str, stored: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_dict` returned.

        Raises:
            UsageError: something in it is of another type.
        """
        reads, writes, network = stored.get("read", []), stored.get("write", []), stored.get("network", "all")
        if not all(isinstance(each, list) and all(isinstance(path, str) for path in each) for each in (reads, writes)):
            raise UsageError(f"MCP server {name}: read and write of its sandbox are lists of paths")
        if network not in ("all", "none"):
            raise UsageError(f"MCP server {name}: network of its sandbox is all or none")
        return cls(tuple(reads), tuple(writes), network == "all")

    def lines(self) -> list[str]:
        """Describe it for a person."""
        return [
            f"reads the system, programs{''.join(f', {each}' for each in self.reads)}",
            f"writes {', '.join(self.writes) or 'in a separate directory only'}",
            "connects to any place" if self.has_network else "has no network",
        ]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A path that a server is given, and that its sandbox does not hold.

    Attributes:
        path: as it is given, absolute.
        place: where it stands, such as the name of an option or a variable.
        directory: what the server would have to be given; ``None`` if that holds too much.
    """

    path: str
    place: str
    directory: str | None


def candidates(command: Sequence[str], environment: Mapping[str, str], sandbox: Sandbox | None) -> list[Candidate]:
    """Find the paths in options, variables and URLs that a server cannot reach, whether they exist or not.

    Args:
        command: the program and its arguments.
        environment: its variables, as they are configured.
        sandbox: what it may reach; ``None`` for everything.
    """
    if sandbox is None:
        return []
    texts = [*_texts_of_arguments(command[1:]), *((name, value) for name, value in environment.items())]
    found: dict[str, Candidate] = {}
    for place, text in texts:
        for path in _paths_in(text):
            resolved = path.resolve()
            held = [Path(each) for each in (*sandbox.reads, *sandbox.writes)]
            is_system = _is_system(resolved) and resolved != Path.home()
            if not is_system and not any(resolved.is_relative_to(each) for each in held):
                found.setdefault(str(path), Candidate(str(path), place, _directory_for(resolved)))
    return list(found.values())


def _texts_of_arguments(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the values of arguments, each with the option or the name that it belongs to."""
    option = ""
    for number, each in enumerate(arguments, 1):
        name, has_value, value = each.partition("=")
        if has_value and _NAME.fullmatch(name):
            yield name, value
        else:
            yield option or f"argument {number}", each
        option = each if each.startswith("-") and not has_value else ""


def _paths_in(text: str) -> Iterator[Path]:
    """Yield the absolute paths in a value: one, several with separators, or that of a URL without a host."""
    text = _VARIABLE.sub(lambda match: os.environ.get(match[1], ""), text)
    if len(text) > _LONGEST_VALUE:
        return
    url = _LOCAL_URL.fullmatch(text)
    if url is not None:
        yield Path("/" + unquote(url["path"]).lstrip("/"))
        return
    for each in _SEPARATOR.split(text):
        if each.startswith(("/", "~/")) and not each.startswith("//") and len(each) > 1:
            yield Path(each).expanduser()


def _directory_for(path: Path) -> str | None:
    """Return the directory, or the file, that a server needs in order to use a path."""
    for each in (path if path.is_dir() else path.parent, path):
        try:
            if each.exists():
                return str(_checked(str(each)))
        except UsageError:
            continue
    return None


def widened(sandbox: Sandbox, reads: Iterable[str], writes: Iterable[str]) -> Sandbox:
    """Return a sandbox with more rights.

    Raises:
        UsageError: one of them holds too much.
    """
    return replace(
        sandbox,
        reads=tuple(dict.fromkeys([*sandbox.reads, *(str(_checked(each)) for each in reads)])),
        writes=tuple(dict.fromkeys([*sandbox.writes, *(str(_checked(each)) for each in writes)])),
    )


def sandbox_note(server: Server) -> str:
    """Say what a server in a sandbox sees, for a result that this may be the reason of."""
    assert server.sandbox is not None
    seen = ", ".join(dict.fromkeys((*server.sandbox.writes, *server.sandbox.reads)))
    unseen = candidates(server.command, server.environment, server.sandbox)
    missing = f" It does not see {', '.join(each.path for each in unseen[:5])}." if unseen else ""
    network = "" if server.sandbox.has_network else " It has no network."
    more = f", its own directory and {seen}" if seen else " and its own directory"
    return (
        f"[The MCP server {server.name} runs in a sandbox. It sees the system, programs{more}; other files look as if "
        f"they did not exist.{missing}{network} The user can let it use more with: "
        f"oneclaw mcp sandbox {server.name} --write DIRECTORY]"
    )


def derived_sandbox(
    command: Sequence[str], directory: str | None, reads: Iterable[str], writes: Iterable[str], *, has_network: bool
) -> Sandbox:
    """Find what a command needs: the folders of its program and package, and the directories among its arguments.

    Args:
        command: the program and its arguments.
        directory: where it is started, if the user says so.
        reads: more that it reads, as the user says.
        writes: more that it writes.
        has_network: True if it may connect.

    Raises:
        UsageError: one of them holds too much.
    """
    program = shutil.which(command[0])
    readable = [_package_folder(Path(program)), _package_folder(Path(program).resolve())] if program else []
    writable = [_checked(each) for each in writes]
    for argument in command[1:]:
        path = Path(argument).expanduser()
        if not path.is_absolute() or len(argument) > 1_000 or not path.exists():
            continue
        if path.is_dir():
            writable.append(_checked(str(path)))
        else:
            readable.append(_package_folder(path))
    readable += [_checked(each) for each in reads]
    if directory is not None:
        readable.append(_checked(directory))
    kept = [each for each in dict.fromkeys(each.resolve() for each in readable) if not _is_system(each)]
    return Sandbox(tuple(map(str, kept)), tuple(map(str, dict.fromkeys(writable))), has_network)


async def prepared_sandbox(
    services: HomeServices, server: Server, directory: Path, environ: Mapping[str, str]
) -> tuple[SandboxBackend, SandboxPolicy] | None:
    """Return the sandbox to start a server in; ``None`` where it has none, or this machine has none.

    Raises:
        ServerError: it cannot be made.
    """
    sandbox = server.sandbox
    if sandbox is None:
        return None
    chosen = await services.sandbox()
    if chosen.backend is None:
        return None
    try:
        policy = await run_in_thread(partial(_policy, services.home.path, sandbox, directory, environ))
    except (SandboxError, OSError) as error:
        raise ServerError(
            f"its sandbox cannot be made: {error}; add it again with other directories, or with --no-sandbox"
        ) from None
    return chosen.backend, policy


def _policy(home: Path, sandbox: Sandbox, directory: Path, environ: Mapping[str, str]) -> SandboxPolicy:
    own = directory.resolve()
    temporary = own / "tmp"
    temporary.mkdir(mode=0o700, exist_ok=True)
    scope = SandboxScope(
        writable=tuple(_as_recorded(each) for each in sandbox.writes if Path(each).exists()),
        readable=tuple(_as_recorded(each) for each in sandbox.reads if Path(each).exists()),
    )
    policy = sandbox_policy(PathGuard(own, own, home), scope, environ)
    return replace(
        policy,
        network=Network.ALL if sandbox.has_network else Network.NONE,
        environment=tuple(environ.items()),
        temporary=temporary,
        has_unix_sockets=True,
    )


def _as_recorded(path: str) -> Path:
    """Return a recorded directory; a link that came later, perhaps from the server itself, leads to more.

    Raises:
        SandboxError: it leads elsewhere now.
    """
    resolved = Path(path).resolve()
    if resolved != Path(path):
        raise SandboxError(f"{path} leads to {resolved} now")
    return resolved


def _package_folder(path: Path) -> Path:
    """Return the folder with what a program or script is made of."""
    parts = path.parts
    if "node_modules" in parts:
        return Path(*parts[: parts.index("node_modules")]) / "node_modules"
    home = Path.home()
    if path.parent.name in ("bin", "sbin", "Scripts"):
        # What lies beside these is the user's, and no package.
        return path.parent if path.parent.parent in (home, home / ".local") else path.parent.parent
    for each in path.parents:
        if each == home or each.parent == each:
            break
        if any((each / name).is_file() for name in _PACKAGE_FILES):
            return each
    return path.parent


def _checked(given: str) -> Path:
    path = Path(given).expanduser()
    if not path.exists():
        raise UsageError(f"there is no {given!r}")
    resolved = path.resolve()
    if resolved.parent == resolved or Path.home().is_relative_to(resolved):
        raise UsageError(
            f"{given!r} holds too much for a sandbox: name a part of it, or add the server with --no-sandbox"
        )
    return resolved


def _is_system(path: Path) -> bool:
    """Return True for what every sandbox reads, and for what no server should."""
    return path.parent == path or path.parts[1] in _SYSTEM or path == Path.home()
