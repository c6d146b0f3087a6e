"""From tasks to runs in the database, by a clock that the test sets; on SQLite and on PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from oneclaw_scheduled_tasks import stored_runs, stored_tasks, stored_workers
from oneclaw_scheduled_tasks.database import TaskDatabase
from oneclaw_scheduled_tasks.missed import MissedPolicy
from oneclaw_scheduled_tasks.schedules import Daily, Interval, OneTime
from oneclaw_scheduled_tasks.stored_workers import WorkerState
from oneclaw_scheduled_tasks.tables import tasks
from oneclaw_scheduled_tasks.task import RunStatus, Task
from sqlalchemy import update

BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(any_database, tmp_path, monkeypatch):
    import os

    url = os.environ.get("ONECLAW_DATABASE_URL") or f"sqlite:///{tmp_path}/tasks.db"
    opened = TaskDatabase.open_here(url)
    yield opened
    opened.close()


def task(schedule=None, **values):
    made = Task(
        id="0123456789ab",
        name="Water",
        prompt="Drink",
        schedule=schedule or Daily(9, 0),
        time_zone="America/New_York",
        agent="General Assistant",
        created_at=BEGIN,
        anchor=BEGIN,
        planned_at=BEGIN,
        **values,
    )
    return replace(made, next_at=made.next_after(BEGIN))


def plan(database, now):
    while database.run_here(stored_tasks.plan_due, now):
        pass


def log(database):
    return {run.scheduled_at: run.status for run in database.run_here(stored_runs.runs_of, "0123456789ab", 1000)}


@pytest.mark.one_python
def test_a_year_of_a_daily_task(database):
    database.run_here(stored_tasks.add_task, task())
    minutes_late = []

    def a_year(connection):
        while (due := stored_tasks.get_task(connection, "0123456789ab").next_at) < BEGIN + timedelta(days=365):
            assert stored_tasks.plan_due(connection, due - timedelta(seconds=1)) == 0
            # A worker looks up to 97 minutes late, and a run may begin up to an hour late.
            minutes_late.append(len(minutes_late) * 37 % 97)
            assert stored_tasks.plan_due(connection, due + timedelta(minutes=minutes_late[-1])) == 1

    database.run_here(a_year)
    found = log(database)
    assert len(found) == len(minutes_late) == 365
    assert len({moment.date() for moment in found}) == 365
    assert {moment.hour for moment in found} == {13, 14}  # summer and winter
    too_late = sum(minutes > 60 for minutes in minutes_late)
    assert 0 < list(found.values()).count(RunStatus.MISSED) == too_late < 200


@pytest.mark.parametrize("policy", list(MissedPolicy))
def test_after_a_week_of_sleep(database, policy):
    database.run_here(stored_tasks.add_task, task(missed=policy))
    plan(database, datetime(2026, 1, 8, 14, 30, tzinfo=UTC))

    statuses = list(log(database).values())
    ran = {MissedPolicy.ALL: 8, MissedPolicy.RUN_ONCE: 1, MissedPolicy.SKIP: 0}[policy]
    assert statuses.count(RunStatus.WAITING) == ran
    assert statuses.count(RunStatus.MISSED) == 8 - ran
    found = database.run_here(stored_tasks.get_task, "0123456789ab")
    assert found.next_at == datetime(2026, 1, 9, 14, tzinfo=UTC)


def test_a_clock_that_is_put_back_repeats_nothing_and_loses_nothing(database):
    database.run_here(stored_tasks.add_task, task(Interval(60)))
    for hours in (1, 2, 3):
        plan(database, BEGIN + timedelta(hours=hours))
    # Somebody had set the clock a year ahead, and has mended that.
    plan(database, BEGIN + timedelta(days=365))
    before = len(log(database))
    for hours in range(2, 6):
        now = BEGIN + timedelta(hours=hours, seconds=30)
        if database.run_here(stored_tasks.was_planned_later, now):
            database.run_here(stored_tasks.replan, now)
        plan(database, now)

    hourly = [moment for moment in log(database) if moment < BEGIN + timedelta(days=1)]
    assert sorted(hourly) == [BEGIN + timedelta(hours=hours) for hours in range(1, 6)]
    assert len(log(database)) == before + 2


def test_a_clock_that_is_put_back_is_made_up_for_once(database):
    """Else every worker would plan everything anew each second, until the clock is where it was."""
    ahead, now = BEGIN + timedelta(days=30), BEGIN + timedelta(days=1)
    once = replace(task(OneTime(date(2026, 3, 8), 2, 30)), planned_at=ahead)
    ended = replace(task(end_date=date(2026, 1, 20)), id="ba9876543210", planned_at=ahead, next_at=None)
    for each in (once, ended):
        database.run_here(stored_tasks.add_task, each)

    assert database.run_here(stored_tasks.was_planned_later, now)
    assert database.run_here(stored_tasks.replan, now) == 2

    assert not database.run_here(stored_tasks.was_planned_later, now)
    assert database.run_here(stored_tasks.replan, now) == 0
    assert database.run_here(stored_tasks.get_task, once.id).next_at == once.next_at
    again = database.run_here(stored_tasks.get_task, ended.id)
    assert (again.next_at, again.planned_at) == (datetime(2026, 1, 2, 14, tzinfo=UTC), now)


def test_a_task_that_cannot_be_planned_keeps_no_worker_from_beginning(database):
    ahead = BEGIN + timedelta(days=30)
    database.run_here(stored_tasks.add_task, replace(task(), planned_at=ahead))
    unknown = replace(task(), id="ba9876543210", planned_at=ahead)
    database.run_here(stored_tasks.add_task, unknown)
    lost = update(tasks).where(tasks.c.id == unknown.id).values(time_zone="Mars/Phobos")
    database.run_here(lambda connection: connection.execute(lost))

    assert database.run_here(stored_tasks.replan, BEGIN) == 1
    assert not database.run_here(stored_tasks.was_planned_later, BEGIN)


def test_a_task_that_comes_once_is_done_with(database):
    database.run_here(stored_tasks.add_task, task(OneTime(date(2026, 3, 8), 2, 30)))
    plan(database, datetime(2026, 3, 8, 7, 0, 30, tzinfo=UTC))

    found = database.run_here(stored_tasks.get_task, "0123456789ab")
    assert log(database) == {datetime(2026, 3, 8, 7, tzinfo=UTC): RunStatus.WAITING}
    assert (found.is_enabled, found.next_at) == (False, None)


def test_many_workers_that_plan_at_once_make_each_run_once(database):
    database.run_here(stored_tasks.add_task, task(Interval(1), missed=MissedPolicy.ALL))
    now = BEGIN + timedelta(minutes=50)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda _: plan(database, now), range(6)))

    assert len(log(database)) == 50


def test_a_run_is_taken_by_the_dispatch_that_counts(database):
    database.run_here(stored_tasks.add_task, task())
    plan(database, datetime(2026, 1, 1, 14, 0, 5, tzinfo=UTC))
    (run,) = database.run_here(stored_runs.to_queue, datetime(2026, 1, 1, 15, tzinfo=UTC))
    database.run_here(stored_runs.note_queued, [run])

    assert database.run_here(stored_runs.to_queue, datetime(2026, 1, 1, 15, tzinfo=UTC)) == []
    assert database.run_here(stored_runs.begin_run, run.id, 1, "w", BEGIN) is None
    assert database.run_here(stored_runs.begin_run, run.id, 0, "w", BEGIN) is not None
    assert not database.run_here(stored_runs.change_run, run.id, "another", {"status": RunStatus.SUCCESS})
    assert database.run_here(stored_runs.change_run, run.id, "w", {"status": RunStatus.FAILED, "ended_at": BEGIN})
    assert not database.run_here(stored_runs.change_run, run.id, "w", {"status": RunStatus.SUCCESS})


def test_the_log_is_kept_for_ninety_days_and_goes_with_the_task(database):
    database.run_here(stored_tasks.add_task, task(missed=MissedPolicy.SKIP))
    plan(database, BEGIN + timedelta(days=10))
    assert database.run_here(stored_runs.remove_old, BEGIN + timedelta(days=99)) == 0
    assert database.run_here(stored_runs.remove_old, BEGIN + timedelta(days=101)) == 10

    plan(database, BEGIN + timedelta(days=120))
    database.run_here(stored_tasks.remove_task, "0123456789ab")
    assert log(database) == {}


def test_runs_whose_entry_is_lost_are_queued_again(database):
    database.run_here(stored_tasks.add_task, task())
    plan(database, datetime(2026, 1, 1, 14, 0, 5, tzinfo=UTC))
    (run,) = database.run_here(stored_runs.to_queue, BEGIN + timedelta(days=1))
    database.run_here(stored_runs.note_queued, [run])
    worker = WorkerState(id="w", host="h", pid=1, version="1", concurrency=1, started_at=BEGIN, beats=0, beat_at=BEGIN)
    database.run_here(stored_workers.add_worker, worker)
    database.run_here(stored_runs.begin_run, run.id, 0, "w", BEGIN)
    assert database.run_here(stored_runs.unfinished) == []

    database.run_here(stored_workers.remove_workers, ["w"])
    lost = database.run_here(stored_runs.unfinished)
    database.run_here(stored_runs.queue_again, lost)
    (again,) = database.run_here(stored_runs.to_queue, BEGIN + timedelta(days=1))
    assert (again.dispatches, again.status) == (1, RunStatus.INTERRUPTED)


def test_a_newer_database_is_left_alone(database):
    from oneclaw_scheduled_tasks.tables import schema_version
    from sqlalchemy import update

    from oneclaw_core import StoreError

    database.run_here(lambda connection: connection.execute(update(schema_version).values(version=99)))
    with pytest.raises(StoreError, match="newer version"):
        TaskDatabase.open_here(database.url)


def test_a_task_that_cannot_be_planned_keeps_no_other_one_waiting(database):
    other = replace(task(), id="ba9876543210")
    database.run_here(stored_tasks.add_task, task())
    database.run_here(stored_tasks.add_task, other)
    unknown = update(tasks).where(tasks.c.id == "ba9876543210").values(time_zone="Mars/Phobos", next_at=0)
    database.run_here(lambda connection: connection.execute(unknown))

    plan(database, task().next_at)

    assert log(database) == {task().next_at: RunStatus.WAITING}
