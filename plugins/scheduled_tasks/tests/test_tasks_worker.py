"""Workers as processes: who runs what, and what happens to the runs of those that are killed or stopped."""

import asyncio
import json
import re
import signal
import time
from datetime import UTC, datetime, timedelta

import pytest
from oneclaw_scheduled_tasks.attempt import AFTER_GRANT
from oneclaw_scheduled_tasks.stored import list_workers
from oneclaw_scheduled_tasks.task import RunStatus
from tasks_rig import DEADLINE_SECONDS, not_successful, until

from oneclaw_core import OneClaw
from oneclaw_core.cli.main import main

pytestmark = pytest.mark.usefixtures("own_cache")


def fetching(server, path, **options):
    """A task that is due in the minute after the next and asks a server for something."""
    due = datetime.now(UTC) - timedelta(minutes=2)
    when = {"schedule_type": "one_time", "date": f"{due:%Y-%m-%d}", "hour": due.hour, "minute": due.minute}
    prompt = f"Send a GET request to {server.url}/{path}"
    return dict(name=f"Fetch {path}", prompt=prompt, **when, time_zone="UTC", is_notified=False, **options)


def add_due(tasks, *words):
    """Make tasks that came due two minutes ago."""
    return tasks.add(*words, at=datetime.now(UTC) - timedelta(minutes=10))


def wait_until_done(tasks, count, workers):
    def done():
        runs = tasks.all_runs()
        return runs if len(runs) == count and all(run.status.is_final for run in runs) else None

    try:
        return until(done, "all runs")
    except AssertionError:
        states = [(run.id, run.status, run.dispatches, run.error) for run in tasks.all_runs()]
        raise AssertionError(f"{states}\n{workers.output()}") from None


@pytest.mark.long
@pytest.mark.one_python
def test_every_due_run_is_done_once_though_workers_are_killed(any_database, tasks, allowed, counting_server, workers):
    assert tasks.url.startswith(any_database)
    held = ["hold/1", "hold/2"]
    paths = [*held, *(f"hit/{number}" for number in range(8))]
    add_due(tasks, *(fetching(counting_server, path) for path in paths))
    # One run at a time: those that are killed are in the middle of a request that the server has counted.
    for _ in range(3):
        workers.start("--concurrency=1")

    for path in held:
        counting_server.wait_for(f"/{path}")
    in_the_middle = {run.worker for run in tasks.all_runs() if run.session in held_sessions(tasks, held)}
    pids = {worker.id: worker.pid for worker in tasks.call(list_workers)}
    for worker in in_the_middle:
        workers.with_pid(pids[worker]).kill()
    counting_server.released.set()
    runs = wait_until_done(tasks, len(paths), workers)

    assert not_successful(runs) == [], workers.output()
    assert counting_server.hits == {f"/{path}": 1 for path in paths}
    assert len(in_the_middle) == 2
    assert sum(run.interruptions for run in runs) == 2
    assert {run.notes for run in runs if run.interruptions} == {
        "http_request was cut off: it may or may not have had its effect"
    }


def held_sessions(tasks, paths):
    """The sessions of the runs of the tasks that ask for paths."""
    from oneclaw_scheduled_tasks.stored import list_tasks

    names = {f"Fetch {path}" for path in paths}
    ids = {task.id for task, _ in tasks.call(list_tasks) if task.name in names}
    return {run.session for run in tasks.all_runs() if run.task_id in ids}


@pytest.mark.long
@pytest.mark.one_python
def test_a_call_that_was_cut_off_is_made_again_where_the_task_allows_it(tasks, allowed, counting_server, workers):
    add_due(tasks, fetching(counting_server, "hold/1", repeats_calls=True))
    first = workers.start()
    counting_server.wait_for("/hold/1")
    first.kill()
    counting_server.released.set()
    workers.start()
    (run,) = wait_until_done(tasks, 1, workers)

    assert not_successful([run]) == []
    assert counting_server.hits == {"/hold/1": 2}


