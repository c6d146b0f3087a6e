"""Formatting, moving and resizing what is on slides: ``slides_format``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.editors import rgb
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.slides.decks import edit, open_deck
from oneclaw_google_workspace.slides.elements import (
    EMU_PER_POINT,
    TEXT_FIELDS,
    elements_of,
    points,
    shown_text,
    title_of,
)
from oneclaw_google_workspace.wording import quoted, setting_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.slides.decks import Deck
    from oneclaw_google_workspace.slides.elements import Element

_FIELDS = (
    f"slides(objectId,pageElements(objectId,size,transform,shape(shapeType,placeholder/type,{TEXT_FIELDS}),"
    f"table(rows,columns,tableRows/tableCells(location,{TEXT_FIELDS})),elementGroup,image/contentUrl,video/url,"
    "line/lineType,wordArt/renderedText,sheetsChart/chartId))"
)
_TEXT_NAMES = ("bold", "italic", "underline", "font_family", "font_size", "text_color", "alignment", "link_url")
_PLACE_NAMES = ("x", "y", "width", "height")


@dataclass(frozen=True, slots=True)
class Look:
    """Format and place of an element, ``None`` for what stays as it is; see the manifest.

    Raises:
        GoogleError: nothing is, or a value is none.
    """

    bold: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    font_family: str | None = None
    font_size: float | None = None
    text_color: str | None = None
    fill_color: str | None = None
    alignment: str | None = None
    link_url: str | None = None
    x: float | None = None
    y: float | None = None
    width: float | None = None
    height: float | None = None

    def __post_init__(self) -> None:
        if not self.names:
            raise invalid("Give at least one format or place, such as bold, fill_color or x.")
        if self.link_url and not re.match(r"https?://|mailto:", self.link_url):
            raise invalid("link_url must begin with https://, http:// or mailto:; empty removes the link.")
        _ = self.text_style, self.fill  # colours are looked at before anything is sent

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arguments that set something."""
        return tuple(name for name in self.__slots__ if getattr(self, name) is not None)

    @property
    def described(self) -> str:
        """Words for the question to the user."""
        return ", ".join(setting_words(name, getattr(self, name)) for name in self.names)

    def has(self, names: tuple[str, ...]) -> bool:
        """Return True if one of these is to be set."""
        return any(name in names for name in self.names)

    @property
    def text_style(self) -> dict[str, Any]:
        """By Google's names; a value of ``None`` takes away what is set."""
        names = ("bold", "italic", "underline")
        found: dict[str, Any] = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.font_family is not None:
            found["fontFamily"] = self.font_family
        if self.font_size is not None:
            found["fontSize"] = {"magnitude": self.font_size, "unit": "PT"}
        if self.text_color is not None:
            found["foregroundColor"] = {"opaqueColor": {"rgbColor": rgb("text_color", self.text_color)}}
        if self.link_url is not None:
            found["link"] = {"url": self.link_url} if self.link_url else None
        return found

    @property
    def fill(self) -> dict[str, Any] | None:
        """The colour of a surface; ``None`` for the one that it has."""
        if self.fill_color is None:
            return None
        return {"solidFill": {"color": {"rgbColor": rgb("fill_color", self.fill_color)}}}


