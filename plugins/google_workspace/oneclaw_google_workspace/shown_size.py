"""Fitting an answer into what a model is shown of it, so that what follows it begins where the model has stopped.

A model is shown the beginning of an answer's JSON, in which line breaks, quotes and backslashes take two characters.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oneclaw_core import ToolContext

# For what is measured before it is known exactly, such as numbers, and for keys of the user's that are blacked out.
_RESERVED_CHARACTERS = 500
_LEAST_CHARACTERS = 100


def json_length(value: Any) -> int:
    """Return the number of characters of a value in an answer."""
    return len(json.dumps(value, ensure_ascii=False))


def room_beside(rest: Any, context: ToolContext) -> int | None:
    """Return the number of characters of JSON that fit beside the rest of an answer.

    Args:
        rest: the answer without what is to be fitted into it.
        context: of the call.

    Returns:
        ``None`` where all is shown, outside a conversation; never less than 100.
    """
    if context.shown_characters is None:
        return None
    return max(context.shown_characters - json_length(rest) - _RESERVED_CHARACTERS, _LEAST_CHARACTERS)


def beginning_within(text: str, room: int | None) -> str:
    """The longest beginning of a text that takes no more room in an answer, but one character of it at least.

    Args:
        text: all of it.
        room: in characters of JSON, ``None`` for any number.
    """
    if room is None or json_length(text) - 2 <= room:
        return text
    longest = range(1, min(len(text), room) + 1)
    return text[: max(bisect_right(longest, room, key=lambda length: json_length(text[:length]) - 2), 1)]
