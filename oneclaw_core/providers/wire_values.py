"""Values in answers, as all wire formats read them: what does not fit is passed over. No I/O."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools.arguments import ArgumentsError, parse_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

# So much that no count_member is larger, and so little that the database can hold the sum of a few.
_MAX_COUNT = 2**60


def objects_in(value: object) -> Iterator[dict[str, Any]]:
    """The objects in a list; none if it is no list."""
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))


def member(value: object, key: str) -> Any:
    """What an object has under a key; ``None`` if it is no object, or has nothing there."""
    return value.get(key) if isinstance(value, dict) else None


def count_member(counts: object, key: str) -> int | None:
    """A count_member among others, such as of tokens; ``None`` if it is not there, or no count_member."""
    value = member(counts, key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_COUNT else None


def text_member(value: object, key: str) -> str | None:
    """The text that an object has under a key; ``None`` if there is none, or it is empty."""
    text = member(value, key)
    return text if isinstance(text, str) and text else None


def parse_object(arguments: str) -> dict[str, Any] | None:
    """Read the arguments of a call; ``None`` if they are no JSON object."""
    try:
        return parse_arguments(arguments)
    except ArgumentsError:
        return None


def are_complete_arguments(arguments: str) -> bool:
    """Whether arguments have come to their end; nothing at all has not, though it would mean that there are none."""
    return bool(arguments.strip()) and parse_object(arguments) is not None


def unique_call_id(given: str, taken: set[str]) -> str:
    """Give a call its id, another one if the service gave it none or one that is taken, and note it as taken.

    Args:
        given: by the service, maybe empty.
        taken: the ids of the calls before.
    """
    call_id = given if given and given not in taken else f"call_{uuid.uuid4().hex}"
    taken.add(call_id)
    return call_id
