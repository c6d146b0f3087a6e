"""`oneclaw tools` and `oneclaw groups`."""

import json
import subprocess
import sys

import pytest
from how_long import some

CORE_TOOLS = {"load_tool_group", "get_current_time", "read_file", "write_file", "http_request"}
WEATHER = """
    from oneclaw_core import ToolDefinition, ToolGroupDefinition, ToolResult, hookimpl

    class Sky:
        definition = ToolDefinition(
            "look_at_sky",
            "Say what the sky\\nlooks like.",
            {"type": "object", "properties": {"where": {"type": "string"}}},
            required_permissions=("weather.look",),
            timeout_seconds=7,
            read_only=True,
        )

        async def execute(self, arguments, context):
            return ToolResult.success("blue")

    class Wind:
        definition = ToolDefinition("feel_wind", "Say where the wind comes from.")

        async def execute(self, arguments, context):
            return ToolResult.success("west")

    @hookimpl
    def register_groups(register):
        register(ToolGroupDefinition("weather", "Weather", "What it is like outside."))

    @hookimpl
    def register_tools(register):
        register(Sky(), group="weather")
        register(Wind(), group="gusts")
"""


def by_name(documents):
    return {each["name"]: each for each in documents}


@pytest.fixture
def weather(install_plugin):
    install_plugin("weather", WEATHER)


@pytest.mark.long
def test_the_listing_has_all_tools_with_what_a_program_needs_to_know(ok, weather):
    tools = by_name(ok("tools", "list", "--json"))

    assert {name for name, tool in tools.items() if tool["group"] is None} >= CORE_TOOLS
    assert tools["look_at_sky"] == {
        "name": "look_at_sky",
        "description": "Say what the sky\nlooks like.",
        "group": "weather",
        "plugin": "weather",
        "enabled": True,
        "parameters": {"type": "object", "properties": {"where": {"type": "string"}}},
        "required_permissions": ["weather.look"],
        "timeout_seconds": 7,
        "read_only": True,
        "idempotent": False,
        "output_schema": None,
    }
    assert tools["read_file"]["plugin"] == "builtin"


def test_the_table_has_a_line_for_each_tool(ok, weather):
    table = ok("tools", "list")

    (line,) = [line for line in table.splitlines() if line.startswith("look_at_sky")]
    assert line.split(maxsplit=4) == ["look_at_sky", "weather", "weather", "enabled", "Say what the sky looks like."]


def test_listing_one_group(ok, weather):
    assert [tool["name"] for tool in ok("tools", "list", "--group", "weather", "--json")] == ["look_at_sky"]


def test_listing_a_group_that_is_not_there_names_one_like_it(oneclaw, weather):
    outcome = oneclaw("tools", "list", "--group", "wheather")

    assert (outcome.status, outcome.stdout) == (2, "")
    assert "'wheather'; did you mean weather?" in outcome.stderr


@pytest.mark.long
def test_listing_leaves_no_trace(ok, home):
    ok("tools", "list")
    ok("groups", "list")

    assert not home.exists()


@pytest.mark.long
def test_a_disabled_tool_stays_in_the_listing_until_it_is_enabled_again(ok):
    assert ok("tools", "disable", "write_file") == "tool write_file is disabled\n"
    assert by_name(ok("tools", "list", "--json"))["write_file"]["enabled"] is False
    assert by_name(ok("tools", "list", "--json"))["read_file"]["enabled"] is True

    assert ok("tools", "enable", "write_file") == "tool write_file is enabled\n"
    assert by_name(ok("tools", "list", "--json"))["write_file"]["enabled"] is True


def test_a_disabled_group_disables_its_tools(ok, weather):
    ok("tools", "disable", "--group", "weather")

    assert by_name(ok("tools", "list", "--json"))["look_at_sky"]["enabled"] is False
    assert "disabled (group)" in ok("tools", "list", "--group", "weather")
    groups = by_name(ok("groups", "list", "--json"))
    assert (groups["weather"]["enabled"], groups["gusts"]["enabled"]) == (False, True)
    assert "oneclaw tools enable --group weather" in ok("tools", "enable", "look_at_sky")

    ok("tools", "enable", "--group", "weather")
    assert by_name(ok("tools", "list", "--json"))["look_at_sky"]["enabled"] is True


