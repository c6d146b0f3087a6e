"""Files that people send: images and PDF files go with the message, all others into a folder of the home."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core import Attachment, OneClawError
from oneclaw_core.files import MAX_ATTACHMENT_BYTES, media_type_of
from oneclaw_core.process import run_in_thread
from oneclaw_core.tools import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from oneclaw_core.channels import ChatChannel, InboundFile

_MAX_NAME_CHARACTERS = 100
_UNSAFE = re.compile(r"[^\w.-]+")
_UNSAFE_TYPE = re.compile(r"[^a-z0-9.+/-]+")


async def message_with_files(
    text: str, files: Sequence[InboundFile], folder: Path, number: str, channel: ChatChannel | None = None
) -> tuple[str, list[Attachment]]:
    """Fetch the files of a message.

    Args:
        text: of the message.
        files: what came with it.
        folder: for files that no model looks at.
        number: of the message; begins the names of its files, so that fetching again replaces them.
        channel: that they came through; ``None`` if all have their data.

    Returns:
        The message, which names each file that no model looks at or that could not be fetched, and attachments for the
        model.
    """
    attachments: list[Attachment] = []
    notes: list[str] = []
    for place, file in enumerate(files, 1):
        name = _safe_name(file.name)
        try:
            data = file.data if file.data is not None or channel is None else await channel.fetch(file)
        except OneClawError as error:
            notes.append(f"[file {name}: {error}]")
            continue
        if data is None:
            continue
        media_type = media_type_of(data)
        if media_type is not None and len(data) <= MAX_ATTACHMENT_BYTES:
            attachments.append(Attachment(name, media_type, data))
            continue
        path = folder / f"{number}-{place}-{name}"
        await run_in_thread(partial(_write, path, data))
        kind = _UNSAFE_TYPE.sub("", file.media_type)[:_MAX_NAME_CHARACTERS]
        notes.append(f"[file {name} ({kind}, {len(data):,} bytes) is stored as {path}]")
    if attachments and not text and not notes:
        # A message has to have words.
        notes = [f"[sent without words: {', '.join(each.name for each in attachments)}]"]
    return "\n\n".join([text, *notes] if text else notes), attachments


def _safe_name(name: str) -> str:
    plain = _UNSAFE.sub("_", name.replace("\\", "/").rsplit("/", 1)[-1]).lstrip(".")
    return plain[-_MAX_NAME_CHARACTERS:] or "file"


def _write(path: Path, data: bytes) -> None:
    make_private_directory(path.parent.parent)
    make_private_directory(path.parent)
    path.write_bytes(data)
    path.chmod(0o600)
