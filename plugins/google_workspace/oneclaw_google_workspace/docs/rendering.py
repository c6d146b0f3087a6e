"""A tab of a document as a model reads it: Markdown, plain text, or an outline; pure, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.docs.inline import inline_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_google_workspace.docs.structure import DocumentTab

HEADING_LEVELS = {"TITLE": 1, **{f"HEADING_{level}": level for level in range(1, 7)}}
_INDENT = "    "
_CHECKBOX = "- [ ]"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading.

    Attributes:
        offset: where it stands in the rendered text, in characters.
        line: as it is written in an outline.
    """

    offset: int
    line: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A tab as text.

    Attributes:
        text: all of it.
        headings: of the text, in order.
        has_checkboxes: whether there are some; Google does not tell which are ticked.
    """

    text: str
    headings: list[Heading]
    has_checkboxes: bool


@dataclass(frozen=True, slots=True)
class _Block:
    text: str
    is_item: bool = False
    heading: str = ""


def render(tab: DocumentTab, *, is_markdown: bool, with_indexes: bool) -> Rendered:
    """Write a tab as text.

    Args:
        tab: to be written.
        is_markdown: or plain text.
        with_indexes: whether ``[start-end]`` stands before each paragraph, in UTF-16 code units.
    """
    writer = _Writer(tab.content, is_markdown, with_indexes)
    blocks = [*writer.blocks(tab.body), *writer.footnotes()]
    pieces: list[str] = []
    headings: list[Heading] = []
    length = 0
    for number, block in enumerate(blocks):
        if number:
            is_close = with_indexes or not is_markdown or (block.is_item and blocks[number - 1].is_item)
            pieces.append("\n" if is_close else "\n\n")
            length += len(pieces[-1])
        if block.heading:
            headings.append(Heading(length, block.heading))
        pieces.append(block.text)
        length += len(block.text)
    return Rendered("".join(pieces), headings, writer.has_checkboxes)


class _Writer:
    """Writes the structural elements of one tab.

    Attributes:
        has_checkboxes: whether one was written.
    """

    def __init__(self, content: Mapping[str, Any], is_markdown: bool, with_indexes: bool) -> None:
        self.has_checkboxes = False
        self._images = content.get("inlineObjects", {})
        self._lists = content.get("lists", {})
        self._notes = content.get("footnotes", {})
        self._is_markdown = is_markdown
        self._with_indexes = with_indexes
        self._next_numbers: dict[str, dict[int, int]] = {}
        self._seen_notes: dict[str, str] = {}

    def blocks(self, content: Iterable[Mapping[str, Any]]) -> list[_Block]:
        found: list[_Block] = []
        for element in content:
            if "paragraph" in element:
                found += self._paragraph(element)
            elif "table" in element:
                found.append(self._table(element))
            elif "tableOfContents" in element:
                found.append(_Block(f"{self._place(element)}[table of contents]"))
        return found

    def footnotes(self) -> list[_Block]:
        """The footnotes that the text refers to; their own indexes begin at 0 and are of no use for editing."""
        found = []
        self._with_indexes = False
        for note_id, number in list(self._seen_notes.items()):
            inner = self.blocks(self._notes.get(note_id, {}).get("content", []))
            found.append(_Block(f"[^{number}]: {' '.join(block.text.strip() for block in inner)}", is_item=True))
        return found

    def _paragraph(self, element: Mapping[str, Any]) -> list[_Block]:
        paragraph = element["paragraph"]
        for each in paragraph.get("elements", []):
            if "footnoteReference" in each:
                note = each["footnoteReference"]
                self._seen_notes[str(note.get("footnoteId", ""))] = str(note.get("footnoteNumber", "?"))
        style = paragraph.get("paragraphStyle", {}).get("namedStyleType", "NORMAL_TEXT")
        level = HEADING_LEVELS.get(style, 0)
        text = inline_text(paragraph, self._images, is_markdown=self._is_markdown, is_heading=level > 0)
        place = self._place(element)
        if "bullet" in paragraph:
            return [_Block(f"{place}{self._item_mark(paragraph['bullet'])} {text}", is_item=True)]
        if not text.strip():
            return [] if self._is_markdown and not self._with_indexes else [_Block(place.rstrip())]
        if level:
            line = f"{place}{'#' * level} {text.strip()}"
            return [_Block(line if self._is_markdown else f"{place}{text}", heading=line)]
        if style == "SUBTITLE" and self._is_markdown and not set("*\n") & set(text):
            text = f"*{text.strip()}*"
        return [_Block(f"{place}{text}")]

    def _item_mark(self, bullet: Mapping[str, Any]) -> str:
        list_id, level = str(bullet.get("listId", "")), int(bullet.get("nestingLevel", 0))
        levels = self._lists.get(list_id, {}).get("listProperties", {}).get("nestingLevels", [])
        about = levels[level] if level < len(levels) else {}
        numbers = self._next_numbers.setdefault(list_id, {})
        for deeper in [each for each in numbers if each > level]:
            del numbers[deeper]
        kind = about.get("glyphType", "GLYPH_TYPE_UNSPECIFIED")
        if about.get("glyphSymbol") or kind == "NONE" or not about:
            mark = "-"
        elif kind == "GLYPH_TYPE_UNSPECIFIED":
            mark = _CHECKBOX
            self.has_checkboxes = True
        else:
            number = numbers.get(level, max(int(about.get("startNumber", 1)), 1))
            numbers[level] = number + 1
            mark = f"{number}."
        return f"{_INDENT * level}{mark}"

    def _table(self, element: Mapping[str, Any]) -> _Block:
        rows = [
            [self._cell(cell) for cell in row.get("tableCells", [])] for row in element["table"].get("tableRows", [])
        ]
        width = max((len(row) for row in rows), default=0)
        if not self._is_markdown:
            lines = ["\t".join(row) for row in rows]
        else:
            lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
            lines[1:1] = [f"|{' --- |' * width}"]
        if self._with_indexes:
            lines.insert(0, f"{self._place(element)}table, {len(rows)} x {width}")
        return _Block("\n".join(lines))

    def _cell(self, cell: Mapping[str, Any]) -> str:
        blocks = self.blocks(cell.get("content", []))
        if not self._is_markdown:
            return " ".join(" ".join(block.text.split()) for block in blocks)
        return "<br>".join(block.text for block in blocks).replace("|", "\\|").replace("\n", "<br>")

    def _place(self, element: Mapping[str, Any]) -> str:
        if not self._with_indexes:
            return ""
        return f"[{element.get('startIndex', 0)}-{element.get('endIndex', 0)}] "