def test_load_tool_group_cannot_be_disabled(oneclaw):
    outcome = oneclaw("tools", "disable", "load_tool_group")

    assert outcome.status == 2
    assert "load_tool_group cannot be disabled: without it a model can load no tool group" in outcome.stderr


@pytest.mark.parametrize("command", ["enable", "disable"])
def test_an_unknown_tool_is_refused_with_names_like_it(oneclaw, command):
    outcome = oneclaw("tools", command, "write_fiel")

    assert outcome.status == 2
    assert "there is no tool 'write_fiel'; did you mean write_file" in outcome.stderr


def test_a_name_like_no_other_is_refused_with_the_way_to_the_listing(oneclaw):
    assert "list them with: oneclaw tools list" in oneclaw("tools", "disable", "xyzzy").stderr


def test_a_group_without_the_switch_is_refused_with_a_hint(oneclaw, weather):
    outcome = oneclaw("tools", "disable", "gusts")

    assert outcome.status == 2
    assert "add --group" in outcome.stderr


@pytest.mark.long
def test_what_was_disabled_and_uninstalled_can_be_enabled(ok, oneclaw, home):
    import sqlite3

    ok("tools", "disable", "write_file")
    with sqlite3.connect(home / "oneclaw.db") as database:
        database.execute("UPDATE tool_states SET name = 'uninstalled_tool'")
    database.close()

    assert ok("tools", "enable", "uninstalled_tool") == "tool uninstalled_tool is enabled\n"
    assert oneclaw("tools", "enable", "never_seen").status == 2


@pytest.mark.long
def test_groups_name_their_plugin_also_when_their_metadata_are_generated(ok, weather):
    groups = by_name(ok("groups", "list", "--json"))

    assert groups["weather"] == {
        "name": "weather",
        "display_name": "Weather",
        "description": "What it is like outside.",
        "plugin": "weather",
        "tools": ["look_at_sky"],
        "enabled": True,
    }
    assert (groups["gusts"]["display_name"], groups["gusts"]["plugin"]) == ("Gusts", "weather")
    assert "gusts" in ok("groups", "list")


@pytest.mark.parametrize("content", [b"not a database, but long enough to be taken for one" * 50, b"SQLite format 3\0"])
def test_a_damaged_database_costs_a_warning(oneclaw, home, content):
    home.mkdir()
    (home / "oneclaw.db").write_bytes(content)

    outcome = oneclaw("tools", "list", "--json")

    assert outcome.status == 0
    assert {tool["name"] for tool in outcome.json if tool["enabled"]} >= CORE_TOOLS
    assert outcome.stderr.startswith("oneclaw: warning: ")
    assert len(outcome.stderr.splitlines()) == 1
    assert oneclaw("tools", "disable", "write_file").status == 1


@pytest.mark.long
@pytest.mark.parametrize("arguments", some([("tools", "list"), ("groups", "list"), ("plugins", "list")], 2))
def test_listings_import_nothing_heavy(ok, arguments):
    ok("tools", "enable", "write_file")  # so that there is a database to read
    program = (
        "import json, sys; from oneclaw_core.cli.main import main; "
        f"status = main({list(arguments)!r}); "
        "print(json.dumps([status, sorted(sys.modules)]))"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    status, modules = json.loads(finished.stdout.splitlines()[-1])
    assert status == 0
    assert {"sqlalchemy", "pydantic", "asyncio", "httpx", "jsonschema", "rich"} & set(modules) == set()


def test_the_first_listing_imports_no_pydantic(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    program = (
        "import sys; from oneclaw_core.cli.main import main; main(['tools', 'list']); print('pydantic' in sys.modules)"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "False"
