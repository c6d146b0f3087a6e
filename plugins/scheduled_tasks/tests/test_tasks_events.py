"""Events that start tasks, in the database: once each, and not too often a day."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from oneclaw_scheduled_tasks import planner, stored, tables, triggers
from oneclaw_scheduled_tasks.database import TaskDatabase
from oneclaw_scheduled_tasks.task import OverlapPolicy, RunStatus, Task
from some_schedules import daily, on

BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(any_database, tmp_path):
    import os

    opened = TaskDatabase.open_here(os.environ.get("ONECLAW_DATABASE_URL") or f"sqlite:///{tmp_path}/tasks.db")
    yield opened
    opened.close()


def triggered(database, **values):
    task = Task(
        id="0123456789ab",
        name="Read",
        prompt="Read it",
        schedule=on("file_changed", values.pop("per_day", 3), path="/x"),
        time_zone="America/New_York",
        agent="General Assistant",
        created_at=BEGIN,
        anchor=BEGIN,
        **{"overlap": OverlapPolicy.ALLOW, **values},
    )
    database.run_here(tables.add, task)
    return task


def fire(database, text="it changed", key=None, now=BEGIN):
    return database.run_here(triggers.add_event, "0123456789ab", now, text, key)


def log(database):
    return database.run_here(stored.runs_of, "0123456789ab")


def test_a_task_that_events_start_is_kept_and_is_never_due(database):
    task = triggered(database)

    assert database.run_here(stored.get_task, task.id) == task
    assert str(task.schedule) == "on file_changed (path=/x), 3 times a day at most"
    assert task.next_after(BEGIN) is None
    assert database.run_here(planner.plan_due, BEGIN + timedelta(days=400)) == 0
    assert database.run_here(triggers.triggered_tasks) == [task]


@pytest.mark.long
def test_an_event_starts_a_task_once(database):
    triggered(database)

    assert [fire(database, key="a"), fire(database, key="a"), fire(database), fire(database)] == [
        True,
        False,
        True,
        True,
    ]
    runs = log(database)
    assert {run.status for run in runs} == {RunStatus.WAITING}
    assert {run.event for run in runs} == {"it changed"}
    assert [run.id for run in database.run_here(stored.to_queue, BEGIN)] == sorted(run.id for run in runs)


def test_events_start_a_task_so_often_a_day_of_its_time_zone_and_the_log_says_so_once(database):
    triggered(database, per_day=2)
    # The day ends at five o'clock UTC.
    evening, morning = BEGIN + timedelta(hours=16, minutes=59), BEGIN + timedelta(hours=17)

    assert [fire(database, now=evening) for _ in range(5)] == [True, True, False, False, False]
    assert [fire(database, now=morning) for _ in range(3)] == [True, True, False]

    skipped = [run for run in log(database) if run.status is RunStatus.SKIPPED]
    assert [run.error for run in skipped] == [triggers.ENOUGH] * 2


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (OverlapPolicy.SKIP, {RunStatus.WAITING, RunStatus.SKIPPED}),
        (OverlapPolicy.QUEUE, {RunStatus.WAITING}),
        (OverlapPolicy.CANCEL_PREVIOUS, {RunStatus.STOPPED, RunStatus.WAITING}),
    ],
)
def test_an_event_during_a_run(database, policy, expected):
    triggered(database, overlap=policy)
    for key in ("a", "b"):
        fire(database, key=key)

    runs = log(database)
    assert len(runs) == 2
    assert {run.status for run in runs} == expected


@pytest.mark.parametrize("values", [{"is_enabled": False}, {"end_date": date(2025, 12, 31)}])
def test_a_task_that_is_paused_or_has_ended_is_not_started(database, values):
    triggered(database, **values)

    assert not fire(database)
    assert log(database) == []


def test_another_task_is_started_by_no_event(database):
    task = triggered(database)
    other = replace(task, schedule=daily(9, 0))
    database.run_here(stored.change_task, task, other)

    assert not fire(database)
    assert not database.run_here(triggers.add_event, "nothing", BEGIN, "x", None)
