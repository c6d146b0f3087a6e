"""A spreadsheet as its tabs and names: finding what a range means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.links import file_id
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.sheets.a1 import Area, format_reference, parse_reference, quoted_tab

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_google_workspace.client import GoogleClient

_GRID = "gridProperties(rowCount,columnCount,frozenRowCount,frozenColumnCount)"
TAB_FIELDS = f"sheetId,title,index,hidden,sheetType,{_GRID}"
BOOK_FIELDS = f"spreadsheetId,properties/title,sheets/properties({TAB_FIELDS}),namedRanges(name,range)"
_SHOWN_TITLES = 30


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
class Book:
    """A spreadsheet without its cells.

    Attributes:
        id: of the file.
        title: as people see it.
        tabs: in their order.
        names: the named ranges.
    """

    id: str
    title: str
    tabs: tuple[Tab, ...]
    names: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Book:
        """Read what Google says of it."""
        return cls(
            str(answer.get("spreadsheetId", "")),
            str(answer.get("properties", {}).get("title", "")),
            tuple(Tab.of(sheet.get("properties", {})) for sheet in answer.get("sheets", [])),
            {each.get("name", ""): each.get("range", {}) for each in answer.get("namedRanges", [])},
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
            raise invalid(f"{text[:100]!r} is no range such as Sheet1!A1:C10, 'My Tab'!A:C or Sheet1!2:5.") from None
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
        grid_range = self.names.get(name) or next(
            (each for key, each in self.names.items() if key.casefold() == name.casefold()), None
        )
        if grid_range is not None:
            sheet_id = grid_range.get("sheetId", 0)
            tab = next((tab for tab in self.tabs if tab.sheet_id == sheet_id), None)
            if tab is not None:
                return _with_cells(tab, Area.of_grid_range(grid_range))
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
