"""Files that go to a model: which it takes, and notes in the place of those that it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import UsageError
from oneclaw_core.sessions.history import sent_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.types.messages import Attachment, Message

_IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_NAMES = {"image/": "images", "application/pdf": "PDF files"}


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


def attachment_media_types(model: ChosenModel) -> tuple[str, ...]:
    """Return prefixes of the media types that a model takes and its wire format can carry."""
    of_format = tuple(getattr(model.provider, "attachment_media_types", ()))
    return accepted_media_types(of_format, model.info.input_media_types)


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


def with_files_taken(messages: Sequence[Message], accepted: Sequence[str] | None) -> tuple[Message, ...]:
    """Put a note in the place of every file that cannot be sent: services refuse a request with one.

    The same messages in give the same messages out.

    Args:
        messages: as they would be sent.
        accepted: prefixes of the media types that the model takes; ``None`` if it is not known.
    """
    if not any(message.attachments for message in messages):
        return tuple(messages)
    sent = sent_files(messages)
    return tuple(
        _with_notes(message, accepted, is_old=place not in sent) if message.attachments else message
        for place, message in enumerate(messages)
    )


def _with_notes(message: Message, accepted: Sequence[str] | None, *, is_old: bool) -> Message:
    taken = []
    notes = []
    for each in message.files_for_model:
        if accepted is not None and not each.media_type.lower().startswith(tuple(accepted)):
            notes.append(f"[{_named(each)} cannot be shown to this model]")
        elif is_old or each.left_out_bytes is not None:
            notes.append(f"[{_named(each)} was shown here and is not sent again: ask for it if you need it]")
        else:
            taken.append(each)
    if not notes:
        return message if len(taken) == len(message.attachments) else replace(message, attachments=tuple(taken))
    text = "\n".join([*filter(None, [message.content]), *notes])
    return replace(message, content=text, is_json=False, attachments=tuple(taken))


def _named(attachment: Attachment) -> str:
    return f"{attachment.name} ({attachment.media_type})"


def _is_within(first: str, second: str) -> bool:
    return first.startswith(second) or second.startswith(first)
