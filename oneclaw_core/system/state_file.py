"""State of this user for one environment (``sys.prefix``): a JSON document in the user's data directory.

It lies neither in the cache, which may be deleted, nor in a home, of which there can be many. A file that cannot be
used is never replaced.
"""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from oneclaw_core.errors import OneClawError
from oneclaw_core.system.private_files import KeptFiles, changing_private, read_private, write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_FORMAT = 1
_LONGEST_BYTES = 16 * 1024 * 1024
_T = TypeVar("_T")


class StateFile(ABC, Generic[_T]):
    """The file of one environment.

    Args:
        path: the file; ``None`` if this user has no data directory.

    Attributes:
        what: what the file holds, for messages.
        use: what it is removed for, if it is damaged, as the end of a sentence.
    """

    what: ClassVar[str]
    use: ClassVar[str]
    _contents: ClassVar[KeptFiles[Any]] = KeptFiles()

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> _T:
        """Read the file.

        Raises:
            OneClawError: it cannot be read, or is damaged; the message names it.
        """
        content: _T = self._contents.get(self._place(), self._read)
        return content

    def change(self, change: Callable[[_T], _T]) -> _T:
        """Replace what is known, without losing what another process writes at the same time.

        Args:
            change: returns what holds now, from what was known.

        Raises:
            OneClawError: the file cannot be read or written.
        """
        path = self._place()
        with changing_private(path, path.with_name(f".{path.name}.lock"), self.what):
            known = self._read(path)
            after = change(known)
            if after != known:
                document = {"format": _FORMAT, "prefix": sys.prefix, **self._document(after)}
                write_private(path, (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode())
        return after

    @abstractmethod
    def _parsed(self, document: Mapping[str, Any]) -> _T:
        """Return the content of a document, which is empty if there is no file."""

    @abstractmethod
    def _document(self, content: _T) -> dict[str, Any]:
        """Return the content as JSON data."""

    def _place(self) -> Path:
        if self._path is None:
            raise OneClawError(f"there is no place to note {self.what}: set HOME or XDG_DATA_HOME")
        return self._path

    def _read(self, path: Path) -> _T:
        content = read_private(path, _LONGEST_BYTES)
        try:
            if content is None:
                return self._parsed({})
            document = json.loads(content)
            if (document["format"], document["prefix"]) != (_FORMAT, sys.prefix):
                raise ValueError
            return self._parsed(document)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise OneClawError(
                f"{path} is damaged or of another version of OneClaw: repair it, or remove it to {self.use}"
            ) from None


def state_path(name: str) -> Path | None:
    """Return a file of this user for this environment that is no cache; ``None`` if there is no place for it."""
    from platformdirs import user_data_path

    # Beside the home that lies there by default; relative for no user.
    directory = user_data_path("oneclaw-plugins", appauthor=False)
    environment = sha256(sys.prefix.encode("utf-8", "replace")).hexdigest()[:16]
    return directory / environment / name if directory.is_absolute() else None
