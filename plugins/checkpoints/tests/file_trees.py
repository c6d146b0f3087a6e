"""Compare directories."""

from __future__ import annotations

import stat
from pathlib import Path


def tree(directory):
    """Everything below a directory: kinds, modes, contents and targets of links."""
    found = {}
    for path in sorted(Path(directory).rglob("*")):
        state = path.lstat()
        name = str(path.relative_to(directory))
        if stat.S_ISLNK(state.st_mode):
            found[name] = ("link", path.readlink())
        elif path.is_dir():
            found[name] = ("directory", stat.S_IMODE(state.st_mode))
        else:
            found[name] = ("file", stat.S_IMODE(state.st_mode), path.read_bytes())
    return found
