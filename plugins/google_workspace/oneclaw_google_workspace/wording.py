"""Words for questions to the user and for messages; pure, without any I/O.

Titles, subjects and names come from whoever made a file or sent a mail: in a question they must neither end their own
quotes nor push what matters out of sight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def excerpt(text: str, limit: int = 80) -> str:
    """Show the beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def quoted(text: str, limit: int = 100) -> str:
    """Show the beginning of a text in quotes, which those within it cannot end."""
    shown = excerpt(text, limit).replace('"', "'")
    return f'"{shown}"'


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
        return f"{size} bytes"
    amount = float(size)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5:
            return f"{amount:.3g} {unit}"
    return f"{amount / 1000:.3g} TB"
