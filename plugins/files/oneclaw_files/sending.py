"""Files for the user."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING

from oneclaw_core import Attachment
from oneclaw_core.files import open_for_reading
from oneclaw_files.errors import FilesError

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.files import PathGuard

MAX_SENT_BYTES = 20_000_000
_MAX_NAME_CHARACTERS = 100


def read_for_user(path: Path, paths: PathGuard, name: str | None = None) -> Attachment:
    """Read a file to send.

    Args:
        path: of the file.
        paths: of the call.
        name: that the user sees, of which the part behind the last slash is taken; ``None`` for that of the file.

    Raises:
        FilesError: it is empty or too large.
        OSError: it cannot be read.
    """
    with open_for_reading(path, paths, "look") as stream:
        data = stream.read(MAX_SENT_BYTES + 1)
    if len(data) > MAX_SENT_BYTES:
        raise FilesError(f"{str(path)!r} is larger than {MAX_SENT_BYTES // 1_000_000} MB.")
    if not data:
        raise FilesError(f"{str(path)!r} is empty.")
    shown = _plain(name or "") or _plain(path.name) or "file"
    media_type, encoding = mimetypes.guess_type(shown)
    is_known = media_type is not None and encoding is None
    return Attachment(shown, str(media_type) if is_known else "application/octet-stream", data, is_for_user=True)


def _plain(name: str) -> str:
    last = name.replace("\\", "/").rpartition("/")[2].strip()
    return "".join(each if each.isprintable() else "_" for each in last)[-_MAX_NAME_CHARACTERS:]
