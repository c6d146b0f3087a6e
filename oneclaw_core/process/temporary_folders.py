"""Folders for the temporary files of child processes; those of a program that was killed are removed by the next one.

All folders of a program lie in one that it holds a lock on until it ends, however that happens.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_PREFIX = "oneclaw-workers-"
# One that was just made may not be locked yet.
_LEAST_AGE_SECONDS = 60


def worker_folder() -> tempfile.TemporaryDirectory[str]:
    """Make a folder, to be used as a context manager that removes it.

    Raises:
        OSError: it cannot be made.
    """
    if not _folder_of(os.getpid()).is_dir():  # removed as an old temporary file
        _folder_of.cache_clear()
    return tempfile.TemporaryDirectory(dir=_folder_of(os.getpid()), ignore_cleanup_errors=True)


@lru_cache(maxsize=1)
def _folder_of(process: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)  # closed by the end of the process
    with suppress(OSError):  # a file system without locks; none is removed there either
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove_left(folder.parent)
    return folder


def _remove_left(directory: Path) -> None:
    """Remove the folders of programs that have ended without doing so."""
    latest = time.time() - _LEAST_AGE_SECONDS
    for each in directory.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it is gone, or its program goes on
            descriptor = os.open(each, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                found = os.fstat(descriptor)
                if found.st_uid == os.getuid() and found.st_mtime < latest:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(each, ignore_errors=True)
            finally:
                os.close(descriptor)
