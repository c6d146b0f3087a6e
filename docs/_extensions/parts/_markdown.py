"""Writing Markdown: texts that may hold anything, code, tables."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~])")
# What Sphinx would make a dash of.
_OPTION = re.compile(r"(?<!\S)(--[a-z-]*)")
_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_DOUBLE_TICKS = re.compile(r"``([^`]+)``")


def text(plain: str) -> str:
    """Write a text so that nothing in it is markup, on one line; options of commands become code."""
    return _escaped(" ".join(plain.split()))


def _escaped(line: str) -> str:
    pieces = _OPTION.split(line)
    return "".join(code(piece) if number % 2 else _SPECIAL.sub(r"\\\1", piece) for number, piece in enumerate(pieces))


def code(plain: str) -> str:
    """Write code, on one line."""
    line = " ".join(plain.split())
    if not line:
        return ""
    ticks = "``" if "`" in line else "`"
    return f"{ticks}{' ' if '`' in line else ''}{line}{' ' if '`' in line else ''}{ticks}"


def docstring(documented: object) -> str:
    """Write the text of a docstring, without its sections such as ``Args``, as one paragraph."""
    lines = (inspect.getdoc(documented) or "").partition("\n\nAttributes:")[0].partition("\n\nArgs:")[0]
    return restructured(lines)


def restructured(source: str) -> str:
    """Write a paragraph of a docstring, whose code stands between double backticks."""
    pieces = _DOUBLE_TICKS.split(_ROLE.sub(r"``\1``", " ".join(source.split())))
    return "".join(code(piece) if number % 2 else _escaped(piece) for number, piece in enumerate(pieces))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table.

    Args:
        head: the column titles.
        rows: cells that are Markdown already; columns in which all cells are empty are left out.
    """
    kept_rows = [list(row) for row in rows]
    kept = [column for column in range(len(head)) if any(row[column] for row in kept_rows)]
    lines = [[head[column] for column in kept], ["---"] * len(kept)]
    lines += [[row[column].replace("\\|", "|").replace("|", "\\|") for column in kept] for row in kept_rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
