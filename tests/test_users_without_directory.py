import pwd

import pytest

from oneclaw_core.channels.mentions import with_mentioned_files
from oneclaw_core.cli.main import main
from oneclaw_core.errors import OneClawError
from oneclaw_core.system.home import find_home


@pytest.fixture(autouse=True)
def bare_number(monkeypatch):
    """Run as in a container, as a number that no password file knows, without ``HOME``."""

    def unknown(_):
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "ONECLAW_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_the_error_names_the_variables_to_set():
    with pytest.raises(OneClawError, match="set HOME, or set ONECLAW_HOME") as raised:
        find_home({})
    assert "\n" not in str(raised.value)


def test_every_command_ends_with_one_line(capfd):
    assert main(["doctor"]) == 1
    assert main(["tools", "list"]) == 1
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all("set HOME" in line for line in lines)


def test_a_given_home_is_enough(tmp_path):
    assert find_home({"ONECLAW_HOME": str(tmp_path)}).path == tmp_path


def test_a_mentioned_file_of_an_unknown_user_is_text(tmp_path):
    mentioned = with_mentioned_files("read @~nosuchuser/notes.txt and @~/notes.txt", tmp_path, is_typed=True)
    assert not mentioned.files
