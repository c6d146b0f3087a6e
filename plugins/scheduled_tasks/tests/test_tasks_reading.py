"""Commands that only read: on a read-only home, and with an older schema."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from how_long import some
from oneclaw_scheduled_tasks.commands import tasks as group
from oneclaw_scheduled_tasks.tables import schema_version
from oneclaw_scheduled_tasks.task import RunStatus
from ordinary_user import ordinary_user
from sqlalchemy import select, text, update

from oneclaw_core.cli.main import main

READING = (["list"], ["show", "{task}"], ["log", "{task}"], ["inbox"], ["worker", "--status"])


@pytest.fixture
def task(tasks):
    (made,) = tasks.add({"name": "Water", "prompt": "Drink", "schedule_type": "daily", "hour": 9})
    tasks.end(made, RunStatus.SUCCESS, answer="Drunk.")
    return made


@pytest.fixture
def run(capsys):
    """Run ``oneclaw tasks``; give its exit status, what it printed, and its errors."""

    def run(*arguments):
        status = main(["tasks", *arguments])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def commands(task):
    return [[each.format(task=task.id) for each in command] for command in READING]


@pytest.mark.parametrize("is_closed", some([True, False], 2), ids=some(["closed", "killed"], 2))
def test_a_read_only_home_is_read(home, tasks, task, monkeypatch, capsys, is_closed):
    def run(*arguments):
        # Without looking for plugins: the user no one may not read where they are.
        group.main(list(arguments), standalone_mode=False)
        return capsys.readouterr()

    if is_closed:
        tasks.close()
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        copy = Path(directory) / "home"
        shutil.copytree(home, copy)
        for command in commands(task):  # imports all that is imported when it is used
            run(*command, *(["--keep"] if command == ["inbox"] else []))
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
        monkeypatch.setenv("ONECLAW_HOME", str(copy))
        with ordinary_user():
            listed, shown, log, inbox, status = (run(*command) for command in commands(task))
            again = run("inbox", "--json")
        assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o755)

    assert "Water" in listed.out
    assert "name: Water" in shown.out
    assert "Drunk." in log.out
    assert "no worker is running" in status.out
    assert inbox.out.endswith("[Scheduled] Water: Drunk.\n\n")
    assert "these results stay new" in inbox.err
    assert [each["task"] for each in json.loads(again.out)] == ["Water"]


def test_reading_does_not_migrate_an_older_database(any_database, tasks, task, run):
    prefix = "oneclaw_tasks." if tasks.url.startswith("postgresql") else ""

    def go_back(connection):
        connection.execute(text(f"ALTER TABLE {prefix}task_definitions DROP COLUMN trigger_error"))
        connection.execute(update(schema_version).values(version=5))

    tasks.call(go_back)

    for command in commands(task):
        status, out, err = run(*command)
        assert (status, out) == (1, "")
        assert "(schema 5, this one needs 6), and a command that only reads does not migrate it" in err
    assert run("triggers")[0] == 0
    assert tasks.call(lambda connection: connection.execute(select(schema_version.c.version)).scalar_one()) == 5
    status, _, err = run("pause", task.id)
    assert status == 0
    if not prefix:
        [snapshot] = Path(tasks.url.removeprefix("sqlite:///")).parent.glob("snapshots/*-tasks-*-schema-5.db")
    assert f"from schema 5 to 6; {'no snapshot' if prefix else f'snapshot: {snapshot}'}" in err
    assert run("list")[0] == 0


@pytest.mark.long
@pytest.mark.one_python  # needs the plugin database
def test_the_tasks_of_before_a_migration_are_restored(home, tasks, task, run, capsys):
    path = Path(tasks.url.removeprefix("sqlite:///"))
    tasks.call(lambda connection: connection.execute(text("UPDATE task_schema_version SET version = 5")))
    tasks.call(lambda connection: connection.execute(text("ALTER TABLE task_definitions DROP COLUMN trigger_error")))
    assert run("pause", task.id)[0] == 0
    assert main(["db", "snapshots", "--json"]) == 0
    [snapshot] = json.loads(capsys.readouterr().out)
    assert (snapshot["database"], snapshot["reason"]) == (str(path), "schema-5")

    assert main(["db", "restore", snapshot["name"]]) == 0
    assert f"{path} has the content of" in capsys.readouterr().out
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT version FROM task_schema_version").fetchall() == [(5,)]


@pytest.mark.long
def test_reading_makes_no_database(home, run):
    assert run("list", "--json")[:2] == (0, "[]\n")
    assert run("inbox")[:2] == (0, "no new results\n")
    assert "a run of another task ends" in run("triggers")[1]
    assert not list(home.glob("*tasks*"))
