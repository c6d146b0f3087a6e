"""Drive's search language; pure, without any I/O.

Google's description: https://developers.google.com/workspace/drive/api/guides/ref-search-terms
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_google_workspace.moments import read_moment

if TYPE_CHECKING:
    from collections.abc import Iterable


def quoted(text: str) -> str:
    """Write a text as a value."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def joined(conditions: Iterable[str | None]) -> str:
    """Join conditions that must all hold; ``None`` is no condition."""
    return " and ".join(each for each in conditions if each)


def moment(name: str, text: str, *, days_later: int = 0) -> str:
    """Write a time as Drive wants it, in UTC.

    Args:
        name: of the argument, for messages.
        text: see :func:`~oneclaw_google_workspace.moments.read_moment`.
        days_later: the same.

    Raises:
        GoogleError: it is neither.
    """
    found = read_moment(name, text, days_later=days_later)
    return found.isoformat(timespec="seconds").replace("+00:00", "Z")
