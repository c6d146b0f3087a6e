"""The elements of a slide, including those in groups, with texts and places; without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.slides.text import TEXT_FIELDS, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

EMU_PER_POINT = 12_700
TITLE_TYPES = ("TITLE", "CENTERED_TITLE")
# Groups hold others and are asked for whole; of images only whether they are some is of interest.
ELEMENT_FIELDS = (
    f"objectId,title,description,shape(shapeType,placeholder(type,index),{TEXT_FIELDS}),"
    f"table(rows,columns,tableRows/tableCells(location,{TEXT_FIELDS})),elementGroup,image/contentUrl,video/url,"
    "line/lineType,wordArt/renderedText,sheetsChart(spreadsheetId,chartId)"
)
_KINDS = {
    "table": "table",
    "elementGroup": "group",
    "image": "image",
    "video": "video",
    "line": "line",
    "wordArt": "word_art",
    "sheetsChart": "chart",
}


@dataclass(frozen=True, slots=True)
class Transform:
    """The position of a point of the element on the page, in EMU."""

    scale_x: float = 1
    shear_x: float = 0
    translate_x: float = 0
    shear_y: float = 0
    scale_y: float = 1
    translate_y: float = 0

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Transform:
        """Read Google's ``AffineTransform``, which leaves zeros out; an empty one changes nothing."""
        if not raw:
            return cls()
        unit = EMU_PER_POINT if raw.get("unit") == "PT" else 1
        return cls(
            float(raw.get("scaleX", 0)),
            float(raw.get("shearX", 0)),
            float(raw.get("translateX", 0)) * unit,
            float(raw.get("shearY", 0)),
            float(raw.get("scaleY", 0)),
            float(raw.get("translateY", 0)) * unit,
        )

    def within(self, outer: Transform) -> Transform:
        """This one as it is within a group."""
        x, y = outer.point(self.translate_x, self.translate_y)
        return Transform(
            outer.scale_x * self.scale_x + outer.shear_x * self.shear_y,
            outer.scale_x * self.shear_x + outer.shear_x * self.scale_y,
            x,
            outer.shear_y * self.scale_x + outer.scale_y * self.shear_y,
            outer.shear_y * self.shear_x + outer.scale_y * self.scale_y,
            y,
        )

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of a point of the element."""
        return (
            self.scale_x * x + self.shear_x * y + self.translate_x,
            self.shear_y * x + self.scale_y * y + self.translate_y,
        )


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a page.

    Attributes:
        raw: as Google answers it.
        transform: with those of the groups that it is in.
        group_id: of the group that it is in; empty for none.
    """

    raw: Mapping[str, Any]
    transform: Transform
    group_id: str = ""

    @property
    def id(self) -> str:
        """Its object id."""
        return str(self.raw.get("objectId", ""))

    @property
    def kind(self) -> str:
        """The kind of element, such as ``text_box``, ``table`` or the form of a shape."""
        if "shape" in self.raw:
            form = str(self.raw["shape"].get("shapeType", "shape")).lower()
            return "text_box" if form == "text_box" else f"shape {form}"
        return next((kind for name, kind in _KINDS.items() if name in self.raw), "other")

    @property
    def placeholder(self) -> str:
        """The placeholder of the layout; empty for none."""
        return str(self.raw.get("shape", {}).get("placeholder", {}).get("type", ""))

    @property
    def cells(self) -> list[list[str]]:
        """The texts of a table by row."""
        return [
            [shown_text(cell.get("text", {})) for cell in row.get("tableCells", [])]
            for row in self.raw.get("table", {}).get("tableRows", [])
        ]

    @property
    def alt_text(self) -> str:
        """The alternative text of the element."""
        return " ".join(f"{self.raw.get('title', '')} {self.raw.get('description', '')}".split())

    @property
    def text(self) -> str:
        """The text of the slide."""
        if "table" in self.raw:
            return "\n".join(" | ".join(cell.replace("\n", " ") for cell in row) for row in self.cells)
        if "wordArt" in self.raw:
            return str(self.raw["wordArt"].get("renderedText", ""))
        return shown_text(self.raw.get("shape", {}).get("text", {}))

    @property
    def line(self) -> str:
        """The text of a slide element; for an image, its description."""
        if self.kind in ("image", "chart", "video") and self.alt_text:
            return f"[{self.kind}: {self.alt_text}]"
        return self.text

    def row(self) -> dict[str, Any]:
        """Make its row, with place and size in points."""
        box = _box(self.raw.get("size", {}), self.transform) if "size" in self.raw else {}
        table = self.raw.get("table", {})
        return {
            **compact({"id": self.id, "kind": self.kind, "placeholder": self.placeholder, "text": self.text}),
            **compact({"alt_text": self.alt_text, "group_id": self.group_id}),
            **compact({"rows": table.get("rows"), "columns": table.get("columns")}),
            **box,
        }


def elements_of(page: Mapping[str, Any]) -> list[Element]:
    """List the elements of a page, each group before what is in it."""
    return list(_walk(page.get("pageElements", []), Transform(), ""))


def title_of(page: Mapping[str, Any]) -> str:
    """The title of a slide; empty if it has none."""
    found = [element.text for element in elements_of(page) if element.placeholder in TITLE_TYPES]
    return next((" ".join(text.split()) for text in found if text), "")


def points(dimension: Mapping[str, Any]) -> float:
    """A length in points."""
    magnitude = float(dimension.get("magnitude", 0))
    return magnitude if dimension.get("unit") == "PT" else magnitude / EMU_PER_POINT


def _walk(raw_elements: Iterable[Mapping[str, Any]], outer: Transform, group_id: str) -> Iterator[Element]:
    for raw in raw_elements:
        transform = Transform.of(raw.get("transform", {})).within(outer)
        yield Element(raw, transform, group_id)
        children = raw.get("elementGroup", {}).get("children", [])
        yield from _walk(children, transform, str(raw.get("objectId", "")))


def _box(size: Mapping[str, Any], transform: Transform) -> dict[str, float]:
    """The rectangle that an element takes up, turned or not."""
    width, height = (points(size.get(side, {})) * EMU_PER_POINT for side in ("width", "height"))
    corners = [transform.point(x, y) for x in (0, width) for y in (0, height)]
    across, down = [x for x, _ in corners], [y for _, y in corners]
    found = {"x": min(across), "y": min(down), "w": max(across) - min(across), "h": max(down) - min(down)}
    return {name: round(value / EMU_PER_POINT, 1) for name, value in found.items()}
