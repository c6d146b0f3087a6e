"""The calls that scripts made, written before and after each: a script that runs again does not repeat them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.scripts.journal import ScriptCall, ScriptCallState, continuing_text, without_placeholders
from oneclaw_core.secrets.redaction import redact_all
from oneclaw_core.sessions import schema, sessions
from oneclaw_core.sessions.backend import ENDLESS, Connection, rows_in, value_of
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.types.messages import Message

# Of the arguments and the result of a call, after its script has finished.
KEPT_CHARACTERS = 2_000

_COLUMNS = tuple(each.name for each in schema.script_calls.columns)
_NAMES = ", ".join(map(schema.quoted, _COLUMNS))
_VALUES = ", ".join(f":{each}" for each in _COLUMNS)
_PUT = f"""
    INSERT INTO script_calls ({_NAMES}) VALUES ({_VALUES})
    ON CONFLICT (session_id, call_id, "key", occurrence) DO UPDATE SET
    state = excluded.state, result = excluded.result, error_type = excluded.error_type, marks = excluded.marks,
    duration_ms = excluded.duration_ms"""
_BEGIN = f"""
    INSERT INTO script_calls ({_NAMES}) VALUES ({_VALUES})
    ON CONFLICT (session_id, call_id, "key", occurrence) DO NOTHING"""
_READ = f"SELECT {_NAMES} FROM script_calls WHERE session_id = :session AND call_id = :call ORDER BY number"
_READ_ALL = f"SELECT {_NAMES} FROM script_calls WHERE session_id = :session ORDER BY call_id, number"
_FIND_ALL = f"""
    SELECT {_NAMES} FROM script_calls WHERE session_id = :session AND call_id IN (:calls) ORDER BY call_id, number"""
_FIND = "SELECT state FROM script_calls WHERE session_id = :session AND call_id = :call AND number = 0"
_END = "UPDATE script_calls SET state = 'ended' WHERE session_id = :session AND call_id = :call AND number = 0"
_SHORTEN = """
    UPDATE script_calls SET arguments = :arguments, result = :result
    WHERE session_id = :session AND call_id = :call AND "key" = :key AND occurrence = :of"""
_OF_CALLS = """call_id IN (
    SELECT tool_call_id FROM messages WHERE session_id = :of AND type = 'tool_call'
    AND sequence >= :first AND sequence < :before)"""
_COPY = f"""
    INSERT INTO script_calls ({_NAMES}) SELECT :to, {_NAMES.partition(", ")[2]} FROM script_calls
    WHERE session_id = :from AND {_OF_CALLS}"""
_MOVE = f"UPDATE script_calls SET session_id = :to WHERE session_id = :from AND {_OF_CALLS}"


def begin_script(connection: Connection, session_id: str, call_id: str, about: str) -> list[ScriptCall]:
    """Begin a script, unless it was begun before; return it with its calls so far, in the order of their numbers.

    Args:
        call_id: of the call that begins it.
        about: what it is begun with, as JSON.

    Raises:
        SessionBusyError: the session is another turn's by now.
    """
    sessions.hold(connection, session_id)
    itself = ScriptCall(
        call_id=call_id, key="", occurrence=0, number=0, tool="", arguments=about, state=ScriptCallState.OPEN
    )
    connection.execute(_BEGIN, _row(session_id, itself))
    return script_calls(connection, session_id, call_id)


def note_script_calls(connection: Connection, session_id: str, calls: Sequence[ScriptCall]) -> None:
    """Write calls of a script, or their results.

    Raises:
        SessionBusyError: the session is another turn's by now.
    """
    sessions.hold(connection, session_id)
    connection.execute_many(_PUT, [_row(session_id, each) for each in calls])


def end_script(connection: Connection, session_id: str, call_id: str, calls: Sequence[ScriptCall]) -> None:
    """Write the last calls of a script that has finished, and shorten all of its calls.

    Raises:
        SessionBusyError: the session is another turn's by now.
    """
    if calls:
        note_script_calls(connection, session_id, calls)
    place = {"session": clean_text(session_id), "call": clean_text(call_id)}
    connection.execute(_END, place)
    ended = script_calls(connection, session_id, call_id)[1:]
    # The beginnings of arguments and results, without known secrets.
    arguments = redact_all(_short(each.arguments) for each in ended)
    results = redact_all(_short(each.result or "") for each in ended)
    shortened = [
        {"arguments": given, "result": None if each.result is None else result, "key": each.key, "of": each.occurrence}
        for each, given, result in zip(ended, arguments, results, strict=True)
    ]
    connection.execute_many(_SHORTEN, [place | each for each in shortened])


def script_calls(connection: Connection, session_id: str, call_id: str | None = None) -> list[ScriptCall]:
    """Return a script with its calls in the order of their numbers; all scripts of a session without ``call_id``."""
    place = {"session": clean_text(session_id), "call": clean_text(call_id or "")}
    return [_call(row) for row in connection.execute(_READ if call_id is not None else _READ_ALL, place).fetchall()]


def calls_of_scripts(connection: Connection, session_id: str, call_ids: Sequence[str]) -> list[ScriptCall]:
    """Return the scripts that calls began or continued, in the order of the calls; other calls are left out.

    Args:
        call_ids: of calls of the model.
    """
    rows = _of_calls(connection, session_id, call_ids)
    first = [
        str(known["continues"])
        for each in rows
        if each.number == 0 and "continues" in (known := json.loads(each.arguments))
    ]
    missing = set(first).difference(each.call_id for each in rows)
    return [*rows, *_of_calls(connection, session_id, sorted(missing))]


def _of_calls(connection: Connection, session_id: str, call_ids: Sequence[str]) -> list[ScriptCall]:
    ids = [clean_text(each) for each in call_ids]
    rows = rows_in(connection, _FIND_ALL, "calls", ids, {"session": clean_text(session_id)})
    return [_call(row) for row in rows]


def is_open(connection: Connection, session_id: str, call_id: str) -> bool:
    """Return True if a call has begun a script that has not finished."""
    place = {"session": clean_text(session_id), "call": clean_text(call_id)}
    return bool(value_of(connection.execute(_FIND, place)) == ScriptCallState.OPEN)


def copy_scripts(connection: Connection, session_id: str, to: str, before: int | None) -> None:
    """Copy the scripts of a session's messages before one, ``None`` for all, to another session with those messages."""
    place = {"from": clean_text(session_id), "of": clean_text(session_id), "to": to, "first": 0}
    connection.execute(_COPY, place | {"before": before or ENDLESS})


