"""Contents of slides: adding, formatting and moving elements, changing texts, and commenting."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import (
    compact,
    counted,
    excerpt,
    file_id,
    google_tool,
    passage,
    quoted,
    table_said,
)
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.editors import (
    Look,
    Remark,
    Replacements,
    add_by_drive,
    added,
    answer_by_drive,
    check_place,
    image_address,
    insertable,
    made_id,
    rgb,
    utf16_length,
)
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.slides.deck import (
    EMU_PER_POINT,
    OUTLINE_FIELDS,
    TEXT_FIELDS,
    edit,
    elements_of,
    new_id,
    open_deck,
    points,
    shown_text,
    text_end,
    title_of,
)
from oneclaw_google_workspace.slides.new_slides import BULLETS, fill, place_on

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.slides.deck import Deck, Element

_SHAPE = f"objectId,shape(shapeType,{TEXT_FIELDS})"
_WRITTEN_FIELDS = (
    f"slides(objectId,pageElements({_SHAPE},table(rows,columns,tableRows/tableCells(location,{TEXT_FIELDS})),"
    "elementGroup),slideProperties/notesPage(notesProperties/speakerNotesObjectId,"
    f"pageElements({_SHAPE})))"
)
_TITLE_FIELDS = f"slides(objectId,pageElements(objectId,shape(placeholder/type,{TEXT_FIELDS})))"
_MAX_CELLS = 25 * 20
_FORMATTED_FIELDS = (
    f"slides(objectId,pageElements(objectId,size,transform,shape(shapeType,placeholder/type,{TEXT_FIELDS}),"
    f"table(rows,columns,tableRows/tableCells(location,{TEXT_FIELDS})),elementGroup,image/contentUrl,video/url,"
    "line/lineType,wordArt/renderedText,sheetsChart/chartId))"
)
_TEXT_NAMES = ("bold", "italic", "underline", "font_family", "font_size", "text_color", "alignment", "link_url")
_PLACE_NAMES = ("x", "y", "width", "height")


@google_tool
async def slides_update_text(
    presentation_id: str,
    replacements: list[dict[str, Any]] | None = None,
    slide_ids: list[str] | None = None,
    object_id: str | None = None,
    row: int | None = None,
    column: int | None = None,
    text: str | None = None,
    mode: str = "set",
    bullets: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Find and replace, or set the text of one shape or cell."""
    google = connect(context)
    wanted = file_id(presentation_id, "presentation_id")
    has_object = any(value is not None for value in (object_id, row, column, text)) or bullets
    if bool(replacements) == has_object:
        raise invalid("Give either replacements, or object_id and text.")
    if replacements:
        return await _replace_all(google, wanted, Replacements.of(replacements), slide_ids)
    if slide_ids:
        raise invalid("slide_ids go with replacements; an object_id is on one slide anyway.")
    if not object_id or text is None or (row is None) != (column is None):
        raise invalid("Give object_id and text; for a cell of a table row and column, too.")
    text = insertable(text)
    if not text and (mode == "append" or bullets):
        raise invalid("Give the text; only with mode set it may be empty, which clears the text.")
    deck = await open_deck(google, wanted, _WRITTEN_FIELDS)
    before, end = _present_text(deck, object_id, row, column)
    where = "the table" if row is not None else "a shape"
    if mode == "append":
        detail = f"append {passage(text)} to {quoted(before)}"
    else:
        detail = f"replace {passage(before)} by {passage(text)}"
    await google.ask(f"{detail} in {where} of {deck.named}")
    place: dict[str, Any] = {"objectId": object_id}
    if row is not None:
        place |= {"cellLocation": {"rowIndex": row, "columnIndex": column}}
    done = await edit(
        google,
        wanted,
        _requests(place, text, end, is_append=mode == "append", bullets=bullets),
        revision_id=deck.revision_id,
    )
    return {
        **compact({"object_id": object_id, "row": row, "column": column, "length": utf16_length(text)}),
        "revision_id": done.revision_id,
    }


