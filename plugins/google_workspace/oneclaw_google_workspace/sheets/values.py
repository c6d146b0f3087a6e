"""The values of cells: reading, writing and clearing them."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import (
    compact,
    counted,
    excerpt,
    from_outside,
    google_tool,
    json_length,
    listing,
    table_said,
)
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import invalid
from oneclaw_google_workspace.sheets.book import Area, Place, column_letters, format_reference, read_book

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.sheets.book import Book

Rows = list[list[Any]]
USER_ENTERED = "USER_ENTERED"
MAX_CELL_CHARACTERS = 50_000
COUNTED_CELLS = 100_000
COUNTED_RANGES = 50  # they all stand in one address
_SHOWN_FORMULAS = 3
_SHOWN_CHARACTERS = 200
# These fetch what is elsewhere, and can carry cells there in an address.
_REACHES_OUT = re.compile(r"\b(?:IMPORT(?:DATA|XML|HTML|FEED|RANGE)|IMAGE|HYPERLINK|GOOGLEFINANCE)\s*\(", re.IGNORECASE)
# A model is shown the first 30,000 characters of a result; what is cut here, it can ask for.
SHOWN_CHARACTERS = 24_000
CELL_CHARACTERS = 2_000
_LEAST_CHARACTERS = 200


def check_rows(rows: Rows, name: str = "values") -> tuple[int, int]:
    """Check what is to be written.

    Args:
        rows: of cells.
        name: of the argument, for messages.

    Returns:
        How many rows and columns it takes.

    Raises:
        GoogleError: there is nothing to write, or something that is no cell.
    """
    width = max((len(row) for row in rows), default=0)
    if not width:
        raise invalid(f"{name} must hold at least one row with one cell.")
    for row_number, row in enumerate(rows, 1):
        for column, cell in enumerate(row):
            where = f"{name}: cell {column_letters(column)} of row {row_number}"
            if isinstance(cell, dict | list):
                raise invalid(f"{where} must be a text, a number, true, false or null, no list and no object.")
            if isinstance(cell, str) and len(cell) > MAX_CELL_CHARACTERS:
                raise invalid(f"{where} is longer than {MAX_CELL_CHARACTERS} characters, which is Google's limit.")
    return len(rows), width


def written_cells(rows: Rows) -> int:
    """Count the cells that are written or emptied; ``null`` leaves one as it is."""
    return sum(1 for row in rows for cell in row if cell is not None)


def has_formulas(rows: Rows, value_input_option: str) -> bool:
    """Return True if some cells become formulas."""
    return next(_formulas(rows, value_input_option), None) is not None


def formula_note(rows: Rows, value_input_option: str) -> str:
    """Tell the user of formulas in what is to be written; first of those that reach beyond the spreadsheet."""
    formulas = list(_formulas(rows, value_input_option))
    if not formulas:
        return ""
    reaching = [formula for formula in formulas if _REACHES_OUT.search(formula)]
    note = f", with {counted(len(formulas), 'formula')}"
    if not reaching:
        return note
    shown = "; ".join(excerpt(formula, _SHOWN_CHARACTERS) for formula in reaching[:_SHOWN_FORMULAS])
    rest = f" and {len(reaching) - _SHOWN_FORMULAS} more" if len(reaching) > _SHOWN_FORMULAS else ""
    return f"{note}, of which {len(reaching)} can send data elsewhere: {shown}{rest}"


def filled_note(filled: int | None) -> str:
    """Tell the user how much is overwritten; see :func:`filled_cells`."""
    if filled is None:
        return ", over whatever is there"
    return f", over {counted(filled, 'filled cell')}" if filled else ""


async def filled_cells(google: GoogleClient, spreadsheet_id: str, places: Iterable[Place]) -> int | None:
    """Count the cells of some ranges that hold something, for the question to the user.

    Returns:
        How many; ``None`` if the ranges are so large or so many that counting would take long.

    Raises:
        GoogleError: it did not work out.
    """
    inside = [(place.tab, area) for place in places if (area := place.area.within(place.tab.rows, place.tab.columns))]
    if sum(cells_of(area) for _, area in inside) > COUNTED_CELLS:
        return None
    if not inside:
        return 0
    if len(inside) > COUNTED_RANGES:
        return None
    answer = await google.call(
        "sheets.spreadsheets.values.batchGet",
        spreadsheetId=spreadsheet_id,
        ranges=[format_reference(tab.title, area) for tab, area in inside],
        valueRenderOption="FORMULA",
        fields="valueRanges/values",
    )
    rows: Iterable[Sequence[Any]] = (row for found in answer.get("valueRanges", []) for row in found.get("values", []))
    return sum(1 for row in rows for value in row if value not in ("", None))


def cells_of(area: Area) -> int:
    """Count the cells of a range whose ends are known."""
    assert area.end_row is not None
    assert area.end_column is not None
    return (area.end_row - area.start_row) * (area.end_column - area.start_column)


def _formulas(rows: Rows, value_input_option: str) -> Iterator[str]:
    if value_input_option != USER_ENTERED:
        return
    for row in rows:
        for cell in row:
            if not isinstance(cell, str):
                continue
            # A plus or minus begins a formula as well as a number; only what calls something is told.
            begin = cell.lstrip()[:1]
            if cell.startswith("=") or (begin in ("=", "+", "-") and _REACHES_OUT.search(cell)):
                yield cell


_SHOWN_RESULTS = 50


@google_tool
async def sheets_update_values(
    spreadsheet_id: str,
    range: str,  # noqa: A002  # the parameter's name in the manifest
    values: Rows,
    more: list[dict[str, Any]] | None = None,
    value_input_option: str = USER_ENTERED,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Write values or formulas into ranges, over what is there."""
    google = connect(context)
    parts = [(range, values), *((each["range"], each["values"]) for each in more or ())]
    sizes = [check_rows(rows, f"values of {text[:60]}") for text, rows in parts]
    book = await read_book(google, spreadsheet_id)
    places = [_target(book, text, size) for (text, _), size in zip(parts, sizes, strict=True)]
    all_rows = [row for _, rows in parts for row in rows]
    detail = (
        f"write {counted(written_cells(all_rows), 'cell')} into {listing(place.text for place in places)} of the "
        f"spreadsheet {listing([book.title])}"
    )
    filled = await filled_cells(google, book.id, places)
    notes = f"{filled_note(filled)}{formula_note(all_rows, value_input_option)}"
    await google.ask(f"{detail}{notes}{table_said(all_rows)}")
    data = [
        {"range": place.text, "majorDimension": "ROWS", "values": rows}
        for place, (_, rows) in zip(places, parts, strict=True)
    ]
    # What a formula comes to is worth knowing at once, above all if it is an error.
    wants_results = has_formulas(all_rows, value_input_option)
    answered = "updatedRange,updatedCells" + (",updatedData/values" if wants_results else "")
    if len(data) == 1:
        update = await google.call(
            "sheets.spreadsheets.values.update",
            spreadsheetId=book.id,
            range=places[0].text,
            body=data[0],
            valueInputOption=value_input_option,
            includeValuesInResponse=wants_results or None,
            fields=answered,
        )
        updates = [update]
    else:
        several = await google.call(
            "sheets.spreadsheets.values.batchUpdate",
            spreadsheetId=book.id,
            body={
                "valueInputOption": value_input_option,
                "data": data,
                **({"includeValuesInResponse": True} if wants_results else {}),
            },
            fields=f"responses({answered})",
        )
        updates = several.get("responses", [])
    updated = [{"range": each.get("updatedRange"), "cells": each.get("updatedCells", 0)} for each in updates]
    answer = {"updated": updated, "total_cells": sum(each["cells"] for each in updated)}
    if not wants_results:
        return answer
    # A formula can have fetched what others wrote.
    return from_outside({**answer, "results": _results(places, parts, updates)}, "results")


