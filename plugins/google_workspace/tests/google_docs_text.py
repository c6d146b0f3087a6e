"""Texts of documents as the stand-in keeps them: one unit for each index, in UTF-16 code units."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from typing import Any

from google_service import bad_request

STRIPPED = re.compile("[\x00-\x08\x0c-\x1f\ue000-\uf8ff]")
GLYPHS = {
    "BULLET_DISC_CIRCLE_SQUARE": {"glyphSymbol": "●", "glyphFormat": "%0"},
    "NUMBERED_DECIMAL_ALPHA_ROMAN": {"glyphType": "DECIMAL", "glyphFormat": "%0.", "startNumber": 1},
    "BULLET_CHECKBOX": {"glyphType": "GLYPH_TYPE_UNSPECIFIED", "glyphFormat": "%0"},
}
IN_PARAGRAPH = ("text", "half", "object", "newline")


@dataclass
class Unit:
    """What is at one index.

    Attributes:
        kind: ``text``, ``half`` (the second half of a character), ``object`` (an image or the like), ``newline``, or
            where something begins or ends: ``section``, ``table``, ``row``, ``cell``, ``table_end``, ``toc``,
            ``toc_end``.
        value: the character; of an object, Google's element.
        style: of the text.
        paragraph: of a newline, of the paragraph that it ends.
        bullet: the same; ``None`` if it is in no list.
        inserted: id of the suggestion that brought it.
        deleted: id of the suggestion to take it away.
    """

    kind: str
    value: Any = ""
    style: dict[str, Any] = field(default_factory=dict)
    paragraph: dict[str, Any] = field(default_factory=lambda: {"namedStyleType": "NORMAL_TEXT"})
    bullet: dict[str, Any] | None = None
    inserted: str | None = None
    deleted: str | None = None


def units_of(text: str, style: dict[str, Any], like: Unit | None = None, **marks: Any) -> list[Unit]:
    """Make the units of a text; its newlines end paragraphs such as another newline does."""
    found: list[Unit] = []
    for character in STRIPPED.sub("", text):
        if character == "\n":
            found.append(replace(like or Unit("newline"), style=dict(style), deleted=None, inserted=None))
            found[-1].paragraph = dict(found[-1].paragraph)
        else:
            found.append(Unit("text", character, dict(style)))
            if ord(character) > 0xFFFF:
                found.append(Unit("half", "", dict(style)))
    for unit in found:
        for name, value in marks.items():
            setattr(unit, name, value)
    return found


class TabText:
    """The text of one tab.

    Attributes:
        units: by index.
        lists: Google's ``lists``.
        images: Google's ``inlineObjects``.
        footnotes: texts by id.
    """

    def __init__(self) -> None:
        self.units = [Unit("section"), Unit("newline")]
        self.lists: dict[str, Any] = {}
        self.images: dict[str, Any] = {}
        self.footnotes: dict[str, str] = {}

    @property
    def plain(self) -> str:
        """All text, with a newline for each paragraph."""
        return "".join("\n" if unit.kind == "newline" else unit.value for unit in self.units if unit.kind in PLAIN)

    # Finding places

    def check_index(self, index: int) -> None:
        if not 0 < index < len(self.units):
            raise bad_request(f"Index {index} must be less than the end index of the segment, {len(self.units)}.")
        if self.units[index].kind not in IN_PARAGRAPH:
            raise bad_request("The insertion index must be inside the bounds of an existing paragraph.")
        if self.units[index].kind == "half":
            raise bad_request("The insertion index cannot be within a grapheme cluster.")

    def check_range(self, start: int, end: int) -> None:
        if not 0 < start < end <= len(self.units):
            raise bad_request(f"The range {start}-{end} should not be empty and lie within 1-{len(self.units)}.")

    def newline_after(self, index: int) -> Unit:
        return next(unit for unit in self.units[index:] if unit.kind == "newline")

    def paragraphs_in(self, start: int, end: int) -> list[tuple[int, int]]:
        """First and last index of the paragraphs that a range touches."""
        return [(first, last) for first, last in self._all_paragraphs() if first < end and last >= start]

    def _all_paragraphs(self) -> list[tuple[int, int]]:
        found, first = [], None
        for index, unit in enumerate(self.units):
            if unit.kind in IN_PARAGRAPH and first is None:
                first = index
            if unit.kind == "newline":
                found.append((first, index))
                first = None
        return found

    def is_in_table(self, index: int) -> bool:
        kinds = [unit.kind for unit in self.units[:index]]
        return kinds.count("table") > kinds.count("table_end")

    # Changing

    def insert_text(self, index: int, text: str, **marks: Any) -> None:
        self.check_index(index)
        before = self.units[index - 1]
        style = before.style if before.kind in ("text", "half") else self.units[index].style
        self.units[index:index] = units_of(text, style, self.newline_after(index), **marks)

    def insert_object(self, index: int, element: dict[str, Any]) -> None:
        self.check_index(index)
        self.units.insert(index, Unit("object", element))

    def insert_table(self, index: int, rows: int, columns: int) -> None:
        self.check_index(index)
        if rows < 1 or columns < 1:
            raise bad_request("A table must have at least one row and column.")
        inner = [[Unit("row")] + [unit for _ in range(columns) for unit in (Unit("cell"), Unit("newline"))]]
        made = [replace(self.newline_after(index)), Unit("table")]
        for _ in range(rows):
            made += [replace(unit) for unit in inner[0]]
        self.units[index:index] = [*made, Unit("table_end")]

    def delete(self, start: int, end: int) -> None:
        self.check_range(start, end)
        self._check_deletion(start, end)
        del self.units[start:end]

    def mark_deleted(self, start: int, end: int, suggestion: str) -> None:
        self.check_range(start, end)
        self._check_deletion(start, end)
        for unit in self.units[start:end]:
            unit.deleted = suggestion

    def _check_deletion(self, start: int, end: int) -> None:
        gone = self.units[start:end]
        depth = 0
        for unit in gone:
            depth += {"table": 1, "table_end": -1}.get(unit.kind, 0)
            if depth < 0 or (unit.kind in ("row", "cell", "section", "toc", "toc_end") and depth == 0):
                raise bad_request("Cannot delete the requested range.")
        following = self.units[end].kind if end < len(self.units) else "end"
        is_last = gone[-1].kind == "newline" and following not in IN_PARAGRAPH
        if depth or is_last or gone[0].kind == "half" or following == "half":
            raise bad_request("Cannot delete the requested range.")

    def replace_all(self, pattern: re.Pattern[str], text: str, suggestion: str | None) -> int:
        """Replace within paragraphs; gives how often."""
        count = 0
        for first, last in reversed(self._all_paragraphs()):
            plain = "".join(
                {"object": "\ue907", "half": "\ue908"}.get(unit.kind, unit.value) for unit in self.units[first:last]
            )
            # A character of two halves is searched as one, and stands for two units.
            places = [place for place, character in enumerate(plain) if character != "\ue908"]
            searched = "".join(plain[place] for place in places)
            places.append(len(plain))
            for match in reversed(list(pattern.finditer(searched))):
                if match.start() == match.end():
                    continue
                start, end = first + places[match.start()], first + places[match.end()]
                style = self.units[start].style
                if suggestion is None:
                    self.units[start:end] = units_of(text, style, self.units[last])
                else:
                    for unit in self.units[start:end]:
                        unit.deleted = suggestion
                    self.units[end:end] = units_of(text, style, self.units[last], inserted=suggestion)
                count += 1
        return count

    def style_text(self, start: int, end: int, style: dict[str, Any], fields: list[str]) -> None:
        self.check_range(start, end)
        for unit in self.units[start:end]:
            _set(unit.style, style, fields)

    def style_paragraphs(self, start: int, end: int, style: dict[str, Any], fields: list[str]) -> None:
        self.check_range(start, end)
        for _, last in self.paragraphs_in(start, end):
            _set(self.units[last].paragraph, style, fields)

    def add_bullets(self, start: int, end: int, preset: str, list_id: str) -> None:
        self.check_range(start, end)
        self.lists[list_id] = {"listProperties": {"nestingLevels": [GLYPHS[preset]] * 9}}
        for first, last in reversed(self.paragraphs_in(start, end)):
            tabs = 0
            while self.units[first + tabs].value == "\t":
                tabs += 1
            self.units[last].bullet = {"listId": list_id, **({"nestingLevel": tabs} if tabs else {})}
            del self.units[first : first + tabs]

    def remove_bullets(self, start: int, end: int) -> None:
        self.check_range(start, end)
        for _, last in self.paragraphs_in(start, end):
            self.units[last].bullet = None

    # As Google answers it

    def document_tab(self, view: str) -> dict[str, Any]:
        units = [unit for unit in self.units if not _is_hidden(unit, view)]
        notes = {
            note_id: {
                "footnoteId": note_id,
                "content": [
                    {"endIndex": len(text) + 1, "paragraph": {"elements": [{"textRun": {"content": f"{text}\n"}}]}}
                ],
            }
            for note_id, text in self.footnotes.items()
        }
        return {
            "body": {"content": _Reader(units, view).content()},
            "lists": self.lists,
            "inlineObjects": self.images,
            "footnotes": notes,
        }


PLAIN = ("text", "newline")


def _set(target: dict[str, Any], values: dict[str, Any], fields: list[str]) -> None:
    for name in fields:
        key = name.split(".")[0]
        if key in values:
            target[key] = values[key]
        else:
            target.pop(key, None)


def _is_hidden(unit: Unit, view: str) -> bool:
    if view == "PREVIEW_SUGGESTIONS_ACCEPTED":
        return unit.deleted is not None
    return view == "PREVIEW_WITHOUT_SUGGESTIONS" and unit.inserted is not None


class _Reader:
    """Reads units into structural elements."""

    def __init__(self, units: list[Unit], view: str) -> None:
        self._units = units
        self._is_inline = view == "SUGGESTIONS_INLINE"
        self._index = 0

    def content(self, ends: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while self._index < len(self._units) and self._units[self._index].kind not in ends:
            kind = self._units[self._index].kind
            start = self._index
            if kind == "section":
                self._index += 1
                found.append({"endIndex": 1, "sectionBreak": {"sectionStyle": {"sectionType": "CONTINUOUS"}}})
            elif kind == "table":
                found.append(self._table())
            elif kind == "toc":
                self._index += 1
                inner = self.content(("toc_end",))
                self._index += 1
                found.append({"startIndex": start, "endIndex": self._index, "tableOfContents": {"content": inner}})
            else:
                found.append(self._paragraph())
        return found

    def _paragraph(self) -> dict[str, Any]:
        start = self._index
        while self._units[self._index].kind != "newline":
            self._index += 1
        newline = self._units[self._index]
        self._index += 1
        paragraph: dict[str, Any] = {
            "elements": self._elements(start, self._index),
            "paragraphStyle": {**newline.paragraph, "direction": "LEFT_TO_RIGHT"},
        }
        if newline.bullet is not None:
            paragraph["bullet"] = newline.bullet
        return {"startIndex": start, "endIndex": self._index, "paragraph": paragraph}

    def _elements(self, start: int, end: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        numbered = enumerate(self._units[start:end], start)

        def key(pair: tuple[int, Unit]) -> Any:
            index, unit = pair
            alone = index if unit.kind == "object" else None
            return (alone, repr(unit.style), unit.inserted, unit.deleted)

        for _, group in itertools.groupby(numbered, key):
            pairs = list(group)
            first = pairs[0][1]
            marks: dict[str, Any] = {}
            if first.inserted and self._is_inline:
                marks["suggestedInsertionIds"] = [first.inserted]
            if first.deleted and self._is_inline:
                marks["suggestedDeletionIds"] = [first.deleted]
            element: dict[str, Any] = {"startIndex": pairs[0][0], "endIndex": pairs[-1][0] + 1}
            if first.kind == "object":
                element |= first.value
            else:
                text = "".join("\n" if unit.kind == "newline" else unit.value for _, unit in pairs)
                element["textRun"] = {"content": text, "textStyle": first.style, **marks}
            found.append(element)
        return found

    def _table(self) -> dict[str, Any]:
        start = self._index
        self._index += 1
        rows: list[dict[str, Any]] = []
        while self._units[self._index].kind == "row":
            row_start = self._index
            self._index += 1
            cells = []
            while self._units[self._index].kind == "cell":
                cell_start = self._index
                self._index += 1
                inner = self.content(("cell", "row", "table_end"))
                cells.append({"startIndex": cell_start, "endIndex": self._index, "content": inner})
            rows.append({"startIndex": row_start, "endIndex": self._index, "tableCells": cells})
        self._index += 1
        table = {"rows": len(rows), "columns": len(rows[0]["tableCells"]), "tableRows": rows}
        return {"startIndex": start, "endIndex": self._index, "table": table}
