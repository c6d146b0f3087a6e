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
from oneclaw_core.sessions.connection import ENDLESS, SearchIndex, damaged_value, insertion, rows_in, value_of
from oneclaw_core.sessions.schema import IS_CALL, IS_GROUP_LOAD, IS_PENDING_CALL, IS_RESULT
from oneclaw_core.sessions.timestamps import now, to_datetime
from oneclaw_core.types.kept_results import call_of_handle
from oneclaw_core.types.messages import Attachment, Message, MessageType, ToolCallStatus
from oneclaw_core.types.provenance import marks_of_text, marks_to_text
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from oneclaw_core.sessions.connection import Connection

_TYPES = {str(each): each for each in MessageType}
_STATUSES: dict[str | None, ToolCallStatus | None] = {str(each): each for each in ToolCallStatus} | {None: None}

_COLUMNS = tuple(each.name for each in schema.messages.columns if each.name != "session_id")
# By position: names cost more than the rest, where thousands of rows are read.
_ATTACHMENT_COUNT = _COLUMNS.index("attachment_count")
_WRITTEN = ("session_id", *_COLUMNS[1:])
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
_INSERT = insertion("messages", _WRITTEN)

_INSERT_FILE = insertion("attachments", (each.name for each in schema.attachments.columns))
_FILES = """
    SELECT message_sequence, name, media_type, is_for_user, data FROM attachments
    WHERE message_sequence IN (:sequences) ORDER BY message_sequence, position"""
# SQLite finds the length of a file without reading it.
_FILE_LENGTHS = _FILES.replace("data FROM", "length(data) FROM")

# Between the calls of a turn, its session is marked as used no more often.
_TOUCH_MICROSECONDS = 10_000_000
_PAGE = 100


def append(
    connection: Connection, session_id: str, new: Sequence[Message], *, is_touched: bool = False
) -> list[Message]:
    """Append entries to a history.

    A call without a status is stored as pending, and one whose id is empty or used in the session already gets a new
    id: some services number them per answer. A result closes its call, as in :func:`finish_calls`. ``sequence`` and
    ``created_at`` are assigned here.

    Args:
        new: in their order.
        is_touched: whether the session is in front of the list already, since it is just being made.

    Returns:
        The entries as they are stored, with invalid text replaced.

    Raises:
        NotFoundError: there is no session of that id.
        StoreError: a result has no call.
    """
    moment = now()
    if not is_touched:
        types = {each.type for each in new}
        goes_on = MessageType.TOOL_CALL in types and MessageType.USER not in types
        sessions.touch(connection, session_id, moment, rest=_TOUCH_MICROSECONDS if goes_on else 0)
    return [
        _store(connection, session_id, message, moment) for message in _with_unique_ids(connection, session_id, new)
    ]


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
    return _read(connection, connection.execute(_FORWARDS, parameters).fetchall())


def newest(connection: Connection, session_id: str, before: int | None, limit: int) -> list[Message]:
    """Read the newest entries of a history, in their order; their files are listed without the bytes.

    Args:
        before: the ``sequence`` of the entry to end before, ``None`` for the end of the history.
        limit: how many at most.
    """
    place = {
        "session": clean_text(session_id),
        "before": ENDLESS if before is None else before,
        "after": 0,
        "page": limit,
    }
    rows = connection.execute(_BACKWARDS, place).fetchall()
    return list(reversed(list(_with_file_names(connection, rows))))


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
    wanted = {part[place].sequence or 0 for place in history.sent_files(part)}
    return tuple(_with_files(connection, part, wanted))


def _backwards(connection: Connection, session_id: str, after: int) -> Iterator[Message]:
    """Read a history backwards in pages, down to the entry after a number.

    Files are listed without their bytes.
    """
    before = ENDLESS
    while True:
        parameters = {"session": clean_text(session_id), "before": before, "after": after, "page": _PAGE}
        rows = connection.execute(_BACKWARDS, parameters).fetchall()
        yield from _with_file_names(connection, rows)
        if len(rows) < _PAGE:
            return
        before = rows[-1][0]


