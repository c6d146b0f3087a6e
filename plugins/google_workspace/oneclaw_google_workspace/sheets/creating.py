"""The tool of the group ``google_sheets`` that makes a spreadsheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.folders import find_folder, in_folder, move_into
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.sheets.a1 import Area, format_reference
from oneclaw_google_workspace.sheets.cells import USER_ENTERED, Rows, check_rows, formula_note
from oneclaw_google_workspace.wording import counted, listing, passage, table_said

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

# What Google gives a tab of which nothing is said.
_ROWS, _COLUMNS = 1_000, 26
_UNCLEAR = "Look for it with drive_search_files"


@google_tool
async def sheets_create(
    title: str,
    tabs: list[str] | None = None,
    values: Rows | None = None,
    freeze_header: bool = False,
    locale: str | None = None,
    time_zone: str | None = None,
    folder_id: str | None = None,
    value_input_option: str = USER_ENTERED,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create a spreadsheet, if wanted with tabs and first rows."""
    google = connect(context)
    if not title.strip():
        raise invalid("A spreadsheet needs a title.")
    size = check_rows(values) if values else (0, 0)
    body = _body(title, _tab_titles(tabs), size, freeze_header, locale, time_zone)
    folder = await find_folder(google, folder_id) if folder_id else None
    filled = f" with {counted(size[0], 'row')}{formula_note(values, value_input_option)}" if values else ""
    tabbed = f", tabs {listing(tabs)}" if tabs else ""
    said = table_said(values) if values else ""
    await google.ask(f"create the spreadsheet {passage(title)}{in_folder(folder)}{filled}{tabbed}{said}")
    made = await google.call(
        "sheets.spreadsheets.create",
        body=body,
        fields="spreadsheetId,spreadsheetUrl,properties/title,sheets/properties(sheetId,title)",
        unclear_hint=_UNCLEAR,
    )
    made_tabs = [each.get("properties", {}) for each in made.get("sheets", [])]
    answer: dict[str, Any] = {
        "spreadsheet_id": made["spreadsheetId"],
        "title": made.get("properties", {}).get("title", title),
        "link": made.get("spreadsheetUrl"),
        "tabs": [{"sheet_id": each.get("sheetId", 0), "title": each.get("title", "")} for each in made_tabs],
    }
    # From here on there is a spreadsheet: what goes wrong is told beside its id, so that no one makes another one.
    failures: list[dict[str, str]] = []
    if values:
        try:
            answer["written_range"] = await _fill(google, answer, values, size, value_input_option)
        except GoogleError as error:
            failures.append({"step": "values", "reason": str(error)})
    if folder:
        try:
            await move_into(google, answer["spreadsheet_id"], folder)
            answer["folder_id"] = folder.id
        except GoogleError as error:
            failures.append({"step": "folder_id", "reason": str(error)})
    return compact({**answer, "failed": failures})


async def _fill(
    google: GoogleClient, made: dict[str, Any], values: Rows, size: tuple[int, int], value_input_option: str
) -> str:
    first = made["tabs"][0]["title"] if made["tabs"] else None
    text = format_reference(first, Area().sized(*size))
    written = await google.call(
        "sheets.spreadsheets.values.update",
        spreadsheetId=made["spreadsheet_id"],
        range=text,
        body={"range": text, "majorDimension": "ROWS", "values": values},
        valueInputOption=value_input_option,
        fields="updatedRange",
    )
    return str(written.get("updatedRange", text))


def _tab_titles(tabs: list[str] | None) -> list[str]:
    titles = [each.strip() for each in tabs or ()]
    if not all(titles):
        raise invalid("tabs must not hold empty titles.")
    for title in titles:
        if [each.casefold() for each in titles].count(title.casefold()) > 1:
            raise invalid(f"Two tabs cannot both be called {title[:100]!r}.")
    return titles


def _body(
    title: str,
    tabs: list[str],
    size: tuple[int, int],
    freeze_header: bool,
    locale: str | None,
    time_zone: str | None,
) -> dict[str, Any]:
    grid: dict[str, int] = {}
    rows, columns = size
    if rows > _ROWS or columns > _COLUMNS or freeze_header:
        grid = {"rowCount": max(rows, _ROWS), "columnCount": max(columns, _COLUMNS)}
    if freeze_header:
        grid["frozenRowCount"] = 1
    sheets: list[dict[str, Any]] = [{"properties": {"title": each, "index": n}} for n, each in enumerate(tabs)]
    if grid:
        # Without a title, the first tab gets its usual name in the language of the spreadsheet.
        sheets = sheets or [{"properties": {"index": 0}}]
        sheets[0]["properties"]["gridProperties"] = grid
    properties = compact({"title": title, "locale": locale, "timeZone": time_zone})
    return {"properties": properties, **compact({"sheets": sheets})}
