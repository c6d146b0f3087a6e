"""Pages of presentations as the stand-in keeps them: texts, elements, layouts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from google_service import bad_request

STRIPPED = re.compile("[\x00-\x08\x0c-\x1f\ue000-\uf8ff]")
WIDTH, HEIGHT = 9_144_000, 5_143_500
LAYOUTS = {
    "TITLE": (("CENTERED_TITLE", 0), ("SUBTITLE", 1), ("SLIDE_NUMBER", 12)),
    "SECTION_HEADER": (("TITLE", 0), ("SLIDE_NUMBER", 12)),
    "TITLE_AND_BODY": (("TITLE", 0), ("BODY", 1), ("SLIDE_NUMBER", 12)),
    "TITLE_AND_TWO_COLUMNS": (("TITLE", 0), ("BODY", 1), ("BODY", 2), ("SLIDE_NUMBER", 12)),
    "TITLE_ONLY": (("TITLE", 0), ("SLIDE_NUMBER", 12)),
    "ONE_COLUMN_TEXT": (("TITLE", 0), ("BODY", 1), ("SLIDE_NUMBER", 12)),
    "MAIN_POINT": (("TITLE", 0), ("SLIDE_NUMBER", 12)),
    "SECTION_TITLE_AND_DESCRIPTION": (("TITLE", 0), ("SUBTITLE", 1), ("BODY", 2), ("SLIDE_NUMBER", 12)),
    "CAPTION_ONLY": (("BODY", 1), ("SLIDE_NUMBER", 12)),
    "BIG_NUMBER": (("TITLE", 0), ("BODY", 1), ("SLIDE_NUMBER", 12)),
    "BLANK": (("SLIDE_NUMBER", 12),),
}


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


class Text:
    """A text without its last newline, which is always there.

    Attributes:
        value: the text.
        levels: for each paragraph, how deep it is in a list; ``None`` for no list.
        style: of all of it.
        alignment: of its paragraphs.
        fill: of the cell that it is in.
    """

    def __init__(self, value: str = "") -> None:
        self.value = value
        self.levels: list[int | None] = [None] * (value.count("\n") + 1)
        self.style: dict[str, Any] = {}
        self.alignment: str | None = None
        self.fill: dict[str, Any] | None = None

    def insert(self, text: str, index: int) -> None:
        text = STRIPPED.sub("", text)
        if not text:
            raise bad_request("The text must not be empty.")
        if not 0 <= index <= units(self.value):
            raise bad_request(f"The insertion index ({index}) should not be greater than the existing text length.")
        place = len(self.value.encode("utf-16-le")[: 2 * index].decode("utf-16-le", "replace"))
        paragraph = self.value[:place].count("\n")
        self.levels[paragraph:paragraph] = [self.levels[paragraph]] * text.count("\n")
        self.value = self.value[:place] + text + self.value[place:]

    def clear(self) -> None:
        if not self.value:
            raise bad_request("The startIndex 0 must be less than the endIndex 0.")
        self.value, self.levels = "", self.levels[-1:]

    def add_bullets(self, where: dict[str, Any]) -> None:
        start, end = 0, units(self.value)
        if where["type"] == "FIXED_RANGE":
            start, end = where["startIndex"], where["endIndex"]
            if not start < end <= units(self.value) + 1:
                raise bad_request("The range is not within the text.")
        lines, index = self.value.split("\n"), 0
        for number, line in enumerate(lines):
            following = index + units(line) + 1
            if index < end and following > start:
                self.levels[number] = len(line) - len(line.lstrip("\t"))
                lines[number] = line.lstrip("\t")
            index = following
        self.value = "\n".join(lines)

    def set_style(self, style: dict[str, Any], fields: list[str]) -> None:
        if not self.value:
            raise bad_request("The object has no text.")
        for name in fields:
            if name in style:
                self.style[name] = style[name]
            else:
                self.style.pop(name, None)

    def replace(self, pattern: re.Pattern[str], text: str) -> int:
        lines = self.value.split("\n")
        counts = [pattern.subn(lambda _: text, line) for line in lines]
        self.value = "\n".join(line for line, _ in counts)
        self.levels += [None] * (self.value.count("\n") + 1 - len(self.levels))
        return sum(count for _, count in counts)

    def document(self) -> dict[str, Any]:
        if not self.value:
            return {}
        found: list[dict[str, Any]] = []
        index = 0
        for line, level in zip(self.value.split("\n"), self.levels, strict=True):
            end = index + units(line) + 1
            marker: dict[str, Any] = {"style": {"direction": "LEFT_TO_RIGHT"}}
            if self.alignment is not None:
                marker["style"]["alignment"] = self.alignment
            if level is not None:
                marker["bullet"] = {"listId": "list", "glyph": "●", **({"nestingLevel": level} if level else {})}
            at = {"startIndex": index} if index else {}
            found.append({**at, "endIndex": end, "paragraphMarker": marker})
            found.append({**at, "endIndex": end, "textRun": {"content": f"{line}\n", "style": self.style}})
            index = end
        return {"textElements": found}


@dataclass
class Element:
    """An element of a page.

    Attributes:
        id: its object id.
        kind: ``shape``, ``image``, ``table``, ``chart`` or ``group``.
        properties: size and transform.
        shape_type: of a shape.
        placeholder: type and index, of a placeholder.
        text: of a shape.
        cells: of a table.
        children: of a group.
        about: Google's further fields, such as ``description``.
    """

    id: str
    kind: str = "shape"
    properties: dict[str, Any] = field(default_factory=dict)
    shape_type: str = "TEXT_BOX"
    placeholder: dict[str, Any] | None = None
    text: Text = field(default_factory=Text)
    cells: list[list[Text]] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)

    def texts(self) -> list[Text]:
        own = [self.text, *(cell for row in self.cells for cell in row)]
        return own + [text for child in self.children for text in child.texts()]

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = {"objectId": self.id, **self.properties, **self.about}
        fill = found.pop("shapeProperties", {})
        if self.kind == "shape":
            found["shape"] = {"shapeType": self.shape_type, "text": self.text.document(), "shapeProperties": fill}
            if self.placeholder is not None:
                found["shape"]["placeholder"] = self.placeholder
        elif self.kind == "table":
            rows = [
                {
                    "tableCells": [
                        {
                            "location": {key: at for key, at in (("rowIndex", y), ("columnIndex", x)) if at},
                            "text": cell.document(),
                        }
                        for x, cell in enumerate(row)
                    ]
                }
                for y, row in enumerate(self.cells)
            ]
            found["table"] = {"rows": len(rows), "columns": len(self.cells[0]), "tableRows": rows}
        elif self.kind == "chart":
            found["sheetsChart"] = self.about.get("source", {})
            found.pop("source", None)
        elif self.kind == "image":
            found["image"] = {"contentUrl": f"https://lh3.googleusercontent.com/secret-{self.id}"}
        else:
            found["elementGroup"] = {"children": [child.document() for child in self.children]}
        return found


@dataclass
class Slide:
    """A slide."""

    id: str
    layout: str
    elements: list[Element]
    notes_id: str
    notes: Element | None = None
    is_skipped: bool = False
    background: dict[str, Any] | None = None

    def document(self) -> dict[str, Any]:
        notes = [self.notes.document()] if self.notes else []
        about: dict[str, Any] = {
            "layoutObjectId": f"layout-{self.layout}",
            "notesPage": {
                "objectId": f"{self.id}-notes",
                "pageType": "NOTES",
                "notesProperties": {"speakerNotesObjectId": self.notes_id},
                "pageElements": notes,
            },
        }
        if self.is_skipped:
            about["isSkipped"] = True
        return {
            "objectId": self.id,
            "pageType": "SLIDE",
            "pageElements": [element.document() for element in self.elements],
            "slideProperties": about,
        }

    def all_elements(self) -> list[Element]:
        found = [*self.elements, *([self.notes] if self.notes else [])]
        for element in found:
            found += element.children
        return found


def layout_document(name: str) -> dict[str, Any]:
    elements = [
        Element(f"layout-{name}-{kind}-{index}", placeholder={"type": kind, **({"index": index} if index else {})})
        for kind, index in LAYOUTS[name]
    ]
    return {
        "objectId": f"layout-{name}",
        "pageType": "LAYOUT",
        "layoutProperties": {"name": name, "displayName": name.replace("_", " ").capitalize()},
        "pageElements": [element.document() for element in elements],
    }
