"""Directories opened step by step, so that no symbolic link leads elsewhere, even one that comes meanwhile."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Where the system can, without the right to list it.
_PATH = getattr(os, "O_PATH", os.O_RDONLY)
DIRECTORY = _PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Nothing stands at the path: the system calls a link in place of a directory no directory, too.
MISSING = (FileNotFoundError, NotADirectoryError)


@contextmanager
def opened_parent(path: str, *, create: bool = False) -> Iterator[int]:
    """Open the directory that holds a path.

    Args:
        path: absolute, without symbolic links.
        create: make directories that are missing.

    Raises:
        OSError: there is none, or a symbolic link stands in the way.
    """
    directory = os.open("/", DIRECTORY)
    try:
        for step in path.split("/")[1:-1]:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(step, dir_fd=directory)
            deeper = os.open(step, DIRECTORY, dir_fd=directory)
            os.close(directory)
            directory = deeper
        yield directory
    finally:
        os.close(directory)


def change_mode(name: str, parent: int, mode: int) -> None:
    """Change the permission bits of a directory, and of nothing that comes in its place.

    Args:
        name: of the directory.
        parent: the open directory that holds it.
        mode: the bits.

    Raises:
        OSError: there is no such directory, or it cannot be changed.
    """
    directory = os.open(name, DIRECTORY, dir_fd=parent)
    try:
        if _PATH == os.O_RDONLY:
            os.fchmod(directory, mode)
        else:
            Path(f"/proc/self/fd/{directory}").chmod(mode)
    finally:
        os.close(directory)
