"""Cells of the stand-in's spreadsheets: ranges in A1 notation, what typing makes of a text, and formulas."""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from google_service import bad_request

if TYPE_CHECKING:
    from collections.abc import Callable

DAY_ZERO = date(1899, 12, 30)
_CELLS = re.compile(r"([A-Z]+)?(\d+)?(?:(:)([A-Z]+)?(\d+)?)?", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?|-?\d*\.?\d+([eE][+-]?\d+)?")
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}

Box = tuple[int, int, int, int]
"""First row, row behind the last, first column, column behind the last."""


@dataclass
class Cell:
    """What is in a cell: a value or a formula, and whether it is shown as a date or a percentage."""

    value: Any = ""
    formula: str | None = None
    kind: str | None = None


@dataclass
class Sheet:
    """One tab."""

    id: int
    title: str
    rows: int = 1000
    columns: int = 26
    frozen_rows: int = 0
    frozen_columns: int = 0
    is_hidden: bool = False
    is_chart: bool = False
    cells: dict[tuple[int, int], Cell] = field(default_factory=dict)
    formats: dict[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    borders: list[dict[str, Any]] = field(default_factory=list)
    merges: list[dict[str, Any]] = field(default_factory=list)
    rules: list[dict[str, Any]] = field(default_factory=list)
    sizes: dict[tuple[str, int], int | str] = field(default_factory=dict)
    extras: dict[str, Any] = field(default_factory=dict)

    def filled(self, box: Box) -> list[tuple[int, int]]:
        """The cells of a box that hold something, in order."""
        top, bottom, left, right = box
        return sorted(
            (row, column)
            for (row, column), cell in self.cells.items()
            if top <= row < bottom and left <= column < right and (cell.value != "" or cell.formula)
        )

    def shift(self, is_rows: bool, start: int, by: int) -> None:
        """Make room for rows or columns, or (by a negative number) take them away."""

        def moved(place: tuple[int, int]) -> tuple[int, int] | None:
            at = place[0] if is_rows else place[1]
            if at >= start - min(by, 0):
                at += by
            elif at >= start and by < 0:
                return None
            return (at, place[1]) if is_rows else (place[0], at)

        for name in ("cells", "formats"):
            old = getattr(self, name)
            setattr(self, name, {new: value for place, value in old.items() if (new := moved(place)) is not None})
        if is_rows:
            self.rows += by
        else:
            self.columns += by


def letters(number: int) -> str:
    found = ""
    while number >= 0:
        number, rest = divmod(number, 26)
        found = chr(65 + rest) + found
        number -= 1
    return found


def number_of(text: str) -> int:
    number = 0
    for letter in text.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


def a1(sheet: Sheet, box: Box) -> str:
    """A box as Google writes it in its answers."""
    top, bottom, left, right = box
    title = sheet.title if re.fullmatch(r"[A-Za-z_]\w*", sheet.title) else "'" + sheet.title.replace("'", "''") + "'"
    first, last = f"{letters(left)}{top + 1}", f"{letters(right - 1)}{bottom}"
    return f"{title}!{first}" if first == last else f"{title}!{first}:{last}"


def read_box(sheet: Sheet, text: str, whole: str) -> Box:
    """The cells that a range means, cut to the size of the tab."""
    match = _CELLS.fullmatch(text)
    if match is None or not (match[1] or match[2]) or (match[3] and not (match[4] or match[5])):
        raise bad_request(f"Unable to parse range: {whole}", "INVALID_ARGUMENT")
    if not match[3] and not (match[1] and match[2]):
        raise bad_request(f"Unable to parse range: {whole}", "INVALID_ARGUMENT")
    top = int(match[2]) - 1 if match[2] else 0
    left = number_of(match[1]) if match[1] else 0
    if match[3]:
        bottom = int(match[5]) if match[5] else sheet.rows
        right = number_of(match[4]) + 1 if match[4] else sheet.columns
    else:
        bottom, right = top + 1, left + 1
    if top >= sheet.rows or left >= sheet.columns:
        raise bad_request(
            f"Range ({whole}) exceeds grid limits. Max rows: {sheet.rows}, max columns: {sheet.columns}",
            "INVALID_ARGUMENT",
        )
    return (top, min(bottom, sheet.rows), left, min(right, sheet.columns))


def box_of(sheet: Sheet, grid_range: dict[str, int]) -> Box:
    return (
        grid_range.get("startRowIndex", 0),
        grid_range.get("endRowIndex", sheet.rows),
        grid_range.get("startColumnIndex", 0),
        grid_range.get("endColumnIndex", sheet.columns),
    )


def places_of(box: Box) -> list[tuple[int, int]]:
    return [(row, column) for row in range(box[0], box[1]) for column in range(box[2], box[3])]


def typed(value: Any, option: str) -> Cell:
    """What happens to a value: taken as it is, or as if somebody typed it."""
    if option == "RAW" or not isinstance(value, str):
        return Cell(value)
    if value.startswith("="):
        return Cell("", value)
    if value.startswith("'"):
        return Cell(value[1:])
    if value.upper() in ("TRUE", "FALSE"):
        return Cell(value.upper() == "TRUE")
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        return Cell((date.fromisoformat(value) - DAY_ZERO).days, kind="DATE")
    if re.fullmatch(r"-?[\d.]+%", value):
        return Cell(float(value[:-1]) / 100, kind="PERCENT")
    if _NUMBER.fullmatch(value):
        number = float(value.replace(",", ""))
        return Cell(int(number) if number.is_integer() else number)
    return Cell(value)


def result_of(sheet: Sheet, cell: Cell, depth: int = 0) -> Any:
    """The value of a cell, of a formula what it comes to."""
    if cell.formula is None:
        return cell.value
    if depth > 20:
        return "#REF!"

    def value_at(text: str) -> Any:
        top, _, left, _ = read_box(sheet, text, text)
        value = result_of(sheet, sheet.cells.get((top, left), Cell()), depth + 1)
        return value if isinstance(value, int | float) else 0

    def total(match: re.Match[str]) -> str:
        box = read_box(sheet, match[1], match[1])
        return repr(sum(value_at(f"{letters(column)}{row + 1}") for row, column in sheet.filled(box)))

    text = re.sub(r"SUM\(([A-Z]+\d+:[A-Z]+\d+)\)", total, cell.formula[1:])
    text = re.sub(r"\b[A-Z]{1,3}\d+\b", lambda match: repr(value_at(match[0])), text)
    try:
        return _calculated(ast.parse(text.strip(), mode="eval").body)
    except ZeroDivisionError:
        return "#DIV/0!"
    except (SyntaxError, KeyError, TypeError):
        return "#NAME?"


def _calculated(node: ast.AST) -> Any:
    if isinstance(node, ast.BinOp):
        function: Callable[[Any, Any], Any] = _OPERATORS[type(node.op)]
        return function(_calculated(node.left), _calculated(node.right))
    if isinstance(node, ast.Constant):
        return node.value
    raise TypeError(node)


def rendered(sheet: Sheet, place: tuple[int, int], how: str, dates: str) -> Any:
    """A cell as an answer shows it."""
    cell = sheet.cells.get(place, Cell())
    if how == "FORMULA" and cell.formula is not None:
        return cell.formula
    value = result_of(sheet, cell)
    kind = sheet.formats.get(place, {}).get("numberFormat", {}).get("type", cell.kind)
    if kind == "DATE" and isinstance(value, int | float) and (how == "FORMATTED_VALUE" or dates == "FORMATTED_STRING"):
        return (DAY_ZERO + timedelta(days=int(value))).isoformat()
    if how != "FORMATTED_VALUE" or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).upper()
    return f"{value * 100:g}%" if kind == "PERCENT" else f"{value:.10g}"


def trimmed(rows: list[list[Any]]) -> list[list[Any]]:
    """Leave out the empty cells at the ends of rows, and the empty rows at the end."""
    for row in rows:
        while row and row[-1] == "":
            row.pop()
    while rows and not rows[-1]:
        rows.pop()
    return rows
