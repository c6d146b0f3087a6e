"""The tool of the group ``google_sheets`` that formats cells, and says what they accept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.editors import rgb
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.sheets.book import read_book
from oneclaw_google_workspace.wording import listing, setting_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.sheets.book import Place

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
