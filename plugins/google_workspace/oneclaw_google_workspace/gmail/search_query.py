"""The translation of a user's search into Gmail's query language; without I/O."""

from __future__ import annotations

import re
from datetime import datetime

_QUOTED_OR_DATE = re.compile(
    r'"[^"]*"?|(?P<operator>\b(?:after|before|newer|older)):(?P<year>\d{4})[/-](?P<month>\d{1,2})[/-](?P<day>\d{1,2})\b',
    re.IGNORECASE,
)


def with_exact_dates(query: str) -> str:
    """Turn days into moments: the API takes ``after:2026/03/31`` as midnight in California, the user as midnight here.

    Source: https://developers.google.com/workspace/gmail/api/guides/filtering

    Args:
        query: in Gmail's search syntax.

    Returns:
        The query with days of this machine's zone as seconds since 1970, all else unchanged.
    """

    def exact(match: re.Match[str]) -> str:
        if match["operator"] is None:
            return match[0]
        try:
            midnight = datetime(int(match["year"]), int(match["month"]), int(match["day"])).astimezone()
            return f"{match['operator']}:{max(0, round(midnight.timestamp()))}"
        except (ValueError, OverflowError, OSError):
            return match[0]  # Gmail says what it makes of it

    return _QUOTED_OR_DATE.sub(exact, query)
