"""The plugins that the user has installed, kept in the home."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError
from oneclaw_core.tools import read_private, write_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from oneclaw_core import Home

_FILE_NAME = "plugins.json"
_FORMAT = 1
_LONGEST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class RecordedPlugin:
    """A package that the user has installed.

    Attributes:
        name: Normalised name.
        requirement: As the user gave it; paths are absolute.
        version: Installed version.
        sha256: Hash of the installed file; empty if unknown.
    """

    name: str
    requirement: str
    version: str
    sha256: str = ""


class InstallationRecord:
    """The record of one home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.path / _FILE_NAME

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from installing at the same time.

        Raises:
            OneClawError: One of them is installing.
        """
        from filelock import FileLock, Timeout

        self._home.create()
        try:
            with FileLock(self._home.path / f".{_FILE_NAME}.lock", timeout=0, mode=0o600):
                yield
        except Timeout:
            raise OneClawError("plugins are being installed by another process: try again when it is done") from None

    def read(self) -> dict[str, RecordedPlugin]:
        """Read the record, by name.

        Raises:
            OneClawError: The file cannot be read or is damaged.
        """
        content = read_private(self._path, _LONGEST_BYTES)
        if content is None:
            return {}
        return _parse(self._path, content)

    def update(self, added: Iterable[RecordedPlugin] = (), removed: Iterable[str] = ()) -> None:
        """Add packages, and remove others by name.

        Raises:
            OneClawError: The file cannot be read or written.
        """
        gone = set(removed)
        after = self.read() | {each.name: each for each in added}
        plugins = [asdict(each) for each in after.values() if each.name not in gone]
        document = {"format": _FORMAT, "plugins": plugins}
        try:
            write_private(self._path, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode())
        except OSError as error:
            raise OneClawError(f"{self._path} cannot be written: {error.strerror or error}") from None


def read_recorded(path: Path) -> dict[str, RecordedPlugin]:
    """Read the record of another home, by name.

    Raises:
        OneClawError: the file cannot be read or is damaged.
    """
    try:
        with path.open("rb") as file:
            return _parse(path, file.read(_LONGEST_BYTES))
    except OSError as error:
        raise OneClawError(f"{path} cannot be read: {error.strerror or error}") from None


def _parse(path: Path, content: bytes) -> dict[str, RecordedPlugin]:
    try:
        document = json.loads(content)
        if document["format"] != _FORMAT:
            raise OneClawError(f"{path} was written by a newer OneClaw: upgrade oneclaw-core")
        recorded = [
            RecordedPlugin(each["name"] + "", each["requirement"] + "", each["version"] + "", each.get("sha256", ""))
            for each in document["plugins"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise OneClawError(f"{path} is damaged: repair it, or remove it and install the plugins again") from None
    return {each.name: each for each in recorded}
