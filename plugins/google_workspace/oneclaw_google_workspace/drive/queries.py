"""Drive's search language; pure, without any I/O.

Google's description: https://developers.google.com/workspace/drive/api/guides/ref-search-terms
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from oneclaw_google_workspace.problems import invalid

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
        text: RFC 3339, without an offset in the zone of this machine; or a day, which stands for its first moment.
        days_later: for a day, that many days after it.

    Raises:
        GoogleError: it is neither.
    """
    try:
        if len(text) == len("2026-03-31"):
            found = datetime.combine(date.fromisoformat(text) + timedelta(days=days_later), time())
        else:
            found = datetime.fromisoformat(text)
        return found.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        raise invalid(
            f"{name} must be a time such as 2026-03-31T14:00:00+02:00 or a day such as 2026-03-31, not {text[:40]!r}."
        ) from None
