"""A1 notation: ranges of cells as people write them, and as numbers; pure, without any I/O.

A range counts rows and columns from 0, its ends lie behind the last one, and ``None`` is an open end, as in Google's
GridRange. See https://developers.google.com/workspace/sheets/api/guides/concepts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Spreadsheets end at column ZZZ and at ten million cells.
MAX_COLUMNS = 18_278
MAX_ROWS = 10_000_000
_CORNER = re.compile(r"\$?([A-Za-z]{1,3})?(?:\$?([1-9]\d{0,7}))?", re.ASCII)
_PLAIN_TAB = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LIKE_CELLS = re.compile(r"[A-Za-z]{1,3}\d+|[Rr]\d*[Cc]\d*", re.ASCII)
_QUOTED = re.compile(r"'((?:[^']|'')+)'(?:!(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of cells.

    Attributes:
        start_row: the first row, from 0.
        end_row: the row behind the last one; ``None`` for all there are.
        start_column: the first column, from 0.
        end_column: the column behind the last one; ``None`` for all there are.
    """

    start_row: int = 0
    end_row: int | None = None
    start_column: int = 0
    end_column: int | None = None

    def __post_init__(self) -> None:
        for start, end in ((self.start_row, self.end_row), (self.start_column, self.end_column)):
            if start < 0 or (end is not None and end <= start):
                raise ValueError(f"no rectangle: {start} to {end}")

    @property
    def is_everything(self) -> bool:
        """True if it is a whole tab."""
        return self == Area()

    @property
    def is_cell(self) -> bool:
        """True if it is a single cell."""
        return self.end_row == self.start_row + 1 and self.end_column == self.start_column + 1

    @classmethod
    def of_grid_range(cls, grid_range: Mapping[str, Any]) -> Area:
        """Read a GridRange, in which what is 0 may be left out."""
        return cls(
            grid_range.get("startRowIndex", 0),
            grid_range.get("endRowIndex"),
            grid_range.get("startColumnIndex", 0),
            grid_range.get("endColumnIndex"),
        )

    def grid_range(self, sheet_id: int) -> dict[str, int]:
        """Write it as a GridRange, open ends left out."""
        values = {
            "sheetId": sheet_id,
            "startRowIndex": self.start_row or (None if self.end_row is None else 0),
            "endRowIndex": self.end_row,
            "startColumnIndex": self.start_column or (None if self.end_column is None else 0),
            "endColumnIndex": self.end_column,
        }
        return {name: value for name, value in values.items() if value is not None}

    def within(self, rows: int, columns: int) -> Area | None:
        """Cut it to the size of a tab.

        Returns:
            The part with its ends known, ``None`` if it lies outside altogether.
        """
        end_row = rows if self.end_row is None else min(self.end_row, rows)
        end_column = columns if self.end_column is None else min(self.end_column, columns)
        if end_row <= self.start_row or end_column <= self.start_column:
            return None
        return Area(self.start_row, end_row, self.start_column, end_column)

    def cell(self, row: int, column: int) -> Area:
        """Give one of its cells, counted from its first one."""
        return Area(self.start_row + row, None, self.start_column + column, None).sized(1, 1)

    def sized(self, rows: int, columns: int) -> Area:
        """Give the rectangle of a size that begins at the same cell."""
        return Area(self.start_row, self.start_row + rows, self.start_column, self.start_column + columns)


@dataclass(frozen=True, slots=True)
class Reference:
    """A range as it is written: of a tab, or by a name alone.

    Attributes:
        tab: the tab's title, ``None`` for the first one.
        area: the cells, all of the tab if nothing is said.
        name: what is no range of cells, so the name of a tab or of a named range; ``None`` else.
    """

    tab: str | None = None
    area: Area = Area()
    name: str | None = None


def column_letters(number: int) -> str:
    """Name a column, counted from 0: A, B, ... Z, AA."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def column_number(letters: str) -> int:
    """Count a column from 0 by its letters.

    Raises:
        ValueError: they are none.
    """
    if not re.fullmatch(r"[A-Za-z]{1,3}", letters):
        raise ValueError(letters)
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def quoted_tab(title: str) -> str:
    """Write the title of a tab so that it stands for nothing else."""
    doubled = title.replace("'", "''")
    return f"'{doubled}'"


def parse_reference(text: str) -> Reference:
    """Read a range such as ``B2``, ``'My Tab'!A:C``, ``Sales!2:5``, ``Sales`` or ``Prices``.

    Raises:
        ValueError: the cells behind the tab are none.
    """
    text = text.strip()
    match = _QUOTED.fullmatch(text)
    if match is not None:
        tab = match[1].replace("''", "'")
        return Reference(tab, Area() if match[2] is None else _area(match[2]))
    tab, mark, cells = text.rpartition("!")
    if mark and tab:
        return Reference(tab, _area(cells))
    try:
        return Reference(None, _area(text))
    except ValueError:
        return Reference(name=text)


def format_reference(tab: str | None, area: Area) -> str:
    """Write a range; the tab in quotes where it needs them, and always where it stands alone.

    Raises:
        ValueError: A1 notation has no way to write it: both ends are open, but it begins behind A1.
    """
    cells = format_area(area)
    if tab is None:
        return cells
    if not cells:
        return quoted_tab(tab)
    return f"{tab if _is_plain(tab) else quoted_tab(tab)}!{cells}"


def format_area(area: Area) -> str:
    """Write the cells of a range without their tab; nothing for a whole tab."""
    if area.is_everything:
        return ""
    first_column, first_row = column_letters(area.start_column), str(area.start_row + 1)
    if area.end_row is None and area.end_column is None:
        raise ValueError(area)
    if area.is_cell:
        return f"{first_column}{first_row}"
    if area.end_column is None:
        return f"{first_column if area.start_column else ''}{first_row}:{area.end_row}"
    last_column = column_letters(area.end_column - 1)
    if area.end_row is None:
        return f"{first_column}{first_row if area.start_row else ''}:{last_column}"
    return f"{first_column}{first_row}:{last_column}{area.end_row}"


def _is_plain(tab: str) -> bool:
    """Return True if a title needs no quotes: it cannot be read as cells, in either notation."""
    return _PLAIN_TAB.fullmatch(tab) is not None and _LIKE_CELLS.fullmatch(tab) is None


def _area(text: str) -> Area:
    first, colon, last = text.strip().partition(":")
    start_column, start_row = _corner(first)
    if not colon:
        if start_column is None or start_row is None:
            raise ValueError(text)
        return Area(start_row, start_row + 1, start_column, start_column + 1)
    end_column, end_row = _corner(last)
    # A:5, 5:A, A:C5 and 2:C5 say on one side only where the other one's rows or columns are.
    if (start_column is None and end_column is not None) or (start_row is None and end_row is not None):
        raise ValueError(text)
    if end_row is not None and start_row is not None and end_row < start_row:
        start_row, end_row = end_row, start_row
    if end_column is not None and start_column is not None and end_column < start_column:
        start_column, end_column = end_column, start_column
    return Area(
        start_row or 0,
        None if end_row is None else end_row + 1,
        start_column or 0,
        None if end_column is None else end_column + 1,
    )


def _corner(text: str) -> tuple[int | None, int | None]:
    match = _CORNER.fullmatch(text.strip())
    if match is None or not (match[1] or match[2]):
        raise ValueError(text)
    column = column_number(match[1]) if match[1] else None
    row = int(match[2]) - 1 if match[2] else None
    if row is not None and row >= MAX_ROWS:
        raise ValueError(text)
    return column, row
