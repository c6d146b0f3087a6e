"""The tools of the group ``google_sheets`` that read."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.comments import (
    INCLUDED,
    THREAD_FIELDS,
    comment_rows,
    is_unknown_to_the_editor,
    threads_by_drive,
)
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError
from oneclaw_google_workspace.sheets.a1 import Area, column_letters, format_reference
from oneclaw_google_workspace.sheets.book import TAB_FIELDS, Place, Tab, get_spreadsheet, read_book
from oneclaw_google_workspace.sheets.info import info_fields, info_row, range_text
from oneclaw_google_workspace.sheets.writing import cells_of
from oneclaw_google_workspace.shown_size import json_length, room_beside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.sheets.writing import Rows

# A model is shown the first 30,000 characters of a result; what is cut here, it can ask for.
SHOWN_CHARACTERS = 24_000
CELL_CHARACTERS = 2_000
_LEAST_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a range that is shown.

    Attributes:
        area: the cells that are shown.
        rows: their values, all of the same length; without the empty rows at the end.
        rest: what is not shown and may hold something, each a range to ask for next.
        is_cut: whether there is certainly more.
        cut_cells: single cells of which only the beginning is shown.
    """

    area: Area
    rows: Rows
    rest: tuple[Area, ...]
    is_cut: bool
    cut_cells: tuple[Area, ...]


def window(wanted: Area, asked: Area, values: Sequence[Sequence[Any]], max_rows: int, characters: int) -> Window:
    """Choose what is shown.

    Args:
        wanted: the range, with its ends known.
        asked: its beginning, of which Google was asked for the values.
        values: what Google answered: rows without the empty cells at their ends, and without the empty rows at the end.
        max_rows: at most so many.
        characters: as JSON, at most about so many; one cell is always shown.
    """
    limit = sys.maxsize if asked.is_cell else min(CELL_CHARACTERS, max(characters, _LEAST_CHARACTERS))
    rows = [[_cut(cell, limit) for cell in row] for row in values[:max_rows]]
    width = max((len(row) for row in rows), default=0)
    padded = [[*row, *[""] * (width - len(row))] for row in rows]
    shown_width = _fitting([_size(cell) for cell in padded[0]], characters) if padded else width
    narrowed = [row[:shown_width] for row in padded]
    count = _fitting([sum(map(_size, row)) + 2 for row in narrowed], characters)
    shown = narrowed[:count]
    assert wanted.end_row is not None
    assert wanted.end_column is not None
    next_row = wanted.start_row + count
    is_cut = count < len(values) or shown_width < width
    rest: list[Area] = []
    if shown_width < width:
        rest.append(Area(wanted.start_row, next_row, wanted.start_column + shown_width, wanted.start_column + width))
    if count < len(values):
        rest.append(Area(next_row, wanted.end_row, wanted.start_column, wanted.end_column))
    elif asked.end_row is not None and asked.end_row < wanted.end_row:
        rest.append(Area(asked.end_row, wanted.end_row, wanted.start_column, wanted.end_column))
    cut_cells = [
        wanted.cell(row_number, column)
        for row_number, row in enumerate(values[:count])
        for column, cell in enumerate(row[:shown_width])
        if isinstance(cell, str) and len(cell) > limit
    ]
    area = wanted.sized(max(count, 1), max(shown_width, 1)) if shown else wanted
    return Window(area, shown, tuple(rest), is_cut, tuple(cut_cells))


def records(rows: Rows, first_column: int) -> list[dict[str, Any]]:
    """Make objects of rows, with the first row's values as keys; empty cells are left out.

    A key that is empty or there already is, or is completed by, the letters of its column.

    Args:
        rows: all of the same length.
        first_column: of the first cell of each row.
    """
    if not rows:
        return []
    keys: list[str] = []
    for number, title in enumerate(rows[0]):
        letters = column_letters(first_column + number)
        name = " ".join(str(title).split()) or letters
        while name in keys:
            name = f"{name} ({letters})"
        keys.append(name)
    return [{key: cell for key, cell in zip(keys, row, strict=True) if cell not in ("", None)} for row in rows[1:]]


def references(tab: str, areas: Sequence[Area]) -> list[str]:
    """Write ranges of a tab in A1 notation."""
    return [format_reference(tab, area) for area in areas]


def _cut(cell: Any, limit: int) -> Any:
    return f"{cell[:limit]}..." if isinstance(cell, str) and len(cell) > limit else cell


def _size(cell: Any) -> int:
    return len(json.dumps(cell, ensure_ascii=False)) + 1


def _fitting(sizes: Sequence[int], characters: int) -> int:
    """Return the number of leading items that fit, at least one."""
    total = 0
    for number, size in enumerate(sizes):
        total += size
        if total > characters and number:
            return number
    return len(sizes)


