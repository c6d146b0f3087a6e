"""Writing a new plugin's package to the disk: all of it or nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


def make_folder(directory: Path, name: str, contents: Mapping[str, str]) -> Path:
    """Make a folder with files.

    Args:
        directory: where to make it; made if it is missing.
        name: of the folder.
        contents: text by path within the folder.

    Returns:
        The folder.

    Raises:
        UsageError: there is something of that name already.
        OneClawError: the folder cannot be written; nothing is left of it.
    """
    folder = directory / name
    if os.path.lexists(folder):
        raise UsageError(f"there is {folder} already: choose another name, or another place with --directory")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=directory) as temporary:
            made = Path(temporary) / name
            for path, text in contents.items():
                file = made / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8", newline="\n")
            made.rename(folder)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OneClawError(
            f"{folder} cannot be written: {reason}; choose a place that you can write to with --directory"
        ) from None
    return folder
