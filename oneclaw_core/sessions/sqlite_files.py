"""The files of a SQLite database: making them, and one process at a time that makes or replaces them."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreDamagedError, StoreError
from oneclaw_core.system.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

# Files that SQLite keeps beside a database: recent transactions, their index, and those to roll back.
BESIDE = ("-wal", "-shm", "-journal")

# SQLite would make a new database of a shorter file.
_HEADER_BYTES = 100
_WAIT_SECONDS = 60.0
_RETRY_SECONDS = 0.02


def is_there(path: Path) -> bool:
    """Return True if the file of a database exists.

    Raises:
        StoreDamagedError: the file was emptied. A new database is never an empty file, see :func:`new_file`.
        StoreError: the file cannot be seen.
    """
    try:
        state = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(
            f"the database {path} cannot be read ({error.strerror}): let this user read its directory"
        ) from error
    if stat.S_ISREG(state.st_mode) and state.st_size < _HEADER_BYTES:
        raise StoreDamagedError(
            f"the database {path} is damaged: it was emptied, {state.st_size} bytes are left; restore a copy with "
            "oneclaw db restore FILE, or delete it, with its -wal and -shm files if there are any, to start afresh"
        )
    return True


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait until no other process makes, migrates or replaces the database, and keep others from it.

    The directory itself is locked, so that no lock file is left behind.

    Raises:
        StoreError: another process takes too long, or the directory cannot be used.
    """
    try:
        make_private_directory(path.parent)
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise unusable(path, error) from error
    try:
        _lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StoreError(
                    f"another process is making, migrating or restoring the database {path}: try again when it is done"
                ) from None
            time.sleep(_RETRY_SECONDS)
        except OSError:
            return  # a file system without locks
        else:
            return


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Fill a temporary file, then rename it to ``path``: a file with that name is always whole.

    Yields:
        The temporary file, empty and readable by its owner alone.

    Raises:
        StoreError: the directory cannot be used.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise unusable(path, error) from error
    try:
        yield temporary
        # SQLite would take them for those of the new file.
        remove_beside(path)
        try:
            temporary.replace(path)
        except OSError as error:
            raise unusable(path, error) from error
    finally:
        remove_beside(temporary)
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def private_copy(path: Path) -> Iterator[Path]:
    """Copy a database, with its recent transactions, into a temporary directory that is removed at the end."""
    import shutil  # imported for rare copies alone
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="oneclaw-") as directory:
        copy = Path(directory) / "copy.db"
        try:
            shutil.copyfile(path, copy)
            for suffix in ("-wal", "-journal"):
                with suppress(FileNotFoundError):
                    shutil.copyfile(path.with_name(path.name + suffix), copy.with_name(copy.name + suffix))
        except OSError as error:
            raise StoreError(f"the database {path} cannot be copied for reading: {error.strerror or error}") from error
        yield copy


def remove_beside(path: Path) -> None:
    """Remove the files beside a database; a file that stays is no error here."""
    for suffix in BESIDE:
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink()


def unusable(path: Path, error: OSError) -> StoreError:
    """Return the error for a file that the system does not let us use."""
    return StoreError(
        f"the database {path} cannot be opened ({error.strerror}): check the path and that this user may write there"
    )
