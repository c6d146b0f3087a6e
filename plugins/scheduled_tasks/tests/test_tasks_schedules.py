"""Reading schedules from the words of the tools and the command line."""

import pytest
from oneclaw_scheduled_tasks.schedules import read_schedule
from oneclaw_scheduled_tasks.tables import tasks
from oneclaw_scheduled_tasks.zones import find_zone, user_zone_name

from oneclaw_core import UsageError

pytestmark = pytest.mark.lowest_versions


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"schedule_type": "daily", "hour": 9}, "daily at 09:00"),
        ({"schedule_type": "weekly", "hour": 18, "minute": 5, "day_of_week": "FRIDAY"}, "every Friday at 18:05"),
        ({"schedule_type": "one_time", "hour": 0, "minute": 0, "date": "2028-02-29"}, "once on 2028-02-29 at 00:00"),
        ({"schedule_type": "cron", "cron": " 0  9 * * mon-fri "}, "by cron '0 9 * * mon-fri'"),
        ({"schedule_type": "cron", "cron": "@daily"}, "by cron '0 0 * * *'"),
        ({"schedule_type": "interval", "interval_minutes": 1}, "every minute"),
        ({"schedule_type": "interval", "interval_minutes": 90}, "every 90 minutes"),
        ({"schedule_type": "interval", "interval_minutes": 2880}, "every 2 days"),
        ({"schedule_type": "interval", "interval_seconds": 90}, "every 90 seconds"),
        ({"schedule_type": "interval", "interval_seconds": 120}, "every 2 minutes"),
        ({"schedule_type": "cron", "cron": "30 0 9 * * *"}, "by cron '30 0 9 * * *'"),
    ],
)
def test_a_schedule_is_read_said_and_kept(words, text):
    schedule = read_schedule(words)

    assert str(schedule) == text
    assert read_schedule(schedule.given()) == schedule


def test_schedules_that_earlier_versions_stored_are_read():
    for stored, text in (
        ('{"schedule_type": "weekly", "hour": 9, "minute": 0, "day_of_week": "Monday"}', "every Monday at 09:00"),
        ('{"schedule_type": "interval", "interval_seconds": 90}', "every 90 seconds"),
        (
            '{"schedule_type": "trigger", "trigger": "t", "parameters": [["a", "b"]], "per_day": 3}',
            "on t (a=b), 3 times a day at most",
        ),
    ):
        assert str(tasks.c.schedule.type.process_result_value(stored, None)) == text


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"schedule_type": "hourly"}, "schedule_type must be one of one_time, daily"),
        ({"schedule_type": None}, "schedule_type must be one of"),
        ({"schedule_type": "daily", "hour": 25}, "hour must be a whole number from 0 to 23, not 25"),
        ({"schedule_type": "daily", "hour": -1}, "hour must be"),
        ({"schedule_type": "daily", "hour": True}, "hour must be"),
        ({"schedule_type": "daily", "hour": 9, "minute": 60}, "minute must be a whole number from 0 to 59"),
        ({"schedule_type": "daily"}, "hour is needed for a daily schedule"),
        ({"schedule_type": "weekly", "hour": 9}, "day_of_week must be one of Monday"),
        ({"schedule_type": "weekly", "hour": 9, "day_of_week": "Freitag"}, "day_of_week must be"),
        ({"schedule_type": "one_time", "hour": 9}, "date must be a day of the calendar"),
        ({"schedule_type": "one_time", "hour": 9, "date": "2026-02-29"}, "not '2026-02-29'"),
        ({"schedule_type": "one_time", "hour": 9, "date": "20260228"}, "date must be"),
        ({"schedule_type": "one_time", "hour": 9, "date": "2026-W01-1"}, "date must be"),
        ({"schedule_type": "cron", "cron": "0 25 * * *"}, "cron must be an expression of five fields"),
        ({"schedule_type": "cron", "cron": "* * * * * *"}, "five fields"),
        ({"schedule_type": "cron", "cron": "60 * * * * *"}, "five fields"),
        ({"schedule_type": "interval", "interval_seconds": 9}, "interval_seconds must be a whole number from 10"),
        ({"schedule_type": "interval", "interval_seconds": 90, "interval_minutes": 1}, "do not go together"),
        ({"schedule_type": "cron", "cron": "R * * * *"}, "five fields"),
        ({"schedule_type": "cron", "cron": "H * * * *"}, "five fields"),
        ({"schedule_type": "cron", "cron": "@reboot"}, "five fields"),
        ({"schedule_type": "cron", "cron": "*/0 * * * *"}, "five fields"),
        ({"schedule_type": "cron", "cron": "1," * 200 + "1 * * * *"}, "five fields"),
        ({"schedule_type": "cron"}, "five fields"),
        ({"schedule_type": "cron", "cron": "0 9 * * *", "hour": 9}, "hour cannot be given for a cron schedule"),
        ({"schedule_type": "interval", "interval_minutes": 0}, "interval_minutes must be"),
        ({"schedule_type": "interval", "interval_minutes": 10**9}, "interval_minutes must be"),
    ],
)
def test_what_is_no_schedule_is_refused_with_the_reason(words, reason):
    with pytest.raises(UsageError, match=None) as refused:
        read_schedule(words)

    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("name", "found"), [("Europe/Berlin", "Europe/Berlin"), ("europe/berlin", "Europe/Berlin"), (" UTC ", "UTC")]
)
def test_a_zone_is_found(name, found):
    assert find_zone(name).key == found


@pytest.mark.parametrize(
    "name", ["Mars/Phobos", "", "../../etc/passwd", "/etc/passwd", "localtime", "Europe", "x" * 300]
)
def test_an_unknown_zone_is_refused(name):
    with pytest.raises(UsageError, match="there is no time zone"):
        find_zone(name)


def test_a_similar_zone_is_named():
    with pytest.raises(UsageError, match="did you mean Europe/Berlin"):
        find_zone("Europe/Berln")


def test_the_machine_has_a_zone():
    assert find_zone(user_zone_name()).key == user_zone_name()


@pytest.mark.parametrize("name", ["nonsense", "", None])
def test_a_machine_that_names_no_zone_we_know_has_utc(monkeypatch, name):
    monkeypatch.setattr("tzlocal.get_localzone_name", lambda: name)

    assert user_zone_name() == "UTC"
