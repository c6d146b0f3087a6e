"""Results that a model was shown a part of: their handles, the part, and the whole result."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.types.text import compact_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.types.messages import Message
    from oneclaw_core.types.tools import ToolResult

READ_FILE = "read_file"
RESULT_PREFIX = "result:"
_HANDLE = re.compile(r"r[1-9][0-9]{0,17}")
_LISTED = 20
_LISTED_CHARACTERS = 120
_LIST_HEADING = "[Long results that read_file still reads]"


def handle_of_call(sequence: int) -> str:
    """Return the handle of the result of a call.

    Args:
        sequence: of the stored call: no other call of any session has it.
    """
    return f"r{sequence}"


def call_of_handle(handle: str) -> int:
    """Return the ``sequence`` of the call that a handle was made for."""
    return int(handle[1:])


def handle_in(path: str) -> str | None:
    """Return the handle in a path such as ``result:r12``; ``None`` for the path of a file."""
    handle = path.removeprefix(RESULT_PREFIX)
    return handle if handle != path and _HANDLE.fullmatch(handle) else None


def is_handle(text: str) -> bool:
    """Return True if a text is the handle of a result."""
    return _HANDLE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A whole result of a tool, which a model was shown a part of.

    Attributes:
        handle: such as ``r12``.
        tool_name: the tool called.
        value: text, or JSON data.
        outside: where text of others in it comes from; empty if there is none.
    """

    handle: str
    tool_name: str
    value: Any
    outside: str = ""

    @classmethod
    def of(cls, message: Message) -> KeptResult:
        """Return the result in an entry of a history."""
        value = json.loads(message.content) if message.is_json else message.content
        outside = next((each.origin for each in message.marks if each.is_outside), "")
        return cls(message.result_handle or "", message.tool_name or "", value, outside)


def shown_of_result(result: ToolResult, text: str, handle: str, room: int) -> str:
    """Write what a model is shown of a long result: a preview, and how to read the rest.

    Args:
        result: the whole result.
        text: the same as text.
        handle: by which it is read.
        room: how much is shown, in characters.

    Returns:
        At most that many characters, JSON for a structured value; stored with the result, so that it never changes.
    """
    path = f"{RESULT_PREFIX}{handle}"
    if not result.is_success or isinstance(result.result, str):
        missing = (
            "\n[cut here: {:,} of {:,} characters are not shown; read_file reads them: path {!r}, with part or search]"
        )
        note = missing.format(len(text), len(text), path)
        shown = max(room - len(note) - 60, room // 2)
        return text_preview(text, shown) + missing.format(len(text) - shown, len(text), path)
    whole = {
        "cut": path,
        "characters": len(text),
        "note": "only a preview; read_file reads the rest: this path, with pointer, part or search",
    }
    rest = room - len(compact_json(whole)) - len(',"preview":')
    return compact_json({**whole, "preview": json_preview(result.result, rest)})


def without_kept_results(summary: str | None) -> str | None:
    """Return a summary without the list that :func:`with_kept_results` added; ``None`` for nothing."""
    return (summary or "").partition(_LIST_HEADING)[0].rstrip() or None


def with_kept_results(summary: str, earlier: str | None, summarised: Sequence[Message]) -> str:
    """Add a list of the results that can still be read to a summary of the messages that they stand in.

    Args:
        summary: as the model wrote it.
        earlier: the summary of what came before; its list is continued.
        summarised: the messages that the summary stands for.
    """
    lines = (earlier or "").partition(_LIST_HEADING)[2].strip().splitlines()
    calls = {each.tool_call_id: each.tool_input or "" for each in summarised if each.tool_input is not None}
    for each in summarised:
        if each.result_handle is not None:
            called = " ".join(f"{each.tool_name} {calls.get(each.tool_call_id, '')}".split())
            lines.append(f"{RESULT_PREFIX}{each.result_handle}: {called}"[:_LISTED_CHARACTERS])
    summary = summary.partition(_LIST_HEADING)[0].rstrip()
    return "\n".join([summary, "", _LIST_HEADING, *lines[-_LISTED:]]) if lines else summary


_LEAST_SHARE = 40  # characters of a value; below that a preview of it says nothing
_NOTE_ROOM = 40  # for what says how much is left out
_TAIL_SHARE = 4  # the end of a text has one part in so many


def json_preview(value: Any, room: int) -> Any:
    """Return a value whose JSON is at most as long as allowed: first items, and the sizes of what is left out.

    Args:
        value: JSON data.
        room: the longest JSON text, in characters; below about 100 a little longer is possible.
    """
    if len(compact_json(value)) <= room:
        return value
    if isinstance(value, str):
        return _beginning(value, room)
    if isinstance(value, list):
        return _first_items(value, room)
    return _members(value, room) if isinstance(value, dict) else _beginning(str(value), room)


def text_preview(text: str, room: int) -> str:
    """Return the beginning and the end of a text, and how many characters are left out.

    Args:
        text: longer than the room.
        room: how much of it is shown, in characters.
    """
    tail = room // _TAIL_SHARE
    head = room - tail
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[... {left_out:,} characters left out ...]\n{text[len(text) - tail :]}"


def _beginning(text: str, room: int) -> str:
    note = f"… ({len(text):,} characters)"
    head = text[: max(room - len(note) - 2, 0)]
    # Quotation marks and the like take more characters in JSON.
    while head and (length := len(compact_json(head + note))) > room:
        head = head[: min(len(head) - 1, len(head) * room // length)]
    return head + note


def _first_items(items: list[Any], room: int) -> list[Any]:
    shown: list[Any] = []
    left = room - _NOTE_ROOM - 2
    for at, item in enumerate(items):
        size = len(compact_json(item)) + 1
        # A long item leaves half of the room to those behind it.
        share = left if size <= left or at == len(items) - 1 else left // 2
        if share < min(size, _LEAST_SHARE):
            break
        shown.append(json_preview(item, share - 1))
        left -= len(compact_json(shown[-1])) + 1
    if len(shown) < len(items):
        shown.append(f"… {len(items) - len(shown):,} more of {len(items):,}")
    return shown


def _members(members: dict[str, Any], room: int) -> dict[str, Any]:
    sizes: dict[str, int] = {}
    left = room - _NOTE_ROOM - 2
    for name, value in members.items():
        size = len(compact_json(value))
        needed = len(compact_json(name)) + 2 + min(size, _LEAST_SHARE)
        if needed > left:
            break
        sizes[name] = size
        left -= needed
    # Short members are whole, and long ones share what is left.
    shares: dict[str, int] = {}
    for place, name in enumerate(sorted(sizes, key=sizes.__getitem__)):
        least = min(sizes[name], _LEAST_SHARE)
        more = min(sizes[name] - least, left // (len(sizes) - place))
        shares[name] = least + more
        left -= more
    shown = {name: json_preview(members[name], shares[name]) for name in sizes}
    if len(shown) < len(members):
        shown["…"] = f"{len(members) - len(shown):,} more of {len(members):,}"
    return shown
