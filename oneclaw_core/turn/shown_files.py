"""Leaving out files: those that a model does not take, given to another one before, and old ones that are too many."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.sessions.history import sent_files

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from oneclaw_core.types.messages import Attachment, Message


def with_files_taken(messages: Sequence[Message], accepted: Sequence[str] | None) -> tuple[Message, ...]:
    """Put a note in the place of every file that cannot be sent: services refuse a request with one.

    The same messages in give the same messages out.

    Args:
        messages: as they would be sent.
        accepted: prefixes of the media types that the model takes; ``None`` if nobody says.
    """
    if not any(message.attachments for message in messages):
        return tuple(messages)
    sent = sent_files(messages)
    return tuple(
        _with_notes(message, accepted, is_old=place not in sent) if message.attachments else message
        for place, message in enumerate(messages)
    )


def _with_notes(message: Message, accepted: Collection[str] | None, *, is_old: bool) -> Message:
    taken = []
    notes = []
    for each in message.attachments:
        if accepted is not None and not each.media_type.lower().startswith(tuple(accepted)):
            notes.append(f"[{_named(each)} cannot be shown to this model]")
        elif is_old or each.left_out_bytes is not None:
            notes.append(f"[{_named(each)} was shown here and is not sent again: ask for it if you need it]")
        else:
            taken.append(each)
    if not notes:
        return message
    return replace(message, content="\n".join([*filter(None, [message.content]), *notes]), attachments=tuple(taken))


def _named(attachment: Attachment) -> str:
    return f"{attachment.name} ({attachment.media_type})"
