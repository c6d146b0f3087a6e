"""The directories that hold what is recorded and restored."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.files import DIRECTORY, opened_directory

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

# Nothing stands at the path: the system calls a link in place of a directory no directory, too.
MISSING = (FileNotFoundError, NotADirectoryError)


def opened_parent(path: str, *, create: bool = False) -> AbstractContextManager[int]:
    """Open the directory that holds an absolute path without symbolic links; see ``opened_directory``."""
    return opened_directory("/", path.split("/")[1:-1], create=create)


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
        if not hasattr(os, "O_PATH"):
            os.fchmod(directory, mode)
        else:
            Path(f"/proc/self/fd/{directory}").chmod(mode)
    finally:
        os.close(directory)
