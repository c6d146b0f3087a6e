"""A kill in the middle of an undo, or of a call, leaves what was or is finished the next time."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing

import oneclaw_checkpoints.undoing
import pytest
from file_trees import tree
from oneclaw_checkpoints.database import CheckpointDatabase
from oneclaw_checkpoints.processes import Process, _began, this_process
from oneclaw_checkpoints.recorder import DATABASE, Recorder, recorder_of
from oneclaw_checkpoints.states import put_back
from oneclaw_checkpoints.undoing import BEGUN, finish_interrupted

pytestmark = pytest.mark.usefixtures("own_cache")


class Killed(BaseException):
    """Ends what runs, as a kill does."""


@pytest.fixture
def changed(home, project):
    """Two files, changed in the last turn; their trees before and after."""
    for name in ("a.txt", "b.txt"):
        (project / name).write_text("before")
    before = tree(project)
    home.model.calls("write_file", path="a.txt", content="after")
    home.model.also_calls("write_file", path="b.txt", content="after").says("written")
    home.send("write both")
    return before, tree(project)


@pytest.fixture
def killed_at(monkeypatch):
    """Have the process killed when a file is put back, given how many are before."""

    def arrange(number):
        calls = []

        def killing(path, *rest):
            calls.append(path)
            if len(calls) > number:
                raise Killed
            put_back(path, *rest)

        monkeypatch.setattr(oneclaw_checkpoints.undoing, "put_back", killing)

    return arrange


@pytest.mark.parametrize("number", [0, 1])
def test_an_undo_that_was_killed_is_finished_by_the_next_start(
    home, project, changed, undoing, killed_at, monkeypatch, number
):
    killed_at(number)
    with pytest.raises(Killed):
        undoing.do()
    monkeypatch.undo()
    home.reopen()

    home.run(home.app.plugins.context_of("checkpoints"))

    assert tree(project) == changed[0]
    assert undoing.said() == []
    assert undoing.do(redo=True).left == {}
    assert tree(project) == changed[1]
    assert undoing.said()[0] == "write both"


def test_a_redo_that_was_killed_is_finished_by_the_next_start(home, project, changed, undoing, killed_at, monkeypatch):
    undoing.do()
    killed_at(1)
    with pytest.raises(Killed):
        undoing.do(redo=True)
    monkeypatch.undo()
    home.reopen()

    home.run(home.app.plugins.context_of("checkpoints"))

    assert tree(project) == changed[1]
    assert undoing.said()[0] == "write both"
    undoing.do()
    assert tree(project) == changed[0]


@pytest.mark.long
def test_an_undo_that_was_killed_before_the_history_ended_never_was(home, project, changed, undoing, monkeypatch):
    async def killed(*_):
        raise Killed

    monkeypatch.setattr(type(home.app.services.sessions), "end_history", killed)
    with pytest.raises(Killed):
        undoing.do()
    monkeypatch.undo()
    home.reopen()

    home.run(home.app.plugins.context_of("checkpoints"))

    assert tree(project) == changed[1]
    assert undoing.said()[0] == "write both"
    assert undoing.do().left == {}
    assert tree(project) == changed[0]


def test_what_changed_since_a_call_that_was_killed_is_a_conflict(home, project, program, undoing, monkeypatch):
    (project / "a.txt").write_text("before")
    home.model.calls("run_program").says("ran")
    program.work = lambda: (project / "a.txt").write_text("half")
    monkeypatch.setattr(Recorder, "finish", lambda *_: None)
    home.send("change it")
    # The hook after the call may still be waiting when the turn has ended; closing the home waits for it.
    home.reopen()
    monkeypatch.undo()
    recorder = home.run(home.app.plugins.context_of("checkpoints")).once(recorder_of)
    with subprocess.Popen(["true"]) as gone:
        pass
    with recorder.database._changing() as it:
        it.execute("UPDATE calls SET process = ?", (gone.pid,))

    [conflict] = undoing.plan().conflicts

    assert conflict.path == str(project / "a.txt")
    assert "was killed" in conflict.conflict
    undoing.do(overwrite=[conflict.path])
    assert (project / "a.txt").read_text() == "before"


def test_a_damaged_database_keeps_no_call_from_running(home, project, undoing):
    folder = home.run(home.app.plugins.context_of("checkpoints")).folder
    (folder / DATABASE).write_bytes(b"no database" * 1000)
    home.model.calls("write_file", path="a.txt", content="new").says("written")

    turn = home.send("write it")

    assert (project / "a.txt").read_text() == "new"
    assert turn.text == "written"


@pytest.fixture
def living():
    """Another process that runs."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield Process(process.pid, _began(process.pid))
        process.kill()


def owned_by(home, process):
    recorder = home.run(home.app.plugins.context_of("checkpoints")).once(recorder_of)
    with recorder.database._changing() as it:
        it.execute("UPDATE undos SET process = ?, process_began = ?", (process.number, process.began))
        it.execute("UPDATE calls SET process = ?, process_began = ?", (process.number, process.began))
    return recorder


def test_an_undo_that_another_process_carries_out_is_left_to_it(home, changed, undoing, monkeypatch, living):
    async def killed(*_):
        raise Killed

    monkeypatch.setattr(type(home.app.services.sessions), "end_history", killed)
    with pytest.raises(Killed):
        undoing.do()
    recorder = owned_by(home, living)

    home.run(finish_interrupted(recorder.context))

    assert [each.status for each in recorder.database.undos()] == [BEGUN]
    owned_by(home, Process(living.number, "an earlier time"))
    home.run(finish_interrupted(recorder.context))
    assert recorder.database.undos() == []


def test_a_process_with_the_number_of_another_that_has_ended_is_another_one(living):
    assert living.is_other_and_runs
    assert not Process(living.number, "an earlier time").is_other_and_runs
    assert not this_process().is_other_and_runs


def test_a_database_of_version_1_is_used_further(tmp_path):
    path = tmp_path / DATABASE
    CheckpointDatabase(path).close()
    with sqlite3.connect(path) as it:
        for table, column in (("calls", "process_began"), ("undos", "process_began"), ("undos", "process")):
            it.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        it.execute("INSERT INTO undos (id, session, first, at, status, shown) VALUES ('a', 's', 1, 2, 'begun', '')")
        it.execute("PRAGMA user_version = 1")
    it.close()

    with closing(CheckpointDatabase(path)) as database:
        (undo,) = database.undos()

    assert (undo.id, undo.process) == ("a", Process())
    [snapshot] = (tmp_path / "snapshots").iterdir()
    with closing(sqlite3.connect(snapshot)) as it:
        assert it.execute("PRAGMA user_version").fetchall() == [(1,)]