@pytest.mark.long
@pytest.mark.one_python
def test_a_worker_that_is_stopped_lets_its_runs_finish(tasks, allowed, counting_server, workers):
    add_due(tasks, fetching(counting_server, "hold/1"))
    process = workers.start("--grace=200")
    counting_server.wait_for("/hold/1")

    process.send_signal(signal.SIGTERM)
    until(lambda: any(worker.is_stopping for worker in tasks.call(list_workers)), "that it stops")
    counting_server.released.set()

    assert process.wait(timeout=DEADLINE_SECONDS) == 0
    (run,) = tasks.all_runs()
    assert not_successful([run]) == []
    assert tasks.call(list_workers) == []


@pytest.mark.long
@pytest.mark.one_python
def test_a_worker_that_is_stopped_hands_back_what_does_not_finish(tasks, allowed, counting_server, workers):
    add_due(tasks, fetching(counting_server, "hold/1"))
    first = workers.start("--grace=0")
    counting_server.wait_for("/hold/1")
    first.send_signal(signal.SIGINT)

    assert first.wait(timeout=DEADLINE_SECONDS) == 0
    (run,) = tasks.all_runs()
    assert run.status is RunStatus.INTERRUPTED
    counting_server.released.set()
    workers.start()
    (run,) = wait_until_done(tasks, 1, workers)
    assert not_successful([run]) == []
    assert run.interruptions == 0
    assert counting_server.hits == {"/hold/1": 1}
    assert "interrupted" in history_of(run.session)


def history_of(session):
    async def read():
        async with OneClaw.open() as claw:
            return [(str(each.type), each.error_type or each.content) for each in await claw.store.messages(session)]

    return str(asyncio.run(read()))


@pytest.mark.long
@pytest.mark.one_python
def test_the_log_says_what_was_denied_and_what_failed(tasks, counting_server, workers):
    words = fetching(counting_server, "hit/1")
    add_due(tasks, words)
    workers.start()
    (run,) = wait_until_done(tasks, 1, workers)

    assert counting_server.hits == {}
    assert run.notes.startswith("http_request: 127.0.0.1 is at the private address 127.0.0.1.")
    assert "Permission 'network.private' is not granted, and no one can be asked here." in run.notes


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_results_go_to_the_webhook_and_the_command_of_the_task(tasks, allowed, counting_server, workers, tmp_path):
    words = fetching(counting_server, "hit/1", webhook=f"{counting_server.url}/hook", command=f"cat >{tmp_path}/result")
    broken = fetching(counting_server, "hit/2", command="echo too bad >&2; exit 3")
    add_due(tasks, words, broken)
    workers.start()
    wait_until_done(tasks, 2, workers)
    runs = until(lambda: [run for run in tasks.all_runs() if run.is_delivered][1:] and tasks.all_runs(), "delivery")

    (posted,) = [json.loads(body) for body in counting_server.bodies]
    assert posted["status"] == "success"
    assert posted["task"] == "Fetch hit/1"
    assert json.loads((tmp_path / "result").read_text()) == posted
    notes = {run.notes for run in runs}
    assert notes == {None, "the channel command did not send it: the command ended with status 3: too bad"}


@pytest.mark.long
@pytest.mark.one_python
def test_the_status_of_workers(tasks, workers, capsys):
    def status():
        returned = main(["tasks", "worker", "--status", "--json", f"--dead-after={DEADLINE_SECONDS}"])
        return returned, json.loads(capsys.readouterr().out)

    before = status()
    workers.start("--concurrency=3")
    until(lambda: tasks.call(list_workers), "a worker")
    after = status()

    assert before == (1, [])
    returned, (worker,) = after
    assert returned == 0
    assert (worker["status"], worker["concurrency"], worker["pid"]) == ("alive", 3, workers.processes[0].pid)


