"""The tool of the group ``google_sheets`` that changes tabs, rows, columns, names, filters and charts."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.problems import GoogleError
from oneclaw_google_workspace.sheets.book import BOOK_FIELDS, Book, get_spreadsheet, read_book
from oneclaw_google_workspace.sheets.grid_actions import (
    add_tab,
    delete,
    delete_tab,
    duplicate_tab,
    freeze,
    hide,
    insert,
    move_tab,
    rename_tab,
    sort_range,
)
from oneclaw_google_workspace.sheets.objects import (
    OBJECT_FIELDS,
    add_chart,
    clear_filter,
    delete_chart,
    delete_name,
    delete_rule,
    name_range,
    object_ids,
    set_filter,
    update_chart,
)
from oneclaw_google_workspace.sheets.wish import Wish, check_wish, with_new_id
from oneclaw_google_workspace.sheets.writing import filled_cells
from oneclaw_google_workspace.wording import counted, listing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.sheets.wish import Action


def needs_objects(wish: Wish) -> bool:
    """Return True if an action is about charts or rules that are there, which a :class:`Book` does not have."""
    return wish.action in _ON_OBJECTS


def plan(book: Book, wish: Wish, sheets: Sequence[Mapping[str, Any]] = ()) -> Action:
    """Make the change of a wish; not for ``copy_tab_to``.

    Args:
        book: the spreadsheet.
        wish: the wish.
        sheets: Google's, with charts and rules, if :func:`needs_objects`.

    Raises:
        GoogleError: it cannot be done with this spreadsheet.
    """
    if wish.action in _ON_OBJECTS:
        return _ON_OBJECTS[wish.action](book, wish, sheets)
    return _ACTIONS[wish.action](book, wish)


_ACTIONS: dict[str, Callable[[Book, Wish], Action]] = {
    "add_tab": add_tab,
    "rename_tab": rename_tab,
    "duplicate_tab": duplicate_tab,
    "move_tab": move_tab,
    "delete_tab": delete_tab,
    "sort_range": sort_range,
    "freeze": freeze,
    "insert_rows": lambda book, wish: insert(book, wish, "ROWS"),
    "insert_columns": lambda book, wish: insert(book, wish, "COLUMNS"),
    "delete_rows": lambda book, wish: delete(book, wish, "ROWS"),
    "delete_columns": lambda book, wish: delete(book, wish, "COLUMNS"),
    "hide_rows": lambda book, wish: hide(book, wish, "ROWS", is_hidden=True),
    "show_rows": lambda book, wish: hide(book, wish, "ROWS", is_hidden=False),
    "hide_columns": lambda book, wish: hide(book, wish, "COLUMNS", is_hidden=True),
    "show_columns": lambda book, wish: hide(book, wish, "COLUMNS", is_hidden=False),
    "set_filter": set_filter,
    "clear_filter": clear_filter,
    "name_range": name_range,
    "delete_name": delete_name,
    "add_chart": add_chart,
}
_ON_OBJECTS: dict[str, Callable[[Book, Wish, Sequence[Mapping[str, Any]]], Action]] = {
    "update_chart": update_chart,
    "delete_chart": delete_chart,
    "delete_rule": delete_rule,
}


@google_tool
async def sheets_manage_structure(
    spreadsheet_id: str,
    action: str,
    tab: str | None = None,
    title: str | None = None,
    index: int | None = None,
    rows: int | None = None,
    columns: int | None = None,
    start: int | None = None,
    count: int = 1,
    destination_spreadsheet_id: str | None = None,
    range: str | None = None,  # noqa: A002  # the parameter's name in the manifest
    sort_by: list[dict[str, Any]] | None = None,
    chart_type: str | None = None,
    chart_id: int | None = None,
    cell: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Change tabs, rows and columns."""
    google = connect(context)
    wish = Wish(
        *(action, tab, title, index, rows, columns, start, count, destination_spreadsheet_id, range, sort_by or ()),
        *(chart_type, chart_id, cell),
    )
    check_wish(wish)
    book = await read_book(google, spreadsheet_id)
    if action == "copy_tab_to":
        return await _copy(google, book, tab or "", destination_spreadsheet_id or "")
    sheets = (await get_spreadsheet(google, book.id, OBJECT_FIELDS)).get("sheets", []) if needs_objects(wish) else []
    planned = plan(book, with_new_id(wish, book, lambda: secrets.randbelow(2**31)), sheets)
    lost = await filled_cells(google, book.id, [planned.lost]) if planned.lost else None
    loss = f", {counted(lost, 'filled cell')} of it" if lost else ""
    await google.ask(f"{planned.detail} the spreadsheet {listing([book.title])}{loss}")
    after = await _carry_out(google, book, planned)
    row = _tab_row(after, planned.sheet_id)
    made = planned.object_id if planned.is_creating and isinstance(planned.object_id, int) else None
    return {"action": action, **compact({"tab": row, "chart_id": made}), "changed": planned.changed}


async def _carry_out(google: GoogleClient, book: Book, planned: Action) -> Book:
    """Send the change; gives the spreadsheet as it is then."""
    try:
        answer = await google.call(
            "sheets.spreadsheets.batchUpdate",
            spreadsheetId=book.id,
            body={"requests": [planned.request], "includeSpreadsheetInResponse": True},
            fields=f"updatedSpreadsheet({BOOK_FIELDS})",
            is_repeatable=planned.is_repeatable,
            unclear_hint="Look at the tab with sheets_get_info and sheets_read_values",
        )
    except GoogleError as error:
        # Sent a second time, what makes or deletes a tab is refused if the first time went through unseen.
        if error.status != 400 or not (planned.is_creating or planned.is_deleting):
            raise
        found = await get_spreadsheet(google, book.id, f"{BOOK_FIELDS},sheets/charts/chartId")
        after = Book.of(found)
        if planned.object_id is not None:
            is_there = planned.object_id in object_ids(found)
        else:
            is_there = _tab_row(after, planned.sheet_id) is not None
        if is_there is not planned.is_creating:
            raise
        return after
    return Book.of(answer.get("updatedSpreadsheet", {}))


async def _copy(google: GoogleClient, book: Book, tab_text: str, destination_id: str) -> dict[str, Any]:
    tab = book.tab(tab_text)
    destination = await read_book(google, destination_id, "destination_spreadsheet_id")
    await google.ask(
        f"copy the tab {listing([tab.title])} of the spreadsheet {listing([book.title])} into the spreadsheet "
        f"{listing([destination.title])}"
    )
    copied = await google.call(
        "sheets.spreadsheets.sheets.copyTo",
        spreadsheetId=book.id,
        sheetId=tab.sheet_id,
        body={"destinationSpreadsheetId": destination.id},
        fields="sheetId,title,index",
        unclear_hint="Look at the tabs of the destination with sheets_get_info",
    )
    row = {"sheet_id": copied.get("sheetId", 0), "title": copied.get("title", ""), "index": copied.get("index", 0)}
    return {
        "action": "copy_tab_to",
        "tab": row,
        "spreadsheet_id": destination.id,
        "changed": f"copied into {destination.title}",
    }


def _tab_row(book: Book, sheet_id: int) -> dict[str, Any] | None:
    for tab in book.tabs:
        if tab.sheet_id == sheet_id:
            size = {"rows": tab.rows, "columns": tab.columns} if tab.rows else {}
            return {"sheet_id": tab.sheet_id, "title": tab.title, "index": tab.index, **size}
    return None
