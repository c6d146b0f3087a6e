"""When a task is due, as the user said it: once, daily, weekly, by a cron expression, or at an interval.

A schedule knows wall-clock times only; the task's time zone and its end make instants of them, see
:mod:`oneclaw_scheduled_tasks.occurrences`.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MAX_INTERVAL_MINUTES = 366 * 24 * 60
# An agent's answer takes about as long.
LEAST_INTERVAL_SECONDS = 10
USUAL_PER_DAY = 24
_MOST_PER_DAY = 1000
# Parameters of triggers whose names end so are not shown.
SECRET = "_sha256"  # noqa: S105  # of a digest
_CRON_FIELDS = 5
_CRON_CHARACTERS = 200
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class OneTime:
    """Once."""

    day: date
    hour: int
    minute: int

    def __str__(self) -> str:
        return f"once on {self.day.isoformat()} at {_clock(self.hour, self.minute)}"


@dataclass(frozen=True, slots=True)
class Daily:
    """Every day at a time."""

    hour: int
    minute: int

    def __str__(self) -> str:
        return f"daily at {_clock(self.hour, self.minute)}"


@dataclass(frozen=True, slots=True)
class Weekly:
    """Every week on a day at a time; ``weekday`` counts from 0 for Monday."""

    weekday: int
    hour: int
    minute: int

    def __str__(self) -> str:
        return f"every {WEEKDAYS[self.weekday]} at {_clock(self.hour, self.minute)}"


@dataclass(frozen=True, slots=True)
class Cron:
    """By a cron expression of five fields: minute, hour, day of the month, month, day of the week.

    A sixth one before them is the second.
    """

    expression: str

    @property
    def follows_clock(self) -> bool:
        """True if it is due whenever the clock shows such a time, also twice; a fixed time of day is due once a day."""
        minute, hour = self.expression.split()[-_CRON_FIELDS:][:2]
        return minute.startswith("*") or hour.startswith("*")

    def __str__(self) -> str:
        return f"by cron {self.expression!r}"


@dataclass(frozen=True, slots=True)
class Interval:
    """Every so many minutes and seconds of elapsed time, counted from when the task was set up."""

    minutes: int
    seconds: int = 0

    @property
    def step(self) -> timedelta:
        """The length."""
        return timedelta(minutes=self.minutes, seconds=self.seconds)

    def __str__(self) -> str:
        if self.seconds:
            return f"every {self.step // timedelta(seconds=1)} seconds"
        for unit, length in (("day", 24 * 60), ("hour", 60)):
            if self.minutes % length == 0:
                count = self.minutes // length
                return f"every {unit}" if count == 1 else f"every {count} {unit}s"
        return "every minute" if self.minutes == 1 else f"every {self.minutes} minutes"


@dataclass(frozen=True, slots=True)
class Triggered:
    """Not by the clock, but whenever a trigger of a plugin reports an event."""

    trigger: str
    parameters: tuple[tuple[str, str], ...]
    per_day: int

    def __str__(self) -> str:
        shown = ", ".join(f"{key}={value}" for key, value in self.parameters if not key.endswith(SECRET))
        return f"on {self.trigger}{f' ({shown})' if shown else ''}, {self.per_day} times a day at most"


Schedule = OneTime | Daily | Weekly | Cron | Interval | Triggered

_TYPES: dict[str, type[Schedule]] = {
    "one_time": OneTime,
    "daily": Daily,
    "weekly": Weekly,
    "cron": Cron,
    "interval": Interval,
    "trigger": Triggered,
}
SCHEDULE_TYPES = tuple(_TYPES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleWords:
    """A schedule as somebody gives it, in the words of the tools and the command line; nothing is checked yet.

    Each type has the options that ``_BELONGS`` says; ``date`` is ``YYYY-MM-DD``, ``day_of_week`` an English name.
    """

    schedule_type: str | None = None
    hour: int | None = None
    minute: int | None = None
    day_of_week: str | None = None
    date: str | None = None
    cron: str | None = None
    interval_minutes: int | None = None
    interval_seconds: int | None = None
    trigger: str | None = None
    parameters: tuple[tuple[str, str], ...] | None = None
    per_day: int | None = None

    @property
    def is_empty(self) -> bool:
        """True if nothing is given."""
        return self == ScheduleWords()

    def changing(self, schedule: Schedule) -> ScheduleWords:
        """Take what is not given from a schedule that there is."""
        before = words_of(schedule)
        if self.interval_minutes is not None or self.interval_seconds is not None:
            before = replace(before, interval_minutes=None, interval_seconds=None)
        if self.schedule_type in (None, before.schedule_type):
            return ScheduleWords(
                **{key: value if value is not None else getattr(before, key) for key, value in asdict(self).items()}
            )
        hour = before.hour if self.hour is None else self.hour
        minute = self.minute if self.minute is not None or self.hour is not None else before.minute
        given = asdict(self) | {"hour": hour, "minute": minute}
        if self.schedule_type in ("cron", "interval"):
            given |= {"hour": self.hour, "minute": self.minute}
        return ScheduleWords(**given)


def read_schedule(words: ScheduleWords) -> Schedule:
    """Make a schedule of what somebody has given."""
    kind = (words.schedule_type or "").strip().lower()
    if kind not in _TYPES:
        raise UsageError(f"schedule_type must be one of {', '.join(_TYPES)}, not {words.schedule_type!r}")
    _refuse_foreign(kind, words)
    if kind == "cron":
        return Cron(check_cron(words.cron))
    if kind == "interval" and words.interval_seconds is not None:
        if words.interval_minutes is not None:
            raise UsageError("interval_minutes and interval_seconds do not go together: give one of them")
        most = MAX_INTERVAL_MINUTES * 60
        return Interval(*divmod(_whole("interval_seconds", words.interval_seconds, LEAST_INTERVAL_SECONDS, most), 60))
    if kind == "interval":
        return Interval(_whole("interval_minutes", words.interval_minutes, 1, MAX_INTERVAL_MINUTES))
    if kind == "trigger":
        if not words.trigger:
            raise UsageError("trigger must be the name of one; list them with: oneclaw tasks triggers")
        per_day = USUAL_PER_DAY if words.per_day is None else _whole("per_day", words.per_day, 1, _MOST_PER_DAY)
        return Triggered(words.trigger, tuple((key, value) for key, value in words.parameters or ()), per_day)
    if words.hour is None:
        raise UsageError(f"hour is needed for a {kind} schedule: a whole number from 0 to 23")
    hour = _whole("hour", words.hour, 0, 23)
    minute = _whole("minute", 0 if words.minute is None else words.minute, 0, 59)
    if kind == "one_time":
        return OneTime(read_date("date", words.date), hour, minute)
    if kind == "weekly":
        return Weekly(_weekday(words.day_of_week), hour, minute)
    return Daily(hour, minute)


def words_of(schedule: Schedule) -> ScheduleWords:
    """Say a schedule in the words that it is given in."""
    kind = type_of(schedule)
    match schedule:
        case OneTime(day, hour, minute):
            return ScheduleWords(schedule_type=kind, date=day.isoformat(), hour=hour, minute=minute)
        case Weekly(weekday, hour, minute):
            return ScheduleWords(schedule_type=kind, day_of_week=WEEKDAYS[weekday], hour=hour, minute=minute)
        case Daily(hour, minute):
            return ScheduleWords(schedule_type=kind, hour=hour, minute=minute)
        case Cron(expression):
            return ScheduleWords(schedule_type=kind, cron=expression)
        case Interval(minutes, seconds) if seconds:
            return ScheduleWords(schedule_type=kind, interval_seconds=minutes * 60 + seconds)
        case Interval(minutes):
            return ScheduleWords(schedule_type=kind, interval_minutes=minutes)
        case Triggered(trigger, parameters, per_day):
            return ScheduleWords(schedule_type=kind, trigger=trigger, parameters=parameters, per_day=per_day)


def type_of(schedule: Schedule) -> str:
    """The name of a schedule's type."""
    return next(name for name, kind in _TYPES.items() if kind is type(schedule))


