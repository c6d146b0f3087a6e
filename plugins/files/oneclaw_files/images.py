"""Pictures for the model to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import Attachment
from oneclaw_core.files import open_for_reading
from oneclaw_files.errors import FilesError

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.files import PathGuard

# A picture of a large camera; what a service takes is made from it before it is sent.
MAX_IMAGE_BYTES = 30_000_000


def read_image(path: Path, paths: PathGuard) -> Attachment:
    """Read a picture of a format that models can look at.

    Raises:
        FilesError: it has another format, or is too large.
        OSError: it cannot be read.
    """
    with open_for_reading(path, paths) as stream:
        media_type = _media_type(stream.peek(16)[:16])
        if media_type is None:
            raise FilesError(f"{str(path)!r} is no PNG, JPEG, GIF or WebP picture.")
        data = stream.read(MAX_IMAGE_BYTES + 1)
    if len(data) > MAX_IMAGE_BYTES:
        raise FilesError(f"{str(path)!r} is larger than {MAX_IMAGE_BYTES // 1_000_000} MB.")
    return Attachment(path.name, media_type, data)


def _media_type(beginning: bytes) -> str | None:
    if beginning.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if beginning.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if beginning.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if beginning[:4] == b"RIFF" and beginning[8:12] == b"WEBP" else None