@google_tool
async def slides_format(
    presentation_id: str,
    object_id: str,
    row: int | None = None,
    column: int | None = None,
    bold: bool | None = None,
    italic: bool | None = None,
    underline: bool | None = None,
    font_family: str | None = None,
    font_size: float | None = None,
    text_color: str | None = None,
    fill_color: str | None = None,
    alignment: str | None = None,
    link_url: str | None = None,
    x: float | None = None,
    y: float | None = None,
    width: float | None = None,
    height: float | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Format, move or resize an element, or colour a slide."""
    google = connect(context)
    wanted = file_id(presentation_id, "presentation_id")
    look = Look(
        *(bold, italic, underline, font_family, font_size, text_color, fill_color, alignment, link_url),
        *(x, y, width, height),
    )
    if (row is None) != (column is None):
        raise invalid("A cell of a table needs row and column.")
    cell = None if row is None else {"rowIndex": row, "columnIndex": column}
    deck = await open_deck(google, wanted, _FIELDS)
    if object_id in deck.slide_ids:
        requests = _slide_requests(object_id, look, cell)
        what = _slide_words(deck, object_id)
    else:
        element, slide_id = _find(deck, object_id)
        requests = _element_requests(element, look, cell)
        text = f" {quoted(element.text, 40)}" if element.text.strip() else ""
        at = "" if cell is None else f"cell {row}, {column} of "
        what = f"{at}the {element.kind.replace('_', ' ')}{text} on {_slide_words(deck, slide_id)}"
    await google.ask(f"format {what} of {deck.named}: {look.described}")
    done = await edit(google, wanted, requests, revision_id=deck.revision_id)
    return {"object_id": object_id, "applied": list(look.names), "revision_id": done.revision_id}


def _find(deck: Deck, object_id: str) -> tuple[Element, str]:
    for slide in deck.slides:
        for element in elements_of(slide):
            if element.id == object_id:
                return element, str(slide["objectId"])
    raise GoogleError("not_found", "There is no element of that object_id: see slides_read with include_elements.")


def _slide_words(deck: Deck, slide_id: str) -> str:
    number = deck.slide_ids.index(slide_id)
    title = title_of(deck.slides[number])
    return f"slide {number + 1}{f' ({quoted(title, 40)})' if title else ''}"


def _slide_requests(slide_id: str, look: Look, cell: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    if look.names != ("fill_color",) or cell is not None:
        raise invalid("Of a slide as a whole only fill_color can be set: the colour of its background.")
    properties = {"pageProperties": {"pageBackgroundFill": look.fill}, "fields": "pageBackgroundFill.solidFill.color"}
    return [{"updatePageProperties": {"objectId": slide_id, **properties}}]


def _element_requests(element: Element, look: Look, cell: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Make the requests for an element.

    Raises:
        GoogleError: it cannot have such a format or place.
    """
    is_table, is_shape = "table" in element.raw, "shape" in element.raw
    if cell is not None and not is_table:
        raise invalid("This is no table: leave row and column out.")
    if look.has((*_TEXT_NAMES, "fill_color")) and not (is_shape or is_table):
        raise invalid("This element holds no text and no fill: only its place and size can be changed.")
    requests: list[dict[str, Any]] = []
    for where, has_text in _texts(element, cell) if look.has(_TEXT_NAMES) else ():
        if has_text:
            requests += _text_requests({"objectId": element.id, **where}, look)
    if look.has(_TEXT_NAMES) and not requests:
        raise invalid("There is no text to format: write one with slides_update_text first.")
    if look.fill is not None:
        requests.append(_fill_request(element, look.fill, cell))
    if look.has(_PLACE_NAMES):
        requests.append(_place_request(element, look))
    return requests


def _texts(element: Element, cell: Mapping[str, Any] | None) -> list[tuple[dict[str, Any], bool]]:
    """List the places of text in an element, each with True if it has text; of a table all cells, or one."""
    if "table" not in element.raw:
        return [({}, bool(element.text))]
    found = []
    for row in element.raw["table"].get("tableRows", []):
        for each in row.get("tableCells", []):
            place = {key: int(each.get("location", {}).get(key, 0)) for key in ("rowIndex", "columnIndex")}
            if cell in (None, place):
                found.append(({"cellLocation": place}, bool(shown_text(each.get("text", {})))))
    if not found:
        raise invalid("The table has no such cell: row and column count from 0.")
    return found


def _text_requests(place: Mapping[str, Any], look: Look) -> list[dict[str, Any]]:
    whole = {**place, "textRange": {"type": "ALL"}}
    requests: list[dict[str, Any]] = []
    if style := look.text_style:
        given = {name: value for name, value in style.items() if value is not None}
        requests.append({"updateTextStyle": {**whole, "style": given, "fields": ",".join(style)}})
    if look.alignment is not None:
        aligned = {"style": {"alignment": look.alignment}, "fields": "alignment"}
        requests.append({"updateParagraphStyle": {**whole, **aligned}})
    return requests


def _fill_request(element: Element, fill: Mapping[str, Any], cell: Mapping[str, Any] | None) -> dict[str, Any]:
    if "shape" in element.raw:
        properties = {"shapeProperties": {"shapeBackgroundFill": fill}, "fields": "shapeBackgroundFill.solidFill.color"}
        return {"updateShapeProperties": {"objectId": element.id, **properties}}
    colored = {"tableCellProperties": {"tableCellBackgroundFill": fill}}
    properties = {**colored, "fields": "tableCellBackgroundFill.solidFill.color"}
    part = {"tableRange": {"location": cell, "rowSpan": 1, "columnSpan": 1}} if cell is not None else {}
    return {"updateTableCellProperties": {"objectId": element.id, **part, **properties}}


def _place_request(element: Element, look: Look) -> dict[str, Any]:
    """Move and stretch an element; where nothing is said, it stays.

    Raises:
        GoogleError: it is turned, or in a group, so that Google counts from elsewhere.
    """
    now = element.transform
    width, height = (points(element.raw.get("size", {}).get(side, {})) for side in ("width", "height"))
    if element.group_id or now.shear_x or now.shear_y:
        raise invalid("An element that is turned or in a group can only be moved in Google Slides itself.")
    if (look.width is not None and not width) or (look.height is not None and not height):
        raise invalid("This element has no width or height that could be changed.")
    transform = {
        "scaleX": now.scale_x if look.width is None else look.width / width,
        "scaleY": now.scale_y if look.height is None else look.height / height,
        "translateX": now.translate_x / EMU_PER_POINT if look.x is None else look.x,
        "translateY": now.translate_y / EMU_PER_POINT if look.y is None else look.y,
    }
    rounded = {name: round(value, 4) for name, value in compact(transform).items()}
    absolute = {"applyMode": "ABSOLUTE", "transform": {**rounded, "unit": "PT"}}
    return {"updatePageElementTransform": {"objectId": element.id, **absolute}}
