"""Sentences that ask to schedule something, as ``offline/rules`` reads them."""

from datetime import date

import pytest

from oneclaw_core.providers.offline.reminders import asked_reminder, date_in


@pytest.mark.parametrize(
    ("message", "what", "arguments", "days_ahead"),
    [
        ("Remind me every day at 9 to drink water", "Drink water", ("daily", 9, 0), None),
        ("Please remind me to drink water every morning at 9:30.", "Drink water", ("daily", 9, 30), None),
        ("Every day at 9, remind me to drink water", "Drink water", ("daily", 9, 0), None),
        ("remind me daily at 5 pm about the plants", "The plants", ("daily", 17, 0), None),
        ("Remind me every day at 12 am to sleep", "Sleep", ("daily", 0, 0), None),
        ("Remind me every Monday at 18:15 to call mum", "Call mum", ("weekly", 18, 15), None),
        ("Schedule a task for tomorrow at 8 to check the mail", "Check the mail", ("one_time", 8, 0), 1),
        ("Set up a reminder today at 22:00: lock the door", "Lock the door", ("one_time", 22, 0), 0),
        ("Remind me on 2027-03-01 at 7 to pay", "Pay", ("one_time", 7, 0), None),
        ("Remind me every day at 25 to stretch", "Stretch", ("daily", 25, 0), None),
    ],
)
def test_a_reminder_is_read(message, what, arguments, days_ahead):
    found = asked_reminder(message)

    assert found.what == what
    assert tuple(found.arguments[name] for name in ("schedule_type", "hour", "minute")) == arguments
    assert found.days_ahead == days_ahead


def test_the_day_of_a_reminder():
    assert asked_reminder("Remind me every friday at 9 to rest").arguments["day_of_week"] == "Friday"
    assert asked_reminder("Remind me on 2027-03-01 at 7 to pay").arguments["date"] == "2027-03-01"
    assert asked_reminder("Remind me tomorrow at 7 to pay").call(date(2026, 12, 31))["date"] == "2027-01-01"


@pytest.mark.parametrize(
    "message",
    [
        "What time is it?",
        "Remind me what we said about tea",
        "Remind me every day at 9",
        "Remind me every day to drink water",
        "Remind me at 9 to drink water",
        "List my scheduled tasks",
        "Remind me every day at 9 to " + "x" * 3000,
    ],
)
def test_what_is_no_reminder(message):
    assert asked_reminder(message) is None


def test_the_date_of_the_clock():
    assert date_in("2026-11-21T04:20:55+00:00") == date(2026, 11, 21)
    assert date_in("no date") is None
