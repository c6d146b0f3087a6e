"""The parts of requests and answers that all wire formats write and read in one way. No I/O."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from oneclaw_core.json_schema import ArgumentsError, parse_arguments
from oneclaw_core.providers import IdentityCache, compact_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from oneclaw_core import ToolDefinition


# So much that no count_member is larger, and so little that the database can hold the sum of a few.
_MAX_COUNT = 2**60

# No key is of this form.
_WORD = re.compile(r"[A-Z][A-Z0-9_]{0,60}|[a-z][a-zA-Z_]{0,60}")


Written = TypeVar("Written")


def objects_in(value: object) -> Iterator[dict[str, Any]]:
    """The objects in a list; none if it is not a list."""
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))


def member(value: object, key: str) -> Any:
    """Return the value of a key in an object; ``None`` if it is not an object or has no such key."""
    return value.get(key) if isinstance(value, dict) else None


def count_member(counts: object, key: str) -> int | None:
    """A count_member among others, such as of tokens; ``None`` if it is not there, or no count_member."""
    value = member(counts, key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_COUNT else None


def text_member(value: object, key: str) -> str | None:
    """The text that an object has under a key; ``None`` if there is none, or it is empty."""
    text = member(value, key)
    return text if isinstance(text, str) and text else None


def shown_word(value: object) -> str | None:
    """Return a service's word, such as a finish reason, if it is fit to be shown; ``None`` for anything else."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else None


def parse_object(arguments: str) -> dict[str, Any] | None:
    """Read the arguments of a call; ``None`` if they are no JSON object."""
    try:
        return parse_arguments(arguments)
    except ArgumentsError:
        return None


def are_complete_arguments(arguments: str) -> bool:
    """Return True if the JSON arguments are complete; an empty string is incomplete."""
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


class ToolTexts(Generic[Written]):
    """Writes tools, and keeps what it wrote of each for the next request.

    Args:
        write: writes one, always the same for the same definition, to which the result does not refer.
    """

    def __init__(self, write: Callable[[ToolDefinition], Written]) -> None:
        self._kept = IdentityCache(write)

    def of(self, definition: ToolDefinition) -> Written:
        """Return the stored description of a tool."""
        return self._kept.of(definition)


class ToolLists(ToolTexts[str]):
    """Writes lists of tools as JSON.

    Args:
        convert: converts a tool to what stands in the list.
    """

    def __init__(self, convert: Callable[[ToolDefinition], dict[str, Any]]) -> None:
        super().__init__(lambda definition: compact_json(convert(definition)))

    def text(self, definitions: Iterable[ToolDefinition]) -> str:
        """The JSON array of some tools."""
        return f"[{','.join([self.of(definition) for definition in definitions])}]"
