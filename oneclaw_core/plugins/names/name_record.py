"""The file that tells which distribution had a name first on this machine.

It is state: it lies in the user's data directory, one file for each environment (``sys.prefix``), and neither in the
cache, which may be deleted, nor in a home, of which there can be many. A file that cannot be used is never replaced.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OneClawError
from oneclaw_core.plugins.names.claims import Name
from oneclaw_core.system.private_files import KeptFiles, changing_private, read_private, write_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FORMAT = 1
_LONGEST_BYTES = 16 * 1024 * 1024


@dataclass(slots=True)
class KnownNames:
    """The owners of names, as they are noted.

    Attributes:
        lines: the distributions that claimed a name, by the time at which OneClaw saw that first.
        chosen: the distributions that the user has given a name to.
    """

    lines: dict[Name, tuple[str, ...]] = field(default_factory=dict)
    chosen: dict[Name, str] = field(default_factory=dict)


class NameRecord:
    """The record of one environment.

    Args:
        path: the file; ``None`` if this user has no data directory.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> KnownNames:
        """Read the file.

        Raises:
            OneClawError: it cannot be read, or is damaged; the message names it.
        """
        return _contents.get(self._place(), _read)

    def change(self, change: Callable[[KnownNames], KnownNames]) -> KnownNames:
        """Replace what is known, without losing what another process writes at the same time.

        Args:
            change: returns what holds now, from what was known.

        Raises:
            OneClawError: the file cannot be read or written.
        """
        path = self._place()
        with changing_private(path, path.with_name(f".{path.name}.lock"), "the owners of plugins' names"):
            known = _read(path)
            after = change(known)
            if after != known:
                write_private(path, _document(after))
        return after

    def _place(self) -> Path:
        if self._path is None:
            raise OneClawError("there is no place to note the owners of names: set HOME or XDG_DATA_HOME")
        return self._path


_contents: KeptFiles[KnownNames] = KeptFiles()


def user_record() -> NameRecord:
    """Return the record of this user and environment."""
    return NameRecord(state_file("owners-of-names.json"))


def state_file(name: str) -> Path | None:
    """Return a file of this user for this environment that is no cache; ``None`` if there is no place for it."""
    from platformdirs import user_data_path

    # Beside the home that lies there by default; relative for no user.
    directory = user_data_path("oneclaw-plugins", appauthor=False)
    environment = sha256(sys.prefix.encode("utf-8", "replace")).hexdigest()[:16]
    return directory / environment / name if directory.is_absolute() else None


def _read(path: Path) -> KnownNames:
    content = read_private(path, _LONGEST_BYTES)
    if content is None:
        return KnownNames()
    try:
        document = json.loads(content)
        if document["format"] != _FORMAT or document["prefix"] != sys.prefix:
            raise ValueError
        lines = {
            Name(kind, form): tuple(str(each) for each in line)
            for kind, names in document["names"].items()
            for form, line in names.items()
            if isinstance(line, list)
        }
        chosen = {
            Name(kind, form): str(distribution)
            for kind, names in document["chosen"].items()
            for form, distribution in names.items()
        }
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise OneClawError(
            f"{path} is damaged or of another version of OneClaw: repair it, or remove it to have the owners of names "
            "noted again"
        ) from None
    return KnownNames(lines, chosen)


def _document(known: KnownNames) -> bytes:
    names: dict[str, dict[str, Any]] = {}
    chosen: dict[str, dict[str, Any]] = {}
    for name, line in sorted(known.lines.items()):
        names.setdefault(name.kind, {})[name.form] = list(line)
    for name, distribution in sorted(known.chosen.items()):
        chosen.setdefault(name.kind, {})[name.form] = distribution
    document = {"format": _FORMAT, "prefix": sys.prefix, "names": names, "chosen": chosen}
    return (json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
