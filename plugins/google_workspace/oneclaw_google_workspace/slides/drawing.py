"""Putting elements onto slides: ``slides_add_element``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.editors import image_address, insertable, rgb
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.slides.decks import edit, new_id, open_deck
from oneclaw_google_workspace.slides.elements import TEXT_FIELDS, title_of
from oneclaw_google_workspace.slides.new_slides import fill, place_on
from oneclaw_google_workspace.wording import excerpt, passage, quoted, table_said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext

_TITLE_FIELDS = f"slides(objectId,pageElements(objectId,shape(placeholder/type,{TEXT_FIELDS})))"
_MAX_CELLS = 25 * 20


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
