"""What is missing because its plugin is not installed, and which distribution brings it."""

import importlib.util
import sys

import pytest
from how_long import some

from oneclaw_core.plugins import loading
from oneclaw_core.plugins.cache import _key
from oneclaw_core.plugins.distributions import CORE_TOOLS
from oneclaw_core.shipped.missing import COMMANDS, GROUPS, how_to_install

MEMORY = "MEMORY.md is not used, because the plugin memory is not installed"


@pytest.fixture
def bare(home, monkeypatch):
    """A home of version 0.1 that a program without the plugins opens."""
    (home / "skills" / "report").mkdir(parents=True)
    (home / "MEMORY.md").write_text("- Likes tea\n")
    found = [point for point in loading.discover() if point.name not in ("memory", "skills")]
    monkeypatch.setattr(loading.PluginCache, "plugins", lambda self: found)
    return home


def test_the_first_run_names_the_distributions(bare, oneclaw):
    first = oneclaw("run", "hello").stderr
    assert f"{MEMORY}: install it with: oneclaw plugins install oneclaw-memory\n" in first
    assert "oneclaw plugins install oneclaw-skills\n" in first
    assert first.count("is not used") == 2
    assert "is not used" not in oneclaw("run", "hello").stderr


def test_doctor_names_the_distributions(bare, oneclaw):
    checks = oneclaw("doctor", "--json").json["checks"]
    found = {each["remedy"]: each["message"] for each in checks if "is not used" in each["message"]}
    assert found["install it with: oneclaw plugins install oneclaw-memory"].endswith(MEMORY)
    assert "install it with: oneclaw plugins install oneclaw-skills" in found


def test_a_new_home_lacks_nothing(home, oneclaw):
    assert "is not used" not in oneclaw("run", "hello").stderr


@pytest.mark.parametrize(("command", "plugin"), some(sorted(COMMANDS.items()), 3))
def test_a_command_of_a_missing_plugin_says_what_to_install(home, oneclaw, monkeypatch, command, plugin):
    monkeypatch.setattr(loading.PluginCache, "plugins", lambda self: [])
    outcome = oneclaw(*command.split(), "list")
    assert outcome.status == 2
    assert (
        f"the command {command} needs the plugin {plugin}, which is missing: {how_to_install(plugin)}" in outcome.stderr
    )


def test_without_the_command_that_installs_plugins_pip_does(monkeypatch):
    assert how_to_install("memory") == "install it with: oneclaw plugins install oneclaw-memory"
    assert how_to_install("devtools") == "install it with: pip install oneclaw-devtools"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert how_to_install("memory") == "install it with: pip install oneclaw-memory"
    assert how_to_install("weather").endswith("with: pip install PACKAGE")


@pytest.fixture
def core_alone(home, monkeypatch):
    """A program with nothing but the core."""
    found = [point for point in loading.discover() if point.name == "builtin"]
    monkeypatch.setattr(loading.PluginCache, "plugins", lambda self: found)
    return home


def shell_is_missing(text):
    return text.count("install it with: oneclaw plugins install oneclaw-shell") == 1


@pytest.mark.parametrize(("tool", "plugin"), [each for each in CORE_TOOLS.items() if each[1] != "builtin"])
def test_calling_a_tool_of_a_missing_plugin_says_what_to_install(core_alone, oneclaw, tool, plugin):
    outcome = oneclaw("call", tool, "{}")
    assert outcome.status == 1
    assert outcome.json["error_type"] == "not_found"
    assert outcome.json["message"] == (
        f"Tool '{tool}' is not available: there is none of that name. It needs the plugin {plugin}, which is "
        f"missing: {how_to_install(plugin)}."
    )


def test_another_unknown_tool_is_nothing_to_install(core_alone, oneclaw):
    assert "install" not in oneclaw("call", "execute", "{}").json["message"]


def test_loading_a_tool_group_of_a_missing_plugin_says_what_to_install(core_alone, oneclaw):
    message = oneclaw("call", "load_tool_group", '{"group_name": "google_docs"}').json["message"]
    assert message.startswith("Tool group 'google_docs' not found. Available groups: none; it needs the plugin ")
    assert how_to_install("google_workspace") in message


def test_an_agent_says_which_of_its_tools_are_missing(home, oneclaw, monkeypatch):
    selected = ("--tools", "exec,read_file")
    assert oneclaw("agents", "create", "helper", "--system-prompt", "Help.", *selected).status == 0
    found = [point for point in loading.discover() if point.name in ("builtin", "agents")]
    assert oneclaw("agents", "show", "helper").stderr == ""
    monkeypatch.setattr(loading.PluginCache, "plugins", lambda self: found)
    shown = oneclaw("agents", "show", "helper", "--json")
    assert [each["name"] for each in shown.json["available_tools"]] == ["read_file"]
    (exec_line,) = shown.stderr.splitlines()
    assert "the tool exec is missing" in exec_line
    assert shell_is_missing(exec_line)


