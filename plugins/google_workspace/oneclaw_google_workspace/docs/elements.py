"""Putting tables, images and page breaks into documents: ``docs_insert_element``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.docs.document import Place, Updated, open_document, update
from oneclaw_google_workspace.docs.writing import INDEX_HINT
from oneclaw_google_workspace.editors import image_address, insertable, utf16_length
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import excerpt, table_said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

MAX_ROWS, MAX_COLUMNS = 200, 20


@google_tool
async def docs_insert_element(
    document_id: str,
    element: str,
    position: str = "end",
    index: int | None = None,
    anchor_text: str | None = None,
    occurrence: int = 1,
    tab_id: str | None = None,
    rows: int | None = None,
    columns: int | None = None,
    data: list[list[str]] | None = None,
    bold_header: bool = False,
    image_url: str | None = None,
    width_pt: float | None = None,
    height_pt: float | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Insert a table, an image or a page break."""
    google = connect(context)
    place = Place(position, index, anchor_text, occurrence, tab_id)
    wanted = file_id(document_id, "document_id")
    _check_element(
        element,
        table={"rows": rows, "columns": columns, "data": data, "bold_header": bold_header or None},
        image={"image_url": image_url, "width_pt": width_pt, "height_pt": height_pt},
    )
    table = _table_cells(rows, columns, data) if element == "table" else []
    content: dict[str, Any]
    if element == "table":
        name, what = "insertTable", f"a table of {len(table)} x {len(table[0])} cells{table_said(table)}"
        content = {"rows": len(table), "columns": len(table[0])}
    elif element == "image":
        url = image_address(image_url)
        name, what = "insertInlineImage", f"the image {excerpt(url, 200)}"
        content = {"uri": url, **compact({"objectSize": _size(width_pt, height_pt)})}
    else:
        name, what, content = "insertPageBreak", "a page break", {}
    document = await open_document(google, wanted, with_text=True)
    start = place.find(document)
    await google.ask(f"insert {what} {place.described} {document.named}")
    done = await update(
        google,
        wanted,
        [{name: {**content, **place.location(start)}}],
        revision_id=document.revision_id,
        hint=INDEX_HINT if element != "page_break" else f"{INDEX_HINT} A page break cannot go into a table.",
    )
    # A table gets a newline before it.
    at_index = start + 1 if element == "table" else start
    if element == "table" and (bold_header or any(map(any, table))):
        done = await _fill_table(google, wanted, place, at_index, table, bold_header)
    reply = done.replies[0].get("insertInlineImage", {}) if done.replies else {}
    answer = {
        "document_id": wanted,
        "element": element,
        "at_index": at_index,
        "rows": len(table),
        "columns": len(table[0]) if table else 0,
        "object_id": reply.get("objectId"),
        "revision_id": done.revision_id,
    }
    return compact({key: value for key, value in answer.items() if value != 0})


def _check_element(element: str, **arguments: Mapping[str, Any]) -> None:
    for kind, values in arguments.items():
        given = [name for name, value in values.items() if value is not None]
        if given and kind != element:
            raise invalid(f"{', '.join(given)} goes with element {kind}, not with {element}.")


def _table_cells(rows: int | None, columns: int | None, data: Sequence[Sequence[str]] | None) -> list[list[str]]:
    """Make the texts of all cells, the missing ones empty."""
    needed_rows, needed_columns = len(data or ()), max(map(len, data or ()), default=0)
    rows, columns = rows or needed_rows, columns or needed_columns
    if not rows or not columns:
        raise invalid("A table needs data, or rows and columns.")
    if rows < needed_rows or columns < needed_columns:
        raise invalid(f"data has {needed_rows} x {needed_columns} cells, more than rows and columns say.")
    if rows > MAX_ROWS or columns > MAX_COLUMNS:
        raise invalid(f"A table can have {MAX_ROWS} rows and {MAX_COLUMNS} columns at most.")
    texts = [[insertable(str(cell)) for cell in row] for row in data or ()]
    texts += [[] for _ in range(rows - needed_rows)]
    return [row + [""] * (columns - len(row)) for row in texts]


def _size(width: float | None, height: float | None) -> dict[str, Any]:
    sides = {"width": width, "height": height}
    return {side: {"magnitude": points, "unit": "PT"} for side, points in sides.items() if points is not None}


async def _fill_table(
    google: GoogleClient, document_id: str, place: Place, start: int, table: list[list[str]], bold_header: bool
) -> Updated:
    """Write into the cells of a table that has just been inserted; where they are is known only now."""
    try:
        document = await open_document(google, document_id, with_text=True)
        starts = _cell_starts(document.tab(place.tab_id).body, start)
        if [len(row) for row in starts] != [len(row) for row in table]:
            raise GoogleError("conflict", "The document was changed by somebody else meanwhile.")
        requests = fill_requests(starts, table, bold_header, place.tab_id)
        return await update(google, document_id, requests, revision_id=document.revision_id)
    except GoogleError as error:
        raise GoogleError(
            error.error_type,
            f"The table was inserted at index {start}, but its cells could not be filled. {error}",
            status=error.status,
            reasons=error.reasons,
        ) from None


def _cell_starts(body: Sequence[Mapping[str, Any]], start: int) -> list[list[int]]:
    """Find the indexes at which the cells of the table at an index begin, those of tables in cells included."""
    for element in body:
        if "table" not in element:
            continue
        rows = element["table"].get("tableRows", [])
        if element.get("startIndex") == start:
            return [[int(cell["content"][0]["startIndex"]) for cell in row["tableCells"]] for row in rows]
        for row in rows:
            for cell in row.get("tableCells", []):
                if inner := _cell_starts(cell.get("content", []), start):
                    return inner
    return []


def fill_requests(
    starts: Sequence[Sequence[int]], table: Sequence[Sequence[str]], bold_header: bool, tab_id: str | None
) -> list[dict[str, Any]]:
    """Write texts into empty cells, from the last to the first, so that none moves another.

    Args:
        starts: the index of each cell's text.
        table: the texts.
        bold_header: whether the first row is bold.
        tab_id: of the tab, ``None`` for the first.
    """
    requests: list[dict[str, Any]] = []
    for number in range(len(table) - 1, -1, -1):
        for start, text in reversed(list(zip(starts[number], table[number], strict=True))):
            if text:
                location = compact({"index": start, "tabId": tab_id})
                requests.append({"insertText": {"text": text, "location": location}})
            if bold_header and number == 0:
                # In an empty cell this is its newline, and so what is written there later.
                where = compact({"startIndex": start, "endIndex": start + max(utf16_length(text), 1), "tabId": tab_id})
                requests.append({"updateTextStyle": {"range": where, "textStyle": {"bold": True}, "fields": "bold"}})
    return requests
