"""A spreadsheet as a model reads it, without its cells; pure, without any I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.problems import GoogleError
from oneclaw_google_workspace.sheets.a1 import Area
from oneclaw_google_workspace.sheets.book import TAB_FIELDS, Book, Place, Tab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_FIELDS = {
    "merges": "merges",
    "conditional_formats": "conditionalFormats(ranges,booleanRule(condition,format),gradientRule)",
    "filters": "basicFilter/range,filterViews(filterViewId,title,range)",
    "protected_ranges": "protectedRanges(protectedRangeId,range,description,warningOnly,requestingUserCanEdit)",
    "charts": "charts(chartId,spec(title,basicChart(chartType,domains,series),pieChart(domain,series)))",
    "tables": "tables(tableId,name,range,columnProperties/columnName)",
}
_SHOWN = 100


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
