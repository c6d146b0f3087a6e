"""The tools of every contestant: any number of them in groups of fifty, each giving back its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOOLS_PER_GROUP = 50
FIRST_GROUP = "group_0"
FIRST_TOOL = "tool_0_0"
LOAD_TURN = "hello"
ANSWER = "done"
PIECES = 2_000


@dataclass(frozen=True)
class PlainTool:
    """The description of a tool, independent of any framework."""

    name: str
    group: str

    @property
    def description(self) -> str:
        """The text for the model."""
        return f"Gives back a text, as {self.name} does."

    @property
    def group_description(self) -> str:
        """The description of the group for the model."""
        return f"Everything that {self.group} can do for a user."

    @property
    def parameters(self) -> dict[str, Any]:
        """A separate schema for each tool, as real ones have."""
        return {
            "type": "object",
            "properties": {"text": {"type": "string", "description": f"What {self.name} gives back."}},
            "required": ["text"],
        }


def plain_tools(count: int) -> Iterator[PlainTool]:
    """That many tools."""
    for number in range(count):
        group, place = divmod(number, TOOLS_PER_GROUP)
        yield PlainTool(f"tool_{group}_{place}", f"group_{group}")


def grouped(tools: Iterator[PlainTool]) -> dict[str, list[PlainTool]]:
    """The tools by their group."""
    groups: dict[str, list[PlainTool]] = {}
    for tool in tools:
        groups.setdefault(tool.group, []).append(tool)
    return groups


def message_text(number: int) -> str:
    """A message of a long session, two hundred characters of text."""
    return f"This is message {number} of a long conversation. ".ljust(200, "x")


def one_page(folder: Path) -> Path:
    """Write a PDF file of one page."""
    import pypdfium2  # type: ignore[import-untyped]  # ships no types

    document = pypdfium2.PdfDocument.new()
    document.new_page(595, 842)
    path = folder / "page.pdf"
    document.save(path)
    return path
