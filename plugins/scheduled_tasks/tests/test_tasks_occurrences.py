"""When tasks are due, over a year of a clock that the test sets."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from how_long import some
from hypothesis import given, settings
from hypothesis import strategies as st
from oneclaw_scheduled_tasks.occurrences import Occurrences
from some_schedules import cron, daily, every, once, weekly

pytestmark = pytest.mark.lowest_versions

ANCHOR = datetime(2024, 1, 1, tzinfo=UTC)
NEW_YORK, BERLIN, LORD_HOWE = "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"


def occurrences(schedule, zone, last_day=None):
    return Occurrences(schedule, ZoneInfo(zone), ANCHOR, last_day)


def between(schedule, zone, first, last):
    """What is due from a moment to another one, by the wall clock of the zone."""
    found, zone_info = [], ZoneInfo(zone)
    due = occurrences(schedule, zone)
    moment = datetime.fromisoformat(first).replace(tzinfo=zone_info) - timedelta(seconds=1)
    end = datetime.fromisoformat(last).replace(tzinfo=zone_info)
    while (moment := due.next_after(moment)) is not None and moment <= end:
        found.append(moment.astimezone(zone_info))
    return found


def walls(moments):
    return [f"{moment:%Y-%m-%d %H:%M%z}" for moment in moments]


@pytest.mark.parametrize("kind", ["daily", "cron"])
@pytest.mark.parametrize(
    ("zone", "hour", "minute", "day", "due"),
    [
        (NEW_YORK, 2, 30, "2026-03-08", "2026-03-08 03:00-0400"),
        (NEW_YORK, 1, 59, "2026-03-08", "2026-03-08 01:59-0500"),
        (NEW_YORK, 3, 0, "2026-03-08", "2026-03-08 03:00-0400"),
        (NEW_YORK, 1, 30, "2026-11-01", "2026-11-01 01:30-0400"),
        (NEW_YORK, 2, 0, "2026-11-01", "2026-11-01 02:00-0500"),
        (BERLIN, 2, 30, "2026-03-29", "2026-03-29 03:00+0200"),
        (BERLIN, 2, 30, "2026-10-25", "2026-10-25 02:30+0200"),
        (LORD_HOWE, 2, 15, "2026-10-04", "2026-10-04 02:30+1100"),
        (LORD_HOWE, 1, 45, "2026-04-05", "2026-04-05 01:45+1100"),
    ],
)
def test_a_gap_is_left_at_its_end_and_an_overlap_counts_once(kind, zone, hour, minute, day, due):
    schedule = daily(hour, minute) if kind == "daily" else cron(f"{minute} {hour} * * *")

    assert walls(between(schedule, zone, f"{day} 00:00", f"{day} 23:59")) == [due]


TIMES = [(0, 0), (1, 30), (2, 15), (2, 30), (9, 0), (23, 59)]


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("zone", "times"),
    [
        (NEW_YORK, [(2, 30)]),
        pytest.param(NEW_YORK, TIMES, marks=pytest.mark.long),
        pytest.param(BERLIN, TIMES, marks=pytest.mark.long),
        (LORD_HOWE, [(1, 30)]),
        pytest.param(LORD_HOWE, TIMES, marks=pytest.mark.long),
        pytest.param("Asia/Kolkata", [(2, 30)], marks=pytest.mark.long),
        pytest.param("UTC", [(0, 0)], marks=pytest.mark.long),
    ],
)
def test_a_daily_task_runs_once_on_each_day_of_a_year(zone, times):
    for hour, minute in times:
        found = between(daily(hour, minute), zone, "2026-01-01 00:00", "2026-12-31 23:59")

        assert [moment.date() for moment in found] == [date(2026, 1, 1) + timedelta(days=n) for n in range(365)]
        assert found == between(cron(f"{minute} {hour} * * *"), zone, "2026-01-01 00:00", "2026-12-31 23:59")
        assert sum((moment.hour, moment.minute) != (hour, minute) for moment in found) <= 1


def test_a_day_that_the_calendar_left_out():
    # Samoa went from the 29th to the 31st of December 2011.
    found = between(daily(9, 0), "Pacific/Apia", "2011-12-29 00:00", "2011-12-31 23:59")

    assert walls(found) == ["2011-12-29 09:00-1000", "2011-12-31 00:00+1400", "2011-12-31 09:00+1400"]


def test_a_weekly_task():
    found = between(weekly(6, 2, 30), NEW_YORK, "2026-03-01 00:00", "2026-03-22 00:00")

    assert walls(found) == ["2026-03-01 02:30-0500", "2026-03-08 03:00-0400", "2026-03-15 02:30-0400"]


@pytest.mark.parametrize(
    ("expression", "first", "last", "days"),
    [
        ("0 9 31 * *", "2026-01-01", "2026-12-31", ["01-31", "03-31", "05-31", "07-31", "08-31", "10-31", "12-31"]),
        ("0 9 L * *", "2026-01-01", "2026-04-30", ["01-31", "02-28", "03-31", "04-30"]),
        ("0 9 L 2 *", "2028-01-01", "2028-12-31", ["02-29"]),
        ("0 9 29 2 *", "2025-01-01", "2028-12-31", ["02-29"]),
        ("0 9 1 1 *", "2025-12-31", "2026-12-31", ["01-01"]),
        ("0 9 * * mon#1", "2026-01-01", "2026-02-28", ["01-05", "02-02"]),
        # vixie cron's entry.c looks at the first character of a day field: with a star, both fields must fit.
        ("0 9 13 * fri", "2026-01-01", "2026-01-31", ["01-02", "01-09", "01-13", "01-16", "01-23", "01-30"]),
        ("0 9 */2 * mon", "2025-01-01", "2025-02-28", ["01-13", "01-27", "02-03", "02-17"]),
        ("30 0 9 */2 * mon", "2025-01-01", "2025-02-28", ["01-13", "01-27", "02-03", "02-17"]),
        ("0 9 15 * */3", "2025-01-01", "2025-03-31", ["01-15", "02-15", "03-15"]),
        ("0 9 */100,1-7 * MON", "2025-01-01", "2025-03-31", ["01-06", "02-03", "03-03"]),
        ("0 9 * 1 sun", "2025-01-01", "2025-12-31", ["01-05", "01-12", "01-19", "01-26"]),
        # A star that is not first is no star (pallets-eco/croniter issue 41, stablyai/orca issue 15896).
        ("0 9 1,*/20 * mon", "2025-01-01", "2025-01-31", ["01-01", "01-06", "01-13", "01-20", "01-21", "01-27"]),
        ("0 9 1-31 * mon", "2025-01-01", "2025-01-03", ["01-01", "01-02", "01-03"]),
        ("0 9 15 * 0-7", "2025-01-01", "2025-01-03", ["01-01", "01-02", "01-03"]),
    ],
)
def test_days_of_a_cron_expression(expression, first, last, days):
    found = between(cron(expression), BERLIN, f"{first} 00:00", f"{last} 23:59")

    assert [f"{moment:%m-%d}" for moment in found] == days
    assert {(moment.hour, moment.minute) for moment in found} == {(9, 0)}


def test_what_comes_every_ten_minutes_by_cron_follows_the_wall_clock():
    in_spring = between(cron("*/10 * * * *"), BERLIN, "2026-03-29 01:40", "2026-03-29 03:10")

    assert walls(in_spring) == [
        "2026-03-29 01:40+0100",
        "2026-03-29 01:50+0100",
        "2026-03-29 03:00+0200",
        "2026-03-29 03:10+0200",
    ]


@pytest.mark.parametrize(
    ("expression", "due"),
    [
        # As in cron: what has no * in its first two fields comes once, the rest as often as the clock shows it.
        ("30 2 * * *", ["02:30+0200"]),
        ("0,30 1-3 * * *", ["01:00+0200", "01:30+0200", "02:00+0200", "02:30+0200", "03:00+0100", "03:30+0100"]),
        ("15 * * * *", ["01:15+0200", "02:15+0200", "02:15+0100", "03:15+0100"]),
        ("*/30 2 * * *", ["02:00+0200", "02:30+0200", "02:00+0100", "02:30+0100"]),
        ("*/30 2 25 10 *", ["02:00+0200", "02:30+0200", "02:00+0100", "02:30+0100"]),
        ("10 45 * * * *", ["01:45+0200", "02:45+0200", "02:45+0100", "03:45+0100"]),
    ],
)
def test_cron_in_the_hour_that_comes_twice(expression, due):
    found = between(cron(expression), BERLIN, "2026-10-25 01:00", "2026-10-25 03:59")

    assert [f"{moment:%H:%M%z}" for moment in found] == due
    instants = [moment.astimezone(UTC) for moment in found]
    assert occurrences(cron(expression), BERLIN).latest_until(instants[-1], len(found)) == instants


@pytest.mark.parametrize(
    ("expression", "minutes"), some([("7-50/9 */2 * * *", (7, 16, 25, 34, 43)), ("* * * * *", range(60))], 2)
)
@pytest.mark.parametrize(
    ("zone", "day"), some([(BERLIN, "2026-10-25"), (LORD_HOWE, "2026-04-05"), (NEW_YORK, "2026-03-08")], 2)
)
def test_a_cron_expression_that_follows_the_clock_is_due_whenever_it_shows_the_time(expression, minutes, zone, day):
    begin = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    every_minute = [begin + timedelta(minutes=count) for count in range(-60, 6 * 60)]
    hours = range(0, 24, 1 if expression[0] == "*" else 2)
    shown = [each for each in every_minute if _shows(each, zone, hours, minutes)]

    due = occurrences(cron(expression), zone)
    found = [moment := shown[0]]
    while (moment := due.next_after(moment)) <= shown[-1]:
        found.append(moment)
    assert found == shown
    assert due.latest_until(shown[-1], len(shown)) == shown
    middle = shown[len(shown) // 2] + timedelta(seconds=20)
    assert due.latest_until(middle, 5) == [each for each in shown if each <= middle][-5:]


def _shows(moment, zone, hours, minutes):
    wall = moment.astimezone(ZoneInfo(zone))
    return wall.hour in hours and wall.minute in minutes


def test_seconds_in_cron_and_intervals():
    assert between(cron("15 30 9 * * *"), BERLIN, "2026-05-01 00:00", "2026-05-01 23:59") == [
        datetime(2026, 5, 1, 9, 30, 15, tzinfo=ZoneInfo(BERLIN))
    ]
    assert occurrences(every(1, 30), BERLIN).next_after(ANCHOR) == ANCHOR + timedelta(seconds=90)


def test_an_interval_is_elapsed_time():
    found = between(every(60), BERLIN, "2026-10-25 01:00", "2026-10-25 04:00")

    assert walls(found) == [
        "2026-10-25 01:00+0200",
        "2026-10-25 02:00+0200",
        "2026-10-25 02:00+0100",
        "2026-10-25 03:00+0100",
        "2026-10-25 04:00+0100",
    ]


def test_a_task_that_comes_once():
    due = occurrences(once(date(2026, 3, 29), 2, 30), BERLIN)

    assert due.next_after(datetime(2026, 1, 1, tzinfo=UTC)) == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    assert due.next_after(datetime(2026, 3, 29, 1, 0, tzinfo=UTC)) is None


def test_the_last_day_is_one_of_the_zone():
    due = occurrences(daily(23, 30), NEW_YORK, last_day=date(2026, 5, 2))

    assert due.next_after(datetime(2026, 5, 2, 12, tzinfo=UTC)) == datetime(2026, 5, 3, 3, 30, tzinfo=UTC)
    assert due.next_after(datetime(2026, 5, 3, 3, 30, tzinfo=UTC)) is None
    assert due.latest_until(datetime(2027, 1, 1, tzinfo=UTC), 1) == [datetime(2026, 5, 3, 3, 30, tzinfo=UTC)]


def test_a_cron_expression_that_never_comes():
    assert occurrences(cron("0 0 31 2 *"), "UTC").next_after(ANCHOR) is None
    assert occurrences(cron("0 0 31 2 *"), "UTC").latest_until(ANCHOR, 5) == []


schedules = st.one_of(
    st.builds(daily, st.integers(0, 23), st.integers(0, 59)),
    st.builds(weekly, st.integers(0, 6), st.integers(0, 23), st.integers(0, 59)),
    st.sampled_from(["*/7 * * * *", "0 */3 * * *", "30 2 * * *", "15 1,2,3 * * 0", "0 0 L * *", "5 0 */2 * * 6"]).map(
        cron
    ),
    st.builds(every, st.integers(1, 100_000)),
)


@pytest.mark.long
@settings(deadline=None)
@given(
    schedules,
    st.sampled_from([NEW_YORK, BERLIN, LORD_HOWE, "Africa/Casablanca", "America/St_Johns", "Pacific/Chatham"]),
    st.datetimes(datetime(2025, 1, 1), datetime(2028, 1, 1)),
)
def test_forwards_and_backwards_agree(schedule, zone, moment):
    due = occurrences(schedule, zone)
    forward = [moment.replace(tzinfo=UTC)]
    for _ in range(6):
        forward.append(due.next_after(forward[-1]))

    assert forward == sorted(set(forward))
    assert due.latest_until(forward[-1], 6) == forward[1:]
    assert due.latest_until(forward[-1], 6, forward[3]) == forward[3:]
    just_before = forward[-1] - timedelta(seconds=1)
    assert due.latest_until(just_before, 5) == forward[1:-1]


def test_days_near_the_ends_of_the_calendar_are_never_due():
    for day, zone in ((date(1, 1, 1), "Europe/Berlin"), (date(9999, 12, 31), "America/New_York")):
        occurrences = Occurrences(once(day, 0, 0), ZoneInfo(zone), datetime(2026, 1, 1, tzinfo=UTC))
        assert occurrences.next_after(datetime(2026, 1, 1, tzinfo=UTC)) is None
        assert occurrences.latest_until(datetime(2026, 1, 1, tzinfo=UTC), 5) == []


def test_the_last_occurrences_of_a_task_that_ended_years_ago_are_found_at_once(monkeypatch):
    seen = []
    instant = Occurrences.instant
    monkeypatch.setattr(Occurrences, "instant", lambda self, wall: seen.append(wall) or instant(self, wall))
    occurrences = Occurrences(
        cron("* * * * *"), ZoneInfo("Etc/GMT+12"), datetime(2020, 1, 1, tzinfo=UTC), date(2020, 6, 1)
    )

    found = occurrences.latest_until(datetime(2026, 1, 1, tzinfo=UTC), 3)

    assert found[-1] == datetime(2020, 6, 2, 11, 59, tzinfo=UTC)
    assert len(seen) < 3_000
