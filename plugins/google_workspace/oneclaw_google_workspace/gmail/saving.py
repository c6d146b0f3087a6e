"""Saving what is attached to a message into the workspace."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.gmail.bodies import content_of
from oneclaw_google_workspace.problems import GoogleError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.gmail.mail_parts import AttachedPart

_MOST_OF_A_NAME = 1_000


async def save_attachments(
    google: GoogleClient,
    message_id: str,
    parts: Iterable[AttachedPart],
    folder: str,
    wanted: set[str] | None,
) -> list[dict[str, Any]]:
    """Save what is attached; nothing that is there already is overwritten.

    Args:
        google: the client.
        message_id: of the message.
        parts: what is attached to it.
        folder: where to put it, in the workspace.
        wanted: names in lower case, ``None`` for all.

    Returns:
        For each part ``saved_path``, or ``not_saved`` with the reason, or nothing if it was not wanted.

    Raises:
        PermissionDeniedError: the folder lies outside the workspace.
    """
    outcomes: list[dict[str, Any]] = []
    for part in parts:
        if wanted is not None and part.filename.casefold() not in wanted:
            outcomes.append({})
            continue
        # Each path is judged by itself: a link in the folder may lead elsewhere.
        target = await google.context.writable(f"{folder or '.'}/{part.filename}")
        try:
            content = await content_of(google, message_id, part.data, part.attachment_id)
            path = await asyncio.to_thread(_write_new, target, content)
        except GoogleError as error:
            outcomes.append({"not_saved": str(error)})
        except OSError as error:
            outcomes.append({"not_saved": f"The file cannot be written: {error.strerror or error}."})
        else:
            outcomes.append({"saved_path": str(path)})
    return outcomes


def _write_new(target: Path, content: bytes) -> Path:
    """Write a file under a name that is free: that of the target, or with a number behind it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, _MOST_OF_A_NAME + 1):
        path = target if number == 1 else target.with_name(f"{target.stem} ({number}){target.suffix}")
        try:
            file = path.open("xb")
        except FileExistsError:
            continue
        try:
            with file:
                file.write(content)
        except OSError:
            with suppress(OSError):
                path.unlink()
            raise
        return path
    raise FileExistsError(0, f"there are {_MOST_OF_A_NAME} files of that name")
