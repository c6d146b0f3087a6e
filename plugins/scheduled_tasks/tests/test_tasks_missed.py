"""What happens to occurrences that were slept through."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from oneclaw_scheduled_tasks.occurrences import MOST_DUE, Due, MissedPolicy, Occurrences, due
from some_schedules import daily, every

HOUR = timedelta(hours=1)
DAILY = Occurrences(daily(9, 0), ZoneInfo("Europe/Berlin"), datetime(2026, 1, 1, tzinfo=UTC))


def nine(day):
    return datetime(2026, 3, day, 9, tzinfo=ZoneInfo("Europe/Berlin")).astimezone(UTC)


def test_what_is_on_time_is_run_under_every_policy():
    for policy in MissedPolicy:
        assert due(DAILY, nine(2), nine(2) + timedelta(seconds=50), policy, HOUR) == Due(run=(nine(2),))


def test_nothing_is_due_before_its_time():
    assert due(DAILY, nine(2), nine(2) - timedelta(seconds=1), MissedPolicy.ALL, HOUR) == Due()


@pytest.mark.parametrize(
    ("policy", "late", "run", "missed"),
    [
        (MissedPolicy.RUN_ONCE, timedelta(minutes=59), [5], [2, 3, 4]),
        (MissedPolicy.RUN_ONCE, timedelta(minutes=61), [], [2, 3, 4, 5]),
        (MissedPolicy.SKIP, timedelta(minutes=2), [], [2, 3, 4, 5]),
        (MissedPolicy.SKIP, timedelta(seconds=30), [5], [2, 3, 4]),
        (MissedPolicy.ALL, timedelta(minutes=59), [5], [2, 3, 4]),
        (MissedPolicy.ALL, timedelta(minutes=61), [], [2, 3, 4, 5]),
    ],
)
def test_after_sleeping_for_three_days(policy, late, run, missed):
    found = due(DAILY, nine(2), nine(5) + late, policy, HOUR)

    assert found == Due(tuple(map(nine, run)), tuple(map(nine, missed)))


def test_all_that_is_not_too_old_is_made_up_for():
    now = nine(5) + timedelta(hours=20)

    found = due(DAILY, nine(2), now, MissedPolicy.ALL, timedelta(days=2))

    assert found == Due((nine(4), nine(5)), (nine(2), nine(3)))


def test_what_was_dealt_with_is_not_due_again():
    assert due(DAILY, nine(5), nine(5), MissedPolicy.ALL, HOUR) == Due(run=(nine(5),))


def test_a_year_of_minutes_is_not_gone_through_one_by_one():
    start = datetime(2026, 1, 1, tzinfo=UTC)
    every_minute = Occurrences(every(1), ZoneInfo("UTC"), start)

    found = due(every_minute, start + timedelta(minutes=1), start + timedelta(days=365), MissedPolicy.ALL, 24 * HOUR)

    assert len(found.run) == MOST_DUE
    assert found.run[-1] == start + timedelta(days=365)
