"""`oneclaw db copy` and `oneclaw db salvage`."""

import json

import pytest

from oneclaw_core.cli.main import main

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.every_python]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ONECLAW_DATABASE_URL", raising=False)
    return tmp_path / "home"


def printed(capsys, *arguments):
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_a_damaged_file_is_salvaged_and_a_backup_names_its_path(home, tmp_path, capsys):
    printed(capsys, "config", "set", "session_wait_seconds", "7")
    copy = tmp_path / "my copy.db"
    said = printed(capsys, "db", "backup", str(copy))
    assert said == f"the database is in {copy}; to restore it: oneclaw db restore '{copy}'\n"
    with copy.open("r+b") as file:
        file.write(bytes(4096))
    assert main(["db", "restore", str(copy)]) == 1
    capsys.readouterr()

    found = json.loads(printed(capsys, "db", "salvage", str(copy), "--to", str(tmp_path / "a.db"), "--json"))
    assert found["rows"]["settings"] == 1
    assert found["damaged_pages"] == {"sqlite_schema": [1]}
    said = printed(capsys, "db", "salvage", str(copy))
    new = tmp_path / "my copy-salvaged.db"
    assert "lost: parts of the list of tables on 1 of " in said
    assert said.endswith(f"what was saved is in {new}; to use it: oneclaw db restore '{new}'\n")
    printed(capsys, "db", "restore", str(new))
    assert "7" in printed(capsys, "config", "get", "session_wait_seconds")


@pytest.mark.parametrize("arguments", [[], ["a", "b", "c"], ["a", "b", "--to", "c"]])
def test_copy_wants_one_target(home, arguments, capsys):
    assert main(["db", "copy", *arguments]) == 2
    assert "oneclaw db copy --to URL" in capsys.readouterr().err
