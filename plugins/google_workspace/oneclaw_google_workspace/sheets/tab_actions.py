"""The actions of ``sheets_manage_structure`` on whole tabs; pure, without any I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.sheets.a1 import Area
from oneclaw_google_workspace.sheets.book import Place
from oneclaw_google_workspace.sheets.wish import Action, tab_properties
from oneclaw_google_workspace.wording import listing

if TYPE_CHECKING:
    from oneclaw_google_workspace.sheets.book import Book, Tab
    from oneclaw_google_workspace.sheets.wish import Wish


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
    # Google counts the places before the tab is taken out of its own.
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
