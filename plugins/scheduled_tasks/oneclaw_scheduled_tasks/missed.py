"""The handling of occurrences that are due, on time or late; no clock is read here.

A machine sleeps, workers are down, a clock is set: then several occurrences are due at once, all but the last of them
late. The task's policy says which of them are run.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from oneclaw_scheduled_tasks.occurrences import Occurrences

# An occurrence counts as on time for as long as workers may need to notice it.
ON_TIME = timedelta(minutes=1)
# How many late occurrences are looked at one by one; the ones before them are not run under any policy.
MOST_DUE = 100


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
