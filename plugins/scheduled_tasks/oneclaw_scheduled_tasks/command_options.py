"""The options of ``oneclaw tasks add`` and ``edit``, and what they say of a task."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import click

from oneclaw_core import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

Decorated = TypeVar("Decorated", bound="Callable[..., Any]")

MISSED = ("run_once", "skip", "all")
OVERLAP = ("skip", "queue", "allow", "cancel_previous")


# The option, the field of the task or None for the option's name, its metavar or choices, its type, its help.
_SCHEDULE = (
    ("--at", None, "HH:MM", str, "The time of day, for one_time, daily and weekly."),
    ("--date", None, "YYYY-MM-DD", str, "Once, on this day."),
    ("--day", None, "WEEKDAY", str, "Every week, on this day."),
    ("--cron", None, "'M H D M W'", str, "A cron expression; a sixth field in front is the second."),
    ("--on", "trigger", "TRIGGER", str, "Start it by an event instead of the clock."),
    ("--with", "parameters", "NAME=VALUE", tuple, "A parameter of the trigger; may be repeated."),
    ("--per-day", None, "NUMBER", int, "How often a trigger may start it a day: 24."),
    ("--every", None, "MINUTES", str, "The interval in minutes, or in seconds as in 90s."),
    ("--time-zone", None, "ZONE", str, "An IANA name; by default the machine's."),
    ("--until", "end_date", "YYYY-MM-DD", str, "The last day; '' for no end."),
    ("--missed", None, MISSED, str, "What to do about missed runs."),
    ("--catch-up", "catch_up_seconds", "SECONDS", int, "How old a missed run may be to be made up for."),
    ("--jitter", "jitter_seconds", "SECONDS", int, "Begin up to this much later, to spread the load."),
    (
        "--overlap",
        None,
        OVERLAP,
        str,
        "What to do when a run is due and the previous one has not ended; by default skip it.",
    ),
)
_RUN = (
    ("--agent", None, "NAME", str, "The agent; by default the General Assistant."),
    ("--model", None, "PROVIDER/MODEL", str, "The model; '' for the agent's."),
    (
        "--group", "tool_groups", "NAME", tuple,
        "The only tool group of its runs, loaded at their start; may be repeated; '*' for all, '' for none.",
    ),
    ("--retries", None, "NUMBER", int, "How often a failed run is retried."),
    ("--retry-delay", "retry_delay_seconds", "SECONDS", int, "The pause before the first retry; it doubles each time."),
    ("--max-seconds", None, "NUMBER", int, "How long an attempt may take."),
    ("--max-cost", None, "DOLLARS", float, "How much it may cost; 0 for no limit."),
    (
        "--repeat-calls/--no-repeat-calls", "repeats_calls", None, bool,
        "Repeat a call that was cut off when another worker continues its run; by default not.",
    ),
    ("--webhook", None, "URL", str, "Send results there by POST; '' for nowhere."),
    ("--command", None, "COMMAND", str, "Give results to a shell command, as JSON; '' for none."),
    (
        "--send", "channels", "CHANNEL[:TO]", tuple,
        "Send results through a channel, such as telegram:CHAT; may be repeated; '' for none.",
    ),
    ("--notify/--no-notify", "is_notified", None, bool, "Show results on the desktop."),
)  # fmt: skip


def task_options(command: Decorated) -> Decorated:
    """Add the options that say when and how a task is done."""
    for name, field, values, kind, text in reversed((*_SCHEDULE, *_RUN)):
        names = (name,) if field is None else (name, field)
        if kind is bool:
            option = click.option(*names, default=None, help=text)
        elif isinstance(values, tuple):
            option = click.option(*names, type=click.Choice(values), help=text)
        else:
            single: Any = None if kind is tuple else kind
            option = click.option(*names, type=single, metavar=values, multiple=kind is tuple, help=text)
        command = option(command)
    return command


def read_options(options: dict[str, Any], *, is_new: bool = False) -> dict[str, Any]:
    """Make of the options of :func:`task_options` what they give of a task; a new one has to have a time."""
    about_time = {"at", "date", "day", "cron", "every", "trigger", "parameters", "per_day"}
    given = {key: value for key, value in options.items() if key not in about_time}
    several = {key: given[key] or None for key in ("tool_groups", "channels")}
    when = _when(options)
    if is_new and when.keys() <= {"parameters", "per_day"}:
        raise UsageError(
            "say when: --at HH:MM (alone, every day; with --date or --day), --every MINUTES, --cron, or --on TRIGGER"
        )
    return {**({"schedule_type": "daily"} if is_new else {}), **given, **several, **when}


def option_names() -> dict[str, str]:
    """Return the options of a task's fields, for errors about these."""
    named = ((name.partition("/")[0], field) for name, field, *_ in (*_SCHEDULE, *_RUN))
    return {
        **{field or name.removeprefix("--").replace("-", "_"): name for name, field in named},
        "hour": "--at",
        "minute": "--at",
        "day_of_week": "--day",
        "interval_minutes": "--every MINUTES",
        "interval_seconds": "--every SECONDS",
    }


def _when(options: dict[str, Any]) -> dict[str, Any]:
    at, per_day = options["at"], options["per_day"]
    parameters = tuple(_parameter(each) for each in options["parameters"]) or None
    names = {"date": "--date", "day": "--day", "cron": "--cron", "every": "--every", "trigger": "--on"}
    given = [key for key in names if options[key] is not None]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(names[key] for key in given)} do not go together: give one of them")
    kind = given[0] if given else None
    if at is not None and kind in ("cron", "every", "trigger"):
        raise UsageError(f"--at and {names[kind]} do not go together: give one of them")
    if kind == "trigger":
        return {"schedule_type": kind, "trigger": options["trigger"], "parameters": parameters, "per_day": per_day}
    if kind is None and at is None:
        return {"parameters": parameters, "per_day": per_day}
    if parameters is not None or per_day is not None:
        raise UsageError("--with and --per-day go with --on alone")
    if kind == "every":
        return {"schedule_type": "interval", **_interval(options["every"])}
    if kind == "cron":
        return {"schedule_type": kind, "cron": options["cron"]}
    when: dict[str, Any] = dict(zip(("hour", "minute"), _time_of_day(at), strict=True)) if at is not None else {}
    types = {"date": "one_time", "day": "weekly"}
    if kind is not None:
        when |= {"schedule_type": types[kind], "date": options["date"], "day_of_week": options["day"]}
    return when


def _parameter(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise UsageError(f"--with must be NAME=VALUE, not {text[:100]!r}")
    return name.strip(), value.strip()


def _interval(text: str) -> dict[str, int]:
    number = text.strip().removesuffix("s")
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise UsageError(f"--every must be a number of minutes, or of seconds as in 90s, not {text[:50]!r}")
    return {"interval_minutes" if text.strip() == number else "interval_seconds": int(number)}


def _time_of_day(text: str) -> tuple[int, int]:
    hour, colon, minute = text.strip().partition(":")
    is_written = colon and re.fullmatch(r"[0-9]{1,2}", hour) and re.fullmatch(r"[0-9]{2}", minute)
    if not (is_written and int(hour) < 24 and int(minute) < 60):
        raise UsageError(f"--at must be a time of day as HH:MM, not {text[:50]!r}")
    return int(hour), int(minute)
