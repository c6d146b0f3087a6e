"""Planning new slides: which texts go into which placeholders of a layout; pure, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.editor_text import insertable
from oneclaw_google_workspace.problems import GoogleError
from oneclaw_google_workspace.slides.decks import new_id
from oneclaw_google_workspace.slides.elements import TITLE_TYPES, points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LAYOUT_FIELDS = "layouts(objectId,layoutProperties(name,displayName),pageElements/shape/placeholder(type,index))"
BULLETS = "BULLET_DISC_CIRCLE_SQUARE"
# Other placeholders, such as slide numbers, are not put onto new slides.
_TEXT_TYPES = (*TITLE_TYPES, "SUBTITLE", "BODY")
_DEFAULT_SIZE = (720.0, 405.0)


@dataclass(frozen=True, slots=True)
class Wish:
    """The wanted properties of a slide.

    Attributes:
        layout: one of Google's predefined ones.
        layout_id: one of the presentation's own instead.
        title: its title.
        body: its text, one paragraph a line.
        bullets: whether the text is a list.
        notes: for the speaker.
    """

    layout: str = "TITLE_AND_BODY"
    layout_id: str | None = None
    title: str = ""
    body: str = ""
    bullets: bool = False
    notes: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Wish:
        """Read what a model gave."""
        return cls(
            values.get("layout") or "TITLE_AND_BODY",
            values.get("layout_id"),
            insertable(values.get("title") or ""),
            insertable(values.get("body") or ""),
            bool(values.get("bullets")),
            insertable(values.get("notes") or ""),
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The properties of a new slide.

    Attributes:
        slide_id: an id of our own.
        requests: that make it and fill it.
        placeholders: ids and types of what can be filled.
        lacks_layout: whether the theme has no layout of that name, so that texts are in boxes.
    """

    slide_id: str
    requests: list[dict[str, Any]]
    placeholders: list[dict[str, str]]
    lacks_layout: bool


def plan_slide(wish: Wish, deck: Mapping[str, Any], index: int | None = None) -> Plan:
    """Plan a slide.

    Args:
        wish: what it is to be like.
        deck: Google's presentation with ``pageSize`` and :data:`LAYOUT_FIELDS`.
        index: from 0; the end by default.

    Raises:
        GoogleError: the presentation has no layout of that id.
    """
    slide_id = new_id()
    layout = _find_layout(wish, deck.get("layouts", []))
    placeholders = [(new_id(), each) for each in _placeholders(layout)]
    mappings = [
        {"layoutPlaceholder": {"type": each["type"], "index": int(each.get("index", 0))}, "objectId": object_id}
        for object_id, each in placeholders
    ]
    create: dict[str, Any] = {"objectId": slide_id, "insertionIndex": index}
    if layout:
        create |= {"slideLayoutReference": {"layoutId": layout["objectId"]}}
        create |= compact({"placeholderIdMappings": mappings})
    requests: list[dict[str, Any]] = [
        {"createSlide": {key: value for key, value in create.items() if value is not None}}
    ]
    title_id = _first(placeholders, TITLE_TYPES)
    body_id = _first(placeholders, ("BODY",)) or _first(placeholders, ("SUBTITLE",))
    if wish.title:
        title_id, boxes = text_place(title_id, slide_id, deck, 0.08, 0.16)
        requests += [*boxes, *fill(title_id, wish.title)]
    if wish.body:
        body_id, boxes = text_place(body_id, slide_id, deck, 0.28, 0.62)
        requests += [*boxes, *fill(body_id, wish.body, bullets=wish.bullets)]
    return Plan(
        slide_id,
        requests,
        [{"object_id": object_id, "type": str(each["type"])} for object_id, each in placeholders],
        not layout,
    )


def fill(
    object_id: str, text: str, *, bullets: bool = False, cell: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """Write text into something empty.

    Args:
        object_id: of a shape or a table.
        text: not empty.
        bullets: whether it is to be a list; leading tabs nest.
        cell: of a table: ``rowIndex`` and ``columnIndex``.
    """
    place = {"objectId": object_id, **compact({"cellLocation": cell})}
    found: list[dict[str, Any]] = [{"insertText": {**place, "text": text, "insertionIndex": 0}}]
    if bullets:
        found.append({"createParagraphBullets": {**place, "textRange": {"type": "ALL"}, "bulletPreset": BULLETS}})
    return found


def place_on(slide_id: str, x: float, y: float, width: float, height: float) -> dict[str, Any]:
    """Write where an element goes and how large it is, in points."""
    return {
        "pageObjectId": slide_id,
        "size": {
            "width": {"magnitude": round(width, 2), "unit": "PT"},
            "height": {"magnitude": round(height, 2), "unit": "PT"},
        },
        "transform": {"scaleX": 1, "scaleY": 1, "translateX": round(x, 2), "translateY": round(y, 2), "unit": "PT"},
    }


def page_size(deck: Mapping[str, Any]) -> tuple[float, float]:
    """Width and height of the slides in points."""
    size = deck.get("pageSize", {})
    found = points(size.get("width", {})), points(size.get("height", {}))
    return found if all(found) else _DEFAULT_SIZE


def _find_layout(wish: Wish, layouts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    if wish.layout_id is not None:
        for layout in layouts:
            if layout["objectId"] == wish.layout_id:
                return layout
        raise GoogleError("not_found", "There is no layout of that layout_id: see slides_read with include_layouts.")
    for layout in layouts:
        if layout.get("layoutProperties", {}).get("name") == wish.layout:
            return layout
    return {}


def _placeholders(layout: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = [each.get("shape", {}).get("placeholder", {}) for each in layout.get("pageElements", [])]
    return [each for each in found if each.get("type") in _TEXT_TYPES]


def _first(placeholders: Sequence[tuple[str, Mapping[str, Any]]], types: Sequence[str]) -> str | None:
    return next((object_id for object_id, each in placeholders if each["type"] in types), None)


def text_place(
    object_id: str | None, slide_id: str, deck: Mapping[str, Any], top: float, share: float
) -> tuple[str, list[dict[str, Any]]]:
    """The placeholder for a text, or else a separate box with the request that makes it.

    Args:
        object_id: the placeholder, if the layout has one.
        slide_id: the slide.
        deck: for its size.
        top: where the box begins, as a part of the slide's height.
        share: how high it is, the same.
    """
    if object_id is not None:
        return object_id, []
    width, height = page_size(deck)
    box_id = new_id()
    where = place_on(slide_id, width * 0.05, height * top, width * 0.9, height * share)
    shape = {"objectId": box_id, "shapeType": "TEXT_BOX", "elementProperties": where}
    return box_id, [{"createShape": shape}]
