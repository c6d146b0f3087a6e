"""The values of cells: what can be written, what a question to the user says of it; counting what is there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.sheets.a1 import column_letters, format_reference
from oneclaw_google_workspace.wording import counted, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.sheets.a1 import Area
    from oneclaw_google_workspace.sheets.book import Place

Rows = list[list[Any]]

USER_ENTERED = "USER_ENTERED"
MAX_CELL_CHARACTERS = 50_000
COUNTED_CELLS = 100_000
COUNTED_RANGES = 50  # they all stand in one address
_SHOWN_FORMULAS = 3
_SHOWN_CHARACTERS = 200
# These fetch what is elsewhere, and can carry cells there in an address.
_REACHES_OUT = re.compile(r"\b(?:IMPORT(?:DATA|XML|HTML|FEED|RANGE)|IMAGE|HYPERLINK|GOOGLEFINANCE)\s*\(", re.IGNORECASE)


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
