"""The files that go with messages, stored beside them so that reading texts reads no files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, func, insert, select

from oneclaw_core.messages import Attachment
from oneclaw_core.store.schema import attachments
from oneclaw_core.store.sqlite_values import damaged_value
from oneclaw_core.tools.result import clean_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Connection

    from oneclaw_core.messages import Message

# How many values one IN list may have is limited, differently in every database.
_MESSAGES_PER_QUERY = 500

_INSERT = insert(attachments)
_OF_MESSAGES = (
    select(
        attachments.c.message_sequence,
        attachments.c.name,
        attachments.c.media_type,
        attachments.c.data,
    )
    .where(attachments.c.message_sequence.in_(bindparam("sequences", expanding=True)))
    .order_by(attachments.c.message_sequence, attachments.c.position)
)
# SQLite finds the length of a file without reading it.
_LENGTHS = (
    select(
        attachments.c.message_sequence,
        attachments.c.name,
        attachments.c.media_type,
        func.length(attachments.c.data),
    )
    .where(attachments.c.message_sequence.in_(bindparam("sequences", expanding=True)))
    .order_by(attachments.c.message_sequence, attachments.c.position)
)


def cleaned(given: Iterable[Attachment]) -> tuple[Attachment, ...]:
    """Replace text that no database can hold."""
    return tuple(Attachment(clean_text(each.name), clean_text(each.media_type), bytes(each.data)) for each in given)


def store(connection: Connection, sequence: int, files: Sequence[Attachment]) -> None:
    """Store the files, one or more, of the message that has this number."""
    connection.execute(
        _INSERT,
        [
            {
                "message_sequence": sequence,
                "position": position,
                "name": file.name,
                "media_type": file.media_type,
                "data": file.data,
            }
            for position, file in enumerate(files)
        ],
    )


def listed(connection: Connection, carriers: Sequence[int]) -> dict[int, tuple[Attachment, ...]]:
    """Read what files the messages of these numbers have, without the bytes."""
    files: dict[int, tuple[Attachment, ...]] = {}
    for start in range(0, len(carriers), _MESSAGES_PER_QUERY):
        parameters = {"sequences": carriers[start : start + _MESSAGES_PER_QUERY]}
        for sequence, name, media_type, length in connection.execute(_LENGTHS, parameters):
            file = Attachment(name, media_type, b"", left_out_bytes=length)
            files[sequence] = (*files.get(sequence, ()), file)
    return files


def attach(connection: Connection, messages: Sequence[Message], carriers: Collection[int]) -> list[Message]:
    """Give messages their files.

    Args:
        connection: the transaction.
        messages: as they were read, without files.
        carriers: the numbers of messages that have files; of messages that are not given too.
    """
    wanted = [message.sequence for message in messages if message.sequence in carriers] if carriers else []
    if not wanted:
        return list(messages)
    files: dict[int | None, list[Attachment]] = {}
    for start in range(0, len(wanted), _MESSAGES_PER_QUERY):
        parameters = {"sequences": wanted[start : start + _MESSAGES_PER_QUERY]}
        for sequence, name, media_type, data in connection.execute(_OF_MESSAGES, parameters):
            if not isinstance(data, bytes):
                raise damaged_value()
            files.setdefault(sequence, []).append(Attachment(name, media_type, data))
    return [
        replace(message, attachments=tuple(files[message.sequence])) if message.sequence in files else message
        for message in messages
    ]
