"""Writing the two files of a tool, manifest and code, so that no crash leaves one of each.

Both are written into a separate directory first. Renaming it to ``.NAME.commit`` is what makes the change: from
then on, the next process that reads the folder puts the files into their places, if the process that wrote them has
ended before it could.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError
from oneclaw_core.tools import make_private_directory, write_private
from oneclaw_javascript.user_tools.files import COMMIT_SUFFIX, UnreadableFileError, list_files, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_PAIR_FILE_BYTES = 4 * 1024 * 1024
_LOCK_SECONDS = 3.0
# A process that only reads the folder does not wait long for a process that hangs.
_GLANCE_SECONDS = 1.0


class ToolFiles:
    """The folder of the user's tools, for writing.

    Args:
        folder: made when something is written.
        lock_file: keeps processes from writing at once.
    """

    def __init__(self, folder: Path, lock_file: Path) -> None:
        self.folder = folder
        self._lock_file = lock_file

    @classmethod
    def of(cls, home: Path) -> ToolFiles:
        """Find the folder of a home.

        Args:
            home: the directory with everything that belongs to the user.
        """
        return cls(home / "tools", home / "locks" / "user_tools.lock")

    @contextmanager
    def locked(self, timeout_seconds: float = _LOCK_SECONDS) -> Iterator[None]:
        """Keep all others from writing.

        Args:
            timeout_seconds: how long to wait for others.

        Raises:
            OneClawError: another process does not end, or the folder cannot be written.
        """
        from filelock import FileLock, Timeout

        try:
            make_private_directory(self._lock_file.parent)
            with FileLock(self._lock_file, timeout=timeout_seconds, mode=0o600):
                self._finish_commits()
                yield
        except Timeout:
            raise OneClawError("another process is changing the tools: try again when it is done") from None
        except OSError as error:
            raise OneClawError(
                f"the tools in {self.folder} cannot be changed: {error.strerror or error}; make the folder writable, "
                "and see that the disk is not full"
            ) from None

    def read(self, name: str) -> tuple[bytes | None, bytes | None]:
        """Read the manifest and the code of a tool; ``None`` for what is not there.

        Raises:
            OneClawError: a file is there and cannot be read.
        """
        return self._read(f"{name}.json"), self._read(f"{name}.js")

    def put(self, name: str, manifest: bytes, code: bytes) -> None:
        """Write both files, or neither; under the lock.

        Raises:
            OSError: that is not possible; what was there is still there.
        """
        staging = self.folder / f".{name}.{os.urandom(8).hex()}.new"
        try:
            write_private(staging / f"{name}.js", code)
            write_private(staging / f"{name}.json", manifest)
            staging.rename(self.folder / f".{name}{COMMIT_SUFFIX}")
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise
        self._finish(f".{name}{COMMIT_SUFFIX}")

    def remove(self, name: str) -> None:
        """Delete both files, under the lock; without its manifest, code is not a tool.

        Raises:
            OSError: that is not possible.
        """
        (self.folder / f"{name}.json").unlink(missing_ok=True)
        (self.folder / f"{name}.js").unlink(missing_ok=True)

    def finish_commits(self) -> None:
        """Put the files of changes into their places that a process has made and not brought to an end.

        Raises:
            OneClawError: that is not possible.
        """
        with self.locked(_GLANCE_SECONDS):
            return  # taking the lock has done it

    def _finish_commits(self) -> None:
        for commit in list_files(str(self.folder)).commits:
            self._finish(commit)
        with suppress(OSError):  # not there
            for left in self.folder.glob(".*.new"):
                shutil.rmtree(left, ignore_errors=True)

    def _finish(self, commit: str) -> None:
        directory = self.folder / commit
        # The code first: a manifest of a tool that is new must not be seen without it.
        for path in sorted(directory.iterdir(), key=lambda each: each.suffix == ".json"):
            path.replace(self.folder / path.name)
        directory.rmdir()

    def _read(self, file_name: str) -> bytes | None:
        try:
            return read_file(str(self.folder / file_name), MAX_PAIR_FILE_BYTES)
        except FileNotFoundError:
            return None
        except UnreadableFileError as fault:
            raise OneClawError(f"{file_name} {fault}: remove it, or fix it") from None
