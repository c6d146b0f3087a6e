"""The nouns: a task, and a run of it."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError
from oneclaw_scheduled_tasks.occurrences import MissedPolicy, Occurrences
from oneclaw_scheduled_tasks.schedules import WEEKDAYS, FieldError, Schedule, whole_number
from oneclaw_scheduled_tasks.zones import find_zone

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

MAX_NAME_CHARACTERS = 100
MAX_PROMPT_CHARACTERS = 50_000
MAX_RETRIES = 20
MAX_SECONDS = 24 * 3600
USUAL_SECONDS = 600
_MOST_DELAY_SECONDS = 24 * 3600
MAX_CATCH_UP_SECONDS = 366 * 24 * 3600
CATCH_UP_SECONDS = {
    MissedPolicy.RUN_ONCE: 3600,
    MissedPolicy.SKIP: 3600,
    MissedPolicy.ALL: MAX_CATCH_UP_SECONDS,
}
"""The catch-up window of a task that is given none."""
_MOST_COST = 10**6
_RANGES = {
    "catch_up_seconds": (0, MAX_CATCH_UP_SECONDS),
    "jitter_seconds": (0, _MOST_DELAY_SECONDS),
    "retries": (0, MAX_RETRIES),
    "retry_delay_seconds": (1, _MOST_DELAY_SECONDS),
    "max_seconds": (1, MAX_SECONDS),
}
_WEBHOOK = re.compile(r"https?://[^\s/]+\S*", re.IGNORECASE)


class OverlapPolicy(StrEnum):
    """The policy for an occurrence that is due while an earlier run of its task has not ended."""

    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"
    CANCEL_PREVIOUS = "cancel_previous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The task: its work, its times and its limits.

    Times are in UTC; ``None`` means no limit, no end, the agent's own or nothing.

    Attributes:
        id: 12 hexadecimal digits.
        schedule: when it is due, by the wall clock of ``time_zone``, an IANA name.
        end_date: the last day on which it is due.
        tool_groups: the only groups that a run is offered, and that it begins with; ``None`` for all, none loaded.
        catch_up_seconds: how old a missed occurrence may be to be made up for, under ``run_once`` and ``all``.
        jitter_seconds: how long after it is due a run may begin; how long it is depends on the occurrence alone.
        retry_delay_seconds: the pause before the first retry; it doubles each time.
        max_cost: how many US dollars an attempt may cost.
        repeats_calls: whether a call that was cut off may be made again when its run is taken up.
        is_notified: whether its results are shown by the desktop.
        channels: where else its results are sent, each as ``CHANNEL`` or ``CHANNEL:TO``.
        anchor: when its schedule was last set; intervals are counted from it.
        planned_at: when ``next_at`` was found out.

    Raises:
        UsageError: a value is not acceptable; the message says which, and why.
    """

    id: str
    name: str
    prompt: str
    schedule: Schedule
    time_zone: str
    agent: str
    created_at: datetime
    anchor: datetime
    end_date: date | None = None
    model: str | None = None
    tool_groups: tuple[str, ...] | None = None
    missed: MissedPolicy = MissedPolicy.RUN_ONCE
    catch_up_seconds: int = CATCH_UP_SECONDS[MissedPolicy.RUN_ONCE]
    jitter_seconds: int = 0
    overlap: OverlapPolicy = OverlapPolicy.SKIP
    retries: int = 0
    retry_delay_seconds: int = 60
    max_seconds: int = USUAL_SECONDS
    max_cost: float | None = None
    repeats_calls: bool = False
    is_enabled: bool = True
    is_notified: bool = True
    webhook: str | None = None
    command: str | None = None
    channels: tuple[str, ...] = ()
    next_at: datetime | None = None
    planned_at: datetime | None = None
    trigger_error: str | None = None

    def __post_init__(self) -> None:
        if not self.name or self.name != " ".join(self.name.split()) or not self.name.isprintable():
            raise UsageError("name must be one line of text, and not empty")
        if len(self.name) > MAX_NAME_CHARACTERS:
            raise UsageError(f"name has at most {MAX_NAME_CHARACTERS} characters, and this one has {len(self.name)}")
        if not self.prompt.strip():
            raise UsageError("prompt must not be empty: say what the agent is to do")
        if len(self.prompt) > MAX_PROMPT_CHARACTERS:
            raise UsageError(f"prompt has at most {MAX_PROMPT_CHARACTERS:,} characters")
        for name, (least, most) in _RANGES.items():
            whole_number(name, getattr(self, name), least, most)
        cost = self.max_cost
        if cost is not None and not (math.isfinite(cost) and 0 < cost <= _MOST_COST):
            raise FieldError(["max_cost"], f"must be an amount of US dollars above 0, not {cost!r}")
        if self.webhook is not None and not _WEBHOOK.fullmatch(self.webhook):
            raise FieldError(["webhook"], "must be a URL that begins with https:// or http://")

    @property
    def zone(self) -> ZoneInfo:
        """Its time zone."""
        return find_zone(self.time_zone)

    @property
    def occurrences(self) -> Occurrences:
        """When it is due."""
        return Occurrences(self.schedule, self.zone, self.anchor, self.end_date)

    @property
    def schedule_text(self) -> str:
        """Its schedule in words, such as ``daily at 09:00 (Europe/Berlin)``."""
        until = f" until {self.end_date.isoformat()}" if self.end_date is not None else ""
        later = f", up to {self.jitter_seconds} s later" if self.jitter_seconds else ""
        return f"{self.schedule}{until}{later} ({self.time_zone})"

    def next_after(self, moment: datetime) -> datetime | None:
        """When it is due after a moment, whether it is enabled or not."""
        return self.occurrences.next_after(moment)

    def begin_of(self, occurrence: datetime) -> datetime:
        """When the run of an occurrence may begin, the same for every worker."""
        digest = hashlib.sha256(run_id(self.id, occurrence).encode()).digest()
        return occurrence + timedelta(seconds=int.from_bytes(digest[:8]) % (self.jitter_seconds + 1))

    def retry_delay(self, attempt: int) -> timedelta:
        """Return the pause after a failed attempt."""
        return timedelta(seconds=min(self.retry_delay_seconds * 2 ** (attempt - 1), _MOST_DELAY_SECONDS))

    def local_text(self, moment: datetime | None) -> str:
        """Write a moment by the task's wall clock, to the minute: ``Saturday 2026-11-21 09:00 CET``."""
        if moment is None:
            return "none"
        local = moment.astimezone(self.zone)
        return f"{WEEKDAYS[local.weekday()]} {local:%Y-%m-%d %H:%M} {local.tzname()}"

    def last_text(self, last: Run | None) -> str:
        """Say when its last run was due, and how it stands."""
        return "never" if last is None else f"{self.local_text(last.scheduled_at)}, {last.status}"

    @property
    def is_one_time(self) -> bool:
        """True if it is due once."""
        return self.schedule.schedule_type == "one_time"

    @property
    def is_triggered(self) -> bool:
        """True if events start it, and not the clock."""
        return self.schedule.trigger is not None


