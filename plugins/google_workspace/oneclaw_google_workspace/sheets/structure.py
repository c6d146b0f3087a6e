"""The tool ``sheets_manage_structure``, and its actions on named ranges, charts, filters and rules."""

from __future__ import annotations

import copy
import secrets
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.sheets.book import BOOK_FIELDS, Book, column_letters, get_spreadsheet, read_book
from oneclaw_google_workspace.sheets.grid import (
    Action,
    Wish,
    add_tab,
    check_wish,
    delete,
    delete_tab,
    duplicate_tab,
    freeze,
    grid_tab,
    hide,
    insert,
    move_tab,
    ranged,
    rename_tab,
    sort_range,
    with_new_id,
)
from oneclaw_google_workspace.sheets.values import filled_cells
from oneclaw_google_workspace.wording import counted, listing, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient
    from oneclaw_google_workspace.sheets.book import Place, Tab

OBJECT_FIELDS = "sheets(properties/sheetId,charts(chartId,spec),conditionalFormats)"
_FULLEST_CHART_COLUMNS = 50


def name_range(book: Book, wish: Wish) -> Action:
    """Give a range a name, or have a name mean another range."""
    name, place = (wish.title or "").strip(), ranged(book, wish)
    before = book.named(name)
    values = {"name": name, "range": place.grid_range}
    if before is not None:
        return Action(
            f"have the name {listing([before.name])} mean {place.text} in",
            {"updateNamedRange": {"namedRange": {**values, "namedRangeId": before.id}, "fields": "name,range"}},
            f"{name} is {place.text} now",
            place.tab.sheet_id,
        )
    own_id = f"oc{wish.new_sheet_id:x}"
    return Action(
        f"name {place.text} {listing([name])} in",
        {"addNamedRange": {"namedRange": {**values, "namedRangeId": own_id}}},
        f"{name} is {place.text}",
        place.tab.sheet_id,
        is_creating=True,
        object_id=own_id,
    )


def delete_name(book: Book, wish: Wish) -> Action:
    """Delete a named range; its cells stay."""
    named = book.named((wish.title or "").strip())
    if named is None:
        names = ", ".join(list(book.names)[:30])
        raise invalid(f"There is no named range {wish.title!r}. There are: {names or 'none'}.")
    return Action(
        f"delete the name {listing([named.name])}, but not its cells, from",
        {"deleteNamedRange": {"namedRangeId": named.id}},
        f"deleted the name {named.name}",
        int(named.range.get("sheetId", 0)),
        is_deleting=True,
        object_id=named.id,
    )


def set_filter(book: Book, wish: Wish) -> Action:
    """Put the filter of a tab on a range, in place of the one that it has."""
    place = ranged(book, wish)
    return Action(
        f"put a filter on {place.text} of",
        {"setBasicFilter": {"filter": {"range": place.grid_range}}},
        f"put a filter on {place.text}",
        place.tab.sheet_id,
    )


def clear_filter(book: Book, wish: Wish) -> Action:
    """Take the filter of a tab away; all rows are shown again."""
    tab = grid_tab(book, wish)
    return Action(
        f"take the filter of the tab {listing([tab.title])} away in",
        {"clearBasicFilter": {"sheetId": tab.sheet_id}},
        "took the filter away",
        tab.sheet_id,
    )


def add_chart(book: Book, wish: Wish) -> Action:
    """Put a chart of a range beside it, or at a cell."""
    place = ranged(book, wish)
    kind = wish.chart_type or "COLUMN"
    corner = book.place(wish.cell) if wish.cell else _beside(place)
    area = corner.inside
    where = {"sheetId": corner.tab.sheet_id, "rowIndex": area.start_row, "columnIndex": area.start_column}
    spec = {**compact({"title": wish.title}), **_spec(place, kind)}
    chart = {"chartId": wish.new_sheet_id, "spec": spec, "position": {"overlayPosition": {"anchorCell": where}}}
    titled = f" {quoted(wish.title)}" if wish.title else ""
    at = f"{corner.tab.title}!{column_letters(area.start_column)}{area.start_row + 1}"
    return Action(
        f"add a chart{titled} ({kind.lower()}) of {place.text} at {at} to",
        {"addChart": {"chart": chart}},
        f"added the chart {wish.new_sheet_id}",
        corner.tab.sheet_id,
        is_creating=True,
        object_id=wish.new_sheet_id,
    )


def update_chart(book: Book, wish: Wish, sheets: Sequence[Mapping[str, Any]]) -> Action:
    """Change the data, the type or the title of a chart; all else of it stays."""
    tab, chart = _chart(book, wish, sheets)
    spec: dict[str, Any] = copy.deepcopy(dict(chart.get("spec", {})))
    named = _chart_words(chart)
    is_pie = "pieChart" in spec
    wants_pie = is_pie if wish.chart_type is None else wish.chart_type == "PIE"
    words = []
    if wish.range is not None:
        place = ranged(book, wish)
        kind = wish.chart_type or ("PIE" if is_pie else spec.get("basicChart", {}).get("chartType", "COLUMN"))
        fresh = _spec(place, kind)
        kept = {key: value for key, value in spec.items() if key not in ("basicChart", "pieChart")}
        old = spec.get("basicChart", {}) if not is_pie and not wants_pie else {}
        spec = {**kept, **fresh}
        if "basicChart" in fresh:
            looks = {key: old[key] for key in ("chartType", "axis", "legendPosition", "stackedType") if key in old}
            spec["basicChart"] = {**_turned(looks, kind), **fresh["basicChart"]}
        words.append(f"showing {place.text}")
    elif wish.chart_type is not None:
        if wants_pie or is_pie or "basicChart" not in spec:
            raise invalid("From or to a pie, and for charts of other kinds, give the range, too.")
        spec["basicChart"] = _turned(spec["basicChart"], wish.chart_type)
    if wish.chart_type is not None:
        words.append(f"as {wish.chart_type.lower()}")
    if wish.title is not None:
        spec["title"] = wish.title
        words.append(f"titled {quoted(wish.title)}")
    return Action(
        f"change {named} to one {', '.join(words)} in",
        {"updateChartSpec": {"chartId": chart["chartId"], "spec": spec}},
        f"changed the chart {chart['chartId']}",
        tab.sheet_id,
    )


