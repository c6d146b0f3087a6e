"""Attachments of messages, in a table of their own so that reading texts reads no files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.sessions.connection import with_list
from oneclaw_core.sessions.sqlite_values import damaged_value
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.types.messages import Message

# How many values one IN list may have is limited, differently in every database.
_MESSAGES_PER_QUERY = 500

_INSERT = """
    INSERT INTO attachments (message_sequence, position, name, media_type, data)
    VALUES (:message_sequence, :position, :name, :media_type, :data)"""
_OF_MESSAGES = """
    SELECT message_sequence, name, media_type, data FROM attachments
    WHERE message_sequence IN (:sequences) ORDER BY message_sequence, position"""
# SQLite finds the length of a file without reading it.
_LENGTHS = _OF_MESSAGES.replace("data FROM", "length(data) FROM")


def cleaned(given: Iterable[Attachment]) -> tuple[Attachment, ...]:
    """Replace invalid text."""
    return tuple(Attachment(clean_text(each.name), clean_text(each.media_type), bytes(each.data)) for each in given)


def store(connection: Connection, sequence: int, files: Sequence[Attachment]) -> None:
    """Store the files, one or more, of the message that has this number."""
    connection.execute_many(
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
    """List the files of messages by their numbers, without the bytes."""
    files: dict[int, tuple[Attachment, ...]] = {}
    for sequence, name, media_type, length in _rows(connection, _LENGTHS, carriers):
        file = Attachment(name, media_type, b"", left_out_bytes=length)
        files[sequence] = (*files.get(sequence, ()), file)
    return files


def attach(connection: Connection, messages: Sequence[Message], carriers: Collection[int]) -> list[Message]:
    """Attach files to messages.

    Args:
        connection: the transaction.
        messages: as they were read, without files.
        carriers: the numbers of messages that have files; of messages that are not given too.
    """
    if not carriers:
        return list(messages)
    wanted = [each.sequence for each in messages if each.sequence is not None and each.sequence in carriers]
    if not wanted:
        return list(messages)
    files: dict[int | None, list[Attachment]] = {}
    for sequence, name, media_type, data in _rows(connection, _OF_MESSAGES, wanted):
        if not isinstance(data, bytes):
            raise damaged_value()
        files.setdefault(sequence, []).append(Attachment(name, media_type, data))
    return [
        replace(message, attachments=tuple(files[message.sequence])) if message.sequence in files else message
        for message in messages
    ]


def _rows(connection: Connection, sql: str, sequences: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(sequences), _MESSAGES_PER_QUERY):
        yield from connection.execute(*with_list(sql, "sequences", sequences[start : start + _MESSAGES_PER_QUERY]))
