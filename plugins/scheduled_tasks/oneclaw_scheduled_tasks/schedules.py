"""When a task is due, as the user said it: once, daily, weekly, by a cron expression, at an interval, or on events.

A schedule knows wall-clock times only; the task's time zone and its end make instants of them, see
:mod:`oneclaw_scheduled_tasks.occurrences`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Set

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
_SECOND = re.compile(r"[0-5]?\d")
# The library's own extensions for random and hashed values would give each worker another time.
_HASHED = re.compile(r"(?<![A-Za-z])[hHrR](?![A-Za-z])")
_CRON_NAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS: dict[str, Set[str]] = {
    "one_time": {"hour", "minute", "date"},
    "daily": {"hour", "minute"},
    "weekly": {"hour", "minute", "day_of_week"},
    "cron": {"cron"},
    "interval": {"interval_minutes", "interval_seconds"},
    "trigger": {"trigger", "parameters", "per_day"},
}


class FieldError(UsageError):
    """A value of a task is not possible.

    Args:
        fields: the names of the fields that it is about.
        problem: the rest of the sentence.
        allowed: the fields that can be given instead.
    """

    def __init__(self, fields: Iterable[str], problem: str, allowed: Iterable[str] = ()) -> None:
        self._fields, self._problem, self._allowed = tuple(fields), problem, tuple(allowed)
        super().__init__(self.worded({}))

    def worded(self, names: Mapping[str, str]) -> str:
        """Return the message with other names for some fields, such as the options of the command line."""

        def named(given: Iterable[str]) -> str:
            return " and ".join(dict.fromkeys(names.get(each, each) for each in given))

        return f"{named(self._fields)} {self._problem}{'; it takes ' if self._allowed else ''}{named(self._allowed)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A schedule, made by :func:`read_schedule`; the fields of its type are set, all others are ``None``.

    Attributes:
        date: as ``YYYY-MM-DD``.
        day_of_week: one of ``WEEKDAYS``.
        cron: five fields, or six with the second before them.
        interval_minutes: counted from when the task was set up; so are seconds.
        per_day: how often events may start the task.
    """

    schedule_type: str
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
    def step(self) -> timedelta | None:
        """The time between two runs of an interval, ``None`` for other schedules."""
        return timedelta(minutes=self.interval_minutes or 0, seconds=self.interval_seconds or 0) or None

    @property
    def expression(self) -> str | None:
        """The cron expression for the times of a schedule that comes again by the clock."""
        if self.schedule_type not in ("daily", "weekly"):
            return self.cron
        day = (WEEKDAYS.index(self.day_of_week) + 1) % 7 if self.day_of_week else "*"
        return f"{self.minute} {self.hour} * * {day}"

    @property
    def follows_clock(self) -> bool:
        """True if it is due whenever the clock shows such a time, also twice; a fixed time of day is due once a day."""
        return any(field.startswith("*") for field in (self.cron or "").split()[-_CRON_FIELDS:][:2])

    @property
    def is_either_day(self) -> bool:
        """True if the day of the month or that of the week is enough; where one begins with ``*``, both must fit."""
        day, _, weekday = (self.expression or "* * * * *").split()[-_CRON_FIELDS:][2:]
        return not (day.startswith("*") or weekday.startswith("*"))

    def given(self) -> dict[str, Any]:
        """Return what :func:`read_schedule` makes the schedule of."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}

    def changed(self, words: Mapping[str, Any]) -> Schedule:
        """Make another schedule: what is not given stays as it is, if it fits."""
        given = {key: value for key, value in words.items() if value is not None}
        before = self.given()
        if given.get("schedule_type") in (None, self.schedule_type):
            if "interval_minutes" in given or "interval_seconds" in given:
                before = {"schedule_type": self.schedule_type}
            return read_schedule({**before, **given})
        stays = {"hour", "minute"} if "hour" not in given else set()
        stays &= _FIELDS.get(given["schedule_type"], set())
        return read_schedule({**{key: before[key] for key in stays & before.keys()}, **given})

    def __str__(self) -> str:
        match self.schedule_type:
            case "one_time":
                return f"once on {self.date} at {self._time}"
            case "daily":
                return f"daily at {self._time}"
            case "weekly":
                return f"every {self.day_of_week} at {self._time}"
            case "cron":
                return f"by cron {self.cron!r}"
            case "interval":
                return _interval_text(self.interval_minutes, self.interval_seconds)
        shown = ", ".join(f"{key}={value}" for key, value in self.parameters or () if not key.endswith(SECRET))
        return f"on {self.trigger}{f' ({shown})' if shown else ''}, {self.per_day} times a day at most"

    @property
    def _time(self) -> str:
        return f"{self.hour:02d}:{self.minute:02d}"


SCHEDULE_FIELDS = frozenset(each.name for each in fields(Schedule))


def _interval_text(minutes: int | None, seconds: int | None) -> str:
    if minutes is None:
        return f"every {seconds} seconds"
    units = (("day", 24 * 60), ("hour", 60), ("minute", 1))
    unit, length = next(each for each in units if minutes % each[1] == 0)
    return f"every {unit}" if minutes == length else f"every {minutes // length} {unit}s"


def read_schedule(words: Mapping[str, Any]) -> Schedule:
    """Make a schedule of its fields as somebody gives them; what else is given of a task is passed over."""
    given = {key: value for key, value in words.items() if value is not None and key in SCHEDULE_FIELDS}
    kind = given.pop("schedule_type", "").strip().lower()
    if kind not in _FIELDS:
        raise UsageError(f"schedule_type must be one of {', '.join(_FIELDS)}, not {words.get('schedule_type')!r}")
    _refuse_foreign(kind, given)
    names = _FIELDS[kind]
    if "hour" in names and "hour" not in given:
        raise FieldError(["hour"], f"is needed for a {kind} schedule")
    if kind == "interval":
        if len(given) > 1:
            raise FieldError(sorted(given), "do not go together: give one of them")
        names = given.keys() or {"interval_minutes"}
    values = {name: _READERS[name](name, given.get(name, _DEFAULTS.get(name))) for name in names}
    if values.get("interval_seconds", 1) % 60 == 0:
        values = {"interval_minutes": values["interval_seconds"] // 60}
    return Schedule(schedule_type=kind, **values)


def _cron(_: str, expression: str | None) -> str:
    from croniter import croniter

    text = " ".join((expression or "").split())
    text = _CRON_NAMES.get(text.lower(), text)
    try:
        is_valid = len(text) <= _CRON_CHARACTERS and _is_plain_cron(text)
        is_valid = is_valid and croniter.is_valid(text, second_at_beginning=True)
    except Exception:  # noqa: BLE001  # the library parses foreign text, and documents no error of this call
        is_valid = False
    if not is_valid:
        raise FieldError(
            ["cron"],
            f"must be an expression of five fields such as '0 9 * * mon-fri' (minute, hour, day of the month, "
            f"month, day of the week; a sixth one before them is the second), not {(expression or '')[:100]!r}",
        )
    return text


def _is_plain_cron(text: str) -> bool:
    parts = text.split()
    is_second = len(parts) == _CRON_FIELDS + 1 and _SECOND.fullmatch(parts[0]) is not None
    return (is_second or len(parts) == _CRON_FIELDS) and _HASHED.search(text) is None


def read_date(name: str, text: str | None) -> date:
    """Read a date."""
    written = (text or "").strip()
    try:
        if not _DATE.fullmatch(written):
            raise ValueError
        return date.fromisoformat(written)
    except ValueError:
        raise FieldError([name], f"must be a day of the calendar as YYYY-MM-DD, not {written[:100]!r}") from None


def _weekday(name: str, text: str | None) -> str:
    wanted = (text or "").strip().lower()
    for day in WEEKDAYS:
        if wanted in (day.lower(), day[:3].lower()):
            return day
    raise FieldError([name], f"must be one of {', '.join(WEEKDAYS)}, not {(text or '')[:50]!r}")


def _trigger(_: str, name: str | None) -> str:
    if not name:
        raise FieldError(["trigger"], "must be the name of one; list them with: oneclaw tasks triggers")
    return name


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    """Check a whole number."""
    if type(value) is not int or not least <= value <= most:
        raise FieldError([name], f"must be a whole number from {least} to {most:,}, not {value!r}")
    return value


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "hour": partial(whole_number, least=0, most=23),
    "minute": partial(whole_number, least=0, most=59),
    "day_of_week": _weekday,
    "date": lambda name, text: read_date(name, text).isoformat(),
    "cron": _cron,
    "interval_minutes": partial(whole_number, least=1, most=MAX_INTERVAL_MINUTES),
    "interval_seconds": partial(whole_number, least=LEAST_INTERVAL_SECONDS, most=MAX_INTERVAL_MINUTES * 60),
    "trigger": _trigger,
    "parameters": lambda _, pairs: tuple((key, value) for key, value in pairs),
    "per_day": partial(whole_number, least=1, most=_MOST_PER_DAY),
}
_DEFAULTS = {"minute": 0, "parameters": (), "per_day": USUAL_PER_DAY}


def _refuse_foreign(kind: str, given: Mapping[str, Any]) -> None:
    """Refuse what would be passed over, such as an hour beside a cron expression."""
    # The day of a daily task is no contradiction when models fill in all they know.
    harmless = {"day_of_week", "date"} if "hour" in _FIELDS[kind] else set()
    foreign = sorted(given.keys() - _FIELDS[kind] - harmless)
    if foreign:
        allowed = sorted(_FIELDS[kind] - {"interval_seconds"})
        article = "an" if kind == "interval" else "a"
        raise FieldError(foreign, f"cannot be given for {article} {kind} schedule", allowed)
