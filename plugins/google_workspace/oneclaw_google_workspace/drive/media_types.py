"""Media types of files on this machine; pure, without any I/O."""

from __future__ import annotations

import mimetypes
import re

from oneclaw_google_workspace.drive.kinds import EXPORT_TYPES, GOOGLE
from oneclaw_google_workspace.problems import invalid

_SHAPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
# What machines do not agree on, or do not know.
_TYPES = {
    **EXPORT_TYPES,
    "json": "application/json",
    "markdown": "text/markdown",
    "htm": "text/html",
    "log": "text/plain",
    "yaml": "application/yaml",
    "yml": "application/yaml",
    "toml": "application/toml",
    "zip": "application/zip",
    "jpeg": "image/jpeg",
}
_UNKNOWN = "application/octet-stream"


def media_type_of(name: str, default: str = _UNKNOWN) -> str:
    """Guess a media type by the ending of a name.

    Args:
        name: of a file.
        default: for endings that no one knows.
    """
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    # A compressed file is not of the type of what is in it.
    guessed, compression = mimetypes.guess_type(f"x.{ending}", strict=False)
    return _TYPES.get(ending) or (_UNKNOWN if compression else guessed) or default


def checked_media_type(text: str) -> str:
    """Give a media type back if it can be one of a file's content.

    Raises:
        GoogleError: it cannot.
    """
    if not _SHAPE.fullmatch(text):
        raise invalid(f"mime_type must be a media type such as text/csv, not {text[:60]!r}.")
    if text.startswith(GOOGLE):
        raise invalid("mime_type is that of the content. Give convert_to to import it as a Google file.")
    return text
