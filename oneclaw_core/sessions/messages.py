"""Store and read the entries of histories, and their attachments.

Attachments are in a separate table, so that reading texts reads no files.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import StoreError
from oneclaw_core.sessions import history, provenance, schema, sessions
from oneclaw_core.sessions.backend import ENDLESS, damaged_value, insertion, now, rows_in, to_datetime, value_of
from oneclaw_core.sessions.schema import IS_CALL, IS_GROUP_LOAD, IS_PENDING_CALL, IS_RESULT
from oneclaw_core.types.kept_results import call_of_handle
from oneclaw_core.types.messages import Attachment, Message, MessageType, ToolCallStatus
from oneclaw_core.types.provenance import marks_of_text, marks_to_text
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oneclaw_core.sessions.backend import Connection

_COLUMNS = tuple(each.name for each in schema.messages.columns if each.name != "session_id")
_ATTACHMENT_COUNT = _COLUMNS.index("attachment_count")
_TEXTS = ("content", "tool_call_id", "tool_name", "tool_input", "error_type", "model")
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM messages WHERE session_id = :session"
_BACKWARDS = f"{_SELECT} AND sequence < :before AND sequence > :after ORDER BY sequence DESC LIMIT :page"
_FORWARDS = f"{_SELECT} AND sequence > :after ORDER BY sequence LIMIT :page"
_GROUP_LOADS = f"{_SELECT} AND {IS_GROUP_LOAD} ORDER BY sequence"
_PENDING_CALLS = f"{_SELECT} AND {IS_PENDING_CALL} ORDER BY sequence"
_RESULT_OF_CALL = f"{_SELECT} AND tool_call_id = :call AND {IS_RESULT}"
_CALL_EXISTS = f"SELECT sequence FROM messages WHERE session_id = :session AND tool_call_id = :call AND {IS_CALL}"
_USED_IDS = f"SELECT tool_call_id FROM messages WHERE session_id = :session AND tool_call_id IN (:ids) AND {IS_CALL}"
_CALL_OF_NUMBER = f"SELECT tool_call_id FROM messages WHERE session_id = :session AND sequence = :number AND {IS_CALL}"
_RESULTS_OF_HANDLE = f"""{_SELECT} AND {IS_RESULT} AND provider_data LIKE :handle ORDER BY sequence DESC"""
_COUNT = "SELECT count(*) FROM messages WHERE session_id = :session"
_FINISH = f"""
    UPDATE messages SET tool_status = :outcome
    WHERE session_id = :session AND tool_call_id = :call AND {IS_PENDING_CALL}"""
_MARK = "UPDATE messages SET provider_data = :data WHERE session_id = :session AND sequence = :sequence"
_INSERT = insertion("messages", ("session_id", *_COLUMNS[1:]))

_INSERT_FILE = insertion("attachments", (each.name for each in schema.attachments.columns))
_FILES = """
    SELECT message_sequence, name, media_type, is_for_user, data FROM attachments
    WHERE message_sequence IN (:sequences) ORDER BY message_sequence, position"""
# SQLite finds the length of a file without reading it.
_FILE_LENGTHS = _FILES.replace("data FROM", "length(data) FROM")

_PAGE = 100


def append(connection: Connection, session_id: str, new: Sequence[Message]) -> list[Message]:
    """Append entries to a history.

    A call without a status is stored as pending, and one whose id is empty or used in the session already gets a new
    id: some services number them per answer. A result closes its call, as in :func:`finish_calls`. ``sequence`` and
    ``created_at`` are assigned here.

    Args:
        new: in their order.

    Returns:
        The entries as they are stored, with invalid text replaced.

    Raises:
        NotFoundError: there is no session of that id.
        StoreError: a result has no call.
    """
    moment = now()
    sessions.touch(connection, session_id, moment)
    unique = _with_unique_ids(connection, session_id, new)
    return [_store(connection, session_id, message, moment) for message in unique]


def finish_calls(connection: Connection, session_id: str, results: Sequence[Message]) -> list[Message]:
    """Store the results of calls, and set the status of the calls.

    The first outcome of a call is its only one.

    Args:
        results: each a ``TOOL_RESULT`` with its call's id and the status ``SUCCESS`` or ``ERROR``.

    Returns:
        The results as they are stored; of a call that had one already, that one.

    Raises:
        StoreError: there is no such call, or a message is no outcome.
    """
    other = next((each.type for each in results if each.type is not MessageType.TOOL_RESULT), None)
    if other is not None:
        raise StoreError(f"a call is finished by its result, not by a message of type {str(other)!r}")
    sessions.hold(connection, session_id)
    return [_store(connection, session_id, result, now()) for result in results]


def mark_not_sent(connection: Connection, session_id: str, marked: Sequence[Message]) -> None:
    """Store the mark of entries that go to no model any more, see ``Message.not_sent``."""
    sessions.hold(connection, session_id)
    for message in marked:
        place = {"session": clean_text(session_id), "sequence": message.sequence}
        connection.execute(_MARK, place | {"data": _to_json(message.provider_data)})


def page(connection: Connection, session_id: str, after: int = 0, limit: int | None = None) -> list[Message]:
    """Read up to ``limit`` entries of a history after the entry with the ``sequence`` ``after``."""
    parameters = {"session": clean_text(session_id), "after": after, "page": ENDLESS if limit is None else limit}
    return _read(connection, _FORWARDS, parameters)


def newest(connection: Connection, session_id: str, before: int | None, limit: int) -> list[Message]:
    """Read the newest entries of a history, in their order; their files are listed without the bytes.

    Args:
        before: the ``sequence`` of the entry to end before, ``None`` for the end of the history.
        limit: how many at most.
    """
    before = ENDLESS if before is None else before
    place = {"session": clean_text(session_id), "before": before, "after": 0, "page": limit}
    return _read(connection, _BACKWARDS, place, with_data=False)[::-1]


def newest_turns(
    connection: Connection,
    session_id: str,
    pending: Iterable[Message],
    max_characters: int | None,
    after: int | None = None,
) -> tuple[Message, ...]:
    """Read the newest turns that fit, see :func:`oneclaw_core.sessions.history.newest_turns`.

    Args:
        pending: its calls without a result.
        max_characters: what all the entries may have together, ``None`` for no limit.
        after: the number of the last message that a summary stands for, ``None`` without a summary.
    """
    pending_ids = (call.tool_call_id for call in pending)
    from_the_end = _backwards(connection, session_id, after or 0)
    part = history.newest_turns(from_the_end, pending_ids, max_characters, follows_summary=after is not None)
    # Only now is it known which files are wanted.
    wanted = [part[place].sequence or 0 for place in sorted(history.sent_files(part))]
    return tuple(_with_files(part, _files(connection, wanted, with_data=True)))


def _backwards(connection: Connection, session_id: str, after: int) -> Iterator[Message]:
    """Read a history backwards in pages, down to the entry after a number; files are listed without their bytes."""
    place = {"session": clean_text(session_id), "before": ENDLESS, "after": after, "page": _PAGE}
    while page := _read(connection, _BACKWARDS, place, with_data=False):
        yield from page
        place["before"] = page[-1].sequence or 0


def group_loads(connection: Connection, session_id: str) -> list[Message]:
    """Read the successful calls of ``load_tool_group`` in their order."""
    return _read(connection, _GROUP_LOADS, {"session": clean_text(session_id)})


def pending_calls(connection: Connection, session_id: str) -> list[Message]:
    """Read the calls without a result in their order."""
    return _read(connection, _PENDING_CALLS, {"session": clean_text(session_id)})


def kept_result(connection: Connection, session_id: str, handle: str) -> Message | None:
    """Find a long result of a session by its handle; ``None`` if there is none."""
    place: dict[str, Any] = {"session": clean_text(session_id), "number": call_of_handle(handle)}
    call = value_of(connection.execute(_CALL_OF_NUMBER, place))
    place |= {"call": call, "handle": f'%"result":"{handle}"%'}
    # A branch has copies, whose numbers are others.
    for statement in (_RESULT_OF_CALL, _RESULTS_OF_HANDLE):
        for found in _read(connection, statement, place):
            if found.result_handle == handle:
                return found
    return None


def count(connection: Connection, session_id: str) -> int:
    """Count the entries of a history."""
    return int(value_of(connection.execute(_COUNT, {"session": clean_text(session_id)})))


def _with_unique_ids(connection: Connection, session_id: str, new: Sequence[Message]) -> list[Message]:
    ids = {clean_text(each.tool_call_id or "") for each in new if each.type is MessageType.TOOL_CALL}
    used = rows_in(connection, _USED_IDS, "ids", sorted(ids), {"session": clean_text(session_id)})
    taken = {"", *(row[0] for row in used)}
    unique = []
    for message in new:
        call_id = message.tool_call_id
        if message.type is MessageType.TOOL_CALL:
            call_id = clean_text(call_id or "")
            if call_id in taken:
                call_id = f"call_{uuid.uuid4().hex}"
            taken.add(call_id)
        unique.append(replace(message, tool_call_id=call_id))
    return unique


def _store(connection: Connection, session_id: str, message: Message, moment: int) -> Message:
    if message.type is MessageType.TOOL_RESULT:
        earlier = _close_call(connection, session_id, message)
        if earlier is not None:
            return earlier
    files = tuple(
        Attachment(clean_text(each.name), clean_text(each.media_type), bytes(each.data), is_for_user=each.is_for_user)
        for each in message.attachments
    )
    row = _to_row(session_id, message, moment)
    sequence = connection.insert_numbered(_INSERT, row, "sequence")
    if files:
        rows = [
            {
                "message_sequence": sequence,
                "position": position,
                "name": file.name,
                "media_type": file.media_type,
                "data": file.data,
                "is_for_user": file.is_for_user or None,
            }
            for position, file in enumerate(files)
        ]
        connection.execute_many(_INSERT_FILE, rows)
    if message.marks:
        provenance.mark_session(connection, session_id, message.marks)
    if sequence % connection.search_index.MESSAGES_PER_BATCH == 0:
        connection.search_index.index_batch()
    return replace(_to_message((sequence, *(row[each] for each in _COLUMNS[1:]))), attachments=files)


def _close_call(connection: Connection, session_id: str, result: Message) -> Message | None:
    """Set the status of a pending call; return its result if it already has one."""
    if result.tool_status not in (ToolCallStatus.SUCCESS, ToolCallStatus.ERROR):
        raise StoreError("the result of a tool call is either a success or an error: set its tool_status")
    call = {"session": clean_text(session_id), "call": clean_text(result.tool_call_id or "")}
    if connection.execute(_FINISH, call | {"outcome": str(result.tool_status)}).rowcount > 0:
        return None
    earlier = _read(connection, _RESULT_OF_CALL, call)
    if earlier:
        return earlier[0]
    if connection.execute(_CALL_EXISTS, call).fetchone() is None:
        raise StoreError(f"the session has no tool call {result.tool_call_id!r} that a result could belong to")
    return None


def _to_row(session_id: str, message: Message, moment: int) -> dict[str, Any]:
    status = message.tool_status
    if message.type is MessageType.TOOL_CALL:
        status = status or ToolCallStatus.PENDING
    texts = {name: getattr(message, name) for name in _TEXTS}
    return {
        **{name: None if text is None else clean_text(text) for name, text in texts.items()},
        "session_id": clean_text(session_id),
        "type": str(message.type),
        "tool_status": None if status is None else str(status),
        "shown_characters": message.shown_characters,
        "duration_ms": message.duration_ms,
        "provider_data": _to_json(message.provider_data),
        "created_at": moment,
        "attachment_count": len(message.attachments) or None,
        "is_json": message.is_json or None,
        "is_incomplete": message.is_incomplete or None,
        "marks": marks_to_text(message.marks),
    }


def _to_json(data: object) -> str | None:
    if data is None:
        return None
    try:
        return clean_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"provider_data must be what JSON can hold ({error})") from error


def _from_json(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("provider_data is not a JSON object")
    return data


def _read(
    connection: Connection, statement: str, parameters: Mapping[str, Any], *, with_data: bool = True
) -> list[Message]:
    """Read the entries that a statement finds; without ``with_data``, their files are listed without the bytes."""
    rows = connection.execute(statement, parameters).fetchall()
    carriers = [row[0] for row in rows if row[_ATTACHMENT_COUNT]]
    return _with_files(map(_to_message, rows), _files(connection, carriers, with_data=with_data))


def _to_message(row: Sequence[Any]) -> Message:
    it = dict(zip(_COLUMNS, row, strict=True))
    del it["attachment_count"]
    try:
        it["type"] = MessageType(it["type"])
        it["tool_status"] = None if it["tool_status"] is None else ToolCallStatus(it["tool_status"])
        it["is_json"] = bool(it["is_json"])
        it["is_incomplete"] = bool(it["is_incomplete"])
        it["provider_data"] = _from_json(it["provider_data"])
        it["marks"] = marks_of_text(it["marks"]) if it["marks"] else ()
        it["created_at"] = to_datetime(it["created_at"])
        return Message(**it)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise damaged_value(f"message (number {row[0]})") from error


def _files(
    connection: Connection, sequences: Sequence[int], *, with_data: bool
) -> dict[int | None, tuple[Attachment, ...]]:
    """Read the files of messages, by the numbers of the messages, with or without their bytes."""
    files: dict[int | None, tuple[Attachment, ...]] = {}
    for sequence, name, media_type, is_for_user, data in rows_in(
        connection, _FILES if with_data else _FILE_LENGTHS, "sequences", sequences
    ):
        if with_data and not isinstance(data, bytes):
            raise damaged_value()
        content = {"data": data} if with_data else {"data": b"", "left_out_bytes": data}
        file = Attachment(name, media_type, **content, is_for_user=bool(is_for_user))
        files[sequence] = (*files.get(sequence, ()), file)
    return files


def _with_files(messages: Iterable[Message], files: Mapping[int | None, tuple[Attachment, ...]]) -> list[Message]:
    return [
        replace(message, attachments=files[message.sequence]) if message.sequence in files else message
        for message in messages
    ]
