"""Spreadsheets as a whole: what they consist of, making them, changing their structure, and commenting on them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import (
    compact,
    counted,
    file_id,
    from_outside,
    google_tool,
    listing,
    passage,
    room_beside,
    table_said,
)
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.editors import (
    INCLUDED,
    THREAD_FIELDS,
    Remark,
    add_by_drive,
    added,
    answer_by_drive,
    check_place,
    comment_rows,
    find_folder,
    in_folder,
    is_unknown_to_the_editor,
    made_id,
    move_into,
    threads_by_drive,
)
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.sheets.book import (
    BOOK_FIELDS,
    TAB_FIELDS,
    Area,
    Book,
    Place,
    Tab,
    format_reference,
    get_spreadsheet,
    read_book,
)
from oneclaw_google_workspace.sheets.grid import (
    Action,
    Wish,
    add_tab,
    check_wish,
    delete,
    delete_tab,
    duplicate_tab,
    freeze,
    hide,
    insert,
    move_tab,
    rename_tab,
    sort_range,
    with_new_id,
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
from oneclaw_google_workspace.sheets.values import USER_ENTERED, Rows, check_rows, filled_cells, formula_note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_FIELDS = {
    "merges": "merges",
    "conditional_formats": "conditionalFormats(ranges,booleanRule(condition,format),gradientRule)",
    "filters": "basicFilter/range,filterViews(filterViewId,title,range)",
    "protected_ranges": "protectedRanges(protectedRangeId,range,description,warningOnly,requestingUserCanEdit)",
    "charts": "charts(chartId,spec(title,basicChart(chartType,domains,series),pieChart(domain,series)))",
    "tables": "tables(tableId,name,range,columnProperties/columnName)",
}
_SHOWN = 100
# What Google gives a tab of which nothing is said.
_ROWS, _COLUMNS = 1_000, 26
_UNCLEAR = "Look for it with drive_search_files"


def info_fields(include: Iterable[str]) -> str:
    """Write the mask for what is wanted.

    Args:
        include: as in the tool's parameter.
    """
    sheet = ",".join([f"properties({TAB_FIELDS})", *(_FIELDS[name] for name in include)])
    return f"spreadsheetId,spreadsheetUrl,properties(title,locale,timeZone),sheets({sheet}),namedRanges(name,range)"


def info_row(answer: Mapping[str, Any], include: Iterable[str]) -> dict[str, Any]:
    """Make the answer of ``sheets_get_info``.

    Args:
        answer: Google's.
        include: as in the tool's parameter.
    """
    book = Book.of(answer)
    properties = answer.get("properties", {})
    extras = tuple(include)
    tabs = [
        {**_tab_row(tab), **_extras(tab, sheet, extras)}
        for tab, sheet in zip(book.tabs, answer.get("sheets", []), strict=True)
    ]
    by_id = {tab.sheet_id: tab for tab in book.tabs}
    names = [
        {"name": name, "range": range_text(by_id[named.range.get("sheetId", 0)], named.range)}
        for name, named in book.names.items()
        if named.range.get("sheetId", 0) in by_id
    ]
    return compact(
        {
            "spreadsheet_id": book.id,
            "title": book.title,
            "link": answer.get("spreadsheetUrl"),
            "locale": properties.get("locale"),
            "time_zone": properties.get("timeZone"),
            "tabs": tabs,
            "named_ranges": names[:_SHOWN],
            "named_ranges_not_shown": len(names) - _SHOWN if len(names) > _SHOWN else None,
        }
    )


def _tab_row(tab: Tab) -> dict[str, Any]:
    row: dict[str, Any] = {"sheet_id": tab.sheet_id, "title": tab.title, "index": tab.index}
    row |= {"rows": tab.rows, "columns": tab.columns} if tab.rows else {"kind": "no cells, but a chart or the like"}
    if tab.frozen_rows:
        row["frozen_rows"] = tab.frozen_rows
    if tab.frozen_columns:
        row["frozen_columns"] = tab.frozen_columns
    if tab.is_hidden:
        row["hidden"] = True
    return row


def _extras(tab: Tab, sheet: Mapping[str, Any], include: tuple[str, ...]) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    for name in include:
        found = _EXTRAS[name](tab, sheet)
        if found:
            extras[name] = found[:_SHOWN]
        if len(found) > _SHOWN:
            extras[f"{name}_not_shown"] = len(found) - _SHOWN
    return extras


def range_text(tab: Tab, grid_range: Mapping[str, Any]) -> str:
    """Write a GridRange in A1 notation, as people see it."""
    try:
        return Place(tab, Area.of_grid_range(grid_range)).text
    except (ValueError, GoogleError):
        return "nothing any more"  # what it named was deleted


def _merges(tab: Tab, sheet: Mapping[str, Any]) -> list[Any]:
    return [range_text(tab, each) for each in sheet.get("merges", [])]


def _conditional_formats(tab: Tab, sheet: Mapping[str, Any]) -> list[Any]:
    rows = []
    for index, rule in enumerate(sheet.get("conditionalFormats", [])):
        condition = rule.get("booleanRule", {}).get("condition", {})
        values = [each.get("userEnteredValue", each.get("relativeDate")) for each in condition.get("values", [])]
        text = rule.get("booleanRule", {}).get("format", {}).get("textFormat", {})
        rows.append(
            compact(
                {
                    "index": index,
                    "ranges": [range_text(tab, each) for each in rule.get("ranges", [])],
                    "condition": condition.get("type") or ("COLOR_SCALE" if "gradientRule" in rule else None),
                    "values": values,
                    "background_color": _color(rule.get("booleanRule", {}).get("format", {}), "background"),
                    "text_color": _color(text, "foreground"),
                    "bold": text.get("bold"),
                }
            )
        )
    return rows


def _filters(tab: Tab, sheet: Mapping[str, Any]) -> list[Any]:
    rows: list[Any] = []
    if "basicFilter" in sheet:
        rows.append({"range": range_text(tab, sheet["basicFilter"].get("range", {}))})
    for each in sheet.get("filterViews", []):
        shown = {"filter_view_id": each.get("filterViewId"), "title": each.get("title")}
        rows.append(compact({**shown, "range": range_text(tab, each.get("range", {}))}))
    return rows


def _protected_ranges(tab: Tab, sheet: Mapping[str, Any]) -> list[Any]:
    return [
        compact(
            {
                "range": range_text(tab, each.get("range", {})),
                "description": each.get("description"),
                "only_warns": each.get("warningOnly") or None,
                "you_can_edit": each.get("requestingUserCanEdit", False),
            }
        )
        for each in sheet.get("protectedRanges", [])
    ]


def _charts(tab: Tab, sheet: Mapping[str, Any]) -> list[Any]:
    return [_chart_row(tab, each.get("chartId"), each.get("spec", {})) for each in sheet.get("charts", [])]


def _chart_row(tab: Tab, chart_id: Any, spec: Mapping[str, Any]) -> dict[str, Any]:
    basic, pie = spec.get("basicChart", {}), spec.get("pieChart", {})
    data = [each.get("domain", {}) for each in basic.get("domains", [])] + [pie.get("domain", {})]
    data += [each.get("series", {}) for each in basic.get("series", [])] + [pie.get("series", {})]
    sources = [source for each in data for source in each.get("sourceRange", {}).get("sources", [])]
    # Data in another tab are left out, for their tab is not known here.
    here = [range_text(tab, each) for each in sources if each.get("sheetId", 0) == tab.sheet_id]
    kind = basic.get("chartType") or ("PIE" if pie else None)
    return compact({"chart_id": chart_id, "title": spec.get("title"), "type": kind, "data": here})


def _tables(tab: Tab, sheet: Mapping[str, Any]) -> list[Any]:
    return [
        compact(
            {
                "name": each.get("name"),
                "range": range_text(tab, each.get("range", {})),
                "columns": [column.get("columnName", "") for column in each.get("columnProperties", [])],
            }
        )
        for each in sheet.get("tables", [])
    ]


def _color(format_: Mapping[str, Any], which: str) -> str | None:
    """Write a colour as #rrggbb; parts that are 0 may be left out."""
    color = format_.get(f"{which}ColorStyle", {}).get("rgbColor", format_.get(f"{which}Color"))
    if color is None:
        return None
    return "#" + "".join(f"{round(255 * color.get(part, 0)):02x}" for part in ("red", "green", "blue"))


