"""Objects on cells: formats, dropdowns, rules, named ranges, filters and charts; ``sheets_format_cells``."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool, listing, quoted, setting_words
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.editors import rgb
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.sheets.book import Book, column_letters, read_book
from oneclaw_google_workspace.sheets.grid import Action, Wish, grid_tab, ranged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.sheets.book import Place, Tab

OBJECT_FIELDS = "sheets(properties/sheetId,charts(chartId,spec),conditionalFormats)"
_BORDERS = {
    "none": ("top", "bottom", "left", "right", "innerHorizontal", "innerVertical"),
    "outer": ("top", "bottom", "left", "right"),
    "inner": ("innerHorizontal", "innerVertical"),
    "all": ("top", "bottom", "left", "right", "innerHorizontal", "innerVertical"),
    "bottom": ("bottom",),
}
# How many values a condition takes; one, if nothing is said.
_VALUES = {"NUMBER_BETWEEN": 2, "BLANK": 0, "NOT_BLANK": 0}
_OBJECTS = ("conditional_rule", "validation")
COLOR_SCALE = "COLOR_SCALE"


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


_FULLEST_CHART_COLUMNS = 50


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


@dataclass(frozen=True, slots=True)
class Format:
    """The arguments of the tool; see the manifest. ``None`` leaves a field as it is."""

    bold: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    strikethrough: bool | None = None
    font_family: str | None = None
    font_size: int | None = None
    text_color: str | None = None
    background_color: str | None = None
    number_format: str | None = None
    number_pattern: str | None = None
    horizontal_alignment: str | None = None
    vertical_alignment: str | None = None
    wrap: str | None = None
    borders: str | None = None
    border_style: str = "SOLID"
    border_color: str = "#000000"
    merge: str | None = None
    column_width: int | None = None
    row_height: int | None = None
    auto_resize_columns: bool = False
    conditional_rule: Mapping[str, Any] | None = None
    validation: Mapping[str, Any] | None = None

    @property
    def applied(self) -> list[str]:
        """The names of what is changed."""
        return [
            name
            for name in self.__slots__
            if name not in ("border_style", "border_color") and getattr(self, name) not in (None, False)
        ] + [name for name in ("bold", "italic", "underline", "strikethrough") if getattr(self, name) is False]

    @property
    def described(self) -> str:
        """The change, in words for a question."""
        words = [setting_words(name, getattr(self, name)) for name in self.applied if name not in _OBJECTS]
        if self.borders not in (None, "none"):
            words += [setting_words(name, getattr(self, name)) for name in ("border_style", "border_color")]
        if self.conditional_rule is not None:
            rule = self.conditional_rule
            values = f" {listing(map(str, rule['values']))}" if rule.get("values") else ""
            look = [
                setting_words(name, rule[name]) for name in ("background_color", "text_color", "bold") if name in rule
            ]
            instead = f" in place of rule {rule['index']}" if rule.get("index") is not None else ""
            shown = f" ({', '.join(look)})" if look else ""
            words.append(f"conditional_rule {rule['condition']}{values}{shown}{instead}")
        if self.validation is not None:
            words.append(_validation_words(self.validation))
        return ", ".join(words)


def requests_for(format_: Format, place: Place) -> list[dict[str, Any]]:
    """Make the requests of one batch.

    Args:
        format_: what is wanted.
        place: for which cells.

    Raises:
        GoogleError: nothing is wanted, or something that does not go together.
    """
    if not format_.applied:
        raise invalid("Give at least one format, such as bold or number_format.")
    if format_.number_pattern is not None and format_.number_format is None:
        raise invalid("number_pattern goes with number_format, such as NUMBER or DATE.")
    if format_.auto_resize_columns and format_.column_width is not None:
        raise invalid("Give column_width or auto_resize_columns, not both.")
    requests: list[dict[str, Any]] = []
    cell, fields = _cell_format(format_)
    grid_range = place.grid_range
    if fields:
        masks = ",".join(f"userEnteredFormat.{name}" for name in fields)
        requests.append({"repeatCell": {"range": grid_range, "cell": {"userEnteredFormat": cell}, "fields": masks}})
    if format_.borders is not None:
        border: dict[str, Any] = {"style": "NONE"}
        if format_.borders != "none":
            border = {"style": format_.border_style, "colorStyle": color_style(format_.border_color, "border_color")}
        requests.append({"updateBorders": {"range": grid_range, **dict.fromkeys(_BORDERS[format_.borders], border)}})
    if format_.merge == "UNMERGE":
        requests.append({"unmergeCells": {"range": grid_range}})
    elif format_.merge is not None:
        requests.append({"mergeCells": {"range": grid_range, "mergeType": format_.merge}})
    requests += _sizes(format_, place)
    if format_.conditional_rule is not None:
        requests.append(_conditional_request(format_.conditional_rule, place))
    if format_.validation is not None:
        rule = _validation_rule(format_.validation)
        requests.append({"setDataValidation": {"range": grid_range, **compact({"rule": rule})}})
    return requests


def color_style(text: str, name: str) -> dict[str, Any]:
    """Write a colour as Google wants it.

    Args:
        text: #rrggbb or #rgb.
        name: of the argument, for messages.

    Raises:
        GoogleError: it is no colour.
    """
    return {"rgbColor": rgb(name, text)}


def _cell_format(format_: Format) -> tuple[dict[str, Any], list[str]]:
    """The format of a cell, and each field of it that is meant: to name one as a whole would empty the others."""
    text: dict[str, Any] = {
        "bold": format_.bold,
        "italic": format_.italic,
        "underline": format_.underline,
        "strikethrough": format_.strikethrough,
        "fontFamily": format_.font_family,
        "fontSize": format_.font_size,
    }
    if format_.text_color is not None:
        text["foregroundColorStyle"] = color_style(format_.text_color, "text_color")
    text = compact(text)
    cell: dict[str, Any] = {
        "horizontalAlignment": format_.horizontal_alignment,
        "verticalAlignment": format_.vertical_alignment,
        "wrapStrategy": format_.wrap,
    }
    if format_.background_color is not None:
        cell["backgroundColorStyle"] = color_style(format_.background_color, "background_color")
    if format_.number_format is not None:
        cell["numberFormat"] = compact({"type": format_.number_format, "pattern": format_.number_pattern})
    cell = compact(cell)
    fields = [*(f"textFormat.{name}" for name in text), *cell]
    return compact({"textFormat": text, **cell}), fields


def _sizes(format_: Format, place: Place) -> list[dict[str, Any]]:
    area = place.area
    columns = _dimension(place.tab.sheet_id, "COLUMNS", area.start_column, area.end_column)
    rows = _dimension(place.tab.sheet_id, "ROWS", area.start_row, area.end_row)
    requests: list[dict[str, Any]] = [
        {"updateDimensionProperties": {"range": range_, "properties": {"pixelSize": pixels}, "fields": "pixelSize"}}
        for range_, pixels in ((columns, format_.column_width), (rows, format_.row_height))
        if pixels is not None
    ]
    if format_.auto_resize_columns:
        requests.append({"autoResizeDimensions": {"dimensions": columns}})
    return requests


def _dimension(sheet_id: int, dimension: str, start: int, end: int | None) -> dict[str, Any]:
    known = {} if end is None else {"endIndex": end}
    return {"sheetId": sheet_id, "dimension": dimension, "startIndex": start, **known}


def _conditional_request(rule: Mapping[str, Any], place: Place) -> dict[str, Any]:
    key, written = "booleanRule", _gradient(rule) if rule["condition"] == COLOR_SCALE else _boolean_rule(rule)
    if rule["condition"] == COLOR_SCALE:
        key = "gradientRule"
    made = {"ranges": [place.grid_range], key: written}
    if rule.get("index") is None:
        return {"addConditionalFormatRule": {"index": 0, "rule": made}}
    where = {"sheetId": place.tab.sheet_id, "index": rule["index"]}
    return {"updateConditionalFormatRule": {**where, "rule": made}}


def _gradient(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Colour cells from the lowest number to the highest."""
    colors = [color_style(str(value), "values") for value in rule.get("values", ())]
    if len(colors) not in (2, 3) or any(name in rule for name in ("background_color", "text_color", "bold")):
        raise invalid(f"The condition {COLOR_SCALE} takes 2 or 3 colours as values, and no other look.")
    points: list[dict[str, Any]] = [{"type": "MIN"}, {"type": "PERCENTILE", "value": "50"}, {"type": "MAX"}]
    chosen = points if len(colors) == 3 else [points[0], points[2]]
    names = ("minpoint", "midpoint", "maxpoint") if len(colors) == 3 else ("minpoint", "maxpoint")
    return {name: {**point, "colorStyle": color} for name, point, color in zip(names, chosen, colors, strict=True)}


