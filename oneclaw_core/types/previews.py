"""Previews of long values: valid JSON with the sizes of what is left out, and the two ends of a text."""

from __future__ import annotations

from typing import Any

from oneclaw_core.types.text import compact_json

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