_EXTRAS: dict[str, Callable[[Tab, Mapping[str, Any]], list[Any]]] = {
    "merges": _merges,
    "conditional_formats": _conditional_formats,
    "filters": _filters,
    "protected_ranges": _protected_ranges,
    "charts": _charts,
    "tables": _tables,
}


@google_tool
async def sheets_get_info(
    spreadsheet_id: str, include: list[str] | None = None, *, context: ToolContext
) -> dict[str, Any]:
    """Describe a spreadsheet without its cells."""
    google = connect(context)
    wanted = tuple(dict.fromkeys(include or ()))
    parts = tuple(each for each in wanted if each != "comments")
    book_id = file_id(spreadsheet_id, "spreadsheet_id")
    answer = await get_spreadsheet(google, book_id, info_fields(parts))
    shown = info_row(answer, parts)
    if "comments" in wanted:
        shown |= await _comments(google, book_id, room_beside(from_outside(shown, "spreadsheets"), context))
    return from_outside(shown, "spreadsheets")


async def _comments(google: GoogleClient, book_id: str, room: int | None) -> dict[str, Any]:
    anchors = f"sheets(properties({TAB_FIELDS}),commentAnchors(anchorId,range))"
    try:
        found = await google.call(
            "sheets.spreadsheets.get",
            spreadsheetId=book_id,
            commentsViewMode=INCLUDED,
            fields=f"{THREAD_FIELDS},{anchors}",
        )
    except GoogleError as error:
        if not is_unknown_to_the_editor(error):
            raise
        found = {"comments": await threads_by_drive(google, book_id)}
    places = {
        str(anchor.get("anchorId", "")): {"cell": range_text(Tab.of(sheet.get("properties", {})), anchor["range"])}
        for sheet in found.get("sheets", [])
        for anchor in sheet.get("commentAnchors", [])
        if "range" in anchor
    }
    return comment_rows(found.get("comments", []), room, places)


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