async def _replace_all(
    google: GoogleClient, presentation_id: str, pairs: Replacements, slide_ids: Sequence[str] | None
) -> dict[str, Any]:
    deck = await open_deck(google, presentation_id, "slides/objectId")
    deck.check_slides(slide_ids or ())
    where = f"on {counted(len(slide_ids), 'slide')} of" if slide_ids else "throughout"
    await google.ask(f"replace {pairs.described} {where} {deck.named}")
    pages = compact({"pageObjectIds": slide_ids})
    done = await edit(google, presentation_id, [{"replaceAllText": {**each, **pages}} for each in pairs.requests])
    return {"replaced": pairs.counts(done.replies), "revision_id": done.revision_id}


def _present_text(deck: Deck, object_id: str, row: int | None, column: int | None) -> tuple[str, int]:
    """Find the text that is there now, and the index at its end.

    Raises:
        GoogleError: there is no such shape or cell.
    """
    for slide in deck.slides:
        notes = slide.get("slideProperties", {}).get("notesPage", {})
        for element in (*elements_of(slide), *elements_of(notes)):
            if element.id == object_id:
                content = _cell(element.raw, row, column) if "table" in element.raw else _shape(element.raw, row)
                return shown_text(content), text_end(content)
        # The shape of the notes is made when something is first written into it.
        if notes.get("notesProperties", {}).get("speakerNotesObjectId") == object_id and row is None:
            return "", 0
    raise GoogleError("not_found", "There is no element of that object_id: see slides_read with include_elements.")


def _shape(raw: Mapping[str, Any], row: int | None) -> Mapping[str, Any]:
    if "shape" not in raw:
        raise invalid("This element holds no text: give the object_id of a shape or a table.")
    if row is not None:
        raise invalid("This is a shape and no table: leave row and column out.")
    content: Mapping[str, Any] = raw["shape"].get("text", {})
    return content


def _cell(raw: Mapping[str, Any], row: int | None, column: int | None) -> Mapping[str, Any]:
    rows, columns = int(raw["table"].get("rows", 0)), int(raw["table"].get("columns", 0))
    if row is None or column is None or row >= rows or column >= columns:
        raise invalid(f"This is a table of {rows} x {columns} cells: give row and column, each from 0.")
    for cells in raw["table"].get("tableRows", []):
        for cell in cells.get("tableCells", []):
            place = cell.get("location", {})
            if (place.get("rowIndex", 0), place.get("columnIndex", 0)) == (row, column):
                content: Mapping[str, Any] = cell.get("text", {})
                return content
    raise invalid("This cell is part of a larger one: give the row and column at which that begins.")


def _requests(place: Mapping[str, Any], text: str, end: int, *, is_append: bool, bullets: bool) -> list[dict[str, Any]]:
    """Write the requests.

    Args:
        place: of the text.
        text: what is to be there, or to come behind it.
        end: the index at the end of what is there.
        is_append: whether that stays.
        bullets: whether the new text is to be a list.
    """
    requests: list[dict[str, Any]] = []
    start = end if is_append else 0
    if end and not is_append:
        requests.append({"deleteText": {**place, "textRange": {"type": "ALL"}}})
    if text:
        requests.append({"insertText": {**place, "text": text, "insertionIndex": start}})
    if bullets:
        first = start + len(text) - len(text.lstrip("\n"))
        whole: dict[str, Any] = {"type": "ALL"}
        part = {"type": "FIXED_RANGE", "startIndex": first, "endIndex": start + utf16_length(text)}
        is_part = is_append and first < start + utf16_length(text)
        requests.append(
            {"createParagraphBullets": {**place, "textRange": part if is_part else whole, "bulletPreset": BULLETS}}
        )
    return requests


