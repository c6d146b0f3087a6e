"""What ``sheets_manage_structure`` can do with the tabs of a spreadsheet; pure, without any I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.sheets.grid_actions import delete, freeze, hide, insert, sort_range
from oneclaw_google_workspace.sheets.objects import (
    add_chart,
    clear_filter,
    delete_chart,
    delete_name,
    delete_rule,
    name_range,
    set_filter,
    update_chart,
)
from oneclaw_google_workspace.sheets.tab_actions import add_tab, delete_tab, duplicate_tab, move_tab, rename_tab

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oneclaw_google_workspace.sheets.book import Book
    from oneclaw_google_workspace.sheets.wish import Action, Wish


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
