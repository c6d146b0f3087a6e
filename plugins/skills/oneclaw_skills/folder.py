"""A skill's folder: reading the files in it, and none outside, whatever links lead there.

A folder of a plugin may lie in a zip file; all others, and nearly all of these, are directories.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from oneclaw_core.files import opened_directory
from oneclaw_skills.skill import SKILL_FILE, SkillError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.resources.abc import Traversable

MAX_SKILL_FILE_BYTES = 100 * 1024
MAX_FILE_BYTES = 1024 * 1024
MAX_LISTED_FILES = 50
_MAX_DEPTH = 4
_MAX_ENTRIES = 1000
_PASSED_OVER = frozenset({"__pycache__", "node_modules"})

# O_NONBLOCK: opening a named pipe does not wait for its other end.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file beside ``SKILL.md``.

    Attributes:
        path: relative to the skill's folder, with slashes.
        size_bytes: its size, ``None`` if it is not known.
    """

    path: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A folder with a ``SKILL.md``.

    Attributes:
        root: a directory, or something like one in a package.
        check: called with the path and content of each file that is read; raises ``SkillError`` to refuse it.
    """

    root: Path | Traversable
    check: Callable[[str, bytes], None] | None = None

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.root.name

    @property
    def path(self) -> Path | None:
        """Its path on the disk, ``None`` if it is not there."""
        return self.root if isinstance(self.root, Path) else None

    def __str__(self) -> str:
        return str(self.root)

    def read_document(self) -> str:
        """Read ``SKILL.md``.

        Raises:
            SkillError: it is not there, too long, or no text.
        """
        return self._read(SKILL_FILE, MAX_SKILL_FILE_BYTES)

    def read_file(self, path: str) -> str:
        """Read a text file of the folder.

        Args:
            path: relative to the folder.

        Raises:
            SkillError: it lies outside, is not there, too long, or no text.
        """
        return self._read(path, MAX_FILE_BYTES)

    def has_file(self, path: str) -> bool:
        """Return True if the folder has a file of this path.

        Args:
            path: relative to the folder.
        """
        try:
            self._open(_parts(path)).close()
        except (SkillError, OSError, ValueError, KeyError):
            return False
        return True

    def files(self) -> tuple[SkillFile, ...]:
        """List the files beside ``SKILL.md``, at most ``MAX_LISTED_FILES``; links, and what is hidden, are left out."""
        found = _files_on_disk(self.root) if isinstance(self.root, Path) else _files_in_package(self.root)
        listed = [each for each in found if each.path != SKILL_FILE]
        return tuple(sorted(listed, key=lambda each: each.path)[:MAX_LISTED_FILES])

    def _read(self, path: str, limit: int) -> str:
        parts = _parts(path)
        shown = repr("/".join(parts)[:200])
        try:
            with self._open(parts) as stream:
                data = stream.read(limit + 1)
        except FileNotFoundError:
            raise SkillError(f"the skill's folder has no file {shown}") from None
        except (OSError, ValueError, KeyError) as error:
            reason = getattr(error, "strerror", None) or "it cannot be opened"
            raise SkillError(f"{shown} cannot be read: {reason}") from None
        if len(data) > limit:
            raise SkillError(f"{shown} has more than {limit // 1024} KB, the most that is read")
        if self.check is not None:
            self.check("/".join(parts), data)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SkillError(f"{shown} is not UTF-8 text (byte {error.start + 1})") from None
        if "\x00" in text:
            raise SkillError(f"{shown} is binary, not text")
        return text

    def _open(self, parts: tuple[str, ...]) -> BinaryIO:
        return _open_on_disk(self.root, parts) if isinstance(self.root, Path) else _open_in_package(self.root, parts)


def _parts(path: str) -> tuple[str, ...]:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\x00" in path or not pure.parts:
        raise SkillError(f"{path[:200]!r} is no path of a file in the skill's folder: give one relative to it")
    return pure.parts


def _open_on_disk(root: Path, parts: tuple[str, ...]) -> BinaryIO:
    """Open a regular file.

    Each step is opened relative to the one before, so that a change in between cannot redirect it.
    """
    base = root.resolve(strict=True)
    try:
        resolved = base.joinpath(*parts).resolve(strict=True)
    except RuntimeError:  # a loop of links
        raise OSError(None, "it is a link to itself") from None
    if not resolved.is_relative_to(base) or resolved == base:
        raise OSError(None, "it lies outside the skill's folder")
    steps = resolved.relative_to(base).parts
    with opened_directory(base, steps[:-1]) as directory:
        descriptor = os.open(steps[-1], _FILE, dir_fd=directory)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "it is not a file")
    return os.fdopen(descriptor, "rb")


def _open_in_package(root: Traversable, parts: tuple[str, ...]) -> BinaryIO:
    found = root
    for part in parts:
        found = found / part
    if not found.is_file():
        raise FileNotFoundError
    stream: BinaryIO = found.open("rb")  # type: ignore[assignment]  # typed as any stream
    return stream


def _files_on_disk(root: Path) -> Iterator[SkillFile]:
    remaining = _MAX_ENTRIES
    directories = [(str(root), "", 1)]
    while directories and remaining > 0:
        directory, prefix, depth = directories.pop(0)
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    remaining -= 1
                    if remaining < 0:
                        break
                    if entry.name.startswith(".") or entry.name in _PASSED_OVER:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if depth < _MAX_DEPTH:
                            directories.append((entry.path, f"{prefix}{entry.name}/", depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        yield SkillFile(prefix + entry.name, entry.stat(follow_symlinks=False).st_size)
        except OSError:
            continue  # gone, or closed to us: there is nothing to list


def _files_in_package(root: Traversable) -> Iterator[SkillFile]:
    directories = [(root, "", 1)]
    while directories:
        directory, prefix, depth = directories.pop(0)
        for entry in directory.iterdir():
            if entry.name.startswith(".") or entry.name in _PASSED_OVER:
                continue
            if not entry.is_dir():
                yield SkillFile(prefix + entry.name, None)
            elif depth < _MAX_DEPTH:
                directories.append((entry, f"{prefix}{entry.name}/", depth + 1))