def _validation_rule(validation: Mapping[str, Any]) -> dict[str, Any] | None:
    """Write what cells accept; ``None`` for anything."""
    kind = str(validation["condition"])
    values = [str(value).strip() for value in validation.get("values", ())]
    if kind == "NONE":
        if values:
            raise invalid("validation NONE takes no values.")
        return None
    if kind == "LIST":
        if not values or not all(values):
            raise invalid("validation LIST takes the choices as values.")
        condition = _condition("ONE_OF_LIST", values)
    elif kind == "RANGE":
        if len(values) != 1 or not values[0]:
            raise invalid("validation RANGE takes one value, the range with the choices.")
        condition = _condition("ONE_OF_RANGE", [f"={values[0].removeprefix('=')}"])
    elif kind == "CHECKBOX":
        if values:
            raise invalid("validation CHECKBOX takes no values.")
        condition = {"type": "BOOLEAN"}
    else:
        condition = _checked_condition(validation)
    return {"condition": condition, "strict": bool(validation.get("strict", True)), "showCustomUi": True}


def _validation_words(validation: Mapping[str, Any]) -> str:
    kind = str(validation["condition"])
    if kind == "NONE":
        return "no validation"
    values = f" {listing(map(str, validation['values']))}" if validation.get("values") else ""
    return f"accepting {'only ' if validation.get('strict', True) else ''}{kind}{values}"


