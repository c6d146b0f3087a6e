"""Checksums as Drive keeps them, computed piece by piece."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


async def md5_of(content: Path | bytes) -> str:
    """Compute the MD5 checksum of a file or of its content, as Drive's ``md5Checksum``.

    Raises:
        OSError: the file cannot be read.
    """
    return await asyncio.to_thread(_md5, content)


def _md5(content: Path | bytes) -> str:
    if isinstance(content, bytes):
        return _new(content).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, _new).hexdigest()


def _new(content: bytes = b"") -> hashlib._Hash:
    # It tells damage from completeness, and keeps nothing secret.
    return hashlib.md5(content, usedforsecurity=False)
