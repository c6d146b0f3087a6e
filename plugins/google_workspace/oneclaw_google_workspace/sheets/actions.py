"""The actions of ``sheets_manage_structure`` on the tabs of a spreadsheet; without I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_google_workspace.sheets.grid_actions import delete, freeze, insert, sort_range
from oneclaw_google_workspace.sheets.tab_actions import add_tab, delete_tab, duplicate_tab, move_tab, rename_tab

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_google_workspace.sheets.book import Book
    from oneclaw_google_workspace.sheets.wish import Action, Wish


def plan(book: Book, wish: Wish) -> Action:
    """Make the change of a wish; not for ``copy_tab_to``.

    Raises:
        GoogleError: it cannot be done with this spreadsheet.
    """
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
}
