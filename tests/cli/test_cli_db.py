"""`oneclaw db`, and the commands that list things, on PostgreSQL."""

import json
import os

import pytest
from databases import VARIABLE
from postgres_server import database_on_server

from oneclaw_core.cli.main import main


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ONECLAW_DATABASE_URL", raising=False)
    return tmp_path / "home"


@pytest.fixture
def server_url(postgres, tmp_path):
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