def move_scripts(connection: Connection, session_id: str, to: str, first: int) -> None:
    """Move the scripts of messages from one on to another session; before the messages are."""
    place = {"from": clean_text(session_id), "of": clean_text(session_id), "to": to}
    connection.execute(_MOVE, place | {"first": first, "before": ENDLESS})


def cut_off(connection: Connection, session_id: str, answers: Iterable[Message]) -> list[Message]:
    """Return the answers to calls that were interrupted; those to scripts say how they can go on."""
    return [
        replace(each, content=f"The script was interrupted. {continuing_text(each.tool_call_id or '')}")
        if is_open(connection, session_id, each.tool_call_id or "")
        else each
        for each in answers
    ]


def _short(text: str) -> str:
    text = without_placeholders(text)
    return text if len(text) <= KEPT_CHARACTERS else text[:KEPT_CHARACTERS] + "…"


def _row(session_id: str, call: ScriptCall) -> dict[str, object]:
    values = {each: getattr(call, each) for each in _COLUMNS if each != "session_id"}
    cleaned = {name: clean_text(str(value)) if isinstance(value, str) else value for name, value in values.items()}
    return {"session_id": clean_text(session_id), **cleaned}


def _call(row: Iterable[object]) -> ScriptCall:
    values = dict(zip(_COLUMNS, row, strict=True))
    del values["session_id"]
    values["state"] = ScriptCallState(str(values["state"]))
    return ScriptCall(**values)  # type: ignore[arg-type]  # as they were written
