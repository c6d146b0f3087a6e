"""Words for questions to the user and for messages; pure, without any I/O.

Titles, subjects and names come from other people: in a question they must neither end their own
quotes nor push what matters out of sight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


# Whatever could be taken for the end of a quotation.
_QUOTES = str.maketrans(dict.fromkeys('"\u201c\u201d\u201e\u201f\u2033\uff02', "'"))
# Letters and symbols to Unicode, and nothing to see.
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
PASSAGE_CHARACTERS = 300


def one_line(text: str) -> str:
    """Write a text on one line; characters that control a terminal or that no one sees are written as escapes."""
    return "".join(map(_visible, " ".join(text.split())))


def excerpt(text: str, limit: int = 80) -> str:
    """Show the beginning of a text on one line."""
    line = " ".join(text.split())
    shown, left = _beginning(line, limit)
    return f"{_beginning(line, limit - 1)[0]}…" if left else shown


def quoted(text: str, limit: int = 100) -> str:
    """Show the beginning of a text in quotes, which those within it cannot end."""
    return f'"{excerpt(text, limit).translate(_QUOTES)}"'


def passage(text: str, limit: int = PASSAGE_CHARACTERS) -> str:
    """Show in quotes what is going to be written, and say how much of it is not shown."""
    line = " ".join(text.split())
    shown, left = _beginning(line, limit)
    if not left:
        return quoted(line, limit)
    return f'"{shown.translate(_QUOTES)}…" and {counted(left, "more character")}'


def table_said(rows: Iterable[Iterable[object]]) -> str:
    """Show what is going to be written into cells, behind a colon; empty if that is nothing."""
    cells = [[_cell_text(cell) for cell in row] for row in rows]
    return f": {passage('; '.join(map(' | '.join, cells)))}" if any(map(any, cells)) else ""


def setting_words(name: str, value: object) -> str:
    """Say what a setting becomes, such as ``no bold`` or ``font_size "12"``."""
    if value is None or value is False or value == "":
        return f"no {name}"
    return name if value is True else f"{name} {quoted(str(value), 200)}"


def listing(names: Iterable[str], limit: int = 10) -> str:
    """Name some things, with the number of those that are left out."""
    shown = [quoted(name) for name in names]
    if len(shown) <= limit:
        return ", ".join(shown)
    return f"{', '.join(shown[:limit])} and {len(shown) - limit} more"


def counted(count: int, noun: str) -> str:
    """Write a number with its noun, such as ``1 slide`` and ``2 slides``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size_text(size: int) -> str:
    """Write a size for people, such as ``3.2 MB``."""
    if size < 1000:
        return counted(size, "byte")
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5:
            return f"{amount:.3g} {unit}"
    return f"{amount / 1000:.3g} TB"


def _beginning(line: str, limit: int) -> tuple[str, int]:
    """Cut a line: what is shown of it, and how many characters are not."""
    pieces: list[str] = []
    room = limit
    for number, character in enumerate(line):
        piece = _visible(character)
        room -= len(piece)
        if room < 0:
            return "".join(pieces), len(line) - number
        pieces.append(piece)
    return "".join(pieces), 0


def _cell_text(cell: object) -> str:
    """Write a value as a spreadsheet shows it."""
    if isinstance(cell, bool):
        return str(cell).upper()
    return "" if cell is None else str(cell)


def _visible(character: str) -> str:
    is_seen = character.isprintable() and character not in _BLANK_LETTERS
    return character if is_seen else ascii(character)[1:-1]
