"""When all are free; pure, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from zoneinfo import ZoneInfo

_SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, in UTC: Python compares moments of one zone by the clock on the wall, which may go back.

    Attributes:
        start: its first moment.
        end: the moment after its last.
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", self.start.astimezone(UTC))
        object.__setattr__(self, "end", self.end.astimezone(UTC))

    @property
    def minutes(self) -> int:
        """The length in whole minutes."""
        return int((self.end - self.start).total_seconds() // 60)


@dataclass(frozen=True, slots=True)
class WorkingHours:
    """When somebody works.

    Attributes:
        start: minutes after midnight, by the clock on the wall.
        end: the same; 1440 is the end of the day.
        weekdays_only: whether Saturday and Sunday are left out.
        zone: where.
    """

    start: int
    end: int
    weekdays_only: bool
    zone: ZoneInfo

    @classmethod
    def read(cls, day_start: str, day_end: str, *, weekdays_only: bool, zone: ZoneInfo) -> WorkingHours:
        """Read two times of the day.

        Args:
            day_start: HH:MM.
            day_end: HH:MM, up to 24:00.
            weekdays_only: see above.
            zone: see above.

        Raises:
            GoogleError: they are none, or the wrong way round.
        """
        start, end = _minutes("day_start", day_start), _minutes("day_end", day_end)
        if end <= start:
            raise invalid("day_end must be later than day_start.")
        return cls(start, end, weekdays_only, zone)

    def within(self, span: Span) -> Iterator[Span]:
        """Go through the working hours of a stretch of time, day by day."""
        first, last = span.start.astimezone(self.zone).date(), span.end.astimezone(self.zone).date()
        for number in range((last - first).days + 1):
            day = first + timedelta(days=number)
            if self.weekdays_only and day.weekday() >= _SATURDAY:
                continue
            start, end = self._at(day, self.start), self._at(day, self.end)
            found = Span(max(start, span.start), min(end, span.end))
            if found.start < found.end:
                yield found

    def _at(self, day: date, minutes: int) -> datetime:
        wall = datetime.combine(day, time()) + timedelta(minutes=minutes)
        return wall.replace(tzinfo=self.zone).astimezone(UTC)


def free_slots(span: Span, busy: Iterable[Span], hours: WorkingHours, min_minutes: int) -> list[Span]:
    """Find when no one is busy.

    Args:
        span: where to look.
        busy: of everybody, in any order.
        hours: only within these.
        min_minutes: shorter ones are left out.
    """
    taken = sorted(busy, key=lambda each: (each.start, each.end))
    found: list[Span] = []
    for window in hours.within(span):
        start = window.start
        for each in taken:
            if each.end <= start or each.start >= window.end:
                continue
            found.append(Span(start, min(each.start, window.end)))
            start = max(start, each.end)
        found.append(Span(start, window.end))
    return [each for each in found if each.start < each.end and each.minutes >= min_minutes]


def _minutes(what: str, text: str) -> int:
    hour, colon, minute = text.strip().partition(":")
    if colon and hour.isdecimal() and minute.isdecimal() and len(minute) == 2 and len(hour) <= 2:
        total = int(hour) * 60 + int(minute)
        if int(minute) < 60 and total <= 24 * 60:
            return total
    raise invalid(f"{what} must be a time of the day such as 09:00, not {text[:20]!r}.")
