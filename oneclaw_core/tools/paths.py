"""Which files a tool may touch."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.tools.permissions import denied_for_good

if TYPE_CHECKING:
    from collections.abc import Iterable

# What lies there is no file: processes with their environments, and devices.
_KERNEL_DIRECTORIES = (Path("/proc"), Path("/sys"), Path("/dev"))
_SHOWN_CHARACTERS = 100
_NOTHING_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP})


@dataclass(frozen=True, slots=True)
class PathGuard:
    """Confines a tool's files to the workspace, and its reading to the workspace and the start directory.

    Paths are resolved before they are judged, so neither ``..`` nor a symbolic link leads outside.

    Attributes:
        workspace: the directory in the home where tools read and write.
        start_directory: where the program was started: tools may read there, not write.
        home: closed to tools but for the workspace, also where it lies in the start directory.
        denied: those of ``files.read`` and ``files.write`` that the user has denied.
    """

    workspace: Path
    start_directory: Path
    home: Path | None = None
    denied: frozenset[str] = frozenset()

    def readable(self, path: str | Path) -> Path:
        """Resolve a path that a tool wants to read.

        A relative path is looked up in the start directory, then in the workspace.

        Returns:
            An absolute path without symbolic links, which need not exist.

        Raises:
            PermissionDeniedError: it lies outside both directories, or can be no file's path.
        """
        self._require("files.read")
        wanted = _expand(path)
        candidates = [wanted] if wanted.is_absolute() else [self.start_directory / wanted, self.workspace / wanted]
        resolved_candidates = [_resolve(each) for each in candidates]
        inside = [each for each in resolved_candidates if self._is_readable(each)]
        found = next((each for each in inside if _exists(each)), None)
        if found is not None:
            return found
        bases = (self.start_directory, self.workspace)
        # A link that leads out is no missing file; what is behind it is not looked at.
        leads_out = any(
            _is_written_inside(each, base) and not any(_is_inside(resolved, other) for other in bases)
            for each, resolved in zip(candidates, resolved_candidates, strict=True)
            for base in bases
        )
        if leads_out or not inside:
            raise PermissionDeniedError(
                f"{str(path)!r} lies outside the directories that tools may read: "
                f"the workspace {self.workspace} and the start directory {self.start_directory}",
                "files.read",
            )
        return inside[0]

    def writable(self, path: str | Path) -> Path:
        """Resolve a path that a tool wants to write; a relative one lies in the workspace.

        Returns:
            An absolute path without symbolic links; neither it nor its parents need exist.

        Raises:
            PermissionDeniedError: it lies outside the workspace, or can be no file's path.
        """
        self._require("files.write")
        resolved = _resolve(self.workspace / _expand(path))
        if not _is_inside(resolved, self.workspace) or resolved == _resolve(self.workspace):
            raise PermissionDeniedError(
                f"{str(path)!r} is not a file in the workspace {self.workspace}, the only place where tools may write",
                "files.write",
            )
        _exists(resolved)
        return resolved

    def display(self, path: Path) -> str:
        """Write a path the way a tool should name it: relative to the workspace or start directory if inside."""
        for base in (self.workspace, self.start_directory):
            resolved = _resolve(base)
            if _is_inside(path, resolved):
                return str(path.relative_to(resolved))
        return str(path)

    def _require(self, permission: str) -> None:
        if permission in self.denied:
            raise denied_for_good(permission)

    def _is_readable(self, path: Path) -> bool:
        if _is_inside(path, self.workspace):
            return True
        return _is_inside(path, self.start_directory) and not self._is_closed(path)

    def _is_closed(self, path: Path) -> bool:
        closed = [*_KERNEL_DIRECTORIES, *([self.home] if self.home is not None else [])]
        return any(_is_inside(path, each) for each in closed) or _is_below_same(path, closed)


def _is_written_inside(path: Path, directory: Path) -> bool:
    return ".." not in path.parts and path.is_relative_to(directory)


def _expand(path: str | Path) -> Path:
    if "\x00" in str(path):
        raise PermissionDeniedError("a path cannot contain a NUL character", "files.read")
    return Path(path)


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # a loop of symbolic links
        raise PermissionDeniedError(f"{str(path)!r} cannot be resolved: {error}", "files.read") from None


def _exists(path: Path) -> bool:
    """Whether there is something; resolving a path does not find out that no file system takes it."""
    try:
        # From Python 3.14 on, exists() is false for whatever goes wrong.
        path.stat()
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return False
        # Too long a name, or a directory that cannot be looked into.
        raise _UnusablePathError(path, error) from None
    return True


class _UnusablePathError(PermissionDeniedError, OSError):
    """No file can be opened there; an ``OSError`` too, for tools that answer those in their own words."""

    def __init__(self, path: Path, error: OSError) -> None:
        name, reason = str(path), error.strerror or str(error)
        shown = name if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]}…"
        super().__init__(f"{shown!r} cannot be opened: {reason}", "files.read")
        self.strerror = reason


def _is_below_same(path: Path, directories: Iterable[Path]) -> bool:
    """Return True if a path leads through one of some directories, under any name.

    A directory has several names on a file system that ignores case, or with a second mount.
    """
    wanted = {identity for each in directories if (identity := _identity(each)) is not None}
    return any(_identity(each) in wanted for each in (path, *path.parents))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except (OSError, ValueError):  # it is not there, or cannot be
        return None
    return found.st_dev, found.st_ino


def _is_inside(path: Path, directory: Path) -> bool:
    return path.is_relative_to(_resolve(directory))
