"""Select the part of a history that a model is sent: the newest turns that fit."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from oneclaw_core.types.messages import Attachment, Message, MessageType

if TYPE_CHECKING:
    from collections.abc import Iterable


# What old files may have together: as base64 a third more, which all services take in one request.
SENT_FILES_BYTES = 20_000_000
_IMAGE_CHARACTERS = 6_400
_PAGE_CHARACTERS = 8_000
# Scanned pages are many times as long; and no document alone is to push all else out.
_BYTES_PER_PAGE = 200_000
_MOST_DOCUMENT_CHARACTERS = 100_000


def newest_turns(
    from_the_end: Iterable[Message],
    pending_call_ids: Iterable[str | None],
    max_characters: int | None,
    *,
    follows_summary: bool = False,
) -> tuple[Message, ...]:
    """Return the newest turns that fit, at least one.

    The part begins with a user's message, and holds the calls of all results in it and all calls still pending: a
    call and its result are never parted, not even where a later turn answered the call of a killed one.

    Args:
        from_the_end: the history backwards, of files just the lengths; it is read no further than needed.
        pending_call_ids: the calls without a result.
        max_characters: what all the entries may have together, ``None`` for no limit.
        follows_summary: whether a summary stands for all that precedes the entries. Then they may begin within a turn.

    Returns:
        The part in its order; nothing if there is no user's message and no summary.
    """
    calls_to_come = set(pending_call_ids)
    taken: list[Message] = []
    characters = 0
    fitting = 0
    newest_user_message = 0
    for message in from_the_end:
        taken.append(message)
        characters += _characters(message)
        if fitting and max_characters is not None and characters > max_characters:
            break
        if message.type is MessageType.TOOL_RESULT:
            calls_to_come.add(message.tool_call_id)
        elif message.type is MessageType.TOOL_CALL:
            calls_to_come.discard(message.tool_call_id)
        elif message.type is MessageType.USER:
            newest_user_message = newest_user_message or len(taken)
            if not calls_to_come:
                fitting = len(taken)
    else:
        fits = max_characters is None or characters <= max_characters
        if follows_summary and (fits or not newest_user_message):
            fitting = len(taken)
    return tuple(reversed(taken[: fitting or newest_user_message]))


def sent_files(messages: Iterable[Message], max_bytes: int = SENT_FILES_BYTES) -> frozenset[int]:
    """Return the messages whose files a model is sent: the newest, and always the last one.

    When there are too many, half are left out at once: each time, a service's prompt cache is of no use once.

    Args:
        messages: in their order; whether the bytes of their files are there makes no difference.
        max_bytes: how long the files may be together.

    Returns:
        Places in the sequence.
    """
    sent: deque[tuple[int, int]] = deque()
    total = 0
    for place, message in enumerate(messages):
        if not (files := message.files_for_model):
            continue
        size = sum(each.size for each in files)
        sent.append((place, size))
        total += size
        if total > max_bytes:
            while len(sent) > 1 and total > max_bytes // 2:
                total -= sent.popleft()[1]
    return frozenset(place for place, _ in sent)


def file_characters(attachment: Attachment) -> int:
    """Return the number of characters that cost a model about as much as an attachment."""
    if attachment.media_type.startswith("image/"):
        return _IMAGE_CHARACTERS
    if attachment.media_type.startswith("text/"):
        return attachment.size
    return min(_PAGE_CHARACTERS * -(-attachment.size // _BYTES_PER_PAGE), _MOST_DOCUMENT_CHARACTERS)


def _characters(message: Message) -> int:
    """Return the length of an entry as it is sent to a model."""
    length = len(message.content)
    if message.shown_characters is not None:
        length = min(length, message.shown_characters)
    return length + len(message.tool_input or "") + sum(map(file_characters, message.files_for_model))