@google_tool
async def sheets_append_rows(
    spreadsheet_id: str,
    values: Rows,
    range: str | None = None,  # noqa: A002  # the parameter's name in the manifest
    insert_data_option: str = "INSERT_ROWS",
    value_input_option: str = USER_ENTERED,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Add rows below a table."""
    google = connect(context)
    check_rows(values)
    book = await read_book(google, spreadsheet_id)
    place = book.place(range) if range else Place(book.first_tab(), Area())
    over = ", over what is in the rows below" if insert_data_option == "OVERWRITE" else ""
    await google.ask(
        f"add {counted(len(values), 'row')} below the table in {place.text} of the spreadsheet "
        f"{listing([book.title])}{over}{formula_note(values, value_input_option)}{table_said(values)}"
    )
    answer = await google.call(
        "sheets.spreadsheets.values.append",
        spreadsheetId=book.id,
        range=place.text,
        body={"range": place.text, "majorDimension": "ROWS", "values": values},
        valueInputOption=value_input_option,
        insertDataOption=insert_data_option,
        fields="tableRange,updates(updatedRange,updatedRows,updatedCells)",
        unclear_hint=f"Look at the last rows of {place.tab.title!r} with sheets_read_values",
    )
    updates = answer.get("updates", {})
    return {
        **compact({"table_range": answer.get("tableRange"), "updated_range": updates.get("updatedRange")}),
        "rows": updates.get("updatedRows", 0),
        "cells": updates.get("updatedCells", 0),
    }


@google_tool
async def sheets_clear_values(spreadsheet_id: str, ranges: list[str], *, context: ToolContext) -> dict[str, Any]:
    """Empty cells; their formats stay."""
    google = connect(context)
    book = await read_book(google, spreadsheet_id)
    places = [book.place(text) for text in dict.fromkeys(ranges)]
    for place in places:
        _ = place.inside  # refuses what is outside the tab before anybody is asked
    filled = await filled_cells(google, book.id, places)
    if filled is None:
        what = "everything"
    else:
        what = f"the {counted(filled, 'filled cell')}" if filled else "the cells, which are empty,"
    await google.ask(f"empty {what} in {listing(map(_named, places))} of the spreadsheet {listing([book.title])}")
    answer = await google.call(
        "sheets.spreadsheets.values.batchClear",
        spreadsheetId=book.id,
        body={"ranges": [place.text for place in places]},
        fields="clearedRanges",
    )
    return {"cleared_ranges": answer.get("clearedRanges", []), **compact({"cleared_cells": filled})}


def _named(place: Place) -> str:
    return f"the whole tab {place.tab.title}" if place.area.is_everything else place.text


def _target(book: Book, text: str, size: tuple[int, int]) -> Place:
    """The cells that are written: of a range the part that values are given for, of a single cell what begins there.

    Raises:
        GoogleError: they do not fit into the range or the tab.
    """
    place = book.place(text)
    rows, columns = size
    target = place.area.sized(rows, columns)
    if not place.area.is_cell:
        for given, have, what in (
            (place.area.end_row, target.end_row, "rows"),
            (place.area.end_column, target.end_column, "columns"),
        ):
            if given is not None and have is not None and given < have:
                raise invalid(
                    f"The values for {text[:100]} take {counted(rows, 'row')} and {counted(columns, 'column')}, "
                    f"more {what} than the range has. Give its first cell alone, or fewer values."
                )
    inside = target.within(place.tab.rows, place.tab.columns)
    if inside != target:
        last = f"{column_letters(place.tab.columns - 1)}{place.tab.rows}"
        raise invalid(
            f"The values for {text[:100]} go beyond the end of the tab {place.tab.title!r}, which is {last}. Insert "
            "rows or columns at its end with sheets_manage_structure, or add rows with sheets_append_rows."
        )
    return Place(place.tab, target)


def _results(
    places: Iterable[Place], parts: Iterable[tuple[str, Rows]], updates: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the first results of formulas, by cell."""
    found: dict[str, Any] = {}
    for place, (_, rows), update in zip(places, parts, updates, strict=False):
        answered = update.get("updatedData", {}).get("values", [])
        for row_number, row in enumerate(rows):
            for column, cell in enumerate(row):
                if not (isinstance(cell, str) and cell.startswith("=")) or len(found) >= _SHOWN_RESULTS:
                    continue
                values = answered[row_number] if row_number < len(answered) else []
                found[Place(place.tab, place.area.cell(row_number, column)).text] = (
                    values[column] if column < len(values) else ""
                )
    return found


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
