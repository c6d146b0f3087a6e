"""The file in the user's cache directory that holds the entries of installed plugins.

After a header, its first line holds everything but the entries. Each entry is another line, which is parsed only if it
is needed: the plugin may be disabled.

It is never trusted: one that is damaged, open to other users, of another version, or unreadable counts as none, and
without a place for it everything works, only slower.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import sys
import zlib
from typing import TYPE_CHECKING, Any

from oneclaw_core.contract import CONTRACT_VERSION
from oneclaw_core.errors import OneClawError
from oneclaw_core.system.private_files import KeptFiles, make_private_directory, read_private, write_private
from oneclaw_core.system.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 3
"""The format of an entry."""
MAX_BYTES = 256 * 1024 * 1024

_LAYOUT = 2

_log = logging.getLogger("oneclaw.plugins")
# A program may open many homes, and the file is the same for all of them.
_contents: KeptFiles[dict[str, Any]] = KeptFiles()


class CatalogueCache:
    """The file of one environment (``sys.prefix``).

    Args:
        path: the file; ``None`` for nowhere.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> dict[str, Any]:
        """Return the content, ``{}`` if there is none that can be used.

        The ``entry`` of each of its ``plugins`` is JSON text, or ``None``. Others may have the same content: it is not
        to be changed.
        """
        if self._path is None or self._path.is_symlink():
            return {}
        return _contents.get(self._path, _read)

    def write(self, content: dict[str, Any]) -> None:
        """Replace the content, if that is possible; it is what :meth:`read` returns."""
        if self._path is None:
            return
        plugins = content["plugins"]
        first = {**content, "plugins": [{**each, "entry": None} for each in plugins]}
        lines = [json.dumps(first, separators=(",", ":")), *(each["entry"] or "" for each in plugins)]
        body = "\n".join(lines).encode()
        header = json.dumps({**_identity(), "checksum": zlib.crc32(body)}).encode()
        try:
            make_private_directory(self._path.parent)
            state = self._path.parent.stat()
            if state.st_uid != os.geteuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return  # others could put files there
            write_private(self._path, header + b"\n" + body)
        except OSError as error:
            _log.debug("the catalogue of plugins cannot be cached: %s", error)


def user_cache() -> CatalogueCache:
    """Return the cache of this user and environment."""
    from platformdirs import user_cache_path

    directory = user_cache_path("oneclaw", appauthor=False)  # relative for no user
    name = f"plugins-{zlib.crc32(sys.prefix.encode('utf-8', 'replace')):08x}.json"
    return CatalogueCache(directory / name if directory.is_absolute() else None)


def _read(path: Path) -> dict[str, Any]:
    try:
        header, _, body = (read_private(path, MAX_BYTES) or b"").partition(b"\n")
        if json.loads(header) != {**_identity(), "checksum": zlib.crc32(body)}:
            return {}
        first, *entries = body.decode().split("\n")
        content: dict[str, Any] = json.loads(first)
        for each, entry in zip(content["plugins"], entries, strict=True):
            each["entry"] = entry or None
    except (OneClawError, LookupError, TypeError, ValueError, RecursionError):
        return {}
    return content


def _identity() -> dict[str, Any]:
    """Return what a cache has to be made by and for."""
    return {
        "format": FORMAT,
        "layout": _LAYOUT,
        "core": __version__,
        "contract": CONTRACT_VERSION,
        "python": sys.version,
        "prefix": sys.prefix,
    }
