"""The arguments of ``sheets_manage_structure``, and its actions on tabs, rows, columns and ranges; without I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, counted, listing
from oneclaw_google_workspace.failures import invalid
from oneclaw_google_workspace.sheets.book import Area, Place, column_letters, column_number, quoted_tab

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oneclaw_google_workspace.sheets.book import Book, Tab


@dataclass(frozen=True, slots=True)
class Wish:
    """The arguments of the tool; see the manifest for the parameters.

    Attributes:
        action: what to do.
        new_sheet_id: for a tab or chart that is made: an id of our own, by which it is found again.
    """

    action: str
    tab: str | None = None
    title: str | None = None
    index: int | None = None
    rows: int | None = None
    columns: int | None = None
    start: int | None = None
    count: int = 1
    destination_spreadsheet_id: str | None = None
    range: str | None = None
    sort_by: Sequence[Mapping[str, Any]] = ()
    chart_type: str | None = None
    chart_id: int | None = None
    cell: str | None = None
    new_sheet_id: int = 0

    @property
    def given(self) -> set[str]:
        """The parameters that say something."""
        names = (
            *("tab", "title", "index", "rows", "columns", "start", "destination_spreadsheet_id", "range"),
            *("chart_type", "chart_id", "cell"),
        )
        return {name for name in names if getattr(self, name) is not None} | ({"sort_by"} if self.sort_by else set())


@dataclass(frozen=True, slots=True)
class Action:
    """A change of a spreadsheet, ready to be asked for and sent.

    Attributes:
        detail: what the user is asked, without the spreadsheet's title.
        request: of Google's batchUpdate.
        changed: what has been done, for the answer.
        sheet_id: the tab that the answer is about.
        is_repeatable: True if doing it twice has the effect of doing it once.
        lost: cells whose content goes.
        is_creating: whether it makes the tab ``sheet_id``.
        is_deleting: whether it deletes the tab ``sheet_id``.
        object_id: of the chart or named range that is made or deleted instead of a tab.
    """

    detail: str
    request: dict[str, Any]
    changed: str
    sheet_id: int
    is_repeatable: bool = True
    lost: Place | None = None
    is_creating: bool = False
    is_deleting: bool = False
    object_id: int | str | None = None


def check_wish(wish: Wish) -> None:
    """Refuse what does not go with the action, before Google is asked for anything.

    Raises:
        GoogleError: something is missing or too much.
    """
    needed, also = _PARAMETERS[wish.action]
    missing = needed - wish.given
    if missing:
        raise invalid(f"{wish.action} needs {', '.join(sorted(missing))}.")
    extra = wish.given - needed - also
    if extra:
        takes = ", ".join(sorted(needed | also))
        raise invalid(f"{wish.action} does not go with {', '.join(sorted(extra))}; it takes {takes}.")
    if wish.action == "freeze" and wish.rows is None and wish.columns is None:
        raise invalid("freeze needs rows or columns; 0 lets go of them.")
    if wish.action == "update_chart" and wish.range is None and wish.chart_type is None and wish.title is None:
        raise invalid("update_chart needs a range, chart_type or title, the new one.")
    if wish.title is not None and not wish.title.strip() and wish.action != "update_chart":
        raise invalid("title cannot be empty.")


def with_new_id(wish: Wish, book: Book, candidates: Callable[[], int]) -> Wish:
    """Choose the id of a tab or chart that is about to be made.

    Args:
        wish: the wish.
        book: whose tabs have other ids.
        candidates: gives random ids.
    """
    taken = {tab.sheet_id for tab in book.tabs}
    while (candidate := candidates()) in taken:
        pass
    return replace(wish, new_sheet_id=candidate)


def tab_properties(tab: Tab, values: dict[str, Any], fields: str) -> dict[str, Any]:
    """Make the request that sets properties of a tab."""
    return {"updateSheetProperties": {"properties": {"sheetId": tab.sheet_id, **values}, "fields": fields}}


# What an action needs, and what it can take beside that; count has a default and is let pass.
_PARAMETERS: dict[str, tuple[set[str], set[str]]] = {
    "add_tab": ({"title"}, {"index", "rows", "columns"}),
    "rename_tab": ({"tab", "title"}, set()),
    "duplicate_tab": ({"tab"}, {"title", "index"}),
    "move_tab": ({"tab", "index"}, set()),
    "delete_tab": ({"tab"}, set()),
    "copy_tab_to": ({"tab", "destination_spreadsheet_id"}, set()),
    "insert_rows": ({"tab", "start"}, set()),
    "insert_columns": ({"tab", "start"}, set()),
    "delete_rows": ({"tab", "start"}, set()),
    "delete_columns": ({"tab", "start"}, set()),
    "sort_range": ({"range", "sort_by"}, {"tab"}),
    "freeze": ({"tab"}, {"rows", "columns"}),
    "hide_rows": ({"tab", "start"}, set()),
    "show_rows": ({"tab", "start"}, set()),
    "hide_columns": ({"tab", "start"}, set()),
    "show_columns": ({"tab", "start"}, set()),
    "set_filter": ({"range"}, {"tab"}),
    "clear_filter": ({"tab"}, set()),
    "name_range": ({"title", "range"}, {"tab"}),
    "delete_name": ({"title"}, set()),
    "add_chart": ({"range"}, {"tab", "title", "chart_type", "cell"}),
    "update_chart": ({"chart_id"}, {"range", "tab", "title", "chart_type"}),
    "delete_chart": ({"chart_id"}, set()),
    "delete_rule": ({"tab", "index"}, set()),
}


def add_tab(book: Book, wish: Wish) -> Action:
    """Add an empty tab."""
    title = _free_title(book, wish)
    grid = compact({"rowCount": wish.rows, "columnCount": wish.columns})
    if 0 in grid.values():
        raise invalid("A tab has at least one row and one column.")
    properties = compact({"sheetId": wish.new_sheet_id, "title": title, "gridProperties": grid})
    if wish.index is not None:
        properties["index"] = min(wish.index, len(book.tabs))
    return Action(
        f"add the tab {listing([title])} to",
        {"addSheet": {"properties": properties}},
        f"added the tab {title}",
        wish.new_sheet_id,
        is_creating=True,
    )


def rename_tab(book: Book, wish: Wish) -> Action:
    """Rename a tab."""
    tab = book.tab(wish.tab or "")
    title = _free_title(book, wish, besides=tab)
    return Action(
        f"rename the tab {listing([tab.title])} to {listing([title])} in",
        tab_properties(tab, {"title": title}, "title"),
        f"renamed from {tab.title}",
        tab.sheet_id,
    )


def duplicate_tab(book: Book, wish: Wish) -> Action:
    """Copy a tab within its spreadsheet."""
    tab = book.tab(wish.tab or "")
    title = _free_title(book, wish) if wish.title else None
    place = tab.index + 1 if wish.index is None else min(wish.index, len(book.tabs))
    values: dict[str, Any] = {"sourceSheetId": tab.sheet_id, "insertSheetIndex": place, "newSheetId": wish.new_sheet_id}
    if title:
        values["newSheetName"] = title
    return Action(
        f"duplicate the tab {listing([tab.title])}{f' as {listing([title])}' if title else ''} in",
        {"duplicateSheet": values},
        f"duplicated from {tab.title}",
        wish.new_sheet_id,
        is_creating=True,
    )


def move_tab(book: Book, wish: Wish) -> Action:
    """Move a tab to another place."""
    tab = book.tab(wish.tab or "")
    place = min(wish.index or 0, len(book.tabs) - 1)
    # Google counts the places before the tab leaves its place.
    sent = place + 1 if place > tab.index else place
    return Action(
        f"move the tab {listing([tab.title])} from place {tab.index} to {place} in",
        tab_properties(tab, {"index": sent}, "index"),
        f"moved from index {tab.index} to {place}",
        tab.sheet_id,
    )


def delete_tab(book: Book, wish: Wish) -> Action:
    """Delete a tab with all that is in it."""
    tab = book.tab(wish.tab or "")
    if not tab.is_hidden and sum(not each.is_hidden for each in book.tabs) == 1:
        raise invalid(f"{tab.title!r} is the last visible tab, which a spreadsheet cannot be without. Add one first.")
    return Action(
        f"delete the whole tab {listing([tab.title])} with everything in it from",
        {"deleteSheet": {"sheetId": tab.sheet_id}},
        f"deleted the tab {tab.title}",
        tab.sheet_id,
        lost=Place(tab, Area()) if tab.rows else None,
        is_deleting=True,
    )


def _free_title(book: Book, wish: Wish, besides: Tab | None = None) -> str:
    title = (wish.title or "").strip()
    for tab in book.tabs:
        if tab.title.casefold() == title.casefold() and tab != besides:
            raise invalid(f"There is a tab {tab.title!r} already. Give another title.")
    return title


def freeze(book: Book, wish: Wish) -> Action:
    """Keep the first rows or columns in view, or let go of them."""
    tab = grid_tab(book, wish)
    grid, fields, words = {}, [], []
    for number, have, name, what in (
        (wish.rows, tab.rows, "frozenRowCount", "row"),
        (wish.columns, tab.columns, "frozenColumnCount", "column"),
    ):
        if number is None:
            continue
        if number >= have:
            raise invalid(f"At least one {what} must stay free; {tab.title!r} has {counted(have, what)}.")
        grid[name] = number
        fields.append(f"gridProperties.{name}")
        words.append(counted(number, what))
    return Action(
        f"freeze {' and '.join(words)} of the tab {listing([tab.title])} in",
        tab_properties(tab, {"gridProperties": grid}, ",".join(fields)),
        f"froze {' and '.join(words)}",
        tab.sheet_id,
    )


def sort_range(book: Book, wish: Wish) -> Action:
    """Sort the rows of a range."""
    place = ranged(book, wish)
    area = place.inside
    specs, words = [], []
    for key in wish.sort_by:
        letters = str(key["column"]).strip()
        try:
            number = column_number(letters)
        except ValueError:
            raise invalid(f"sort_by takes the letters of a column, such as B, not {letters[:40]!r}.") from None
        if not area.start_column <= number < (area.end_column or 0):
            raise invalid(f"Column {letters.upper()} is not in {place.text}.")
        is_descending = bool(key.get("descending"))
        specs.append({"dimensionIndex": number, "sortOrder": "DESCENDING" if is_descending else "ASCENDING"})
        words.append(f"{letters.upper()}{' from high to low' if is_descending else ''}")
    return Action(
        f"sort {place.text} by {', '.join(words)} in",
        {"sortRange": {"range": area.grid_range(place.tab.sheet_id), "sortSpecs": specs}},
        f"sorted {place.text} by {', '.join(words)}",
        place.tab.sheet_id,
    )


def ranged(book: Book, wish: Wish) -> Place:
    """Find the range of a wish, in its tab if it names one.

    Raises:
        GoogleError: there is no such range, or it is in another tab.
    """
    text = wish.range or ""
    if wish.tab is not None and "!" not in text:
        text = f"{quoted_tab(book.tab(wish.tab).title)}!{text}"
    place = book.place(text)
    if wish.tab is not None and place.tab != book.tab(wish.tab):
        raise invalid(f"{place.text} is not in the tab {wish.tab[:100]!r}. Give the range alone.")
    return place


def hide(book: Book, wish: Wish, dimension: str, *, is_hidden: bool) -> Action:
    """Hide rows or columns, or show them again."""
    tab, have, what = _dimension(book, wish, dimension)
    start = wish.start or 1
    if start + wish.count - 1 > have:
        raise invalid(f"{tab.title!r} has only {counted(have, what)}.")
    span = _span(dimension, start, wish.count)
    named = f"{what} {span}" if wish.count == 1 else f"{what}s {span}"
    verb = "hide" if is_hidden else "show"
    properties = {"properties": {"hiddenByUser": is_hidden}, "fields": "hiddenByUser"}
    return Action(
        f"{verb} {named} of the tab {listing([tab.title])} in",
        {"updateDimensionProperties": {"range": _range(tab, dimension, start, wish.count), **properties}},
        f"{'hid' if is_hidden else 'showed'} {named}",
        tab.sheet_id,
    )


def insert(book: Book, wish: Wish, dimension: str) -> Action:
    """Insert rows or columns."""
    tab, have, what = _dimension(book, wish, dimension)
    start = wish.start or 1
    if start > have + 1:
        raise invalid(f"{tab.title!r} has {counted(have, what)}, so {have + 1} is the last place to insert at.")
    many = counted(wish.count, what)
    at = _span(dimension, start, 1)
    if start == have + 1:
        request = {"appendDimension": {"sheetId": tab.sheet_id, "dimension": dimension, "length": wish.count}}
    else:
        request = {
            "insertDimension": {
                "range": _range(tab, dimension, start, wish.count),
                "inheritFromBefore": start > 1,
            }
        }
    return Action(
        f"insert {many} at {what} {at} of the tab {listing([tab.title])} in",
        request,
        f"inserted {many} at {what} {at}",
        tab.sheet_id,
        is_repeatable=False,
    )


def delete(book: Book, wish: Wish, dimension: str) -> Action:
    """Delete rows or columns."""
    tab, have, what = _dimension(book, wish, dimension)
    start = wish.start or 1
    if start + wish.count - 1 > have:
        raise invalid(f"{tab.title!r} has only {counted(have, what)}.")
    if wish.count == have:
        raise invalid(f"A tab cannot be without a {what}. Empty it with sheets_clear_values, or delete the tab.")
    span = _span(dimension, start, wish.count)
    named = f"{what} {span}" if wish.count == 1 else f"{what}s {span}"
    begin, end = start - 1, start - 1 + wish.count
    area = Area(begin, end) if dimension == "ROWS" else Area(start_column=begin, end_column=end)
    return Action(
        f"delete {named} of the tab {listing([tab.title])} with everything in it from",
        {"deleteDimension": {"range": _range(tab, dimension, start, wish.count)}},
        f"deleted {named}",
        tab.sheet_id,
        is_repeatable=False,
        lost=Place(tab, area),
    )


def _dimension(book: Book, wish: Wish, dimension: str) -> tuple[Tab, int, str]:
    tab = grid_tab(book, wish)
    return (tab, tab.rows, "row") if dimension == "ROWS" else (tab, tab.columns, "column")


def grid_tab(book: Book, wish: Wish) -> Tab:
    """Find the tab of a wish, which has cells.

    Raises:
        GoogleError: there is none, or it has none.
    """
    tab = book.tab(wish.tab or "")
    if not tab.rows:
        raise invalid(f"The tab {tab.title!r} holds a chart or the like, no cells.")
    return tab


def _range(tab: Tab, dimension: str, start: int, count: int) -> dict[str, Any]:
    return {"sheetId": tab.sheet_id, "dimension": dimension, "startIndex": start - 1, "endIndex": start - 1 + count}


def _span(dimension: str, start: int, count: int) -> str:
    """Name rows or columns as people see them: 5 to 9, B to D."""
    first, last = start, start + count - 1
    named = [str(each) if dimension == "ROWS" else column_letters(each - 1) for each in (first, last)]
    return named[0] if count == 1 else f"{named[0]} to {named[1]}"
