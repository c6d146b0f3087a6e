"""From the arguments of ``sheets_format_cells`` to Google's requests; pure, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact
from oneclaw_google_workspace.editor_text import rgb
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import listing, setting_words

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        words = [setting_words(name, getattr(self, name)) for name in self.applied if name != "conditional_rule"]
        if self.borders not in (None, "none"):
            words += [setting_words(name, getattr(self, name)) for name in ("border_style", "border_color")]
        if self.conditional_rule is not None:
            rule = self.conditional_rule
            values = f" {listing(map(str, rule['values']))}" if rule.get("values") else ""
            look = [
                setting_words(name, rule[name]) for name in ("background_color", "text_color", "bold") if name in rule
            ]
            words.append(f"conditional_rule {rule['condition']}{values} ({', '.join(look)})")
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
        rule = {"ranges": [grid_range], "booleanRule": _boolean_rule(format_.conditional_rule)}
        requests.append({"addConditionalFormatRule": {"index": 0, "rule": rule}})
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


def _boolean_rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    condition = str(rule["condition"])
    values = [str(value).strip() for value in rule.get("values", ())]
    needed = _VALUES.get(condition, 1)
    if len(values) != needed or not all(values):
        raise invalid(f"The condition {condition} takes {needed or 'no'} value{'' if needed == 1 else 's'}.")
    if condition == "CUSTOM_FORMULA" and not values[0].startswith("="):
        values = [f"={values[0]}"]
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
    written = {"type": condition, **compact({"values": [{"userEnteredValue": value} for value in values]})}
    return {"condition": written, "format": format_}
