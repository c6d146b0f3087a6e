"""Leaving out files that a model does not take, which were given to another model earlier in the session."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.messages import Attachment, Message


def with_files_taken(messages: Iterable[Message], accepted: Sequence[str] | None) -> tuple[Message, ...]:
    """Put a note in the place of every file that the model does not take: services refuse a request with one.

    The same messages in give the same messages out.

    Args:
        messages: as they would be sent.
        accepted: prefixes of the media types that the model takes; ``None`` if nobody says.
    """
    if accepted is None:
        return tuple(messages)
    prefixes = tuple(accepted)
    return tuple(
        _with_notes(message, prefixes)
        if any(not _is_taken(each, prefixes) for each in message.attachments)
        else message
        for message in messages
    )


def _with_notes(message: Message, prefixes: tuple[str, ...]) -> Message:
    taken = tuple(each for each in message.attachments if _is_taken(each, prefixes))
    notes = [
        f"[{each.name} ({each.media_type}) cannot be shown to this model]"
        for each in message.attachments
        if not _is_taken(each, prefixes)
    ]
    return replace(message, content="\n".join([*filter(None, [message.content]), *notes]), attachments=taken)


def _is_taken(attachment: Attachment, prefixes: tuple[str, ...]) -> bool:
    return attachment.media_type.lower().startswith(prefixes)
