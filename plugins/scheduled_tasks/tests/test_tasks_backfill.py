"""Runs that are made up for by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from oneclaw_scheduled_tasks.backfill import MOST_RUNS, make_up, not_done, occurrences_between, read_moment
from oneclaw_scheduled_tasks.database import TaskDatabase
from oneclaw_scheduled_tasks.planner import plan_due
from oneclaw_scheduled_tasks.stored import runs_of
from oneclaw_scheduled_tasks.tables import add
from oneclaw_scheduled_tasks.task import RunStatus, Task
from some_schedules import cron, daily

from oneclaw_core import UsageError
from oneclaw_core.cli.main import main

MADE = datetime(2026, 3, 28, 12, tzinfo=UTC)


def task(schedule=None, **values):
    return Task(
        id="0123456789ab",
        name="Report",
        prompt="Write it",
        schedule=schedule or daily(9, 0),
        time_zone="Europe/Berlin",
        agent="General Assistant",
        created_at=MADE,
        anchor=MADE,
        planned_at=MADE,
        **values,
    )


@pytest.mark.long
def test_occurrences_are_listed_from_before_the_task_was_made_to_its_end():
    report = task(end_date=date(2026, 3, 30))
    first, last = read_moment("2026-03-27", report), read_moment("2026-04-02", report, is_end=True)

    assert [f"{each:%m-%d %H:%M}" for each in occurrences_between(report, first, last)] == [
        "03-27 08:00", "03-28 08:00", "03-29 07:00", "03-30 07:00",
    ]  # fmt: skip
    at_nine = read_moment("2026-03-27 09:00", report)
    assert occurrences_between(report, at_nine, read_moment("2026-03-27T09:00", report, is_end=True)) == [at_nine]


def test_too_many_and_what_is_no_time_are_refused():
    every_minute = task(cron("* * * * *"))

    with pytest.raises(UsageError, match=f"more than {MOST_RUNS} runs"):
        occurrences_between(every_minute, MADE, MADE + timedelta(minutes=MOST_RUNS))
    for text in ("tomorrow", "0001-01-01"):
        with pytest.raises(UsageError, match=f"'{text}' is not a time"):
            read_moment(text, every_minute)


def test_what_was_missed_or_never_planned_is_made_up_for_once(tmp_path):
    database = TaskDatabase.open_here(f"sqlite:///{tmp_path}/tasks.db")
    report = task(next_at=datetime(2026, 3, 29, 7, tzinfo=UTC))
    database.run_here(add, report)
    now = datetime(2026, 3, 31, 7, 30, tzinfo=UTC)
    database.run_here(plan_due, now)  # two are missed, the last one waits
    days = [datetime(2026, 3, 27, 8, tzinfo=UTC), *(datetime(2026, 3, day, 7, tzinfo=UTC) for day in (29, 30, 31))]

    assert database.run_here(not_done, report, days) == days[:3]
    made = database.run_here(make_up, report, days, now)
    again = database.run_here(make_up, report, days, now)
    runs = database.run_here(runs_of, report.id)
    database.close()

    assert [run.scheduled_at for run in made] == days[:3]
    assert again == []
    assert [(run.status, run.makes_up) for run in runs] == [(RunStatus.WAITING, False)] + 3 * [
        (RunStatus.WAITING, True)
    ]


def test_the_user_is_shown_how_many_there_are_and_asked(home, capsys):
    options = ["--at", "09:00", "--time-zone", "UTC"]
    assert main(["tasks", "add", "Report", "Write it", *options]) == 0
    time = ["--from", "2026-01-01", "--to", "2026-01-03"]
    assert main(["tasks", "backfill", "report", *time]) == 2
    printed = capsys.readouterr()
    assert "3 runs of task Report: Thursday 2026-01-01 09:00 UTC to Saturday 2026-01-03 09:00 UTC" in printed.out
    assert "no one can be asked here whether to have 3 runs done: add --yes" in printed.err
    assert main(["tasks", "backfill", "report", *time, "--yes"]) == 0
    assert "3 wait for a worker" in capsys.readouterr().out
    assert main(["tasks", "backfill", "report", *time, "--yes"]) == 0
    assert "lacks no runs" in capsys.readouterr().out
    assert main(["tasks", "backfill", "report", "--from", "2026-01-03", "--to", "2026-01-01"]) == 2
