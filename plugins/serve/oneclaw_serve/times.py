"""Times as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


def shown_time(moment: datetime | None) -> str:
    """Return a time in the time zone of the server; empty for none."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}" if moment is not None else ""
