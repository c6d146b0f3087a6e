"""The instants at which a schedule is due, from wall-clock times in a time zone. Pure: no clock is read here.

Where the clock is put forward, a time in the gap becomes the first instant after it. Where it is put back, a time that
comes twice means the first of the two. So each wall-clock time gives one instant, and later times give later instants
or, around a gap, the same one, which counts once. Intervals are elapsed time and know no wall clock.

Cron expressions whose minute or hour begins with ``*`` are different, as in cron: they are due whenever the clock shows
such a time, so twice where it comes twice, and not in a gap.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from oneclaw_core import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

    from oneclaw_scheduled_tasks.schedules import Schedule

# Datetimes near the ends of the calendar cannot be converted between zones.
FIRST_DAY = date(1970, 1, 2)
LAST_DAY = date(9990, 12, 31)
_DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)
# An occurrence counts as on time for as long as workers may need to notice it.
ON_TIME = timedelta(minutes=1)
# How many late occurrences are looked at one by one; the ones before them are not run under any policy.
MOST_DUE = 100


class Occurrences:
    """When a task is due.

    Intervals are counted from ``anchor``; ``last_day`` is a day in the zone.
    """

    def __init__(self, schedule: Schedule, zone: ZoneInfo, anchor: datetime, last_day: date | None = None) -> None:
        self._schedule = schedule
        self._zone = zone
        self._anchor = anchor.astimezone(UTC)
        self._last_day = last_day

    def next_after(self, moment: datetime) -> datetime | None:
        """The first instant after a moment, in UTC; ``None`` if there is none."""
        found = next(self._instants(moment.astimezone(UTC), is_forward=True), None)
        return found if found is not None and self._is_before_end(found) else None

    def latest_until(self, moment: datetime, limit: int, since: datetime | None = None) -> list[datetime]:
        """The last instants up to a moment, that one included, in their order and in UTC."""
        found: list[datetime] = []
        latest = moment.astimezone(UTC)
        if self._last_day is not None and FIRST_DAY < self._last_day < LAST_DAY:
            # Nothing is due later; of a task that ended long ago, that is much to walk through.
            latest = min(latest, datetime.combine(self._last_day + 2 * _DAY, time(), UTC))
        for instant in self._instants(latest, is_forward=False):
            if since is not None and instant < since:
                break
            if not self._is_before_end(instant):
                continue
            if not found or instant < found[-1]:
                found.append(instant)
            if len(found) >= limit:
                break
        return found[::-1]

    def _is_before_end(self, instant: datetime) -> bool:
        day = instant.astimezone(self._zone).date()
        return day <= (self._last_day or LAST_DAY)

    def _instants(self, moment: datetime, *, is_forward: bool) -> Iterator[datetime]:
        """Give the instants after a moment in their order, or those up to it, back from it."""
        step = self._schedule.step
        if step is not None:
            count = (moment - self._anchor) // step
            numbers = itertools.count(max(0, count) + 1) if is_forward else range(count, 0, -1)
            yield from (self._anchor + number * step for number in numbers)
            return
        wall = self._wall(moment)
        # Of two equal hours, earlier wall times lie ahead in the first one, and later ones behind in the second.
        if not is_forward:
            wall += max(timedelta(), moment - self.instant(wall))
        elif self._schedule.follows_clock:
            wall -= max(timedelta(), self._both_instants(wall)[-1] - moment)
        walls = self._walls(wall, is_forward=is_forward)
        found = (
            self._as_shown(walls, is_forward=is_forward) if self._schedule.follows_clock else map(self.instant, walls)
        )
        yield from (each for each in found if (each > moment) is is_forward)

    def _both_instants(self, wall: datetime) -> tuple[datetime, ...]:
        """The instants at which the clock shows a time, none in a gap, two where it is put back."""
        first = wall.replace(tzinfo=self._zone, fold=0).astimezone(UTC)
        if first.astimezone(self._zone).replace(tzinfo=None) != wall:
            return ()
        second = wall.replace(tzinfo=self._zone, fold=1).astimezone(UTC)
        return (first,) if second == first else (first, second)

    def _as_shown(self, walls: Iterator[datetime], *, is_forward: bool) -> Iterator[datetime]:
        """Give all instants of ordered wall times in their order.

        Of times that come twice, those of the hour that is met second are held back until the first hour is over.
        """
        held: list[datetime] = []
        for wall in walls:
            instants = self._both_instants(wall)
            if not instants:
                continue
            one, *other = instants if is_forward else instants[::-1]
            if held and (one > held[0] if is_forward else one < held[0]):
                yield from held
                held = []
            yield one
            held += other
        yield from held

    def _wall(self, moment: datetime) -> datetime:
        return moment.astimezone(self._zone).replace(tzinfo=None, fold=0)

    def instant(self, wall: datetime) -> datetime:
        """The instant that a wall-clock time means, in UTC."""
        if instants := self._both_instants(wall):
            return instants[0]
        # In a gap the two folds are read with the offsets before and after it, and the change lies between them.
        late, early = (wall.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1))
        seconds = range(int(early.timestamp()), int(late.timestamp()) + 1)
        after = late.astimezone(UTC).astimezone(self._zone).utcoffset()
        is_after = bisect_left(seconds, True, key=lambda each: self._at(each).utcoffset() == after)
        return self._at(seconds[is_after]).astimezone(UTC)

    def _at(self, second: int) -> datetime:
        return datetime.fromtimestamp(second, self._zone)

    def _walls(self, wall: datetime, *, is_forward: bool) -> Iterator[datetime]:
        """Give the wall-clock times from one on, or back from one, that one included."""
        if self._schedule.date is not None:
            day = date.fromisoformat(self._schedule.date)
            at = time(self._schedule.hour or 0, self._schedule.minute or 0)
            return iter([datetime.combine(day, at)] if FIRST_DAY <= day <= LAST_DAY else [])
        if self._schedule.expression is not None:
            return _cron_walls(self._schedule, wall, is_forward=is_forward)
        if self._schedule.trigger is None:
            raise UsageError(f"this version knows no schedule of the type {self._schedule.schedule_type!r}")
        return iter(())


def _cron_walls(schedule: Schedule, wall: datetime, *, is_forward: bool) -> Iterator[datetime]:
    """The wall-clock times of a cron expression from one on, or back from one, that one included.

    The wall clock is told to the library as UTC, where every time comes exactly once.
    """
    from croniter import CroniterBadDateError, croniter

    second = wall.replace(microsecond=0, tzinfo=UTC)
    start = second - _SECOND if is_forward else second + _SECOND
    assert schedule.expression is not None
    is_either_day = schedule.is_either_day
    times = croniter(schedule.expression, start, ret_type=datetime, day_or=is_either_day, second_at_beginning=True)
    while True:
        try:
            found: datetime = times.get_next() if is_forward else times.get_prev()
        except CroniterBadDateError:
            return
        if not FIRST_DAY <= found.date() <= LAST_DAY:
            return
        yield found.replace(tzinfo=None)


class MissedPolicy(StrEnum):
    """The policy for occurrences that no worker ran in time."""

    RUN_ONCE = "run_once"
    SKIP = "skip"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Due:
    """The occurrences that have come due."""

    run: tuple[datetime, ...] = ()
    missed: tuple[datetime, ...] = ()


def due(occurrences: Occurrences, first: datetime, now: datetime, policy: MissedPolicy, catch_up: timedelta) -> Due:
    """Decide what is run.

    ``first`` is the earliest occurrence that has not been dealt with.
    """
    waiting = occurrences.latest_until(now, MOST_DUE, first)
    if not waiting:
        return Due()
    allowed = ON_TIME if policy is MissedPolicy.SKIP else max(catch_up, ON_TIME)
    to_run = [each for each in waiting if now - each <= allowed]
    if policy is not MissedPolicy.ALL:
        to_run = to_run[-1:]
    return Due(run=tuple(to_run), missed=tuple(each for each in waiting if each not in to_run))
