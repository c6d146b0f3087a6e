"""A spreadsheet as its tabs and names, and A1 notation: finding what a range means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import file_id
from oneclaw_google_workspace.failures import GoogleError, invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_google_workspace.client import GoogleClient

# Spreadsheets end at column ZZZ and at ten million cells.
MAX_COLUMNS = 18_278
MAX_ROWS = 10_000_000
_CORNER = re.compile(r"\$?([A-Za-z]{1,3})?(?:\$?([1-9]\d{0,7}))?", re.ASCII)
_PLAIN_TAB = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LIKE_CELLS = re.compile(r"[A-Za-z]{1,3}\d+|[Rr]\d*[Cc]\d*", re.ASCII)
_QUOTED = re.compile(r"'((?:[^']|'')+)'(?:!(.*))?", re.DOTALL)
_GRID = "gridProperties(rowCount,columnCount,frozenRowCount,frozenColumnCount)"
TAB_FIELDS = f"sheetId,title,index,hidden,sheetType,{_GRID}"
BOOK_FIELDS = f"spreadsheetId,properties/title,sheets/properties({TAB_FIELDS}),namedRanges(name,range,namedRangeId)"
_SHOWN_TITLES = 30


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
        name: what is not a range of cells, so the name of a tab or of a named range; ``None`` else.
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


@dataclass(frozen=True, slots=True)
class Tab:
    """One of the sheets of a spreadsheet.

    Attributes:
        sheet_id: its number, which stays; 0 is one, too.
        title: as people see it.
        index: its place, from 0.
        rows: how many there are, filled or not; 0 if it is no grid, but a chart.
        columns: the same.
        is_hidden: whether people do not see it.
        frozen_rows: how many stay in view.
        frozen_columns: the same.
    """

    sheet_id: int
    title: str
    index: int
    rows: int
    columns: int
    is_hidden: bool = False
    frozen_rows: int = 0
    frozen_columns: int = 0

    @classmethod
    def of(cls, properties: Mapping[str, Any]) -> Tab:
        """Read what Google says of it, in which 0 may be left out."""
        grid = properties.get("gridProperties", {})
        return cls(
            properties.get("sheetId", 0),
            properties.get("title", ""),
            properties.get("index", 0),
            grid.get("rowCount", 0),
            grid.get("columnCount", 0),
            bool(properties.get("hidden")),
            grid.get("frozenRowCount", 0),
            grid.get("frozenColumnCount", 0),
        )


@dataclass(frozen=True, slots=True)
class Place:
    """A range of which the tab is known."""

    tab: Tab
    area: Area

    @property
    def text(self) -> str:
        """In A1 notation, with the tab."""
        area = self.area
        # What is open to the right without beginning at column A has no common way to be written.
        is_odd = area.end_column is None and (area.start_column > 0 or (area.end_row is None and area.start_row > 0))
        return format_reference(self.tab.title, self.inside if is_odd else area)

    @property
    def grid_range(self) -> dict[str, int]:
        """As Google's GridRange."""
        return self.area.grid_range(self.tab.sheet_id)

    @property
    def inside(self) -> Area:
        """The cells that there are.

        Raises:
            GoogleError: there are none.
        """
        area = self.area.within(self.tab.rows, self.tab.columns)
        if area is None:
            raise invalid(
                f"The range begins outside the tab {self.tab.title!r}, which has {self.tab.rows} rows and "
                f"{self.tab.columns} columns. sheets_manage_structure can insert more at its end."
            )
        return area


