"""The capabilities that the user has reviewed: state in the user's data directory, one file for each environment.

It lies in neither the cache, which may be deleted, nor a home, of which there can be many. A file that cannot be used
is never replaced.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from oneclaw_core.capabilities.capability import Capability
from oneclaw_core.errors import OneClawError
from oneclaw_core.system.private_files import KeptFiles, changing_private, read_private, write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_FORMAT = 1
_LONGEST_BYTES = 16 * 1024 * 1024
Reviews = dict[str, "ReviewedPackage"]


@dataclass(frozen=True, slots=True)
class ReviewedPackage:
    """The capabilities of a package that the user has reviewed.

    Attributes:
        version: of the package.
        content: the digest of its files, as the origins of plugins have it; ``""`` if it is not known yet.
        plugins: the capabilities of each of its plugins, by name.
    """

    version: str
    content: str
    plugins: Mapping[str, frozenset[Capability]] = field(default_factory=dict)


class ReviewRecord:
    """The record of one environment.

    Args:
        path: the file; ``None`` if this user has no data directory.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> Mapping[str, ReviewedPackage]:
        """Read what was reviewed, by the normalised names of packages.

        Raises:
            OneClawError: the file cannot be read, or is damaged; the message names it.
        """
        return {} if self._path is None else _contents.get(self._path, _read)

    def note(self, package: str, reviewed: ReviewedPackage) -> None:
        """Note what the user has reviewed of a package; its other plugins stay as they were.

        Raises:
            OneClawError: that cannot be written.
        """

        def change(known: Reviews) -> Reviews:
            before = known[package].plugins if package in known else {}
            return {**known, package: replace(reviewed, plugins={**before, **reviewed.plugins})}

        self._change(change)

    def forget(self, package: str) -> None:
        """Forget a package, such as one that is uninstalled.

        Raises:
            OneClawError: that cannot be written.
        """
        self._change(lambda known: {name: each for name, each in known.items() if name != package})

    def _change(self, change: Callable[[Reviews], Reviews]) -> None:
        if self._path is None:
            raise OneClawError("there is no place to note what was reviewed: set HOME or XDG_DATA_HOME")
        path = self._path
        with changing_private(path, path.with_name(f".{path.name}.lock"), "the reviewed capabilities of plugins"):
            known = _read(path)
            after = change(known)
            if after != known:
                write_private(path, _document(after))


_contents: KeptFiles[Reviews] = KeptFiles()


def user_reviews() -> ReviewRecord:
    """Return the record of this user and environment."""
    from platformdirs import user_data_path

    directory = user_data_path("oneclaw-plugins", appauthor=False)  # relative for no user
    environment = sha256(sys.prefix.encode("utf-8", "replace")).hexdigest()[:16]
    return ReviewRecord(directory / environment / "reviewed-capabilities.json" if directory.is_absolute() else None)


def _read(path: Path) -> Reviews:
    content = read_private(path, _LONGEST_BYTES)
    if content is None:
        return {}
    try:
        document = json.loads(content)
        if document["format"] != _FORMAT or document["prefix"] != sys.prefix:
            raise ValueError
        return {name: _package(each) for name, each in document["packages"].items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise OneClawError(
            f"{path} is damaged or of another version of OneClaw: repair it, or remove it to review the plugins again"
        ) from None


def _package(data: Mapping[str, Any]) -> ReviewedPackage:
    plugins = {
        plugin: frozenset(Capability(str(kind), str(name)) for kind, name in capabilities)
        for plugin, capabilities in data["plugins"].items()
    }
    return ReviewedPackage(data["version"] + "", data["content"] + "", plugins)


def _document(reviews: Reviews) -> bytes:
    packages = {
        name: {
            "version": each.version,
            "content": each.content,
            "plugins": {plugin: sorted(found) for plugin, found in sorted(each.plugins.items())},
        }
        for name, each in sorted(reviews.items())
    }
    document = {"format": _FORMAT, "prefix": sys.prefix, "packages": packages}
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()
