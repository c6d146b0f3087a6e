"""Find the files of a directory by ripgrep's rules: what a project ignores is left out."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import rignore
from wcmatch import glob as globs

from oneclaw_files.errors import FilesError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from oneclaw_core.files import PathGuard

# Version control keeps a copy of everything there, which no search is about.
_NEVER = frozenset({".git", ".hg", ".svn"})


@dataclass(slots=True)
class Walk:
    """A walk through a directory.

    Attributes:
        start: a directory or a file, absolute, without symbolic links.
        paths: says which files may be read; others are left out.
        glob: only files whose path matches, such as ``*.py`` or ``src/**/*.{js,ts}``; empty for all. Without a slash
            it is compared with names, else with paths below the directory.
        include_ignored: True to include hidden files and those that ``.gitignore`` and the like name.
        deadline: by ``time.monotonic()``; the walk ends then.
        is_complete: False once the walk has ended at its deadline.
    """

    start: Path
    paths: PathGuard
    glob: str = ""
    include_ignored: bool = False
    deadline: float = field(default=float("inf"))
    is_complete: bool = True

    @property
    def directory(self) -> Path:
        """The directory that paths are relative to."""
        return self.start if self.start.is_dir() else self.start.parent

    def files(self) -> Iterator[Path]:
        """Yield regular files that may be read, in no order; symbolic links are not followed.

        Raises:
            FilesError: the glob stands for too many patterns.
        """
        matches = self._matcher()
        walker = rignore.walk(
            self.start,
            ignore_hidden=not self.include_ignored,
            read_ignore_files=not self.include_ignored,
            read_parents_ignores=not self.include_ignored,
            read_git_ignore=not self.include_ignored,
            read_git_exclude=not self.include_ignored,
            read_global_git_ignore=False,
            require_git=False,
            should_exclude_entry=self._is_excluded,
        )
        for path in walker:
            if time.monotonic() > self.deadline:
                self.is_complete = False
                return
            if not matches(str(path.relative_to(self.directory))) or path.is_symlink() or not path.is_file():
                continue
            if self.paths.may_read(path):
                yield path

    def _matcher(self) -> Callable[[str], bool]:
        if not self.glob:
            return lambda path: True
        pattern = self.glob.removeprefix("./").removeprefix("/")
        flags = globs.GLOBSTAR | globs.BRACE | globs.DOTGLOB | (0 if "/" in pattern else globs.MATCHBASE)
        try:
            return globs.compile(pattern, flags=flags).match
        except Exception as error:  # noqa: BLE001  # the library's exception for too many patterns is private
            raise FilesError(f"glob cannot be used: {error}.", "validation_error") from None

    def _is_excluded(self, path: Path) -> bool:
        if path.name in _NEVER or time.monotonic() > self.deadline:
            return True
        return path.is_dir() and not self.paths.may_read(path)
