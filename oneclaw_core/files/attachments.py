"""Files that go with a message: read them, and tell what they are."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from oneclaw_core.errors import UsageError
from oneclaw_core.system.private_files import open_without_waiting
from oneclaw_core.types.messages import Attachment

MAX_ATTACHMENT_BYTES = 20_000_000
ACCEPTED = "PNG, JPEG, GIF and WebP images, and PDF files"

_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}


def read_attachment(path: str | Path) -> Attachment:
    """Read a file to send with a message. What it is, is told by how it begins, not by its name.

    Args:
        path: the file.

    Raises:
        UsageError: it is missing, no file, empty, too large, or of no kind that models look at.
    """
    try:
        with open(path, "rb", opener=open_without_waiting) as file:  # Path.open takes no opener
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _unusable(path, "it is not a file")
            data = file.read(MAX_ATTACHMENT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unusable(path, getattr(error, "strerror", None) or str(error)) from None
    if not data:
        raise _unusable(path, "it is empty")
    if len(data) > MAX_ATTACHMENT_BYTES:
        raise _unusable(path, f"it is larger than {MAX_ATTACHMENT_BYTES // 1_000_000} MB")
    media_type = media_type_of(data)
    if media_type is None:
        raise _unusable(path, f"accepted are {ACCEPTED}; the text of another file can be put into the message")
    # File names are bytes, and need be no text.
    name = os.fsencode(Path(path).name).decode("utf-8", "replace")
    return Attachment("".join(each if each.isprintable() else "_" for each in name), media_type, data)


def media_type_of(data: bytes) -> str | None:
    """Tell the media type of what is accepted by its first bytes, ``None`` for everything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for signature, media_type in _SIGNATURES.items() if data.startswith(signature)), None)


def size_text(attachment: Attachment) -> str:
    """Tell the size of an attachment, such as ``1.2 MB``."""
    size = len(attachment.data)
    return f"{size / 1_000_000:.1f} MB" if size >= 1_000_000 else f"{-(-size // 1000)} kB"


def _unusable(path: str | Path, reason: str) -> UsageError:
    shown = os.fsencode(path).decode("utf-8", "replace")
    return UsageError(f"{shown} cannot be attached: {reason}")
