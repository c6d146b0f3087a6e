"""From the names of files in Drive, which can be anything, to names and places of files on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.tools import INVISIBLE_CHARACTERS

if TYPE_CHECKING:
    from oneclaw_core import ToolContext

# What names must not hold anywhere, and what cannot be seen or turns the direction of what is.
_UNSAFE = re.compile(rf'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\xad{INVISIBLE_CHARACTERS}]+')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)
_MAX_BYTES = 180


def safe_name(name: str, extension: str = "") -> str:
    """Make a name that every file system takes, that is not hidden and leads nowhere.

    Args:
        name: as in Drive.
        extension: what it is to end in, without the dot; added unless it does.
    """
    clean = " ".join(_UNSAFE.sub("_", name).split()).strip(". ")
    ending = f".{extension}" if extension and not clean.lower().endswith(f".{extension.lower()}") else ""
    stem, dot, rest = f"{clean or 'file'}{ending}".rpartition(".")
    if not dot or len(rest) > 10:
        stem, rest = f"{stem}{dot}{rest}", ""
    if _RESERVED.fullmatch(stem.partition(".")[0]):
        stem = f"_{stem}"
    stem = stem.encode("utf-8", "replace")[:_MAX_BYTES].decode("utf-8", "ignore").rstrip(". ")
    return f"{stem}.{rest}" if rest else stem


async def place_for(context: ToolContext, save_path: str, name: str) -> Path:
    """Find out where to save a file.

    Args:
        context: of the tool call.
        save_path: a file, or a folder that there is or that ends in a slash; in a folder, nothing is overwritten.
        name: made by :func:`safe_name`, for folders.

    Raises:
        PermissionDeniedError: the tool may not write there.
    """
    inside = await context.writable(Path(save_path) / name)
    if not save_path.endswith(("/", "\\")) and not inside.parent.is_dir():
        return await context.writable(save_path)
    return _free(inside)


def _free(path: Path) -> Path:
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.stem} ({number}){path.suffix}")
    return found
