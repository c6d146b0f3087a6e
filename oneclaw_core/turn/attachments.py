"""Files that go with a message: read them, and find out whether a model takes them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import UsageError
from oneclaw_core.types.messages import Attachment

if TYPE_CHECKING:
    from collections.abc import Sequence


MAX_ATTACHMENT_BYTES = 20_000_000
ACCEPTED = "PNG, JPEG, GIF and WebP images, and PDF files"

_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}
_IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_NAMES = {"image/": "images", "application/pdf": "PDF files"}


def read_attachment(path: str | Path) -> Attachment:
    """Read a file to send with a message. What it is, is told by how it begins, not by its name.

    Args:
        path: the file.

    Raises:
        UsageError: it is missing, no file, empty, too large, or of no kind that models look at.
    """
    try:
        with open(path, "rb", opener=_without_waiting) as file:  # Path.open takes no opener
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


def accepted_media_types(of_format: Sequence[str], of_model: Sequence[str] | None) -> tuple[str, ...]:
    """Find out what can be sent: what the model takes, as far as the wire format can carry it.

    Args:
        of_format: prefixes of the media types that the wire format can carry.
        of_model: prefixes of those that the model takes, ``None`` if it is not known.
    """
    if of_model is None:
        return tuple(of_format)
    # Of two prefixes of which one begins with the other, the longer is what both allow.
    both = (max(ours, theirs, key=len) for ours in of_format for theirs in of_model if _is_within(ours, theirs))
    return tuple(dict.fromkeys(both))


def checked_attachments(given: object) -> tuple[Attachment, ...]:
    """Make sure that what a program gives as attachments are some.

    Raises:
        UsageError: they are not.
    """
    files = tuple(given) if isinstance(given, Iterable) else (given,)
    for each in files:
        if (
            not isinstance(each, Attachment)
            or not isinstance(each.name, str)
            or not isinstance(each.media_type, str)
            or not isinstance(each.data, bytes | bytearray | memoryview)
        ):
            raise UsageError(
                "attachments must be a list of Attachment objects, with texts as name and media type and bytes as data"
            )
    return files


def check_attachments(attachments: Iterable[Attachment], accepted: Sequence[str], model_name: str) -> None:
    """Refuse what a model cannot look at, before anything is sent or stored.

    Raises:
        UsageError: it says which attachment, what the model takes, and what can be done.
    """
    refused = [each for each in attachments if not each.media_type.startswith(tuple(accepted))]
    if not refused:
        return
    names = ", ".join(f"{each.name} ({each.media_type})" for each in refused)
    takes = f"takes {media_type_names(accepted)} only" if accepted else "takes no attachments"
    raise UsageError(f"{model_name} {takes}, not {names}: choose another model with --model PROVIDER/MODEL")


def media_type_names(prefixes: Iterable[str]) -> str:
    """Name media types for people, such as ``images and PDF files``."""
    found = list(prefixes)
    if _IMAGE_TYPES.issubset(found):  # all that can be attached, one by one
        found = ["image/", *(each for each in found if each not in _IMAGE_TYPES)]
    return " and ".join(_NAMES.get(each, each) for each in dict.fromkeys(found))


def size_text(attachment: Attachment) -> str:
    """Tell the size of an attachment, such as ``1.2 MB``."""
    size = len(attachment.data)
    return f"{size / 1_000_000:.1f} MB" if size >= 1_000_000 else f"{-(-size // 1000)} kB"


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a named pipe would make this wait for its other end."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _is_within(first: str, second: str) -> bool:
    return first.startswith(second) or second.startswith(first)


def _unusable(path: str | Path, reason: str) -> UsageError:
    shown = os.fsencode(path).decode("utf-8", "replace")
    return UsageError(f"{shown} cannot be attached: {reason}")
