"""The part of a range that a model is shown, and its continuation; without I/O."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.sheets.a1 import Area, column_letters, format_reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_google_workspace.sheets.cells import Rows

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