def delete_chart(book: Book, wish: Wish, sheets: Sequence[Mapping[str, Any]]) -> Action:
    """Delete a chart; its data stay."""
    tab, chart = _chart(book, wish, sheets)
    return Action(
        f"delete {_chart_words(chart)}, but not its data, from",
        {"deleteEmbeddedObject": {"objectId": chart["chartId"]}},
        f"deleted the chart {chart['chartId']}",
        tab.sheet_id,
        is_deleting=True,
        object_id=int(chart["chartId"]),
    )


def delete_rule(book: Book, wish: Wish, sheets: Sequence[Mapping[str, Any]]) -> Action:
    """Delete a conditional rule of a tab; those behind it move up."""
    tab = grid_tab(book, wish)
    rules: Sequence[Mapping[str, Any]] = next(
        (
            each.get("conditionalFormats", [])
            for each in sheets
            if each.get("properties", {}).get("sheetId", 0) == tab.sheet_id
        ),
        [],
    )
    index = wish.index or 0
    if index >= len(rules):
        raise invalid(f"The tab {tab.title!r} has {len(rules)} conditional rules, counted from 0: see sheets_get_info.")
    rule = rules[index]
    condition = rule.get("booleanRule", {}).get("condition", {})
    values = [str(each.get("userEnteredValue", "")) for each in condition.get("values", [])]
    said = f"{condition.get('type', 'COLOR_SCALE')}{f' {listing(values)}' if values else ''}"
    return Action(
        f"delete the conditional rule {index} ({said}) of the tab {listing([tab.title])} from",
        {"deleteConditionalFormatRule": {"sheetId": tab.sheet_id, "index": index}},
        f"deleted the conditional rule {index}",
        tab.sheet_id,
        is_repeatable=False,  # a second time it would be the next rule
    )


def object_ids(answer: Mapping[str, Any]) -> set[int | str]:
    """List the ids of charts and named ranges in an answer of Google's."""
    charts = {int(chart["chartId"]) for sheet in answer.get("sheets", []) for chart in sheet.get("charts", [])}
    return {*charts, *(str(each.get("namedRangeId", "")) for each in answer.get("namedRanges", []))}


def _spec(place: Place, kind: str) -> dict[str, Any]:
    """Draw a range: its first column along the axis, each other one as a series."""
    area = place.inside
    end = area.end_column or 0
    width = end - area.start_column
    if width < 2:
        raise invalid(f"A chart needs a column of names and one of numbers at least; {place.text} has {width}.")
    if width > _FULLEST_CHART_COLUMNS:
        raise invalid(f"A chart can have {_FULLEST_CHART_COLUMNS} columns at most; give the cells that hold its data.")

    def data(column: int) -> dict[str, Any]:
        one = {**area.grid_range(place.tab.sheet_id), "startColumnIndex": column, "endColumnIndex": column + 1}
        return {"sourceRange": {"sources": [one]}}

    first = data(area.start_column)
    others = [data(column) for column in range(area.start_column + 1, end)]
    if kind == "PIE":
        if len(others) > 1:
            raise invalid("A pie shows one column of numbers beside that of names.")
        return {"pieChart": {"domain": first, "series": others[0], "legendPosition": "RIGHT_LEGEND"}}
    return {
        "basicChart": {
            "chartType": kind,
            "domains": [{"domain": first}],
            "series": [{"series": each, "targetAxis": _value_axis(kind)} for each in others],
        }
    }


def _value_axis(kind: str) -> str:
    return "BOTTOM_AXIS" if kind == "BAR" else "LEFT_AXIS"


def _turned(chart: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Give a chart another type, with its axes where that has them: bars lie, and so do their values."""
    before, after = _value_axis(str(chart.get("chartType"))), _value_axis(kind)
    places = {} if before == after else {before: after, after: before}
    found = {**chart, "chartType": kind}
    for key, name in (("series", "targetAxis"), ("axis", "position")):
        if key in chart:
            found[key] = [
                {**each, name: places.get(each[name], each[name])} if name in each else each for each in chart[key]
            ]
    return found


def _beside(place: Place) -> Place:
    """Find the cell to the right of a range, with a column between, as far as the tab goes."""
    area = place.inside
    column = min((area.end_column or 0) + 1, place.tab.columns - 1)
    return type(place)(place.tab, area.cell(0, column - area.start_column))


def _chart(book: Book, wish: Wish, sheets: Sequence[Mapping[str, Any]]) -> tuple[Tab, Mapping[str, Any]]:
    for tab, sheet in zip(book.tabs, sheets, strict=False):
        for chart in sheet.get("charts", []):
            if chart.get("chartId") == wish.chart_id:
                return tab, chart
    raise GoogleError("not_found", f"There is no chart {wish.chart_id}: see sheets_get_info with include charts.")


def _chart_words(chart: Mapping[str, Any]) -> str:
    title = chart.get("spec", {}).get("title")
    return f"the chart {quoted(str(title))}" if title else f"the chart {chart.get('chartId')}"


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
