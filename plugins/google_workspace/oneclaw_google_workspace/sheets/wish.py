"""The arguments of ``sheets_manage_structure`` and the resulting change; without I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oneclaw_google_workspace.sheets.book import Book, Place, Tab


@dataclass(frozen=True, slots=True)
class Wish:
    """The arguments of the tool; see the manifest for the parameters.

    Attributes:
        action: what to do.
        new_sheet_id: for a tab that is made: an id of our own, by which it is found again.
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
    new_sheet_id: int = 0

    @property
    def given(self) -> set[str]:
        """The parameters that say something."""
        names = ("tab", "title", "index", "rows", "columns", "start", "destination_spreadsheet_id", "range")
        return {name for name in names if getattr(self, name) is not None} | ({"sort_by"} if self.sort_by else set())


@dataclass(frozen=True, slots=True)
class Action:
    """A change of a spreadsheet, ready to be asked for and sent.

    Attributes:
        detail: what the user is asked, without the spreadsheet's title.
        request: of Google's batchUpdate.
        changed: what has been done, for the answer.
        sheet_id: the tab that the answer is about.
        is_repeatable: whether doing it twice comes to the same as doing it once.
        lost: cells whose content goes.
        is_creating: whether it makes the tab ``sheet_id``.
        is_deleting: whether it deletes the tab ``sheet_id``.
    """

    detail: str
    request: dict[str, Any]
    changed: str
    sheet_id: int
    is_repeatable: bool = True
    lost: Place | None = None
    is_creating: bool = False
    is_deleting: bool = False


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
    if wish.title is not None and not wish.title.strip():
        raise invalid("The title of a tab cannot be empty.")


def with_new_id(wish: Wish, book: Book, candidates: Callable[[], int]) -> Wish:
    """Choose the id of a tab that is about to be made.

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
}
