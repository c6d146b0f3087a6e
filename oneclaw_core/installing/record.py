"""What the user has installed, kept in the home, so that it can be installed again."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OneClawError
from oneclaw_core.installing.requirement import normalised
from oneclaw_core.owner_files import read_private, write_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from oneclaw_core.home import Home

FILE_NAME = "plugins.json"
_FORMAT = 1
_LONGEST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class RecordedPlugin:
    """A package that the user has installed.

    Attributes:
        name: normalised.
        requirement: as it was asked for; paths are absolute.
        version: what that came to.
    """

    name: str
    requirement: str
    version: str


class InstallationRecord:
    """The record of one home.

    Args:
        home: which one.
    """

    def __init__(self, home: Home) -> None:
        self._home = home

    @property
    def path(self) -> Path:
        """The file."""
        return self._home.path / FILE_NAME

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from installing at the same time, as long as the block runs.

        Raises:
            OneClawError: one of them is at it.
        """
        from filelock import FileLock, Timeout

        self._home.create()
        lock = FileLock(self._home.path / f".{FILE_NAME}.lock", timeout=0, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            raise OneClawError("plugins are being installed by another process: try again when it is done") from None
        try:
            yield
        finally:
            lock.release()

    def read(self) -> dict[str, RecordedPlugin]:
        """Read the record.

        Returns:
            What the user has installed, by name, in the order of installing.

        Raises:
            OneClawError: the file cannot be read, or is none of OneClaw's.
        """
        content = read_private(self.path, _LONGEST_BYTES)
        if content is None:
            return {}
        try:
            document = json.loads(content)
            if document["format"] != _FORMAT:
                raise OneClawError(f"{self.path} was written by a newer OneClaw: upgrade oneclaw-core")
            recorded = [_recorded(each) for each in document["plugins"]]
        except (ValueError, KeyError, TypeError):
            raise OneClawError(f"{self.path} is damaged: mend it, or remove it and install the plugins again") from None
        return {each.name: each for each in recorded}

    def write(self, plugins: Mapping[str, RecordedPlugin]) -> None:
        """Put another record in the place of this one.

        Raises:
            OneClawError: it cannot be written; the old one is still there.
        """
        document = {"format": _FORMAT, "plugins": [asdict(each) for each in plugins.values()]}
        try:
            write_private(self.path, (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode())
        except OSError as error:
            raise OneClawError(f"{self.path} cannot be written: {error.strerror or error}") from None

    def add(self, plugins: Iterable[RecordedPlugin]) -> None:
        """Note packages, in the place of what was noted of them."""
        self.write(self.read() | {each.name: each for each in plugins})

    def remove(self, names: Iterable[str]) -> None:
        """Forget packages."""
        gone = set(names)
        recorded = self.read()
        if gone & recorded.keys():
            self.write({name: each for name, each in recorded.items() if name not in gone})


def _recorded(entry: dict[str, Any]) -> RecordedPlugin:
    name, requirement, version = entry["name"], entry["requirement"], entry["version"]
    if not (isinstance(name, str) and isinstance(requirement, str) and isinstance(version, str)):
        raise TypeError("texts are wanted")
    return RecordedPlugin(normalised(name), requirement, version)