@pytest.mark.parametrize(
    "arguments",
    [("tools", "disable", "exec"), ("agents", "create", "new", "--system-prompt", "Help.", "--tools", "exec")],
)
def test_naming_a_tool_of_a_missing_plugin_says_what_to_install(home, oneclaw, monkeypatch, arguments):
    found = [point for point in loading.discover() if point.name in ("builtin", "agents")]
    monkeypatch.setattr(loading.PluginCache, "plugins", lambda self: found)
    outcome = oneclaw(*arguments)
    assert outcome.status == 2
    assert "there is no tool 'exec'" in outcome.stderr
    assert shell_is_missing(outcome.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ("keys", "set", "ollama"),
        ("models", "list", "ollama"),
        ("models", "default", "ollama/llama3"),
        ("providers", "disable", "ollama"),
        ("providers", "add", "mine", "--type", "openai_compatible", "--base-url", "http://127.0.0.1:9/v1"),
        ("run", "--model", "ollama/llama3", "hello"),
    ],
)
def test_a_provider_of_a_missing_plugin_says_what_to_install(home, oneclaw, monkeypatch, arguments):
    found = [point for point in loading.discover() if point.name in ("builtin", "setup")]
    monkeypatch.setattr(loading.PluginCache, "plugins", lambda self: found)
    outcome = oneclaw(*arguments)
    assert outcome.status == 2
    assert how_to_install("openai") in outcome.stderr


COMMANDS_OF_ABSENT_PARTS = [
    (("models", "list", "ollama"), "openai"),
    (("run", "--model", "ollama/llama3", "hello"), "openai"),
    (("providers", "add", "mine", "--type", "openai_compatible", "--base-url", "http://127.0.0.1:9/v1"), "openai"),
    (("run", "--model", "offline/rules", "hello"), "offline"),
    (("tools", "disable", "exec"), "shell"),
    (("tools", "enable", "--group", "pdf"), "pdf"),
    (("call", "exec", "{}"), "shell"),
    (("call", "load_tool_group", '{"group_name": "pdf"}'), "pdf"),
    (("tasks", "list"), "scheduled_tasks"),
    (("plugins", "sync"), "devtools"),
]


@pytest.mark.parametrize(("arguments", "plugin"), some(list(COMMANDS_OF_ABSENT_PARTS), 3))
def test_a_part_of_a_disabled_plugin_says_how_to_enable_it(home, oneclaw, monkeypatch, arguments, plugin):
    monkeypatch.setenv("ONECLAW_DISABLED_PLUGINS", plugin)
    outcome = oneclaw(*arguments)
    said = outcome.stderr + outcome.stdout
    assert outcome.status != 0
    assert f"the plugin {plugin}, which is disabled: enable it with: oneclaw plugins enable {plugin}" in said
    assert "is missing" not in said


@pytest.mark.parametrize(("arguments", "plugin"), some(COMMANDS_OF_ABSENT_PARTS[1::3], 3))
def test_a_part_of_a_plugin_left_alone_says_so(home, oneclaw, monkeypatch, arguments, plugin):
    monkeypatch.delenv("ONECLAW_DISABLED_PLUGINS", raising=False)
    (point,) = (each for each in loading.discover() if each.name == plugin)
    cache = loading.PluginCache(loading.cache_path())
    cache.journal.path.write_text(f"1\n{_key(point)}")
    outcome = oneclaw(*arguments)
    said = outcome.stderr + outcome.stdout
    assert outcome.status != 0
    assert f"the plugin {plugin}, which does not work: the program ended while it was imported" in said
    assert f"try it again with: oneclaw plugins enable {plugin}" in said
    oneclaw("plugins", "enable", plugin)
    assert "is missing" not in said


@pytest.mark.long
def test_all_tool_groups_of_our_plugins_are_known():
    registry = loading.load_plugins().registry
    groups = {each.name for each in registry.get_all_group_definitions()}
    assert groups == GROUPS.keys()


@pytest.fixture
def chat(oneclaw, tmp_path, monkeypatch):
    """Types a line in a chat, and returns the last line of stderr."""

    def run(line):
        (tmp_path / "lines").write_text(f"{line}\n")
        with (tmp_path / "lines").open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            return oneclaw("chat").stderr.splitlines()[-1]

    return run


@pytest.mark.parametrize("command", ["memory", "skills"])
def test_a_chat_command_of_a_missing_plugin_says_what_to_install(bare, chat, command):
    error = chat(f"/{command}")
    assert f"there is no command /{command}: it needs the plugin {command}" in error
    assert how_to_install(command) in error


def test_following_a_skill_without_the_plugin_says_what_to_install(bare, chat):
    error = chat("/quarterly-figures sales.pdf")
    assert f"If it is a skill, it needs the plugin skills, which is missing: {how_to_install('skills')}." in error


def test_an_unknown_command_with_the_plugin_is_nothing_to_install(home, chat):
    assert "install" not in chat("/quarterly-figures sales.pdf")
