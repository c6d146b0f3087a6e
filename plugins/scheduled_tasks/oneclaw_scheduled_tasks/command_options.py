"""The options of ``oneclaw tasks add`` and ``edit``, and what they say of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_scheduled_tasks.service import TaskWords

Decorated = TypeVar("Decorated", bound="Callable[..., Any]")

MISSED = ("run_once", "skip", "all")
OVERLAP = ("skip", "queue", "allow", "cancel_previous")


def schedule_options(command: Decorated) -> Decorated:
    """Add the options that say when a task is done."""
    for option in reversed(
        (
            click.option("--at", metavar="HH:MM", help="The time of day, for one_time, daily and weekly."),
            click.option("--date", metavar="YYYY-MM-DD", help="Once, on this day."),
            click.option("--day", metavar="WEEKDAY", help="Every week, on this day."),
            click.option(
                "--cron", metavar="'M H D M W'", help="By a cron expression; a sixth field before is the second."
            ),
            click.option("--on", "trigger", metavar="TRIGGER", help="Not by the clock, but when something happens."),
            click.option(
                "--with",
                "parameters",
                metavar="NAME=VALUE",
                multiple=True,
                help="A parameter of the trigger; may be repeated.",
            ),
            click.option("--per-day", metavar="NUMBER", type=int, help="How often a trigger may start it a day: 24."),
            click.option("--every", metavar="MINUTES", help="Every so many minutes, or seconds as in 90s."),
            click.option("--time-zone", metavar="ZONE", help="An IANA name; by default the machine's."),
            click.option("--until", "end_date", metavar="YYYY-MM-DD", help="The last day; '' for no end."),
            click.option("--missed", type=click.Choice(MISSED), help="What to do about runs that no one did in time."),
            click.option(
                "--catch-up",
                "catch_up_seconds",
                metavar="SECONDS",
                type=int,
                help="How old a missed run may be to be made up for.",
            ),
            click.option(
                "--jitter",
                "jitter_seconds",
                metavar="SECONDS",
                type=int,
                help="Begin up to so much later, to spread load.",
            ),
            click.option(
                "--overlap",
                type=click.Choice(OVERLAP),
                help="What to do when a run is due and the one before has not ended; by default skip it.",
            ),
        )
    ):
        command = option(command)
    return command


def run_options(command: Decorated) -> Decorated:
    """Add the options that say how a task is done."""
    for option in reversed(
        (
            click.option("--agent", metavar="NAME", help="The agent; by default the General Assistant."),
            click.option("--model", metavar="PROVIDER/MODEL", help="The model; '' for the agent's."),
            click.option(
                "--group",
                "tool_groups",
                metavar="NAME",
                multiple=True,
                help="A tool group that runs begin with, and no other; may be repeated; '*' for all, '' for none.",
            ),
            click.option("--retries", metavar="NUMBER", type=int, help="How often a run that failed is tried again."),
            click.option(
                "--retry-delay",
                "retry_delay_seconds",
                metavar="SECONDS",
                type=int,
                help="Before the first of them; it doubles.",
            ),
            click.option("--max-seconds", metavar="NUMBER", type=int, help="How long an attempt may take."),
            click.option("--max-cost", metavar="DOLLARS", type=float, help="How much it may cost; 0 for no limit."),
            click.option(
                "--repeat-calls/--no-repeat-calls",
                "repeats_calls",
                default=None,
                help="Whether a call that was cut off may be made again when its run is taken up; by default not.",
            ),
            click.option("--webhook", metavar="URL", help="Send results there by POST; '' for nowhere."),
            click.option("--command", metavar="COMMAND", help="Give results to a shell command, as JSON; '' for none."),
            click.option(
                "--send",
                "channels",
                metavar="CHANNEL[:TO]",
                multiple=True,
                help="Send results through a channel, such as telegram:CHAT; may be repeated; '' for none.",
            ),
            click.option("--notify/--no-notify", "is_notified", default=None, help="Show results on the desktop."),
        )
    ):
        command = option(command)
    return command


def read_words(options: dict[str, Any], *, name: str | None, prompt: str | None) -> TaskWords:
    """Make of the options of :func:`schedule_options` and :func:`run_options` what they say of a task.

    Raises:
        UsageError: they do not go together, or one is no number or time.
    """
    from dataclasses import fields

    from oneclaw_scheduled_tasks.service import TaskWords

    given = {each.name: options[each.name] for each in fields(TaskWords) if each.name in options}
    for several in ("tool_groups", "channels"):
        given[several] = given[several] or None
    return TaskWords(**given, name=name, prompt=prompt, when=_when(options))


def _when(options: dict[str, Any]) -> Any:
    from oneclaw_core import UsageError
    from oneclaw_scheduled_tasks.schedules import ScheduleWords

    at, date, day = options["at"], options["date"], options["day"]
    cron, every, trigger = options["cron"], options["every"], options["trigger"]
    per_day = options["per_day"]
    parameters = tuple(_parameter(each) for each in options["parameters"]) or None
    given = [
        name
        for name, value in (("--date", date), ("--day", day), ("--cron", cron), ("--every", every), ("--on", trigger))
        if value is not None
    ]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} do not go together: give one of them")
    if at is not None and (cron is not None or every is not None or trigger is not None):
        raise UsageError(f"--at and {given[0]} do not go together: give one of them")
    hour, minute = _time_of_day(at) if at is not None else (None, None)
    events = {"trigger": trigger, "parameters": parameters, "per_day": per_day}
    if trigger is not None:
        return ScheduleWords(schedule_type="trigger", **events)
    if not given and at is None:
        return ScheduleWords(**events)
    if parameters is not None or per_day is not None:
        raise UsageError("--with and --per-day go with --on alone")
    if cron is not None:
        return ScheduleWords(schedule_type="cron", cron=cron)
    if every is not None:
        return _interval(every)
    if date is not None:
        return ScheduleWords(schedule_type="one_time", date=date, hour=hour, minute=minute)
    if day is not None:
        return ScheduleWords(schedule_type="weekly", day_of_week=day, hour=hour, minute=minute)
    return ScheduleWords(hour=hour, minute=minute)


def _parameter(text: str) -> tuple[str, str]:
    from oneclaw_core import UsageError

    name, sign, value = text.partition("=")
    if not sign:
        raise UsageError(f"--with must be NAME=VALUE, not {text[:100]!r}")
    return name.strip(), value.strip()


def _interval(text: str) -> Any:
    from oneclaw_core import UsageError
    from oneclaw_scheduled_tasks.schedules import ScheduleWords

    number = text.strip().removesuffix("s")
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise UsageError(f"--every must be a number of minutes, or of seconds as in 90s, not {text[:50]!r}")
    if text.strip() != number:
        return ScheduleWords(schedule_type="interval", interval_seconds=int(number))
    return ScheduleWords(schedule_type="interval", interval_minutes=int(number))


def refuse_no_schedule(options: dict[str, Any]) -> None:
    """Refuse options that do not say when.

    Raises:
        UsageError: they do not.
    """
    from oneclaw_core import UsageError

    if all(options[name] is None for name in ("at", "date", "day", "cron", "every", "trigger")):
        raise UsageError(
            "say when: --at HH:MM (alone, every day; with --date or --day), --every MINUTES, --cron, or --on TRIGGER"
        )


def _time_of_day(text: str) -> tuple[int, int]:
    from oneclaw_core import UsageError

    hour, colon, minute = text.strip().partition(":")
    if not (colon and hour.isascii() and hour.isdigit() and minute.isascii() and minute.isdigit() and len(minute) == 2):
        raise UsageError(f"--at must be a time of day as HH:MM, not {text[:50]!r}")
    return int(hour[:9]), int(minute)
