"""The user's own tools at the command line: listed like a plugin, disabled like one, and examined."""

import json
import sys

import pytest


@pytest.fixture
def folder(home):
    folder = home / "tools"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "mine.json").write_text(json.dumps({"name": "mine", "description": "One of mine.", "timeout_seconds": 9}))
    (folder / "mine.js").write_text("function execute() { return 'mine' }")
    return folder


def test_they_are_listed_with_all_others(folder, ok):
    (tool,) = [each for each in ok("tools", "list", "--json") if each["name"] == "mine"]

    assert (tool["plugin"], tool["group"], tool["enabled"], tool["timeout_seconds"]) == ("user", None, True, 9)


def test_they_are_called(folder, ok):
    assert json.loads(ok("call", "mine")) == {"status": "success", "result": "mine"}


def test_they_are_disabled_one_by_one(folder, ok):
    ok("tools", "disable", "mine")

    (tool,) = [each for each in ok("tools", "list", "--json") if each["name"] == "mine"]
    assert not tool["enabled"]


@pytest.mark.long
@pytest.mark.usefixtures("all_plugins")
def test_they_are_disabled_and_enabled_like_a_plugin(folder, ok, oneclaw):
    assert ok("plugins", "disable", "user") == "plugin user is disabled\n"
    (record,) = [each for each in ok("plugins", "list", "--json") if each["name"] == "user"]
    assert (record["status"], record["tools"]) == ("disabled", [])
    assert oneclaw("call", "mine").status == 1

    assert ok("plugins", "enable", "user") == "plugin user is enabled\n"
    (record,) = [each for each in ok("plugins", "list", "--json") if each["name"] == "user"]
    assert (record["status"], record["tools"]) == ("ok", ["mine"])


def test_what_is_wrong_is_told_by_plugins_list_and_doctor(folder, oneclaw):
    (folder / "broken.json").write_text("{")
    (folder / "broken.js").write_text("")

    listed = oneclaw("plugins", "list", "--json")
    (record,) = [each for each in listed.json if each["name"] == "user"]
    examined = oneclaw("doctor", "--json")

    assert (record["status"], record["tools"]) == ("degraded", ["mine"])
    assert record["problems"][0]["cause"].startswith("broken.json: is not valid JSON")
    (finding,) = [each for each in examined.json["checks"] if each["check"] == "plugin user"]
    assert finding["status"] == "problem"
    assert "broken.json: is not valid JSON" in finding["message"]


def test_without_any_they_are_not_listed(home, ok):
    assert "user" not in [each["name"] for each in ok("plugins", "list", "--json")]


TWICE = """
from oneclaw_core import tool

print("imported")

@tool
def twice(n: int) -> int:
    'Double.'
    return 2 * n
"""


def test_python_is_switched_on_by_a_setting(folder, ok, oneclaw):
    (folder / "twice.py").write_text(TWICE)
    assert "twice" not in [each["name"] for each in ok("tools", "list", "--json")]

    assert ok("config", "set", "user_tools_python", "yes") == "user_tools_python is true\n"

    outcome = oneclaw("call", "twice", '{"n": 4}')
    assert json.loads(outcome.stdout) == {"status": "success", "result": 8}
    assert outcome.stderr == "imported\n"  # what a file prints is not a part of the answer


@pytest.mark.parametrize("value", ["nonsense", "0", "off"])
def test_whatever_else_the_variable_says_keeps_python_off(folder, oneclaw, monkeypatch, value):
    monkeypatch.setenv("ONECLAW_USER_TOOLS_PYTHON", value)
    (folder / "ruin.py").write_text("raise SystemExit('it ran')")

    outcome = oneclaw("plugins", "list", "--json")

    (record,) = [each for each in outcome.json if each["name"] == "user"]
    assert [problem["is_error"] for problem in record["problems"]] == [False]
    assert "it ran" not in outcome.stdout + outcome.stderr


@pytest.mark.long
def test_listing_imports_nothing_slow_for_them(folder, ok):
    import subprocess

    code = (
        "import sys\nfrom oneclaw_core.cli.main import main\nmain(['tools', 'list', '--json'])\n"
        "slow = {'asyncio', 'sqlalchemy', 'httpx', 'jsonschema', 'pydantic', 'filelock'} & set(sys.modules)\n"
        "sys.exit(','.join(slow) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout
