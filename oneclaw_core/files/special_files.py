"""Find what is hidden or protected in the directories that a command gets.

Each directory is read once, and again when its entries change, so that a command in a large project waits little.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import SandboxError
from oneclaw_core.files.hidden_paths import is_hidden_name
from oneclaw_core.files.protected_places import (
    OBEYED_PARTS,
    REPOSITORY_PARTS,
    is_protected_name,
    named_places,
    read_settings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Packages bring keys and settings for their tests, which are no secrets of the user's, and which they need. So these
# are searched for repositories alone, as many levels deep as package managers put them.
_PACKAGE_FOLDERS = {"node_modules": 1, ".tox": 3, ".nox": 3}
_NOT_SEARCHED = frozenset(("__pycache__", "site-packages"))
_SEARCH_SECONDS = 5.0
_SEARCH_SECONDS_AFTERWARDS = 60.0
_MOST_REMEMBERED = 100_000
# A change in the same moment could leave the time of a directory as it was.
_SETTLED_SECONDS = 2.0
_ELSEWHERE = re.compile(rb"^\s*(?:worktree|bare\s*=\s*true)", re.IGNORECASE | re.MULTILINE)


@dataclass(slots=True)
class SpecialFiles:
    """Hidden and protected paths.

    Attributes:
        hidden_folders: whose names say that they hold secrets.
        hidden_files: the same of files.
        protected: what programs outside run or obey.
        repositories: the folders of git itself.
        named: of what is protected, what the settings of git name elsewhere.
    """

    hidden_folders: list[Path] = field(default_factory=list)
    hidden_files: list[Path] = field(default_factory=list)
    protected: list[Path] = field(default_factory=list)
    repositories: list[Path] = field(default_factory=list)
    named: list[Path] = field(default_factory=list)


def find_special_files(written: Iterable[Path], read: Iterable[Path]) -> SpecialFiles:
    """Search directories with all below them.

    Args:
        written: that a command can write.
        read: that it can only read, so that nothing in them needs protection.

    Raises:
        SandboxError: it takes too long; what was found by then is remembered, and found faster the next time.
    """
    search = _Search(_SEARCH_SECONDS)
    for root in written:
        search.search(root, is_written=True)
    for root in read:
        search.search(root, is_written=False)
    return search.found


def find_made_files(written: Iterable[Path]) -> tuple[SpecialFiles, bool]:
    """Search directories after a command; return what was found, and whether that is all.

    Args:
        written: that the command could write; what lies near the top is found first.
    """
    search = _Search(_SEARCH_SECONDS_AFTERWARDS)
    try:
        for root in written:
            search.search(root, is_written=True)
    except SandboxError:
        return search.found, False
    return search.found, True


class _Search:
    def __init__(self, seconds: float) -> None:
        self.found = SpecialFiles()
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._latest_ns = (time.time() - _SETTLED_SECONDS) * 1e9

    def search(self, root: Path, *, is_written: bool) -> None:
        waiting = deque([str(root)] if root.is_dir() else [])
        while waiting:
            directory = waiting.popleft()
            entries = self._entries(directory)
            if is_written and entries.is_environment and directory != str(root):
                self.found.protected.append(Path(directory))
                continue
            waiting += entries.searched
            for each in entries.hidden:
                self._hide(Path(each), root)
            if is_written:
                self.found.protected += map(Path, entries.protected)
                self._protect_repositories(entries, root)
                self._search_packages(list(entries.packages), root)

    def _search_packages(self, waiting: list[tuple[str, int]], root: Path) -> None:
        while waiting:
            directory, levels = waiting.pop()
            entries = self._entries(directory)
            if entries.is_environment:
                self.found.protected.append(Path(directory))
                continue
            # What else steers programs there is only that of the packages' authors.
            self.found.protected += (Path(each) for each in entries.protected if each.endswith("/.bin"))
            self._protect_repositories(entries, root)
            if levels:
                # Packages of a publisher lie in a separate folder.
                waiting += (
                    (each, levels if "/@" in each[len(directory) :] else levels - 1) for each in entries.searched
                )

    def _entries(self, directory: str) -> _Entries:
        if time.monotonic() > self._until:
            raise SandboxError(f"the search for hidden files takes more than {self._seconds:g} seconds")
        try:
            # Not the time of its content, which commands can set back.
            changed = os.stat(directory).st_ctime_ns  # noqa: PTH116  # many of them
        except OSError:
            return _NO_ENTRIES
        return _read_entries(directory, changed if changed < self._latest_ns else time.time_ns())

    def _hide(self, path: Path, root: Path) -> None:
        # What a link leads to is hidden where it lies; a mount in its place would not hold.
        if path.is_symlink():
            try:
                path = path.resolve()
            except (OSError, RuntimeError):  # a loop of links, which nothing can open
                return
            if path.is_dir() and not path.is_relative_to(root):  # a checkout must not close the system
                return
        if path.is_dir():
            self.found.hidden_folders.append(path)
        elif path.exists():
            self.found.hidden_files.append(path)

    def _protect_repositories(self, entries: _Entries, root: Path) -> None:
        for each in map(Path, entries.repositories):
            self.found.repositories.append(each)
            named = [place for place in _named_by_repository(each, root) if place.exists()]
            self.found.named += named
            self.found.protected += (*_repository_settings(each), *named)


@dataclass(frozen=True, slots=True)
class _Entries:
    searched: tuple[str, ...]
    packages: tuple[tuple[str, int], ...]
    hidden: tuple[str, ...]
    protected: tuple[str, ...]
    repositories: tuple[str, ...]
    is_environment: bool


_NO_ENTRIES = _Entries((), (), (), (), (), is_environment=False)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _read_entries(directory: str, changed: int) -> _Entries:
    """Sort what lies in a directory; remembered for as long as nothing is added, removed or renamed there."""
    searched, packages, hidden, protected, repositories = [], [], [], [], []
    is_environment = False
    repository_parts = set()
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                name = entry.name.casefold()
                is_directory = entry.is_dir(follow_symlinks=False)
                is_hidden = is_hidden_name(name)
                if is_hidden:
                    hidden.append(entry.path)
                if entry.name in REPOSITORY_PARTS:
                    repository_parts.add(entry.name)
                if name == ".git" and is_directory:
                    repositories.append(entry.path)
                elif is_protected_name(name):
                    protected.append(entry.path)
                    is_environment = is_environment or name == "pyvenv.cfg"
                elif is_hidden:
                    continue
                elif is_directory and name in _PACKAGE_FOLDERS:
                    packages.append((entry.path, _PACKAGE_FOLDERS[name]))
                elif is_directory and name not in _NOT_SEARCHED:
                    searched.append(entry.path)
    except OSError:  # it cannot be read here, so not there either
        pass
    if repository_parts == REPOSITORY_PARTS:
        repositories.append(directory)
    parts = tuple(packages), tuple(hidden), tuple(protected), tuple(repositories)
    return _Entries(tuple(searched), *parts, is_environment=is_environment)


def _repositories(git: Path) -> Iterator[Path]:
    """Yield a repository, and those of its submodules."""
    yield git
    modules = (each.parent for each in git.glob("modules/**/HEAD"))
    yield from (each for each in modules if (each / "objects").is_dir())


def _named_by_repository(git: Path, root: Path) -> Iterator[Path]:
    for repository in _repositories(git):
        yield from named_places(read_settings(repository), repository, root)


def _repository_settings(git: Path) -> Iterator[Path]:
    """Yield what git runs or obeys when used outside. What is not there cannot be protected, so it is made."""
    for repository in _repositories(git):
        with suppress(OSError):
            (repository / "hooks").mkdir(exist_ok=True)
            _keep_common_directory(repository, read_settings(repository))
            for each in (repository, *repository.glob("worktrees/*/")):
                if not os.path.lexists(each / "config.worktree"):
                    (each / "config.worktree").touch()
        for name in OBEYED_PARTS:
            if (repository / name).exists():
                yield repository / name
        for name in ("commondir", "config.worktree"):
            yield from repository.glob(f"worktrees/*/{name}")


def _keep_common_directory(repository: Path, settings: bytes) -> None:
    """Say in a repository that its settings are its own: git takes them from elsewhere if the file names a place."""
    path = repository / "commondir"
    if not (repository / "HEAD").is_file() or os.path.lexists(path):
        return
    # With the file, git leaves these two settings aside; a submodule is found without them.
    if repository.name == ".git" and _ELSEWHERE.search(settings):
        return
    new = path.with_name(f"commondir-{os.urandom(8).hex()}")  # whole from the start, for git fails at an empty one
    new.write_text(".\n", "utf-8")
    new.rename(path)
