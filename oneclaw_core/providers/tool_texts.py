"""The texts of tools, which are the same in every request. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from oneclaw_core.providers.wire_text import compact_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from oneclaw_core.tools.definition import ToolDefinition

# Beyond, definitions have come and gone: all that there are may be fewer.
_MOST_KEPT = 20_000

Written = TypeVar("Written")


class ToolTexts(Generic[Written]):
    """Writes tools, and keeps what it wrote of each for the next request.

    Args:
        write: writes one, always the same for the same definition.
    """

    def __init__(self, write: Callable[[ToolDefinition], Written]) -> None:
        self._write = write
        # By identity; the definition is in the value, so that no other can take over its identity.
        self._kept: dict[int, tuple[ToolDefinition, Written]] = {}

    def of(self, definition: ToolDefinition) -> Written:
        """What is written of a tool."""
        kept = self._kept.get(id(definition))
        if kept is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            kept = self._kept[id(definition)] = definition, self._write(definition)
        return kept[1]


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
