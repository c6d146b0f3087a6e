"""From tasks to runs in the database, by a clock that the test sets; on SQLite and on PostgreSQL."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from how_long import some
from oneclaw_scheduled_tasks import planner, stored, tables
from oneclaw_scheduled_tasks.database import TaskDatabase
from oneclaw_scheduled_tasks.occurrences import MissedPolicy
from oneclaw_scheduled_tasks.planner import STEADY_SECONDS, Planner
from oneclaw_scheduled_tasks.schedules import Schedule
from oneclaw_scheduled_tasks.tables import tasks
from oneclaw_scheduled_tasks.task import CATCH_UP_SECONDS, OverlapPolicy, Run, RunStatus, Task, WorkerState
from some_schedules import daily, every, once
from sqlalchemy import text, update

BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(any_database, tmp_path, monkeypatch):
    import os

    url = os.environ.get("ONECLAW_DATABASE_URL") or f"sqlite:///{tmp_path}/tasks.db"
    opened = TaskDatabase.open_here(url)
    yield opened
    opened.close()


def task(schedule=None, **values):
    values.setdefault("catch_up_seconds", CATCH_UP_SECONDS[values.get("missed", MissedPolicy.RUN_ONCE)])
    made = Task(
        id="0123456789ab",
        name="Water",
        prompt="Drink",
        schedule=schedule or daily(9, 0),
        time_zone="America/New_York",
        agent="General Assistant",
        created_at=BEGIN,
        anchor=BEGIN,
        planned_at=BEGIN,
        **values,
    )
    return replace(made, next_at=made.next_after(BEGIN))


def plan(database, now):
    while database.run_here(planner.plan_due, now):
        pass


def log(database):
    return {run.scheduled_at: run.status for run in database.run_here(stored.runs_of, "0123456789ab", 1000)}


@pytest.mark.long
@pytest.mark.one_python
def test_a_year_of_a_daily_task(database):
    database.run_here(tables.add, task())
    minutes_late = []

    def a_year(connection):
        while (due := stored.get_task(connection, "0123456789ab").next_at) < BEGIN + timedelta(days=365):
            assert planner.plan_due(connection, due - timedelta(seconds=1)) == 0
            # A worker looks up to 97 minutes late, and a run may begin up to an hour late.
            minutes_late.append(len(minutes_late) * 37 % 97)
            assert planner.plan_due(connection, due + timedelta(minutes=minutes_late[-1])) == 1

    database.run_here(a_year)
    found = log(database)
    assert len(found) == len(minutes_late) == 365
    assert len({moment.date() for moment in found}) == 365
    assert {moment.hour for moment in found} == {13, 14}  # summer and winter
    too_late = sum(minutes > 60 for minutes in minutes_late)
    assert 0 < list(found.values()).count(RunStatus.MISSED) == too_late < 200


@pytest.mark.parametrize("policy", list(MissedPolicy))
def test_after_a_week_of_sleep(database, policy):
    database.run_here(tables.add, task(missed=policy))
    plan(database, datetime(2026, 1, 8, 14, 30, tzinfo=UTC))

    statuses = list(log(database).values())
    ran = {MissedPolicy.ALL: 8, MissedPolicy.RUN_ONCE: 1, MissedPolicy.SKIP: 0}[policy]
    assert statuses.count(RunStatus.WAITING) == ran
    assert statuses.count(RunStatus.MISSED) == 8 - ran
    found = database.run_here(stored.get_task, "0123456789ab")
    assert found.next_at == datetime(2026, 1, 9, 14, tzinfo=UTC)


@pytest.mark.long
def test_a_clock_that_is_put_back_repeats_nothing_and_loses_nothing(database):
    database.run_here(tables.add, task(every(60), overlap=OverlapPolicy.ALLOW))
    for hours in (1, 2, 3):
        plan(database, BEGIN + timedelta(hours=hours))
    # Somebody had set the clock a year ahead, and has fixed that.
    plan(database, BEGIN + timedelta(days=365))
    for hours in range(2, 6):
        now = BEGIN + timedelta(hours=hours, seconds=30)
        if database.run_here(planner.was_planned_later, now):
            database.run_here(planner.replan, now)
        plan(database, now)

    assert sorted(log(database)) == [BEGIN + timedelta(hours=hours) for hours in range(1, 6)]


def test_a_clock_that_is_put_back_is_made_up_for_once(database):
    """Else every worker would plan everything anew each second, until the clock is where it was."""
    ahead, now = BEGIN + timedelta(days=30), BEGIN + timedelta(days=1)
    one_time = replace(task(once(date(2026, 3, 8), 2, 30)), planned_at=ahead)
    ended = replace(task(end_date=date(2026, 1, 20)), id="ba9876543210", planned_at=ahead, next_at=None)
    for each in (one_time, ended):
        database.run_here(tables.add, each)

    assert database.run_here(planner.was_planned_later, now)
    assert database.run_here(planner.replan, now) == 2

    assert not database.run_here(planner.was_planned_later, now)
    assert database.run_here(planner.replan, now) == 0
    assert database.run_here(stored.get_task, one_time.id).next_at == one_time.next_at
    again = database.run_here(stored.get_task, ended.id)
    assert (again.next_at, again.planned_at) == (datetime(2026, 1, 2, 14, tzinfo=UTC), now)


# Of another machine, or of another version of the libraries.
UNREADABLE = pytest.mark.parametrize(
    "stored",
    [
        {"time_zone": "Mars/Phobos"},
        {"schedule": Schedule(schedule_type="cron", cron="0 25 * * *")},
        {"schedule": Schedule(schedule_type="of a later version")},
    ],
)


@UNREADABLE
def test_a_task_that_cannot_be_planned_keeps_no_worker_from_beginning(database, stored):
    ahead = BEGIN + timedelta(days=30)
    database.run_here(tables.add, replace(task(), planned_at=ahead))
    unknown = replace(task(), id="ba9876543210", planned_at=ahead)
    database.run_here(tables.add, unknown)
    lost = update(tasks).where(tasks.c.id == unknown.id).values(stored)
    database.run_here(lambda connection: connection.execute(lost))

    assert database.run_here(planner.replan, BEGIN) == 1
    assert not database.run_here(planner.was_planned_later, BEGIN)


def test_a_task_that_comes_once_is_done_with(database):
    database.run_here(tables.add, task(once(date(2026, 3, 8), 2, 30)))
    plan(database, datetime(2026, 3, 8, 7, 0, 30, tzinfo=UTC))

    found = database.run_here(stored.get_task, "0123456789ab")
    assert log(database) == {datetime(2026, 3, 8, 7, tzinfo=UTC): RunStatus.WAITING}
    assert (found.is_enabled, found.next_at) == (False, None)


@pytest.mark.long
def test_many_workers_that_plan_at_once_make_each_run_once(database):
    database.run_here(tables.add, task(every(1), missed=MissedPolicy.ALL))
    now = BEGIN + timedelta(minutes=50)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda _: plan(database, now), range(6)))

    assert len(log(database)) == 50


def test_a_run_is_taken_by_the_dispatch_that_counts(database):
    database.run_here(tables.add, task())
    plan(database, datetime(2026, 1, 1, 14, 0, 5, tzinfo=UTC))
    (run,) = database.run_here(stored.to_queue, datetime(2026, 1, 1, 15, tzinfo=UTC))
    database.run_here(stored.note_queued, [run])

    assert database.run_here(stored.to_queue, datetime(2026, 1, 1, 15, tzinfo=UTC)) == []
    assert database.run_here(stored.begin_run, run.id, 1, "w", BEGIN) is None
    assert database.run_here(stored.begin_run, run.id, 0, "w", BEGIN) is not None
    assert not database.run_here(stored.change_run, run.id, "another", status=RunStatus.SUCCESS)
    assert database.run_here(stored.change_run, run.id, "w", status=RunStatus.FAILED, ended_at=BEGIN)
    assert not database.run_here(stored.change_run, run.id, "w", status=RunStatus.SUCCESS)


@pytest.mark.long
def test_the_log_is_kept_for_ninety_days_and_goes_with_the_task(database):
    database.run_here(tables.add, task(missed=MissedPolicy.SKIP))
    plan(database, BEGIN + timedelta(days=10))
    assert database.run_here(stored.remove_old, BEGIN + timedelta(days=99)) == 0
    assert database.run_here(stored.remove_old, BEGIN + timedelta(days=101)) == 10

    plan(database, BEGIN + timedelta(days=120))
    database.run_here(stored.remove_task, "0123456789ab", BEGIN)
    assert log(database) == {}


@pytest.mark.long
def test_runs_of_workers_that_are_gone_are_queued_again_once(database):
    database.run_here(tables.add, task())
    plan(database, datetime(2026, 1, 1, 14, 0, 5, tzinfo=UTC))
    (run,) = database.run_here(stored.to_queue, BEGIN + timedelta(days=1))
    database.run_here(stored.note_queued, [run])
    worker = WorkerState(id="w", host="h", pid=1, version="1", concurrency=1, started_at=BEGIN, beats=0, beat_at=BEGIN)
    database.run_here(tables.add, worker)
    # Taken from the queue by a worker that lives, and not begun.
    assert database.run_here(stored.take_up, [(run.id, 0, "w")]) == []
    database.run_here(stored.begin_run, run.id, 0, "w", BEGIN)
    assert database.run_here(stored.take_up, [(run.id, 0, "w")]) == []
    assert database.run_here(stored.to_queue, BEGIN + timedelta(days=1)) == []

    database.run_here(tables.remove, WorkerState, tables.workers.c.id == "w")
    for _ in range(2):
        assert database.run_here(stored.take_up, [(run.id, 0, "w")]) == [(run.id, 0)]
    (again,) = database.run_here(stored.to_queue, BEGIN + timedelta(days=1))
    assert (again.dispatches, again.status) == (1, RunStatus.INTERRUPTED)


def test_a_run_that_a_worker_took_and_did_not_begin_is_queued_again(database):
    database.run_here(tables.add, task())
    plan(database, datetime(2026, 1, 1, 14, 0, 5, tzinfo=UTC))
    (run,) = database.run_here(stored.to_queue, BEGIN + timedelta(days=1))
    database.run_here(stored.note_queued, [run])

    for _ in range(2):
        assert database.run_here(stored.take_up, [(run.id, 0, "gone")]) == [(run.id, 0)]
    (again,) = database.run_here(stored.to_queue, BEGIN + timedelta(days=1))
    assert (again.dispatches, again.status, again.error) == (1, RunStatus.WAITING, None)


def test_workers_know_when_there_is_something_to_do(database):
    assert database.run_here(stored.next_moments) == (None, None)
    database.run_here(tables.add, task(jitter_seconds=60))
    due = datetime(2026, 1, 1, 14, tzinfo=UTC)
    assert database.run_here(stored.next_moments) == (due, None)
    plan(database, due)
    (run,) = database.run_here(stored.runs_of, "0123456789ab")
    tomorrow = due + timedelta(days=1)
    assert database.run_here(stored.next_moments) == (tomorrow, run.not_before)
    database.run_here(stored.note_queued, [run])
    _, begin = database.run_here(stored.next_moments)
    assert begin < BEGIN
    database.run_here(stored.begin_run, run.id, 0, "w", due)
    assert database.run_here(stored.next_moments) == (tomorrow, None)


def test_a_newer_database_is_left_alone(database):
    from oneclaw_scheduled_tasks.tables import schema_version
    from sqlalchemy import update

    from oneclaw_core import StoreError

    database.run_here(lambda connection: connection.execute(update(schema_version).values(version=99)))
    with pytest.raises(StoreError, match="newer version"):
        TaskDatabase.open_here(database.url)


@UNREADABLE
def test_a_task_that_cannot_be_planned_keeps_no_other_one_waiting(database, stored):
    other = replace(task(), id="ba9876543210")
    database.run_here(tables.add, task())
    database.run_here(tables.add, other)
    unknown = (
        update(tasks).where(tasks.c.id == "ba9876543210").values(next_at=datetime(1970, 1, 1, tzinfo=UTC), **stored)
    )
    database.run_here(lambda connection: connection.execute(unknown))

    plan(database, task().next_at)

    assert log(database) == {task().next_at: RunStatus.WAITING}


def test_a_clock_that_was_behind_makes_no_runs_of_times_before_the_task(database):
    database.run_here(tables.add, task(missed=MissedPolicy.ALL))
    behind, now = BEGIN - timedelta(days=400), BEGIN + timedelta(days=2)

    assert database.run_here(planner.was_planned_later, behind)
    database.run_here(planner.replan, behind)
    plan(database, behind + timedelta(days=1))
    plan(database, now)

    assert [moment > BEGIN for moment in log(database)] == [True, True]


def test_a_clock_that_was_ahead_for_a_moment_leaves_no_trace(database):
    one_time = task(once(date(2026, 3, 8), 2, 30))
    every_day = replace(task(), id="ba9876543210")
    for each in (one_time, every_day):
        database.run_here(tables.add, each)
    ahead, now = BEGIN + timedelta(days=400), BEGIN + timedelta(hours=1)
    plan(database, ahead)
    assert not database.run_here(stored.get_task, one_time.id).is_enabled

    assert database.run_here(planner.was_planned_later, now)
    database.run_here(planner.replan, now)

    for each in (one_time, every_day):
        found = database.run_here(stored.get_task, each.id)
        assert found.is_enabled
        assert found.next_at == each.next_at
    assert log(database) == {}
    assert not database.run_here(planner.was_planned_later, now)


class Clocks:
    """The wall clock, and one that no one sets."""

    def __init__(self):
        self.now, self.elapsed = BEGIN, 0.0

    def pass_time(self, seconds):
        self.now += timedelta(seconds=seconds)
        self.elapsed += seconds


@pytest.mark.parametrize("jump", [timedelta(days=400), timedelta(days=-400)])
def test_a_clock_that_is_wrong_for_ten_seconds_changes_nothing(database, jump):
    clocks = Clocks()
    planner = Planner(database, lambda: clocks.now, lambda: clocks.elapsed)
    one_time = task(once(date(2026, 1, 3), 8, 0))
    for each in (one_time, replace(task(missed=MissedPolicy.ALL), id="ba9876543210")):
        database.run_here(tables.add, each)
    assert asyncio.run(planner.tick())

    clocks.now += jump
    for _ in range(10):
        clocks.pass_time(1)
        assert not asyncio.run(planner.tick())
    clocks.now -= jump
    clocks.pass_time(1)
    assert not asyncio.run(planner.tick())
    clocks.pass_time(STEADY_SECONDS)

    assert asyncio.run(planner.tick())
    assert log(database) == {}
    assert database.run_here(stored.get_task, one_time.id).next_at == one_time.next_at


@pytest.mark.long
def test_time_that_a_clock_jumps_over_makes_one_run_and_sleep_makes_all(database):
    clocks = Clocks()
    planner = Planner(database, lambda: clocks.now, lambda: clocks.elapsed)
    database.run_here(tables.add, task(every(60), missed=MissedPolicy.ALL, overlap=OverlapPolicy.QUEUE))
    asyncio.run(planner.tick())

    clocks.pass_time(3 * 3600 + 60)
    assert asyncio.run(planner.tick())
    assert list(log(database).values()) == [RunStatus.WAITING] * 3
    clocks.now += timedelta(hours=5)
    asyncio.run(planner.tick())
    clocks.pass_time(STEADY_SECONDS)
    assert asyncio.run(planner.tick())

    assert list(log(database).values()).count(RunStatus.WAITING) == 4
    assert list(log(database).values()).count(RunStatus.MISSED) == 4


@pytest.mark.parametrize(
    ("policy", "expected"),
    some(
        [
            (OverlapPolicy.SKIP, [RunStatus.RUNNING, RunStatus.SKIPPED]),
            (OverlapPolicy.QUEUE, [RunStatus.RUNNING, RunStatus.WAITING]),
            (OverlapPolicy.ALLOW, [RunStatus.RUNNING, RunStatus.WAITING]),
            (OverlapPolicy.CANCEL_PREVIOUS, [RunStatus.STOPPED, RunStatus.WAITING]),
        ],
        4,
    ),
)
def test_an_occurrence_that_comes_due_during_a_run(database, policy, expected):
    database.run_here(tables.add, task(every(60), overlap=policy))
    plan(database, BEGIN + timedelta(hours=1))
    (first,) = database.run_here(stored.to_queue, BEGIN + timedelta(hours=1))
    database.run_here(stored.note_queued, [first])
    database.run_here(stored.begin_run, first.id, 0, "worker", BEGIN + timedelta(hours=1))

    later = BEGIN + timedelta(hours=2)
    plan(database, later)

    assert list(reversed(log(database).values())) == expected
    ready = [run.scheduled_at for run in database.run_here(stored.to_queue, later)]
    assert ready == ([later] if policy in (OverlapPolicy.ALLOW, OverlapPolicy.CANCEL_PREVIOUS) else [])


@pytest.mark.long
def test_runs_made_at_once_begin_one_after_the_other(database):
    database.run_here(tables.add, task(every(60), missed=MissedPolicy.ALL))
    now = BEGIN + timedelta(hours=3)
    plan(database, now)
    begun = []
    while ready := database.run_here(stored.to_queue, now):
        (run,) = ready
        database.run_here(stored.note_queued, ready)
        database.run_here(stored.begin_run, run.id, 0, "worker", now)
        assert not database.run_here(stored.to_queue, now)
        assert database.run_here(stored.change_run, run.id, "worker", status=RunStatus.SUCCESS)
        begun.append(run.scheduled_at)
    assert begun == [BEGIN + timedelta(hours=hours) for hours in (1, 2, 3)]


def test_a_run_begins_a_while_after_it_is_due_and_always_the_same(database):
    jittery = task(every(60), jitter_seconds=300)
    database.run_here(tables.add, jittery)
    due = BEGIN + timedelta(hours=1)
    plan(database, due)
    (run,) = database.run_here(stored.runs_of, jittery.id)

    assert due <= run.not_before <= due + timedelta(seconds=300)
    assert not database.run_here(stored.to_queue, run.not_before - timedelta(seconds=1))
    assert database.run_here(stored.to_queue, run.not_before) == [run]
    delays = {jittery.begin_of(due + timedelta(hours=hours)) - timedelta(hours=hours) for hours in range(20)}
    assert len(delays) > 10
    assert jittery.begin_of(due) == run.not_before
    late = BEGIN + timedelta(hours=2, minutes=30)
    plan(database, late)
    assert database.run_here(tables.find, Run, f"{jittery.id}-20260101T140000Z").error == planner.SKIPPED


@pytest.mark.long
def test_a_database_of_the_first_version_opens(database):
    database.run_here(tables.add, task())
    prefix = "oneclaw_tasks." if database.url.startswith("postgresql") else ""

    def go_back(connection):
        connection.execute(text(f"DROP INDEX {prefix}task_runs_open"))
        for table, column in (("task_definitions", "overlap"), ("task_runs", "is_read"), ("task_runs", "event")):
            connection.execute(text(f"ALTER TABLE {prefix}{table} DROP COLUMN {column}"))
        tasks = f"{prefix}task_definitions"
        for column in ("jitter_seconds", "channels", "trigger_error"):
            connection.execute(text(f"ALTER TABLE {tasks} DROP COLUMN {column}"))
        connection.execute(text(f"ALTER TABLE {tasks} RENAME COLUMN catch_up_seconds TO grace_seconds"))
        connection.execute(text(f"UPDATE {prefix}task_schema_version SET version = 1"))

    database.run_here(go_back)

    with closing(TaskDatabase.open_here(database.url)) as opened:
        assert opened.run_here(stored.get_task, "0123456789ab") == task()
        plan(opened, task().next_at)
        assert list(log(opened).values()) == [RunStatus.WAITING]
