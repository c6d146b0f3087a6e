"""Places that git runs or obeys elsewhere than in its own folder. Isolated calls import this module."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY_PARTS = frozenset({"HEAD", "objects", "refs"})
"""Git takes a folder with these for a repository, whatever its name is."""
OBEYED_PARTS = ("commondir", "config", "config.worktree", "hooks", "info/attributes")
"""Parts of a repository that change what git runs."""

_MOST_SETTINGS_BYTES = 100_000
# Hooks that git runs, and settings that it reads.
_PLACES = re.compile(rb"^\s*(hooksPath|path)\s*=\s*([^\r\n#;]+)", re.IGNORECASE | re.MULTILINE)


def read_settings(repository: Path) -> bytes:
    """Read the settings of a repository; nothing if it has none.

    Args:
        repository: the folder of git itself, such as ``.git``.
    """
    with suppress(OSError), (repository / "config").open("rb") as file:
        return file.read(_MOST_SETTINGS_BYTES)
    return b""


def named_places(settings: bytes, repository: Path, root: Path) -> Iterator[Path]:
    """Yield the hooks and settings below a root that the settings of a repository name, whether they are there or not.

    Args:
        settings: of the repository.
        repository: the folder of git itself.
        root: without symbolic links.
    """
    for name, value in _PLACES.findall(settings):
        if b"\0" in value:  # git refuses it, too
            continue
        base = repository.parent if name.lower() == b"hookspath" else repository
        path = Path(os.path.realpath(base / os.fsdecode(value.strip().strip(b'"'))))
        if path.is_relative_to(root) and path not in (root, *root.parents, *repository.parents):
            yield path


def completes_repository(path: Path) -> bool:
    """Return True if git takes the folder around a path for a repository, as soon as the path is there."""
    return path.name in REPOSITORY_PARTS and all(
        os.path.lexists(path.with_name(each)) for each in REPOSITORY_PARTS - {path.name}
    )


def is_bare_repository(folder: Path) -> bool:
    """Return True if git takes a folder of any name for a repository."""
    return all(os.path.lexists(folder / each) for each in REPOSITORY_PARTS)
