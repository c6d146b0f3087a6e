"""Schedules, in as few words as tests need."""

from oneclaw_scheduled_tasks.schedules import WEEKDAYS, read_schedule


def once(day, hour, minute):
    return read_schedule({"schedule_type": "one_time", "date": day.isoformat(), "hour": hour, "minute": minute})


def daily(hour, minute):
    return read_schedule({"schedule_type": "daily", "hour": hour, "minute": minute})


def weekly(weekday, hour, minute):
    """``weekday`` counts from 0 for Monday."""
    given = {"day_of_week": WEEKDAYS[weekday], "hour": hour, "minute": minute}
    return read_schedule({"schedule_type": "weekly", **given})


def cron(expression):
    return read_schedule({"schedule_type": "cron", "cron": expression})


def every(minutes, seconds=0):
    return read_schedule({"schedule_type": "interval", "interval_seconds": 60 * minutes + seconds})


def on(trigger, per_day=24, **parameters):
    given = {"trigger": trigger, "parameters": tuple(parameters.items()), "per_day": per_day}
    return read_schedule({"schedule_type": "trigger", **given})