@pytest.mark.long
@pytest.mark.one_python
def test_a_run_that_fails_is_tried_again_as_often_as_the_task_says(tasks, workers):
    due = datetime.now(UTC) - timedelta(minutes=2)
    when = {"schedule_type": "one_time", "date": f"{due:%Y-%m-%d}", "hour": due.hour, "minute": due.minute}
    words = dict(name="No key", prompt="x", **when, time_zone="UTC", model="openai/x", retries=1, retry_delay_seconds=1)
    add_due(tasks, words)
    workers.start()
    (run,) = wait_until_done(tasks, 1, workers)

    assert (run.status, run.attempt, run.dispatches) == (RunStatus.FAILED, 2, 1)
    assert "key" in run.error
    assert "will be tried again" in workers.output()


@pytest.mark.long  # three seconds, to start a worker; test_tasks_stopping.py stops runs in the same ways
@pytest.mark.one_python
@pytest.mark.parametrize("command", ["stop", "pause", "delete"])
def test_a_run_that_is_stopped_calls_nothing_more(tasks, allowed, counting_server, workers, capsys, command):
    task, *_ = add_due(tasks, fetching(counting_server, "hold/1"))
    workers.start("--concurrency=1")
    counting_server.wait_for("/hold/1")
    (run,) = tasks.all_runs()

    begun = time.monotonic()
    assert main(["tasks", command, run.id if command == "stop" else task.id]) == 0
    add_due(tasks, fetching(counting_server, "hit/2"))
    # The only place at the worker is free again, while the request of the first run is still open.
    counting_server.wait_for("/hit/2")
    seconds = time.monotonic() - begun
    counting_server.released.set()
    until(lambda: [each for each in tasks.all_runs() if each.status is RunStatus.SUCCESS], "the other run")

    stopped = [each for each in tasks.all_runs() if each.id == run.id]
    assert [each.status for each in stopped] == ([] if command == "delete" else [RunStatus.STOPPED])
    assert all(each.input_tokens for each in stopped)
    assert counting_server.hits == {"/hold/1": 1, "/hit/2": 1}
    assert "interrupted" in history_of(run.session)
    assert seconds < DEADLINE_SECONDS / 2


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_a_run_that_lacked_a_permission_goes_on_when_it_is_granted(tasks, home, counting_server, workers, capsys):
    task, *_ = add_due(tasks, fetching(counting_server, "hit/1"))
    workers.start()
    (run,) = wait_until_done(tasks, 1, workers)
    assert run.status is RunStatus.NEEDS_PERMISSION
    capsys.readouterr()

    assert main(["tasks", "inbox"]) == 0
    shown = capsys.readouterr().out
    assert f"oneclaw tasks continue {run.id} --grant" in shown
    assert main(["tasks", "inbox"]) == 0
    assert "no new results" in capsys.readouterr().out
    assert main(["tasks", "continue", run.id, "--grant"]) == 0
    out = capsys.readouterr().out
    assert re.search(f"network.private for the host 127.0.0.1:[0-9]+, in the task {task.id} is granted", out)
    (run,) = until(lambda: [each for each in tasks.all_runs() if each.attempt == 2 and each.status.is_final], "the end")

    assert not_successful([run]) == []
    assert AFTER_GRANT in history_of(run.session)
    assert counting_server.hits == {"/hit/1": 1}


@pytest.mark.one_python
def test_what_cannot_be_stopped_or_go_on_is_refused(tasks, capsys):
    assert main(["tasks", "stop", "nothing"]) == 2
    assert "there is no run 'nothing'" in capsys.readouterr().err
    (task,) = add_due(tasks, fetching(type("Server", (), {"url": "http://x"}), "hit"))
    assert main(["tasks", "run", task.id]) == 0
    (run,) = tasks.all_runs()
    assert main(["tasks", "continue", run.id]) == 2
    assert "it is waiting" in capsys.readouterr().err
    assert main(["tasks", "stop", run.id]) == 0
    assert main(["tasks", "stop", run.id]) == 2
    assert "has ended: stopped" in capsys.readouterr().err
