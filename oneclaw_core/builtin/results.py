"""Read a long result of a tool by parts, by a search or by a JSON pointer, for ``read_file``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.files.text_content import untrusted
from oneclaw_core.types.arguments import json_pointer
from oneclaw_core.types.kept_results import RESULT_PREFIX, KeptResult, json_preview
from oneclaw_core.types.text import compact_json
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_POINTER_CHARACTERS = 300
_EXCERPT_CHARACTERS = 120  # on each side of what was found
_MOST_FOUND = 100
_LEAST_ROOM = 200
# What stands around a part: the place of the part, and the two lines around a text from outside.
_ENVELOPE_CHARACTERS = 250
_FRAME_CHARACTERS = 450


@dataclass(frozen=True, slots=True)
class Wanted:
    """The part of a result that a model asks for.

    Attributes:
        part: its number, from 1; ``None`` for the first.
        search: a text to find in the result; empty for none.
        pointer: JSON pointer to a value in the result; empty for all of it.
        start_line: the first line, from 1; ``None`` if no lines are asked for.
        line_count: how many lines; ``None`` for as many as fit.
    """

    part: int | None = None
    search: str = ""
    pointer: str = ""
    start_line: int | None = None
    line_count: int | None = None

    @property
    def wants_lines(self) -> bool:
        """True if lines are asked for."""
        return self.start_line is not None or self.line_count is not None


def read_result(kept: KeptResult, wanted: Wanted, room: int | None) -> ToolResult:
    """Read a part of a result, which with all that stands around it fits into the room.

    Args:
        kept: the whole result.
        wanted: the part.
        room: how much of a result the model is shown, in characters; ``None`` for all of it.
    """
    try:
        value = _value_at(kept.value, wanted.pointer)
    except LookupError as error:
        return ToolResult.error("validation_error", str(error.args[0]))
    place = f"{RESULT_PREFIX}{kept.handle}{' ' + wanted.pointer if wanted.pointer else ''}"
    if isinstance(value, str):
        result = _TextReader(value, place, kept.outside, room).read(wanted)
    else:
        result = _JsonReader(value, kept.handle, wanted.pointer, room).read(wanted)
    if room is not None and len(result.text()) > room:  # an odd name in it, or a very small room
        return ToolResult.error("validation_error", "That part cannot be shown: ask for a smaller one with pointer.")
    return result


def _value_at(value: Any, pointer: str) -> Any:
    """Follow a JSON pointer (RFC 6901).

    Raises:
        LookupError: there is no such value; it says what there is.
    """
    if pointer in ("", "/"):
        return value
    if len(pointer) > _MAX_POINTER_CHARACTERS or not pointer.startswith("/"):
        raise LookupError("pointer must be a JSON pointer such as /items/0/title, of at most 300 characters.")
    path: list[str] = []
    for part in pointer[1:].split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,9}", name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise LookupError(f"There is no {pointer}: {json_pointer(path) or 'the result'} {_kind(value)}.")
        path.append(name)
    return value


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return f"has {len(value):,} items"
    if isinstance(value, dict):
        names = json_preview(list(value), 300)
        return f"has the members {', '.join(map(str, names))}" if names else "is an empty object"
    return "is text" if isinstance(value, str) else f"is {compact_json(value)[:40]}"


class _TextReader:
    """Reads a text: a result, or a text in one.

    Args:
        text: all of it.
        place: where it stands, for the model.
        outside: where it comes from; empty for a text of the user or of a program.
        room: how much a model is shown, in characters; ``None`` for all.
    """

    def __init__(self, text: str, place: str, outside: str, room: int | None) -> None:
        self._text = text
        self._place = place
        self._outside = outside
        around = _ENVELOPE_CHARACTERS + len(place) + (_FRAME_CHARACTERS if outside else 0)
        self._room = len(text) + 1 if room is None else max(room - around, _LEAST_ROOM)

    def read(self, wanted: Wanted) -> ToolResult:
        if wanted.search:
            return self._found(wanted.search)
        if wanted.wants_lines:
            return self._lines(wanted.start_line or 1, wanted.line_count)
        parts = list(self._parts())
        number = wanted.part or 1
        if number > len(parts):
            return _no_part(number, len(parts), self._place)
        first, end = parts[number - 1]
        rest = f"; part {number + 1} follows" if number < len(parts) else ""
        length = f"characters {first + 1:,}-{end:,} of {len(self._text):,}"
        return self._shown(self._text[first:end], f"part {number} of {len(parts)} of {self._place}, {length}{rest}")

    def _parts(self) -> Iterator[tuple[int, int]]:
        first = 0
        while first < len(self._text) or first == 0:
            end = min(first + self._room, len(self._text))
            if end < len(self._text):
                # At the end of a line, if one ends in the second half.
                end = self._text.rfind("\n", first + self._room // 2, end) + 1 or end
            yield first, end
            first = max(end, 1)

    def _lines(self, start: int, count: int | None) -> ToolResult:
        lines = self._text.splitlines(keepends=True)
        if start > len(lines):
            return ToolResult.error("validation_error", f"{self._place} has {len(lines):,} lines.")
        last = len(lines) if count is None else min(start - 1 + count, len(lines))
        shown: list[str] = []
        for line in lines[start - 1 : last]:
            if sum(map(len, shown)) + len(line) > self._room:
                break
            shown.append(line)
        if not shown:
            length = len(lines[start - 1])
            text = f"Line {start} of {self._place} has {length:,} characters: read it with part or search instead."
            return ToolResult.error("validation_error", text)
        end = start + len(shown) - 1
        rest = f"; more follow: start_line {end + 1}" if end < len(lines) else ""
        return self._shown("".join(shown), f"lines {start}-{end} of {len(lines)} of {self._place}{rest}")

    def _found(self, search: str) -> ToolResult:
        parts = [end for _, end in self._parts()]
        lines: list[str] = []
        number, room = 0, self._room
        for match in re.finditer(re.escape(search), self._text, re.IGNORECASE):
            number += 1
            part = next(at for at, end in enumerate(parts, 1) if match.start() < max(end, 1))
            line = f"part {part}, character {match.start() + 1}: {_excerpt(self._text, *match.span())}"
            if len(lines) < _MOST_FOUND and len(line) < room:
                lines.append(line)
                room -= len(line) + 1
        if not number:
            return ToolResult.success(f"[nothing found in {self._place}, {len(self._text):,} characters]")
        return self._shown("\n".join(lines), f"{len(lines)} of {number} places found in {self._place}")

    def _shown(self, text: str, place: str) -> ToolResult:
        text = untrusted(text, self._outside) if self._outside else text
        return ToolResult.success(f"{text}{'' if text.endswith(chr(10)) else chr(10)}[{place}]")


class _JsonReader:
    """Reads a structured value: a result, or a value in one.

    Args:
        value: no text.
        handle: of the result.
        pointer: to the value.
        room: how much a model is shown, in characters; ``None`` for all.
    """

    def __init__(self, value: Any, handle: str, pointer: str, room: int | None) -> None:
        self._value = value
        self._pointer = pointer.rstrip("/")
        self._place: dict[str, Any] = {"result": f"{RESULT_PREFIX}{handle}"}
        if self._pointer:
            self._place["pointer"] = self._pointer
        around = _ENVELOPE_CHARACTERS + len(compact_json(pointer))
        self._room = None if room is None else max(room - around, _LEAST_ROOM)

    def read(self, wanted: Wanted) -> ToolResult:
        if wanted.wants_lines:
            text = "This is JSON, which has no lines: read it with part, search or pointer."
            return ToolResult.error("validation_error", text)
        if wanted.search:
            return self._found(wanted.search)
        value, number = self._value, wanted.part or 1
        if self._room is None or len(compact_json(value)) <= self._room:
            return ToolResult.success({**self._place, "value": value})
        if not isinstance(value, list | dict):  # a number of thousands of digits
            return ToolResult.success({**self._place, "value": json_preview(value, self._room)})
        parts = list(self._parts(self._room))
        if number > len(parts):
            return _no_part(number, len(parts), f"{self._place['result']} {self._pointer}".rstrip())
        first, end = parts[number - 1]
        what = "items" if isinstance(value, list) else "members"
        place = {**self._place, "part": number, "parts": len(parts), what: f"{first}-{end - 1} of {len(value)}"}
        shown = value[first:end] if isinstance(value, list) else dict(list(value.items())[first:end])
        preview = json_preview(shown, self._room)
        if preview is not shown:
            place["note"] = "only a preview: read the whole value by its pointer"
        return ToolResult.success({**place, "value": preview})

    def _parts(self, room: int) -> Iterator[tuple[int, int]]:
        """Put items, or members, into parts: as many as fit, and one that is too long alone."""
        value = self._value
        names = value if isinstance(value, dict) else None
        first, left = 0, room - 2
        for at, each in enumerate(value if names is None else value.items()):
            size = len(compact_json(each if names is None else {each[0]: each[1]})) + 1
            if size > left and at > first:
                yield first, at
                first, left = at, room - 2
            left -= size
        yield first, len(value)

    def _found(self, search: str) -> ToolResult:
        pattern = re.compile(re.escape(search), re.IGNORECASE)
        found: list[dict[str, str]] = []
        number, room = 0, self._room
        for pointer, text in _leaves(self._value, self._pointer):
            match = pattern.search(text)
            if match is None:
                continue
            number += 1
            entry = {"pointer": pointer, "text": _excerpt(text, *match.span())}
            size = len(compact_json(entry)) + 1
            if len(found) < _MOST_FOUND and (room is None or size < room):
                found.append(entry)
                room = None if room is None else room - size
        return ToolResult.success({**self._place, "matches": number, "shown": len(found), "found": found})


def _leaves(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield the texts, numbers and names of members in a value, with the pointers to them."""
    waiting = [(pointer, value)]
    while waiting:
        place, each = waiting.pop()
        if isinstance(each, dict):
            inner = [(f"{place}{json_pointer([name])}", name, member) for name, member in each.items()]
            yield from ((where, name) for where, name, _ in inner)
            waiting += reversed([(where, member) for where, _, member in inner])
        elif isinstance(each, list):
            waiting += reversed([(f"{place}/{at}", item) for at, item in enumerate(each)])
        elif each is not None:
            yield place, each if isinstance(each, str) else compact_json(each)


def _excerpt(text: str, start: int, end: int) -> str:
    first, last = max(start - _EXCERPT_CHARACTERS, 0), min(end + _EXCERPT_CHARACTERS, len(text))
    shown = " ".join(text[first:last].split())
    return f"{'…' if first else ''}{shown}{'…' if last < len(text) else ''}"


def _no_part(number: int, parts: int, place: str) -> ToolResult:
    return ToolResult.error("validation_error", f"There is no part {number}: {place} has {parts}.")