def schedule_to_json(schedule: Schedule) -> dict[str, Any]:
    """Write a schedule as an object that JSON can hold."""
    return {key: value for key, value in asdict(words_of(schedule)).items() if value is not None}


def schedule_from_json(document: Mapping[str, Any]) -> Schedule:
    """Read what :func:`schedule_to_json` has written."""
    known = ScheduleWords.__dataclass_fields__
    return read_schedule(ScheduleWords(**{key: value for key, value in document.items() if key in known}))


def check_cron(expression: str | None) -> str:
    """Check a cron expression."""
    from croniter import croniter

    fields = (expression or "").split()
    text = " ".join(fields)
    if len(fields) == 1 and text.startswith("@"):
        text = _CRON_NAMES.get(text.lower(), "")
    if not text or len(text) > _CRON_CHARACTERS or not _is_plain_cron(text):
        raise _no_cron(expression)
    try:
        is_valid = croniter.is_valid(text, second_at_beginning=True)
    except Exception:  # noqa: BLE001  # the library parses foreign text, and documents no error of this call
        is_valid = False
    if not is_valid:
        raise _no_cron(expression)
    return text


_CRON_NAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
# The library's own extensions for random and hashed values would give each worker another time.
_HASHED = re.compile(r"(?<![A-Za-z])[hHrR](?![A-Za-z])")


