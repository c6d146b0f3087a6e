"""Messages of a worker process, validated: it runs foreign code, and may send anything.

A message is a length of four bytes, most significant first, and as many bytes of JSON. In the other direction a number
of four bytes stands in between: that of the request which is answered.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_javascript.bridges import BRIDGE_NAMES
from oneclaw_javascript.result import ConsoleLine
from oneclaw_javascript.worker import LENGTH_BYTES

if TYPE_CHECKING:
    import asyncio

MAX_MESSAGE_BYTES = 4 * 1024 * 1024
_MAX_ID = 2**31
_LEVELS = frozenset({"log", "info", "debug", "warn", "error"})


class ProtocolError(Exception):
    """The worker says what no worker says."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The engine has started."""


@dataclass(frozen=True, slots=True)
class Request:
    """The program calls a bridge."""

    id: int
    name: str
    arguments: dict[str, Any]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Returned:
    """The program has ended with a value, given as JSON."""

    value: Any
    json: str
    is_undefined: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """The code was parsed; whether it defines the function."""

    is_defined: bool


@dataclass(frozen=True, slots=True)
class Stalled:
    """The program waits for something that never comes."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The program has thrown something.

    Attributes:
        name: the error's, empty if what was thrown is no error.
        message: of the error, or the thrown value as text.
        stack: as the engine writes it.
        libraries: that were loaded, in this order.
        is_parsed: whether the program was run; else it is none.
        has_columns: whether the columns in the stack are those of the code.
    """

    name: str
    message: str
    stack: str
    libraries: tuple[str, ...]
    is_parsed: bool
    has_columns: bool


Ending = Returned | Checked | Stalled | Failed
WorkerMessage = Ready | ConsoleLine | Request | Ending


async def read_message(stream: asyncio.StreamReader) -> WorkerMessage:
    """Read the next message.

    Raises:
        asyncio.IncompleteReadError: the worker has ended.
        ProtocolError: it is no message.
    """
    length = int.from_bytes(await stream.readexactly(LENGTH_BYTES), "big")
    if length > MAX_MESSAGE_BYTES:
        raise ProtocolError(f"a message of {length} bytes")
    return parse_message(await stream.readexactly(length))


def parse_message(data: bytes) -> WorkerMessage:
    """Read one message.

    Raises:
        ProtocolError: it is none.
    """
    fields = _parse(data)
    if not isinstance(fields, dict):
        raise ProtocolError("a message that is not an object")
    match fields:
        case {"type": "ready"}:
            return Ready()
        case {"type": "console", "level": str(level), "text": str(text)} if level in _LEVELS:
            return ConsoleLine(level, text)
        case {"type": "request", "id": int(number), "name": str(name), "arguments": dict(arguments)} if (
            type(number) is int and 0 < number < _MAX_ID and name in BRIDGE_NAMES
        ):
            return Request(number, name, arguments, len(data))
        case {"type": "result", "json": str(text)}:
            return Returned(_parse(text), text, fields.get("is_undefined") is True)
        case {"type": "checked", "is_defined": bool(is_defined)}:
            return Checked(is_defined)
        case {"type": "stalled"}:
            return Stalled()
        case {
            "type": "failure",
            "name": str(name),
            "message": str(message),
            "stack": str(stack),
            "libraries": list(libraries),
            "is_parsed": bool(is_parsed),
            "has_columns": bool(has_columns),
        } if all(isinstance(each, str) for each in libraries):
            return Failed(name, message, stack, tuple(libraries), is_parsed, has_columns)
    raise ProtocolError(f"an unknown message of type {str(fields.get('type'))[:50]!r}")


def written(number: int, content: bytes) -> bytes:
    """Write a message for the worker.

    Args:
        number: of the request that is answered, 0 for none.
        content: UTF-8.
    """
    return len(content).to_bytes(LENGTH_BYTES, "big") + number.to_bytes(LENGTH_BYTES, "big") + content


def written_json(number: int, content: dict[str, Any]) -> bytes:
    """Write a message of JSON data for the worker."""
    return written(number, json.dumps(content).encode())


def _parse(data: bytes | str) -> Any:
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a message that is not JSON: {type(error).__name__}") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
