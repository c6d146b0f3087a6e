"""`oneclaw db`, and the commands that list things, on PostgreSQL."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from subprocess import PIPE

import pytest
from databases import VARIABLE

from oneclaw_core.cli.main import main

# A home has SQLite unless a test says otherwise.
pytestmark = pytest.mark.only("sqlite")

VERSION_1 = (Path(__file__).parents[3] / "tests" / "sessions" / "version_1.sql").read_text(encoding="utf-8")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ONECLAW_DATABASE_URL", raising=False)
    return tmp_path / "home"


@pytest.fixture
def server_url(postgres, tmp_path):
    from postgres_server import database_on_server  # needs the plugin postgres

    return database_on_server(os.environ[VARIABLE], tmp_path, "template0")


def printed(capsys, *arguments):
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_status_shows_what_is_stored(home, capsys):
    printed(capsys, "config", "set", "session_wait_seconds", "7")
    shown = json.loads(printed(capsys, "db", "status", "--json"))
    assert shown["database"] == str(home / "oneclaw.db")
    assert shown["rows"]["settings"] == 1
    assert ["settings", "1"] in [line.split() for line in printed(capsys, "db", "status").splitlines()]


@pytest.mark.long
@pytest.mark.one_python
def test_a_home_moves_to_postgresql_and_back(home, server_url, tmp_path, monkeypatch, capsys):
    printed(capsys, "run", "--session", "clock", "What time is it in Tokyo?")
    printed(capsys, "config", "set", "session_wait_seconds", "7")
    before = printed(capsys, "sessions", "export", "clock")
    copied = json.loads(printed(capsys, "db", "copy", "--to", server_url, "--json"))
    assert {each["table"]: each["rows"] for each in copied}["messages"] == 5

    monkeypatch.setenv("ONECLAW_DATABASE_URL", server_url)
    assert printed(capsys, "sessions", "export", "clock") == before
    assert "7" in printed(capsys, "config", "get", "session_wait_seconds")
    assert "Tokyo" in printed(capsys, "sessions", "search", "tokyo")
    printed(capsys, "tools", "disable", "get_current_time")
    tools = {each["name"]: each["enabled"] for each in json.loads(printed(capsys, "tools", "list", "--json"))}
    assert tools["get_current_time"] is False
    main(["doctor", "--json"])
    findings = {each["check"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    assert findings["database"]["status"] == "ok"
    assert "PostgreSQL 1" in findings["database"]["message"]

    back = f"sqlite:///{tmp_path / 'back.db'}"
    said = printed(capsys, "db", "copy", back)
    assert "all rows are the same in both" in said
    monkeypatch.setenv("ONECLAW_DATABASE_URL", back)
    assert printed(capsys, "sessions", "export", "clock") == before


@pytest.mark.long
@pytest.mark.one_python  # needs the plugin postgres
def test_migrate_makes_a_database(home, server_url, capsys):
    assert "has schema" in printed(capsys, "db", "migrate", server_url)
    assert "has schema" in printed(capsys, "db", "migrate")
    assert (home / "oneclaw.db").exists()


@pytest.mark.parametrize("arguments", [["status", "{typo}"], ["copy", "{typo}", "{target}"]])
def test_a_slip_in_a_path_makes_no_database(home, arguments, tmp_path, capsys):
    typo, target = f"sqlite:///{tmp_path}/typo/x.db", f"sqlite:///{tmp_path}/target.db"
    assert main(["db", *(each.format(typo=typo, target=target) for each in arguments)]) == 2
    assert f"there is no database {tmp_path}/typo/x.db" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.one_python  # needs the plugin postgres
def test_a_password_is_not_shown(home, monkeypatch, capsys):
    monkeypatch.setenv("ONECLAW_DATABASE_URL", "postgresql+psycopg://clara:hunter2hunter2@127.0.0.1:1/x")
    for arguments in (["db", "status"], ["doctor"], ["sessions", "list"], ["tools", "list"], ["config", "list"]):
        main(arguments)
        shown = capsys.readouterr()
        assert "hunter2" not in shown.out + shown.err
    assert main(["db", "copy", "--to", "postgresql://clara:hunter2hunter2@127.0.0.1:1/y"]) == 1
    shown = capsys.readouterr()
    assert "postgresql://127.0.0.1:1/x cannot be reached" in shown.err
    assert "hunter2" not in shown.err


def test_a_home_of_version_0_1_is_migrated_and_restored_by_the_name_of_its_snapshot(home, tmp_path, capsys):
    home.mkdir(mode=0o700)
    with closing(sqlite3.connect(home / "oneclaw.db")) as database:
        database.executescript(VERSION_1)
    assert main(["config", "set", "session_wait_seconds", "7"]) == 0
    said = capsys.readouterr().err
    [snapshot] = json.loads(printed(capsys, "db", "snapshots", "--json"))
    assert snapshot["reason"] == "schema-1"
    assert snapshot["database"] == str(home / "oneclaw.db")
    assert f"; snapshot: {snapshot['path']}" in said
    assert snapshot["name"] in printed(capsys, "db", "snapshots")

    assert f"{home / 'oneclaw.db'} has the content of" in printed(capsys, "db", "restore", snapshot["name"])
    with closing(sqlite3.connect(home / "oneclaw.db")) as database:
        assert database.execute("SELECT version FROM schema_version").fetchall() == [(1,)]
    assert main(["db", "restore", "no-such-name.db"]) == 2
    assert "oneclaw db snapshots lists the snapshots" in capsys.readouterr().err


@pytest.mark.long
def test_a_program_that_has_the_home_open_is_named_and_nothing_is_restored_under_it(home, tmp_path, capsys):
    printed(capsys, "config", "set", "session_wait_seconds", "7")
    printed(capsys, "db", "backup", str(tmp_path / "copy.db"))
    opening = (
        "import asyncio, sys\nfrom oneclaw_core import OneClaw\nasync def main():\n    async with OneClaw.open():\n"
    )
    opening += "        print('open', flush=True)\n        sys.stdin.read()\nasyncio.run(main())\n"
    (tmp_path / "shop.py").write_text(opening)
    with subprocess.Popen([sys.executable, "shop.py"], cwd=tmp_path, stdin=PIPE, stdout=PIPE, text=True) as program:
        assert program.stdout.readline() == "open\n"
        assert main(["db", "restore", str(tmp_path / "copy.db")]) == 1
        assert f"is in use by shop.py (process {program.pid}, since " in capsys.readouterr().err
        program.stdin.close()
        assert program.wait(60) == 0
    printed(capsys, "db", "restore", str(tmp_path / "copy.db"))
