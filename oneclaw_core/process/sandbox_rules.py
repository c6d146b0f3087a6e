"""Make the policy of the sandbox for commands: the one place that says what a command may do without a question."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import SandboxError
from oneclaw_core.files.hidden_paths import HIDDEN_FOLDERS, is_private_directory, user_directory
from oneclaw_core.files.special_files import find_special_files
from oneclaw_core.process.sandbox.policy import SandboxPolicy
from oneclaw_core.secrets.redaction import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_core.files.paths import PathGuard

# What belongs to the system; other directories of the root can hold anything.
_SYSTEM = frozenset(
    {
        "bin", "boot", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "sbin", "snap",
        "sys", "tmp", "usr", "var",
    }
)  # fmt: skip
_HIDDEN = ("/boot", "/home", "/root", "/run", "/tmp", "/var/mail", "/var/spool", "/var/tmp")  # noqa: S108
# A user cannot read them anyway.
_HIDDEN_FROM_ROOT = (
    "/etc/ssl/private", "/etc/sudoers.d", "/lost+found", "/var/backups", "/var/lib/docker", "/var/lib/private",
    "/var/lib/postgresql", "/var/lib/mysql", "/var/log",
)  # fmt: skip
_HIDDEN_FILES_FROM_ROOT = (
    "/etc/gshadow", "/etc/gshadow-", "/etc/shadow", "/etc/shadow-", "/etc/sudoers", "/etc/security/opasswd",
)  # fmt: skip
# Programs that users install for themselves, and no keys; read only.
_TOOL_FOLDERS = (
    ".asdf", ".bun/bin", ".cargo/bin", ".deno/bin", ".local/bin", ".local/lib", ".local/pipx", ".local/share/mise",
    ".local/share/pipx", ".local/share/uv/python", ".local/share/uv/tools", ".nvm", ".nix-profile", ".pyenv", ".rbenv",
    ".rustup", ".sdkman", ".volta/bin", ".volta/tools",
)  # fmt: skip
# Their home is another one inside.
_TOOL_VARIABLES = {"NVM_DIR": ".nvm", "PYENV_ROOT": ".pyenv", "RUSTUP_HOME": ".rustup"}
_GIT_SETTINGS = (".gitconfig", ".config/git/config")
_VARIABLES = frozenset(
    {
        "CI", "COLUMNS", "CONDA_PREFIX", "GOROOT", "JAVA_HOME", "LANG", "LANGUAGE", "LOGNAME", "NODE_PATH", "NO_COLOR",
        "NVM_DIR", "PATH", "PYENV_ROOT", "PYENV_VERSION", "RUSTUP_HOME", "SHELL", "SOURCE_DATE_EPOCH", "TERM", "TZ",
        "USER", "VIRTUAL_ENV",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SandboxScope:
    """The access of a command beyond the workspace and the start directory.

    Attributes:
        writable: directories and files that it may write, without symbolic links, as the user was asked for them.
        readable: the same for reading.
    """

    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()


def sandbox_policy(
    paths: PathGuard, scope: SandboxScope | None = None, environ: Mapping[str, str] | None = None
) -> SandboxPolicy:
    """Make the policy for a command.

    It writes in the workspace, in the start directory if the user trusts it, in a temporary directory and in what the
    scope names. It reads the system and programs, and none of what :mod:`oneclaw_core.files.hidden_paths` hides.

    Args:
        paths: the directories of tools, and what the user has denied.
        scope: what was granted for this command.
        environ: the environment; by default the program's own.

    Raises:
        SandboxError: the workspace holds the user's directory, the search for hidden files takes too long, or what the
            scope names leads to another place.
        OSError: no temporary directory can be made.
    """
    scope = scope or SandboxScope()
    workspace, start = paths.workspace.resolve(), paths.start_directory.resolve()
    home = user_directory()
    if workspace.parent == workspace or (home is not None and home.is_relative_to(workspace)):
        raise SandboxError(f"the workspace {workspace} holds your own directory")
    is_private = is_private_directory(start)
    is_trusted = paths.is_trusted and not is_private
    named = {*scope.writable, *scope.readable}
    for each in named:
        if each.resolve() != each:  # a command that runs at the same time can have put a link there
            raise SandboxError(f"{each} leads to another place")
    written = [workspace, *([start] if is_trusted else []), *scope.writable]
    read = [] if is_trusted or is_private else [start]
    if "files.write" in paths.denied:
        written, read = [], [*read, *written]
    if "files.read" in paths.denied:
        written, read = [], []
    environ = dict(os.environ if environ is None else environ)  # one of its own is faster
    special = find_special_files(written, read)
    programs = [each for each in dict.fromkeys(_programs(home, environ.get("PATH", ""))) if each not in written]
    denied_reads, denied_writes = (list(_denied(paths.denied, each)) for each in ("files.read", "files.write"))
    return SandboxPolicy(
        write_roots=tuple(written),
        read_roots=(*read, *scope.readable, *programs),
        hidden_folders=(
            *(each for each in _hidden_folders(home, paths.home) if _may_hold_files(str(each))),
            *special.hidden_folders,
            *filter(Path.is_dir, denied_reads),
        ),
        hidden_files=(
            *(each for each in _hidden_files() if _has_content(str(each))),
            *(each for each in special.hidden_files if each not in named),
            *(each for each in denied_reads if not each.is_dir()),
        ),
        protected=(*(each for each in special.protected if each not in named), *denied_writes),
        environment=_environment(home, environ),
        temporary=temporary_directory(paths.home or workspace),
    )


def temporary_directory(home: Path) -> Path:
    """Return the directory for temporary files of all commands of a home; it is made, for this user alone.

    It lies in the home, where no other user can take its name.

    Raises:
        OSError: it cannot be made, or belongs to another user.
    """
    directory = home.absolute() / "tmp"
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    if found.st_uid != os.getuid() or not directory.is_dir() or directory.is_symlink():
        raise PermissionError(f"{directory} belongs to another user")
    directory.chmod(0o700)
    return directory.resolve()


def _hidden_folders(home: Path | None, own_home: Path | None) -> Iterator[Path]:
    found = [Path(each) for each in _HIDDEN]
    with suppress(OSError):
        found += [Path(each.path) for each in os.scandir("/") if each.is_dir() and each.name not in _SYSTEM]
    if os.getuid() == 0:
        found += [Path(each) for each in _HIDDEN_FROM_ROOT]
    found += [each for each in (home, own_home) if each is not None and each.parent != each]
    yield from dict.fromkeys(each.resolve() for each in found if each.is_dir() and not _is_system(each.resolve()))


def _may_hold_files(path: str) -> bool:
    """Return False for an empty directory, which needs no mount to hide it; each mount takes time."""
    try:
        with os.scandir(path) as entries:
            return path == "/tmp" or next(entries, None) is not None  # noqa: S108
    except OSError:
        return True


def _has_content(path: str) -> bool:
    """Return False for a file that is empty or not there, for the same reason."""
    try:
        return os.stat(path).st_size > 0  # noqa: PTH116  # pathlib is slow
    except OSError:
        return False


def _is_system(path: Path) -> bool:
    """Return True for a directory of the system that a link such as ``/lib64`` leads to."""
    is_named = path.parent == Path("/") and path.name in _SYSTEM and str(path) not in _HIDDEN
    return is_named or path.parent in (path, Path("/usr"))


def _hidden_files() -> Iterator[Path]:
    if os.getuid() == 0:
        yield from map(Path, _HIDDEN_FILES_FROM_ROOT)
        yield from Path("/etc/ssh").glob("ssh_host_*_key")


def _programs(home: Path | None, path_variable: str) -> Iterator[Path]:
    """Yield where programs lie: tools of the user, this Python, and what is in PATH, with its libraries."""
    found = [home / each for each in _TOOL_FOLDERS] if home is not None else []
    found += [Path(sys.prefix), Path(sys.base_prefix)]
    for name in path_variable.split(os.pathsep):
        path = Path(name)
        has_libraries = (path.parent / "lib").is_dir() and path.name in ("bin", "sbin")
        found.append(path.parent if has_libraries and not _is_private(path.parent, home) else path)
    for each in found:
        if each.is_absolute() and each.is_dir() and not _is_private(each, home):
            yield each.resolve()


def _is_private(path: Path, home: Path | None) -> bool:
    resolved = path.resolve()
    is_above = resolved.parent == resolved or (home is not None and home.is_relative_to(resolved))
    return is_above or any(part.casefold() in HIDDEN_FOLDERS for part in resolved.parts)


def _denied(denied: Iterable[str], permission: str) -> Iterator[Path]:
    for each in denied:
        name, _, path = each.partition(":")
        if name == permission and path and os.path.lexists(path):
            yield Path(path).resolve()


def _environment(home: Path | None, environ: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    clean = without_secrets(environ)
    found = {name: value for name, value in clean.items() if name in _VARIABLES or name.startswith("LC_")}
    settings = {"safe.directory": "*"}
    if home is not None:
        folders = {name: f"{home}/{folder}" for name, folder in _TOOL_VARIABLES.items()}
        found = {name: path for name, path in folders.items() if os.path.isdir(path)} | found  # noqa: PTH112
        settings |= _git_identity(home)
    for number, (name, value) in enumerate(settings.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    found |= {"GIT_CONFIG_COUNT": str(len(settings)), "LANG": found.get("LANG", "C.UTF-8")}
    return tuple(found.items())


def _git_identity(home: Path) -> dict[str, str]:
    """Read who commits, from the settings of git, which are hidden as a whole."""
    found: dict[str, str] = {}
    for each in _GIT_SETTINGS:
        try:
            text = (home / each).read_text("utf-8", "replace")[:100_000]
        except OSError:
            continue
        for section in re.findall(r"^\s*\[user\]([^\[]*)", text, re.MULTILINE | re.IGNORECASE):
            for name, value in re.findall(r"^\s*(name|email)\s*=\s*(.*?)\s*$", section, re.MULTILINE | re.IGNORECASE):
                found[f"user.{name.lower()}"] = value.strip('"')
    return found