def _checked_condition(rule: Mapping[str, Any]) -> dict[str, Any]:
    condition = str(rule["condition"])
    values = [str(value).strip() for value in rule.get("values", ())]
    needed = _VALUES.get(condition, 1)
    if len(values) != needed or not all(values):
        raise invalid(f"The condition {condition} takes {needed or 'no'} value{'' if needed == 1 else 's'}.")
    if condition == "CUSTOM_FORMULA" and not values[0].startswith("="):
        values = [f"={values[0]}"]
    return _condition(condition, values)


def _condition(kind: str, values: list[str]) -> dict[str, Any]:
    return {"type": kind, **compact({"values": [{"userEnteredValue": value} for value in values]})}


def _boolean_rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    written = _checked_condition(rule)
    format_: dict[str, Any] = {}
    if rule.get("background_color"):
        format_["backgroundColorStyle"] = color_style(rule["background_color"], "background_color")
    text = compact({"bold": rule.get("bold")})
    if rule.get("text_color"):
        text["foregroundColorStyle"] = color_style(rule["text_color"], "text_color")
    if text:
        format_["textFormat"] = text
    if not format_:
        raise invalid("A conditional_rule needs a background_color, text_color or bold.")
    return {"condition": written, "format": format_}


@google_tool
async def sheets_format_cells(
    spreadsheet_id: str,
    range: str,  # noqa: A002  # the parameter's name in the manifest
    bold: bool | None = None,
    italic: bool | None = None,
    underline: bool | None = None,
    strikethrough: bool | None = None,
    font_family: str | None = None,
    font_size: int | None = None,
    text_color: str | None = None,
    background_color: str | None = None,
    number_format: str | None = None,
    number_pattern: str | None = None,
    horizontal_alignment: str | None = None,
    vertical_alignment: str | None = None,
    wrap: str | None = None,
    borders: str | None = None,
    border_style: str = "SOLID",
    border_color: str = "#000000",
    merge: str | None = None,
    column_width: int | None = None,
    row_height: int | None = None,
    auto_resize_columns: bool = False,
    conditional_rule: dict[str, Any] | None = None,
    validation: dict[str, Any] | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Format cells."""
    google = connect(context)
    format_ = Format(
        bold,
        italic,
        underline,
        strikethrough,
        font_family,
        font_size,
        text_color,
        background_color,
        number_format,
        number_pattern,
        horizontal_alignment,
        vertical_alignment,
        wrap,
        borders,
        border_style,
        border_color,
        merge,
        column_width,
        row_height,
        auto_resize_columns,
        conditional_rule,
        validation,
    )
    book = await read_book(google, spreadsheet_id)
    place = book.place(range)
    _ = place.inside
    requests = requests_for(format_, place)
    applied = format_.applied
    loss = " (of each block of merged cells only the first value stays)" if merge not in (None, "UNMERGE") else ""
    await google.ask(f"format {place.text} of the spreadsheet {listing([book.title])}: {format_.described}{loss}")
    await google.call(
        "sheets.spreadsheets.batchUpdate",
        spreadsheetId=book.id,
        body={"requests": requests},
        fields="spreadsheetId",
        # A rule that is added a second time is there twice; all else only sets what it is to be.
        is_repeatable=conditional_rule is None or conditional_rule.get("index") is not None,
        unclear_hint="Look for the rule with sheets_get_info and include conditional_formats",
    )
    return {"range": place.text, "applied": applied}