def _with_file_names(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> Iterator[Message]:
    carriers = [row[0] for row in rows if row[_ATTACHMENT_COUNT]]
    files = _list_files(connection, carriers) if carriers else {}
    for row in rows:
        message = _to_message(row)
        yield replace(message, attachments=files[row[0]]) if row[0] in files else message


def group_loads(connection: Connection, session_id: str) -> list[Message]:
    """Read the successful calls of ``load_tool_group`` in their order."""
    return _read(connection, connection.execute(_GROUP_LOADS, {"session": clean_text(session_id)}).fetchall())


def pending_calls(connection: Connection, session_id: str) -> list[Message]:
    """Read the calls without a result in their order."""
    return _read(connection, connection.execute(_PENDING_CALLS, {"session": clean_text(session_id)}).fetchall())


def _used_call_ids(connection: Connection, session_id: str, ids: Iterable[str]) -> set[str]:
    """Return those of the ids that calls of the session already have."""
    by_stored_id: dict[str, list[str]] = {}
    for each in ids:
        by_stored_id.setdefault(clean_text(each), []).append(each)
    stored_ids = list(by_stored_id)
    if len(stored_ids) == 1:  # nearly always, and faster than a list
        call = {"session": clean_text(session_id), "call": stored_ids[0]}
        is_used = connection.execute(_CALL_EXISTS, call).fetchone() is not None
        return set(by_stored_id[stored_ids[0]]) if is_used else set()
    used: set[str] = set()
    for (stored_id,) in rows_in(connection, _USED_IDS, "ids", stored_ids, {"session": clean_text(session_id)}):
        used.update(by_stored_id[str(stored_id)])
    return used


def kept_result(connection: Connection, session_id: str, handle: str) -> Message | None:
    """Find a long result of a session by its handle; ``None`` if there is none."""
    place: dict[str, Any] = {"session": clean_text(session_id), "number": call_of_handle(handle)}
    call = connection.execute(_CALL_OF_NUMBER, place).fetchone()
    rows = [] if call is None else connection.execute(_RESULT_OF_CALL, {**place, "call": call[0]}).fetchall()
    found = next((each for each in _read(connection, rows) if each.result_handle == handle), None)
    if found is not None:
        return found
    # A branch has copies, whose numbers are others.
    rows = connection.execute(_RESULTS_OF_HANDLE, {**place, "handle": f'%"result":"{handle}"%'}).fetchall()
    return next((each for each in _read(connection, rows) if each.result_handle == handle), None)


def count(connection: Connection, session_id: str) -> int:
    """Count the entries of a history."""
    return int(value_of(connection.execute(_COUNT, {"session": clean_text(session_id)})))


def _with_unique_ids(connection: Connection, session_id: str, new: Sequence[Message]) -> Sequence[Message]:
    ids = [clean_text(message.tool_call_id or "") for message in new if message.type is MessageType.TOOL_CALL]
    if not ids:
        return new
    taken = _used_call_ids(connection, session_id, ids) | {""}
    unique = []
    for message in new:
        if message.type is MessageType.TOOL_CALL:
            call_id = clean_text(message.tool_call_id or "")
            if call_id in taken:
                call_id = f"call_{uuid.uuid4().hex}"
            taken.add(call_id)
            unique.append(replace(message, tool_call_id=call_id))
        else:
            unique.append(message)
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
        _store_files(connection, sequence, files)
    if message.marks:
        provenance.mark_session(connection, session_id, message.marks)
    if sequence % SearchIndex.MESSAGES_PER_BATCH == 0:
        connection.search_index.index_batch()
    return replace(
        message,
        content=row["content"],
        tool_call_id=row["tool_call_id"],
        tool_name=row["tool_name"],
        tool_input=row["tool_input"],
        tool_status=_STATUSES[row["tool_status"]],
        error_type=row["error_type"],
        provider_data=_from_json(row["provider_data"]),
        attachments=files,
        sequence=sequence,
        created_at=to_datetime(moment),
    )


def _close_call(connection: Connection, session_id: str, result: Message) -> Message | None:
    """Set the status of a pending call; return its result if it already has one."""
    if result.tool_status not in (ToolCallStatus.SUCCESS, ToolCallStatus.ERROR):
        raise StoreError("the result of a tool call is either a success or an error: set its tool_status")
    call = {"session": clean_text(session_id), "call": clean_text(result.tool_call_id or "")}
    if connection.execute(_FINISH, call | {"outcome": str(result.tool_status)}).rowcount > 0:
        return None
    earlier = connection.execute(_RESULT_OF_CALL, call).fetchone()
    if earlier is not None:
        return _read(connection, [earlier])[0]
    if connection.execute(_CALL_EXISTS, call).fetchone() is None:
        raise StoreError(f"the session has no tool call {result.tool_call_id!r} that a result could belong to")
    return None


def _to_row(session_id: str, message: Message, moment: int) -> dict[str, Any]:
    status = message.tool_status
    if message.type is MessageType.TOOL_CALL:
        status = status or ToolCallStatus.PENDING
    return {
        "session_id": clean_text(session_id),
        "type": str(message.type),
        "content": clean_text(message.content),
        "tool_call_id": _clean(message.tool_call_id),
        "tool_name": _clean(message.tool_name),
        "tool_input": _clean(message.tool_input),
        "tool_status": None if status is None else str(status),
        "error_type": _clean(message.error_type),
        "shown_characters": message.shown_characters,
        "duration_ms": message.duration_ms,
        "provider_data": _to_json(message.provider_data),
        "created_at": moment,
        "is_json": True if message.is_json else None,
        "is_incomplete": True if message.is_incomplete else None,
        "marks": marks_to_text(message.marks) if message.marks else None,
        "model": _clean(message.model),
        "attachment_count": len(message.attachments) or None,
    }


def _clean(text: str | None) -> str | None:
    return None if text is None else clean_text(text)


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


def _read(connection: Connection, rows: Sequence[Sequence[Any]]) -> list[Message]:
    carriers = {row[0] for row in rows if row[_ATTACHMENT_COUNT]}
    return _with_files(connection, [_to_message(row) for row in rows], carriers)


def _to_message(row: Sequence[Any]) -> Message:
    (
        sequence,
        type_,
        content,
        tool_call_id,
        tool_name,
        tool_input,
        tool_status,
        error_type,
        shown_characters,
        duration_ms,
        provider_data,
        created_at,
        _,
        is_json,
        is_incomplete,
        marks,
        model,
    ) = row
    try:
        return Message(
            type=_TYPES[type_],
            content=content,
            tool_call_id=tool_call_id,
            tool_name=tool_name,
            tool_input=tool_input,
            tool_status=_STATUSES[tool_status],
            error_type=error_type,
            shown_characters=shown_characters,
            is_json=bool(is_json),
            is_incomplete=bool(is_incomplete),
            duration_ms=duration_ms,
            provider_data=_from_json(provider_data),
            marks=marks_of_text(marks) if marks else (),
            model=model,
            sequence=sequence,
            created_at=to_datetime(created_at),
        )
    except (KeyError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise damaged_value(f"message (number {sequence})") from error


def _store_files(connection: Connection, sequence: int, files: Sequence[Attachment]) -> None:
    """Store the files, one or more, of the message that has this number."""
    connection.execute_many(
        _INSERT_FILE,
        [
            {
                "message_sequence": sequence,
                "position": position,
                "name": file.name,
                "media_type": file.media_type,
                "data": file.data,
                "is_for_user": True if file.is_for_user else None,
            }
            for position, file in enumerate(files)
        ],
    )


def _list_files(connection: Connection, carriers: Sequence[int]) -> dict[int, tuple[Attachment, ...]]:
    """List the files of messages by their numbers, without the bytes."""
    files: dict[int, tuple[Attachment, ...]] = {}
    for sequence, name, media_type, is_for_user, length in rows_in(connection, _FILE_LENGTHS, "sequences", carriers):
        file = Attachment(name, media_type, b"", left_out_bytes=length, is_for_user=bool(is_for_user))
        files[sequence] = (*files.get(sequence, ()), file)
    return files


def _with_files(connection: Connection, messages: Sequence[Message], carriers: Collection[int]) -> list[Message]:
    """Attach files to messages."""
    wanted = [each.sequence for each in messages if each.sequence is not None and each.sequence in carriers]
    if not wanted:
        return list(messages)
    files: dict[int | None, list[Attachment]] = {}
    for sequence, name, media_type, is_for_user, data in rows_in(connection, _FILES, "sequences", wanted):
        if not isinstance(data, bytes):
            raise damaged_value()
        files.setdefault(sequence, []).append(Attachment(name, media_type, data, is_for_user=bool(is_for_user)))
    return [
        replace(message, attachments=tuple(files[message.sequence])) if message.sequence in files else message
        for message in messages
    ]
