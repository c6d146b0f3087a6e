"""The file in the user's cache directory that holds the entries of installed plugins.

It is written at once and never trusted: one that is damaged, of another user or version, or unreadable counts as none,
and without a place for it everything works, only slower.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import sys
import zlib
from pathlib import Path
from typing import Any

from oneclaw_core._version import __version__
from oneclaw_core.plugins.contract import CONTRACT_VERSION

FORMAT = 2
MAX_BYTES = 256 * 1024 * 1024

_log = logging.getLogger("oneclaw.plugins")


class CatalogueCache:
    """The file of one environment (``sys.prefix``).

    Args:
        path: the file; ``None`` for nowhere.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> dict[str, Any]:
        """Return the content, ``{}`` if there is none that can be used."""
        if self._path is None:
            return {}
        try:
            header, _, body = _read_own(self._path).partition(b"\n")
            if json.loads(header) != {**_identity(), "checksum": zlib.crc32(body)}:
                return {}
            content = json.loads(body)
        except (OSError, ValueError, RecursionError):
            return {}
        return content if isinstance(content, dict) else {}

    def write(self, content: dict[str, Any]) -> None:
        """Replace the content, if that is possible."""
        if self._path is None:
            return
        body = json.dumps(content, separators=(",", ":")).encode()
        header = json.dumps({**_identity(), "checksum": zlib.crc32(body)}).encode()
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}.{os.urandom(4).hex()}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_own(self._path.parent.stat()):
                return
            try:
                descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(header + b"\n" + body)
                temporary.replace(self._path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            _log.debug("the catalogue of plugins cannot be cached: %s", error)


def user_cache() -> CatalogueCache:
    """Return the cache of this user and environment."""
    # As platformdirs has it, which takes longer to import than the catalogue to read.
    base = os.environ.get("XDG_CACHE_HOME", "").strip() or (
        "~/Library/Caches" if sys.platform == "darwin" else "~/.cache"
    )
    directory = Path(os.path.expanduser(base)) / "oneclaw"  # noqa: PTH111  # which leaves it relative for no user
    name = f"plugins-{zlib.crc32(sys.prefix.encode('utf-8', 'replace')):08x}.json"
    return CatalogueCache(directory / name if directory.is_absolute() else None)


def _identity() -> dict[str, Any]:
    """Return what a cache has to be made by and for."""
    return {
        "format": FORMAT,
        "core": __version__,
        "contract": CONTRACT_VERSION,
        "python": sys.version,
        "prefix": sys.prefix,
    }


def _read_own(path: Path) -> bytes:
    """Read a file of this user's.

    Raises:
        OSError: it is another one's, or cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or not _is_own(state) or state.st_size > MAX_BYTES:
            raise PermissionError(f"{path} is not this user's")
        return file.read()


def _is_own(state: os.stat_result) -> bool:
    return state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
