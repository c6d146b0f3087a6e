"""Moving the tasks from one database to another and back."""

import json
from contextlib import closing

import pytest
from oneclaw_scheduled_tasks.database import TaskDatabase, tasks_database_url
from oneclaw_scheduled_tasks.tables import runs, tasks
from sqlalchemy import select
from tasks_rig import DEADLINE_SECONDS, Tasks, until

from oneclaw_core.cli.main import main


@pytest.fixture
def oneclaw(home, capsys):
    def run(*arguments):
        status = main(list(arguments))
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def content(url):
    database = TaskDatabase.open_here(url)
    try:
        return database.run_here(
            lambda connection: {
                table.name: sorted(map(tuple, connection.execute(select(table)))) for table in (tasks, runs)
            }
        )
    finally:
        database.close()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def elsewhere(request, tmp_path):
    """The URL of a database with nothing in it, of both kinds in turn."""
    return request.getfixturevalue("postgresql") if request.param == "postgresql" else f"sqlite:///{tmp_path}/there.db"


@pytest.mark.long
@pytest.mark.one_python
def test_tasks_move_to_another_database_and_back_and_go_on_there(
    oneclaw, home, tasks, workers, elsewhere, tmp_path, monkeypatch
):
    _, out, _ = oneclaw("tasks", "add", "Clock", "What time is it in Tokyo?", "--at", "09:00", "--json")
    task_id = json.loads(out)["id"]
    oneclaw("tasks", "add", "Ünïcode ✓", "Drink", "--cron", "0 9 * * mon-fri", "--max-cost", "0.5")
    oneclaw("tasks", "run", task_id)
    back = f"sqlite:///{tmp_path / 'back.db'}"

    copied, printed, _ = oneclaw("tasks", "copy", "--to", elsewhere, "--json")
    before = content(tasks.url)
    there = content(tasks_database_url(elsewhere, {}))
    monkeypatch.setenv("ONECLAW_DATABASE_URL", elsewhere)
    assert oneclaw("tasks", "copy", "--to", back)[0] == 0

    assert copied == 0
    assert json.loads(printed) == {"task_definitions": 2, "task_runs": 1}
    assert there == before == content(tasks_database_url(back, {}))

    workers.start()
    with closing(Tasks(home)) as moved:
        (done,) = until(lambda: [run for run in moved.all_runs() if run.status.is_final], "the run that was moved")
    assert (done.status, done.task_id) == ("success", task_id)


def test_a_run_that_was_in_the_queue_is_queued_again(oneclaw, tasks, tmp_path):
    _, out, _ = oneclaw("tasks", "add", "Clock", "What time is it?", "--at", "09:00", "--json")
    oneclaw("tasks", "run", json.loads(out)["id"])
    for status, worker in (("waiting", None), ("running", "killed")):
        tasks.call(lambda c, s=status, w=worker: c.execute(runs.update().values(is_queued=True, status=s, worker=w)))
        target = f"sqlite:///{tmp_path / f'{status}.db'}"
        assert oneclaw("tasks", "copy", "--to", target)[0] == 0
        found = TaskDatabase.open_here(tasks_database_url(target, {}))
        (run,) = found.run_here(lambda c: c.execute(select(runs)).all())
        found.close()
        assert (run.is_queued, run.dispatches > 0, run.status) == (False, True, "waiting")


def test_what_cannot_be_copied_is_refused_and_nothing_is_written(oneclaw, tasks, tmp_path):
    oneclaw("tasks", "add", "Clock", "What time is it?", "--at", "09:00")
    target = f"sqlite:///{tmp_path / 'other.db'}"

    itself = oneclaw("tasks", "copy", "--to", tasks.url.replace("-tasks.db", ".db"))
    assert (itself[0], "their own database" in itself[2]) == (2, True)
    assert oneclaw("tasks", "copy", "--to", target)[0] == 0
    again = oneclaw("tasks", "copy", "--to", target)
    assert (again[0], "has tasks already" in again[2]) == (2, True)


@pytest.mark.long
@pytest.mark.one_python
def test_tasks_are_not_copied_while_a_worker_is_at_work(oneclaw, tasks, workers, tmp_path):
    oneclaw("tasks", "add", "Clock", "What time is it?", "--at", "09:00")
    process = workers.start()
    until(lambda: "works" in workers.output(), "the worker")
    target = tmp_path / "other.db"
    at_work = oneclaw("tasks", "copy", "--dead-after", str(DEADLINE_SECONDS), "--to", f"sqlite:///{target}")
    assert (at_work[0], "a worker is at work on these tasks: stop all" in at_work[2]) == (2, True)
    assert not target.exists()
    process.kill()
    process.wait()
    assert oneclaw("tasks", "copy", "--dead-after", "1", "--to", f"sqlite:///{target}")[0] == 0