@dataclass(frozen=True, slots=True)
class NamedRange:
    """A range that has a name."""

    id: str
    name: str
    range: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Book:
    """A spreadsheet without its cells.

    Attributes:
        id: of the file.
        title: as people see it.
        tabs: in their order.
        names: the named ranges, by name.
    """

    id: str
    title: str
    tabs: tuple[Tab, ...]
    names: Mapping[str, NamedRange]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Book:
        """Read what Google says of it."""
        return cls(
            str(answer.get("spreadsheetId", "")),
            str(answer.get("properties", {}).get("title", "")),
            tuple(Tab.of(sheet.get("properties", {})) for sheet in answer.get("sheets", [])),
            {
                each.get("name", ""): NamedRange(
                    str(each.get("namedRangeId", "")), each.get("name", ""), each.get("range", {})
                )
                for each in answer.get("namedRanges", [])
            },
        )

    def first_tab(self) -> Tab:
        """The tab that is meant where none is named: the first one with cells that people see.

        Raises:
            GoogleError: there is none.
        """
        with_cells = [tab for tab in self.tabs if tab.rows]
        if not with_cells:
            raise invalid("This spreadsheet has no tab with cells.")
        return next((tab for tab in with_cells if not tab.is_hidden), with_cells[0])

    def tab(self, text: str) -> Tab:
        """Find a tab by its title or its sheet id.

        Raises:
            GoogleError: there is none; the message lists those there are.
        """
        found = self._tab_named(text)
        if found is None and text.strip().isdecimal():
            found = next((tab for tab in self.tabs if tab.sheet_id == int(text)), None)
        if found is None:
            raise self._no_tab(text)
        return found

    def named(self, name: str) -> NamedRange | None:
        """Find a named range; upper and lower case are the same."""
        near = (each for key, each in self.names.items() if key.casefold() == name.casefold())
        return self.names.get(name) or next(near, None)

    def place(self, text: str) -> Place:
        """Find out which cells a range means.

        Args:
            text: in A1 notation, the title of a tab or the name of a range.

        Raises:
            GoogleError: there is nothing of the kind, or it can mean two things.
        """
        try:
            reference = parse_reference(text)
        except ValueError:
            raise invalid(f"{text[:100]!r} is not a range such as Sheet1!A1:C10, 'My Tab'!A:C or Sheet1!2:5.") from None
        if reference.name is not None:
            return self._place_named(reference.name)
        if reference.tab is not None:
            tab = self._tab_named(reference.tab)
            if tab is None:
                raise self._no_tab(reference.tab)
        else:
            tab = self.first_tab()
            homonym = self._tab_named(text)
            if homonym is not None:
                cells = format_reference(tab.title, reference.area)
                raise invalid(
                    f"{text!r} can be a tab or cells. Write {quoted_tab(homonym.title)} for the tab, {cells} for cells."
                )
        return _with_cells(tab, reference.area)

    def _place_named(self, name: str) -> Place:
        named = self.named(name)
        if named is not None:
            sheet_id = named.range.get("sheetId", 0)
            tab = next((tab for tab in self.tabs if tab.sheet_id == sheet_id), None)
            if tab is not None:
                return _with_cells(tab, Area.of_grid_range(named.range))
        tab = self._tab_named(name)
        if tab is None:
            raise self._no_tab(name, "tab or named range")
        return _with_cells(tab, Area())

    def _tab_named(self, title: str) -> Tab | None:
        exact = [tab for tab in self.tabs if tab.title == title]
        near = [tab for tab in self.tabs if tab.title.strip().casefold() == title.strip().casefold()]
        return next(iter(exact or near), None)

    def _no_tab(self, text: str, what: str = "tab") -> GoogleError:
        titles = [tab.title for tab in self.tabs]
        shown = ", ".join(repr(title) for title in titles[:_SHOWN_TITLES])
        rest = f" and {len(titles) - _SHOWN_TITLES} more" if len(titles) > _SHOWN_TITLES else ""
        names = f"; named ranges: {', '.join(list(self.names)[:_SHOWN_TITLES])}" if self.names else ""
        return invalid(f"There is no {what} {text[:100]!r}. Tabs: {shown}{rest}{names}.")


async def read_book(google: GoogleClient, spreadsheet_id: str, what: str = "spreadsheet_id") -> Book:
    """Ask Google for a spreadsheet without its cells.

    Args:
        google: the client.
        spreadsheet_id: id or link.
        what: the argument that it was given as.

    Raises:
        GoogleError: it did not work out.
    """
    return Book.of(await get_spreadsheet(google, file_id(spreadsheet_id, what), BOOK_FIELDS))


async def get_spreadsheet(google: GoogleClient, spreadsheet_id: str, fields: str) -> dict[str, Any]:
    """Ask Google for parts of a spreadsheet.

    Raises:
        GoogleError: it did not work out; for an Excel file with the way to read that.
    """
    try:
        return await google.call("sheets.spreadsheets.get", spreadsheetId=spreadsheet_id, fields=fields)
    except GoogleError as error:
        if error.status == 400 and "not supported for this document" in str(error):
            raise GoogleError(
                "validation_error",
                "This is an Excel or other file kept in Drive, not a Google spreadsheet. Read it with "
                "drive_download_file, or upload it again with drive_upload_file and convert_to=spreadsheet.",
                status=error.status,
            ) from None
        raise


def _with_cells(tab: Tab, area: Area) -> Place:
    if not tab.rows:
        raise invalid(f"The tab {tab.title!r} holds a chart or the like, no cells.")
    return Place(tab, area)