_SECOND = re.compile(r"[0-5]?\d")


def _is_plain_cron(text: str) -> bool:
    fields = text.split()
    is_second = len(fields) == _CRON_FIELDS + 1 and _SECOND.fullmatch(fields[0]) is not None
    return (is_second or len(fields) == _CRON_FIELDS) and _HASHED.search(text) is None


def _no_cron(expression: str | None) -> UsageError:
    return UsageError(
        f"cron must be an expression of five fields such as '0 9 * * mon-fri' (minute, hour, day of the month, month, "
        f"day of the week; a sixth one before them is the second), not {(expression or '')[:100]!r}"
    )


def read_date(name: str, text: str | None) -> date:
    """Read a date."""
    written = (text or "").strip()
    try:
        if not _DATE.fullmatch(written):
            raise ValueError
        return date.fromisoformat(written)
    except ValueError:
        raise UsageError(f"{name} must be a day of the calendar as YYYY-MM-DD, not {written[:100]!r}") from None


def _weekday(text: str | None) -> int:
    name = (text or "").strip().lower()
    for number, day in enumerate(WEEKDAYS):
        if name in (day.lower(), day[:3].lower()):
            return number
    raise UsageError(f"day_of_week must be one of {', '.join(WEEKDAYS)}, not {(text or '')[:50]!r}")


def _whole(name: str, value: int | None, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise UsageError(f"{name} must be a whole number from {least} to {most}, not {value!r}")
    return value


_BELONGS = {
    "one_time": {"hour", "minute", "date"},
    "daily": {"hour", "minute"},
    "weekly": {"hour", "minute", "day_of_week"},
    "cron": {"cron"},
    "interval": {"interval_minutes", "interval_seconds"},
    "trigger": {"trigger", "parameters", "per_day"},
}


def _refuse_foreign(kind: str, words: ScheduleWords) -> None:
    """Say at once that something would be passed over, such as an hour beside a cron expression."""
    given = {key for key, value in asdict(words).items() if value is not None} - {"schedule_type"}
    foreign = sorted(given - _BELONGS[kind])
    # The day of a daily task is no contradiction when models fill in all they know.
    harmless = {"day_of_week", "date"} if kind in ("daily", "one_time", "weekly") else set()
    foreign = [each for each in foreign if each not in harmless]
    if foreign:
        raise UsageError(
            f"{' and '.join(foreign)} cannot be given for a {kind} schedule; it takes "
            f"{' and '.join(sorted(_BELONGS[kind] - {'interval_seconds'}))}"
        )


def _clock(hour: int, minute: int) -> str:
    return f"{hour:02d}:{minute:02d}"