FORMATTED = "FORMATTED_VALUE"
# Up to so many cells, Google is asked for all of a range, so that its real end is known.
_WHOLE_CELLS = 100_000


@google_tool
async def sheets_get_info(
    spreadsheet_id: str, include: list[str] | None = None, *, context: ToolContext
) -> dict[str, Any]:
    """Describe a spreadsheet without its cells."""
    google = connect(context)
    wanted = tuple(dict.fromkeys(include or ()))
    parts = tuple(each for each in wanted if each != "comments")
    book_id = file_id(spreadsheet_id, "spreadsheet_id")
    answer = await get_spreadsheet(google, book_id, info_fields(parts))
    shown = info_row(answer, parts)
    if "comments" in wanted:
        shown |= await _comments(google, book_id, room_beside(from_outside(shown, "spreadsheets"), context))
    return from_outside(shown, "spreadsheets")


@google_tool
async def sheets_read_values(
    spreadsheet_id: str,
    ranges: list[str] | None = None,
    value_render: str = FORMATTED,
    as_records: bool = False,
    max_rows: int = 500,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Read ranges of cells."""
    google = connect(context)
    book = await read_book(google, spreadsheet_id)
    places = [book.place(text) for text in ranges or ()] or [Place(book.first_tab(), Area())]
    asked = [_asked(place, max_rows, len(places)) for place in places]
    answer = await google.call(
        "sheets.spreadsheets.values.batchGet",
        spreadsheetId=book.id,
        ranges=[Place(place.tab, area).text for place, area in zip(places, asked, strict=True)],
        majorDimension="ROWS",
        valueRenderOption=value_render,
        # Else dates come as days since 1899-12-30.
        dateTimeRenderOption=None if value_render == FORMATTED else "FORMATTED_STRING",
        fields="valueRanges(range,values)",
    )
    rows: list[dict[str, Any]] = []
    left = SHOWN_CHARACTERS
    if context.shown_characters is not None:
        left = min(left, context.shown_characters * 4 // 5)
    for place, area, found in zip(places, asked, answer.get("valueRanges", []), strict=True):
        share = left // (len(places) - len(rows))
        row, used = _range_row(place, area, found.get("values", []), max_rows, share, as_records=as_records)
        left = max(left - used, 0)
        rows.append(row)
    return from_outside({"title": book.title, "ranges": rows}, "cells")


async def _comments(google: GoogleClient, book_id: str, room: int | None) -> dict[str, Any]:
    anchors = f"sheets(properties({TAB_FIELDS}),commentAnchors(anchorId,range))"
    try:
        found = await google.call(
            "sheets.spreadsheets.get",
            spreadsheetId=book_id,
            commentsViewMode=INCLUDED,
            fields=f"{THREAD_FIELDS},{anchors}",
        )
    except GoogleError as error:
        if not is_unknown_to_the_editor(error):
            raise
        found = {"comments": await threads_by_drive(google, book_id)}
    places = {
        str(anchor.get("anchorId", "")): {"cell": range_text(Tab.of(sheet.get("properties", {})), anchor["range"])}
        for sheet in found.get("sheets", [])
        for anchor in sheet.get("commentAnchors", [])
        if "range" in anchor
    }
    return comment_rows(found.get("comments", []), room, places)


def _asked(place: Place, max_rows: int, ranges: int) -> Area:
    """The part of a range to ask for: all of it, if that is not much, else one row more than can be shown."""
    inside = place.inside
    if cells_of(inside) <= _WHOLE_CELLS // ranges:
        return inside
    return inside.within(inside.start_row + max_rows + 1, place.tab.columns) or inside


def _range_row(
    place: Place, asked: Area, values: list[list[Any]], max_rows: int, characters: int, *, as_records: bool
) -> tuple[dict[str, Any], int]:
    shown = window(place.inside, asked, values, max_rows, characters)
    rows: list[Any] = records(shown.rows, shown.area.start_column) if as_records else shown.rows
    # Each record repeats the titles of the columns.
    while as_records and len(rows) > 1 and (length := json_length(rows)) > characters:
        shown = window(place.inside, asked, values, max(len(rows) * characters // length, 1) + 1, characters)
        rows = records(shown.rows, shown.area.start_column)
    title = place.tab.title
    row: dict[str, Any] = {
        "range": references(title, [shown.area])[0],
        "rows": rows,
        "row_count": len(shown.rows),
    }
    if shown.is_cut:
        row["truncated"] = True
    key = "continue_with" if shown.is_cut else "not_read"
    row |= compact({key: references(title, shown.rest), "cut_cells": references(title, shown.cut_cells[:50])})
    return row, sum(len(str(value)) for value in row.values())
