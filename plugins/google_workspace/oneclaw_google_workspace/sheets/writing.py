"""The tools of the group ``google_sheets`` that write into cells, or empty them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.sheets.a1 import Area, column_letters
from oneclaw_google_workspace.sheets.book import Place, read_book
from oneclaw_google_workspace.sheets.cells import (
    USER_ENTERED,
    Rows,
    check_rows,
    filled_cells,
    filled_note,
    formula_note,
    has_formulas,
    written_cells,
)
from oneclaw_google_workspace.wording import counted, listing, table_said

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.sheets.book import Book

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
