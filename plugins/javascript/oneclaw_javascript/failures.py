"""Telling what went wrong in a JavaScript program, in its own lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_javascript.errors import JavaScriptError, JavaScriptSyntaxError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_javascript.protocol import Failed

# Which source a line belongs to: the first lines are the code's, the next the engine's own, then each library's.
LINES_PER_SOURCE = 100_000
_MAX_MESSAGE_CHARACTERS = 2000
_MAX_PLACES = 4
_FRAME = re.compile(r" {4}at (.{0,200}) \(<input>:(\d{1,9}):(\d{1,9})\)")
# Of what cannot be parsed, be it the program or what the program hands to JSON.parse().
_PLACE_IN_TEXT = re.compile(r" {4}at ()<input>:(\d{1,9}):(\d{1,9})")
_FRAMES_READ = 200
_UNDEFINED = re.compile(r"(\w{1,50}) is not defined|'(\w{1,50})' is not defined")
_AT_THE_END = re.compile(r": ''$")
_MODULE_STATEMENT = re.compile(r"^\s*(import|export)\b", re.MULTILINE)
_NO_MODULES = "there are no modules; write what you need in the code"
_MISSING = {
    "require": _NO_MODULES,
    "module": _NO_MODULES,
    "exports": _NO_MODULES,
    "process": "this is not Node.js",
    "Buffer": "this is not Node.js; use strings or Uint8Array",
    "window": "this is no browser; use globalThis",
    "document": "this is no browser, there is no page",
    "localStorage": "this is no browser; nothing is kept between calls",
    "XMLHttpRequest": "this is no browser; use fetch",
    "Intl": "the engine has no Intl; format numbers and dates by hand",
    "codemode": "call tools as tools.NAME({...})",
    "tools": "this code can call no tools",
}


def error_of(failure: Failed, code: str) -> JavaScriptError:
    """Make the error for what a program has thrown.

    Args:
        failure: as the worker tells it.
        code: the program.
    """
    message = failure.message[:_MAX_MESSAGE_CHARACTERS]
    if not failure.is_parsed:
        message = _AT_THE_END.sub(": the code ends too early", message)
    name = failure.name[:100]
    if name:
        text = f"{name}: {message}" if message else name
    elif message == "null":
        text = "the code threw null, which is also what the engine throws when too little memory is left for an error"
    else:
        text = f"the code threw {message or 'a value that cannot be shown'}"
    places = list(_places(failure, code.count("\n") + 1))
    if places:
        text += f" (at {', called from '.join(places)})"
    hint = _hint(name, message, code, is_parsed=failure.is_parsed)
    if hint:
        text += f"; {hint}"
    return JavaScriptError(text) if failure.is_parsed else JavaScriptSyntaxError(text)


def _hint(name: str, message: str, code: str, *, is_parsed: bool) -> str:
    if message.startswith("out of memory"):
        return "work on less data at a time"
    if not is_parsed and _MODULE_STATEMENT.search(code):
        return _NO_MODULES
    match = _UNDEFINED.search(message) if name == "ReferenceError" else None
    return _MISSING.get(match[1] or match[2], "") if match else ""


def _places(failure: Failed, line_count: int) -> Iterator[str]:
    """Return the places of the failure, innermost first."""
    frame_of = _FRAME if failure.is_parsed else _PLACE_IN_TEXT
    shown: list[str] = []
    for frame in failure.stack.split("\n", _FRAMES_READ)[:_FRAMES_READ]:
        match = frame_of.fullmatch(frame)
        if match is None:  # a function of the engine's own
            continue
        place = _place(match[1], int(match[2]), int(match[3]), failure, line_count)
        if place and place not in shown:  # a recursion is there many times
            shown.append(place)
            yield place
        if len(shown) == _MAX_PLACES:
            return


def _place(function: str, line: int, column: int, failure: Failed, line_count: int) -> str:
    source, index = divmod(line - 1, LINES_PER_SOURCE)
    if source == 0:
        if index >= line_count:  # behind the end, where what closes the code stands
            return ""
        place = f"line {index + 1}:{column}" if failure.has_columns else f"line {index + 1}"
    elif 2 <= source < len(failure.libraries) + 2:
        place = f"line {index + 1} of lib {failure.libraries[source - 2][:64]}"
    else:
        return ""
    return place if function in ("", "<eval>", "<anonymous>") else f"{place} in {function}"