@google_tool
async def sheets_comment(
    spreadsheet_id: str,
    action: str,
    text: str | None = None,
    comment_id: str | None = None,
    reply_id: str | None = None,
    cell: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Comment on a cell or a spreadsheet, or answer a comment."""
    google = connect(context)
    wanted = file_id(spreadsheet_id, "spreadsheet_id")
    remark = Remark(action, text, comment_id, reply_id, "sheets_get_info and include comments")
    check_place(remark, cell=cell)
    if action != "add":
        return await answer_by_drive(google, wanted, remark, "spreadsheet")
    book = await read_book(google, wanted)
    named = f"the spreadsheet {listing([book.title])}"
    if cell is None:
        return added(await add_by_drive(google, book.id, remark, named))
    place = book.place(cell)
    area = place.inside
    if not area.is_cell:
        raise invalid(f"A comment is on one cell, such as Sheet1!B2, not on {place.text}.")
    await google.ask(f"comment on {place.text} in {named}: {remark.said}")
    where = {"sheetId": place.tab.sheet_id, "rowIndex": area.start_row, "columnIndex": area.start_column}
    answer = await google.call(
        "sheets.spreadsheets.batchUpdate",
        spreadsheetId=book.id,
        body={"requests": [{"insertComment": {"content": remark.text, "coordinate": where}}]},
        fields="replies",
        unclear_hint=remark.unclear_hint,
    )
    return {**added(made_id(answer.get("replies", []))), "cell": place.text}


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
    row = _copied_tab_row(after, planned.sheet_id)
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
            is_there = _copied_tab_row(after, planned.sheet_id) is not None
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


def _copied_tab_row(book: Book, sheet_id: int) -> dict[str, Any] | None:
    for tab in book.tabs:
        if tab.sheet_id == sheet_id:
            size = {"rows": tab.rows, "columns": tab.columns} if tab.rows else {}
            return {"sheet_id": tab.sheet_id, "title": tab.title, "index": tab.index, **size}
    return None
