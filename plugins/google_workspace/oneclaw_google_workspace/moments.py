"""Moments as a model writes them; pure, without any I/O."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from oneclaw_google_workspace.problems import invalid

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def read_moment(name: str, text: str, *, days_later: int = 0) -> datetime:
    """Read a moment, or a day, which stands for its first moment.

    Args:
        name: of the argument, for messages.
        text: RFC 3339, or YYYY-MM-DD; what has no offset is in the zone of this machine.
        days_later: for a day, that many days after it.

    Returns:
        It in UTC.

    Raises:
        GoogleError: it is neither.
    """
    given = text.strip()
    try:
        if _DAY.fullmatch(given):
            found = datetime.combine(date.fromisoformat(given) + timedelta(days=days_later), time())
        else:
            found = datetime.fromisoformat(given)
        return found.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise invalid(
            f"{name} must be a time such as 2026-03-31T14:00:00+02:00 or a day such as 2026-03-31, not {text[:40]!r}."
        ) from None