class RunStatus(StrEnum):
    """The state of a run."""

    WAITING = "waiting"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    NEEDS_PERMISSION = "needs_permission"
    STOPPED = "stopped"
    SKIPPED = "skipped"
    MISSED = "missed"
    INTERRUPTED = "interrupted"

    @property
    def is_final(self) -> bool:
        """True if the run is final."""
        return self not in UNFINISHED

    @property
    def can_go_on(self) -> bool:
        """True if the run ended without what it was to do, and its session can be continued."""
        return self in (RunStatus.NEEDS_PERMISSION, RunStatus.FAILED, RunStatus.STOPPED)


UNFINISHED = (RunStatus.WAITING, RunStatus.RUNNING, RunStatus.INTERRUPTED)
WITH_RESULT = (RunStatus.SUCCESS, RunStatus.FAILED, RunStatus.NEEDS_PERMISSION)
"""The outcomes of runs that have something to report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of a task, over all its attempts: an entry of the execution log.

    Attributes:
        id: made of the task's and the occurrence's, so that each occurrence has one run.
        scheduled_at: when it was due; all times are in UTC.
        is_manual: whether somebody asked for it.
        dispatches: how many times it was put into the queue.
        interruptions: how often a worker died in the middle of it.
        is_cut_off: whether its last turn was cancelled, so that the session's last text is no answer.
        started_at: when the first attempt began.
        input_tokens: that its models read, as far as known.
        cost: in US dollars, ``None`` where no price is known.
        notes: what else the user should know, such as a permission that was denied.
        is_delivered: whether its result has been sent where the task says.
        is_read: whether the user has seen its result.
        event: what a trigger reported that started it.
    """

    id: str
    task_id: str
    scheduled_at: datetime
    is_manual: bool = False
    status: RunStatus = RunStatus.WAITING
    attempt: int = 1
    dispatches: int = 0
    not_before: datetime
    is_queued: bool = False
    interruptions: int = 0
    is_cut_off: bool = False
    worker: str | None = None
    session: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    error: str | None = None
    notes: str | None = None
    answer: str | None = None
    is_delivered: bool = False
    is_read: bool = False
    event: str | None = None

    @property
    def makes_up(self) -> bool:
        """True if somebody asked for the run of an occurrence."""
        return self.is_manual and self.id == run_id(self.task_id, self.scheduled_at)

    @property
    def duration_seconds(self) -> float | None:
        """The time of all attempts and pauses; ``None`` unless the work has begun and ended."""
        if self.started_at is None or self.ended_at is None:
            return None
        return max(0.0, (self.ended_at - self.started_at).total_seconds())


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """A worker as the others see it."""

    id: str
    host: str
    pid: int
    version: str
    concurrency: int
    started_at: datetime
    beats: int
    beat_at: datetime
    is_stopping: bool = False
    running: int = 0


def run_id(task_id: str, scheduled_at: datetime) -> str:
    """The id of the run of an occurrence, the same for every worker that finds it due."""
    return f"{task_id}-{scheduled_at.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def unseen_end(now: datetime, status: RunStatus, reason: str) -> dict[str, Any]:
    """Return the fields of a run that was stopped, skipped or missed, of which the user need not be told."""
    done = dict.fromkeys(("is_queued", "is_delivered", "is_read"), True)
    return {"status": status, "error": reason, "ended_at": now, **done}


def duration_text(seconds: float | None) -> str:
    """Write a duration as ``8 s``, ``2 m 5 s`` or ``1 h 4 m``."""
    if seconds is None:
        return ""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} m"
