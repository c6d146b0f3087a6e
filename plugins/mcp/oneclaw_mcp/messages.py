"""Read the raw messages of a server, each judged alone; an answer with an id that can be read ends its call."""

from __future__ import annotations

import codecs
import json
import math
import re
from typing import Any

ANSWERED = "oneclaw.answered"
"""Member of the data of each error that a server has sent; errors of the SDK can have the same codes."""
UNKNOWN_ID = "oneclaw.unknown"
"""Id of an answer that has none."""
VALUE = "oneclaw.value"
"""Member with a result that is no object."""
RAW = "oneclaw.raw"
"""Member with the result of a call as the server has sent it."""

_LOST = "oneclaw.lost_session"
_PARSE_ERROR, _SERVER_ERROR = -32700, -32000
_MOST_CHARACTERS = 2_000
# On a line, messages or not.
_MOST_VALUES = 10_000
# Python writes NaN and line breaks within texts, which JSON does not have.
_DECODER = json.JSONDecoder(strict=False, parse_constant=str)
# Where a message can begin behind something else on its line, such as a prompt or the color of a terminal.
_BEGINNING = re.compile(r'\{\s*"(?:jsonrpc|id|method|result|error|params)"')
_ID = r'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,100}")'
_ID_FIRST = re.compile(rf'\s*\{{\s*(?:"jsonrpc"\s*:\s*"[^"]*"\s*,\s*)?{_ID}\s*,')
_ID_LAST = re.compile(rf'{_ID}\s*(?:,\s*"jsonrpc"\s*:\s*"[^"]*"\s*)?\}}\s*$')
_QUOTED_CHARACTERS = 300
_BLANKS = re.compile(r"\s*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_messages(data: bytes | str) -> list[dict[str, Any]]:
    """Return the messages in a line, or in a body of HTTP, as the protocol has them.

    It reads batches, several messages on one line, a message behind other text, and text that is not quite JSON or
    UTF-8. What is no message is left out; an answer that cannot be parsed becomes an error with its id.
    """
    text = _text(data)
    found: list[dict[str, Any]] = []
    has_halves = _ESCAPED_SURROGATE.search(text) is not None
    position = _end_of_blanks(text, 0)
    values = 0
    while position < len(text) and values < _MOST_VALUES:
        values += 1
        start = position
        if text[position] not in "[{":
            match = _BEGINNING.search(text, position)
            if match is None:
                break
            start = match.start()
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            match = _BEGINNING.search(text, start + 1) if text[start] == "[" else None
            if match is not None:  # what looked like a batch was text, such as "[INFO] "
                position = match.start()
                continue
            return [*found, *_unreadable(text[start:], str(error))]
        is_behind_text = bool(text[position:start].strip())
        for each in value if isinstance(value, list) else [value]:
            message = _message(_whole(each) if has_halves else each)
            # A request behind other text is a line of a log with what the server was sent.
            if message is not None and not (is_behind_text and "method" in message and "id" in message):
                found.append(message)
        position = _end_of_blanks(text, end)
    return found


def _end_of_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return position if match is None else match.end()


def is_answer(error: object) -> bool:
    """Return True if an error of the SDK is one that the server has sent."""
    data = getattr(error, "data", None)
    return isinstance(data, dict) and ANSWERED in data


def lost_session_error(text: str) -> dict[str, Any]:
    """Make the answer to a request that an HTTP server has refused because it does not know the session."""
    return {"jsonrpc": "2.0", "id": None, "error": {"code": _SERVER_ERROR, "message": text, "data": {_LOST: True}}}


def is_lost_session(error: object) -> bool:
    """Return True if a request was refused, with nothing done, because the session is not known any more."""
    data = getattr(error, "data", None)
    return isinstance(data, dict) and _LOST in data


def _text(data: bytes | str) -> str:
    if isinstance(data, str):
        return _SURROGATE.sub("\ufffd", data)
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace").lstrip("\ufeff\0")


def _message(value: Any) -> dict[str, Any] | None:
    """Return a message as the protocol has it; ``None`` for something else."""
    if not isinstance(value, dict):
        return None
    number, method = _id(value.get("id")), value.get("method")
    if isinstance(method, str):
        found: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if number is not None:
            found["id"] = number
        parameters = value.get("params")
        if isinstance(parameters, dict):
            found["params"] = _progress(parameters) if method == "notifications/progress" else parameters
        return found
    if value.get("error") or ("error" in value and "result" not in value):
        return {"jsonrpc": "2.0", "id": number, "error": _error(value["error"])}
    if "result" not in value or not ("jsonrpc" in value or "id" in value):
        return None
    result = value["result"] if isinstance(value["result"], dict) else {VALUE: value["result"]}
    return {"jsonrpc": "2.0", "id": UNKNOWN_ID if number is None else number, "result": result}


def _id(value: Any) -> int | str | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None


def _error(value: Any) -> dict[str, Any]:
    """Return an error with a number and a message, and marked as one of the server."""
    given = value if isinstance(value, dict) else {}
    code, message, data = given.get("code"), given.get("message"), given.get("data")
    number = _number(code)
    if not isinstance(message, str) or not message:
        shown = next((each for each in (message, data, value) if each not in (None, "", {}, [])), "")
        message = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    elif number is None and code is not None:
        message = f"{code}: {message}"
    kept = data if isinstance(data, dict) else {} if data is None else {"data": data}
    text = message[:_MOST_CHARACTERS] or "it gives no reason"
    return {"code": _SERVER_ERROR if number is None else int(number), "message": text, "data": {ANSWERED: True, **kept}}


def _progress(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a notice of progress with numbers: any notice is a sign of life."""
    total = _number(parameters.get("total"))
    found = {**parameters, "progress": _number(parameters.get("progress")) or 0.0, "total": total}
    return found if total is not None else {name: value for name, value in found.items() if name != "total"}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _unreadable(text: str, reason: str) -> list[dict[str, Any]]:
    """Return an error in the place of an answer that is no JSON, with its id if that can be read."""
    match = _ID_FIRST.match(text) or _ID_LAST.search(text[-_QUOTED_CHARACTERS:])
    beginning = text[:_QUOTED_CHARACTERS]
    if '"method"' in beginning or (match is None and '"jsonrpc"' not in beginning):
        return []
    message = f"its answer is no JSON ({reason[:100]}): {text[:_QUOTED_CHARACTERS]}"
    error = {"code": _PARSE_ERROR, "message": message, "data": {ANSWERED: True}}
    return [{"jsonrpc": "2.0", "id": json.loads(match[1]) if match is not None else None, "error": error}]


def _whole(value: Any) -> Any:
    """Return a value without halves of characters, which can be neither sent nor stored."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(each) for key, each in value.items()}
    return value