@google_tool
async def slides_add_element(
    presentation_id: str,
    slide_id: str,
    element: str,
    x: float = 50,
    y: float = 100,
    width: float = 400,
    height: float = 200,
    text: str | None = None,
    shape_type: str = "RECTANGLE",
    font_size: float | None = None,
    bold: bool | None = None,
    text_color: str | None = None,
    fill_color: str | None = None,
    image_url: str | None = None,
    alt_text: str | None = None,
    data: list[list[str]] | None = None,
    spreadsheet_id: str | None = None,
    chart_id: int | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Put a text box, shape, image, table or chart on a slide."""
    google = connect(context)
    wanted = file_id(presentation_id, "presentation_id")
    is_shape = element in ("text_box", "shape")
    given: dict[str, Any] = {"text": text, "fill_color": fill_color, "image_url": image_url, "data": data}
    given |= {"spreadsheet_id": spreadsheet_id, "chart_id": chart_id}
    allowed = {"image": ("image_url",), "table": ("data",), "chart": ("spreadsheet_id", "chart_id")}.get(
        element, ("text", "fill_color")
    )
    wrong = [name for name, value in given.items() if value is not None and name not in allowed]
    if wrong:
        raise invalid(f"{', '.join(wrong)} cannot be given for element {element}.")
    look = _text_style(font_size, bold, text_color)
    text = insertable(text or "")
    table = [[insertable(str(cell)) for cell in row] for row in data or ()]
    if look and not (text or any(map(any, table))):
        raise invalid("font_size, bold and text_color need a text.")
    object_id = new_id()
    where = {"objectId": object_id, "elementProperties": place_on(slide_id, x, y, width, height)}
    requests: list[dict[str, Any]]
    if is_shape:
        kind = "TEXT_BOX" if element == "text_box" else shape_type
        requests = [{"createShape": {**where, "shapeType": kind}}]
        requests += [*fill(object_id, text), *_styling(object_id, look)] if text else []
        what = "a text box" if element == "text_box" else f"a shape ({shape_type.lower().replace('_', ' ')})"
        what += f" with the text {passage(text)}" if text else ""
    elif element == "image":
        url = image_address(image_url)
        requests = [{"createImage": {**where, "url": url}}]
        what = f"the image {excerpt(url, 200)}"
    elif element == "chart":
        if spreadsheet_id is None or chart_id is None:
            raise invalid("A chart needs spreadsheet_id and chart_id: see sheets_get_info with include charts.")
        book_id = file_id(spreadsheet_id, "spreadsheet_id")
        google.require_scopes("spreadsheets.readonly")
        source = {"spreadsheetId": book_id, "chartId": chart_id, "linkingMode": "LINKED"}
        requests = [{"createSheetsChart": {**where, **source}}]
        what = f"the chart {chart_id} of the spreadsheet {quoted(book_id)}, linked to it,"
    else:
        requests = _table_requests(where, table, look)
        what = f"a table of {len(table)} x {max(map(len, table))} cells{table_said(table)}"
    if fill_color is not None:
        requests.append(_filling(object_id, fill_color))
    if alt_text:
        requests.append({"updatePageElementAltText": {"objectId": object_id, "description": alt_text}})
    deck = await open_deck(google, wanted, _TITLE_FIELDS)
    deck.check_slides([slide_id])
    number = deck.slide_ids.index(slide_id)
    title = title_of(deck.slides[number])
    named = f"slide {number + 1}{f' ({quoted(title, 40)})' if title else ''}"
    described = f", described as {passage(alt_text)}" if alt_text else ""
    await google.ask(f"put {what} on {named} of {deck.named}{described}")
    await edit(google, wanted, requests, own_id=object_id)
    return {
        "object_id": object_id,
        "slide_id": slide_id,
        "element": element,
        **compact({"rows": len(table) or None, "columns": max(map(len, table), default=0) or None}),
        **{"x": x, "y": y, "width": width, "height": height},
    }


def _text_style(font_size: float | None, bold: bool | None, text_color: str | None) -> dict[str, Any]:
    color = None if text_color is None else {"opaqueColor": {"rgbColor": rgb("text_color", text_color)}}
    return compact(
        {
            "fontSize": None if font_size is None else {"magnitude": font_size, "unit": "PT"},
            "bold": bold,
            "foregroundColor": color,
        }
    )


def _styling(object_id: str, style: Mapping[str, Any], cell: Mapping[str, int] | None = None) -> list[dict[str, Any]]:
    if not style:
        return []
    place = {"objectId": object_id, **compact({"cellLocation": cell})}
    whole = {"textRange": {"type": "ALL"}, "style": style, "fields": ",".join(style)}
    return [{"updateTextStyle": {**place, **whole}}]


def _filling(object_id: str, color: str) -> dict[str, Any]:
    solid = {"solidFill": {"color": {"rgbColor": rgb("fill_color", color)}}}
    return {
        "updateShapeProperties": {
            "objectId": object_id,
            "shapeProperties": {"shapeBackgroundFill": solid},
            "fields": "shapeBackgroundFill.solidFill.color",
        }
    }


def _table_requests(
    where: Mapping[str, Any], table: Sequence[Sequence[str]], look: Mapping[str, Any]
) -> list[dict[str, Any]]:
    columns = max(map(len, table), default=0)
    if not columns:
        raise invalid("A table needs data: the texts of its cells by row.")
    if len(table) * columns > _MAX_CELLS:
        raise invalid(f"A table can have {_MAX_CELLS} cells at most.")
    object_id = where["objectId"]
    requests: list[dict[str, Any]] = [{"createTable": {**where, "rows": len(table), "columns": columns}}]
    for row, texts in enumerate(table):
        for column, text in enumerate(texts):
            if text:
                cell = {"rowIndex": row, "columnIndex": column}
                requests += [*fill(object_id, text, cell=cell), *_styling(object_id, look, cell)]
    return requests


@dataclass(frozen=True, slots=True)
class ElementLook(Look):
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
    look = ElementLook(
        *(bold, italic, underline, font_family, font_size, text_color, fill_color, alignment, link_url),
        *(x, y, width, height),
    )
    if (row is None) != (column is None):
        raise invalid("A cell of a table needs row and column.")
    cell = None if row is None else {"rowIndex": row, "columnIndex": column}
    deck = await open_deck(google, wanted, _FORMATTED_FIELDS)
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


def _slide_requests(slide_id: str, look: ElementLook, cell: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    if look.names != ("fill_color",) or cell is not None:
        raise invalid("Of a slide as a whole only fill_color can be set: the colour of its background.")
    properties = {"pageProperties": {"pageBackgroundFill": look.fill}, "fields": "pageBackgroundFill.solidFill.color"}
    return [{"updatePageProperties": {"objectId": slide_id, **properties}}]


def _element_requests(element: Element, look: ElementLook, cell: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Make the requests for an element.

    Raises:
        GoogleError: it cannot have such a format or place.
    """
    is_table, is_shape = "table" in element.raw, "shape" in element.raw
    if cell is not None and not is_table:
        raise invalid("This is not a table: leave row and column out.")
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


def _text_requests(place: Mapping[str, Any], look: ElementLook) -> list[dict[str, Any]]:
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


def _place_request(element: Element, look: ElementLook) -> dict[str, Any]:
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


@google_tool
async def slides_comment(
    presentation_id: str,
    action: str,
    text: str | None = None,
    comment_id: str | None = None,
    reply_id: str | None = None,
    object_id: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Comment on a slide, an element or a presentation, or answer a comment."""
    google = connect(context)
    wanted = file_id(presentation_id, "presentation_id")
    remark = Remark(action, text, comment_id, reply_id, "slides_read and include_comments")
    check_place(remark, object_id=object_id)
    if action != "add":
        return await answer_by_drive(google, wanted, remark, "presentation")
    deck = await open_deck(google, wanted, OUTLINE_FIELDS)
    if object_id is None:
        return added(await add_by_drive(google, wanted, remark, deck.named))
    await google.ask(f"comment on {_place_on_slides(deck, object_id)} of {deck.named}: {remark.said}")
    request = {"insertComment": {"content": remark.text, "objectId": object_id}}
    done = await edit(google, wanted, [request])
    return {**added(made_id(done.replies)), "object_id": object_id}


def _place_on_slides(deck: Deck, object_id: str) -> str:
    for number, slide in enumerate(deck.slides, 1):
        title = title_of(slide)
        named = f"slide {number}{f' ({quoted(title, 40)})' if title else ''}"
        if slide.get("objectId") == object_id:
            return named
        for element in elements_of(slide):
            if element.id == object_id:
                return f"the {element.kind.replace('_', ' ')} on {named}"
    raise GoogleError("not_found", f"The presentation has nothing of the id {object_id[:60]!r}: see slides_read.")
