"""`oneclaw permissions`."""

from pathlib import Path

import pytest
from how_long import some

NEEDY = """
    from oneclaw_core import ToolDefinition, ToolResult, hookimpl
    from oneclaw_core.tools import ToolBehaviour

    class Look:
        definition = ToolDefinition("look_around", "Take a picture.", required_permissions=("camera.use", "ODD NAME"))

        async def execute(self, arguments, context):
            return ToolResult.success("")

    @hookimpl
    def register_tools(register):
        register(Look())
"""


@pytest.fixture
def state_of(ok):
    def read(name):
        return {each["name"]: each for each in ok("permissions", "list", "--json")}[name]["state"]

    return read


@pytest.mark.long
def test_all_known_permissions_are_listed_with_their_meaning_and_tools(ok, install_plugin):
    install_plugin("needy", NEEDY)

    listed = {each["name"]: each for each in ok("permissions", "list", "--json")}

    assert listed["files.write"]["meaning"] == "write files in the workspace, and in a trusted directory"
    assert listed["files.write"]["state"] == "granted by default"
    assert "write_file" in listed["files.write"]["tools"]
    assert listed["network.private"]["state"] == "asks"
    assert listed["camera.use"] == {
        "name": "camera.use",
        "meaning": "",
        "meaning_by": None,
        "state": "asks",
        "tools": ["look_around"],
    }
    assert "camera.use" in ok("permissions", "list")


@pytest.mark.long
def test_a_permission_that_no_tool_asks_for_is_listed_as_granted_unless_denied(ok, install_plugin, state_of):
    definition = """ToolDefinition(
            "look_around", "Take a picture.", required_permissions=("camera.use",), read_only=True,
            behaviour=ToolBehaviour(asks_itself=True))"""
    source = NEEDY.replace(
        'definition = ToolDefinition("look_around", "Take a picture.", '
        'required_permissions=("camera.use", "ODD NAME"))',
        f"definition = {definition}",
    )
    install_plugin("needy", source)
    assert state_of("camera.use") == "granted unless denied"
    assert ok("call", "look_around") == '{"status": "success", "result": ""}\n'
    ok("permissions", "deny", "camera.use")
    assert state_of("camera.use") == "denied"


def test_a_decision_is_remembered_until_it_is_reset(ok, state_of):
    assert ok("permissions", "grant", "network.private") == "network.private is granted\n"
    assert state_of("network.private") == "granted"

    assert ok("permissions", "deny", "network.private") == "network.private is denied\n"
    assert state_of("network.private") == "denied"

    assert ok("permissions", "reset", "network.private") == "the decision on network.private is forgotten\n"
    assert state_of("network.private") == "asks"
    assert ok("permissions", "reset", "network.private") == "nothing was decided on network.private\n"


def test_a_grant_can_cover_all_parts_of_a_permission(oneclaw, ok, state_of):
    assert oneclaw("permissions", "grant", "camera.attic.*").status == 0
    assert state_of("camera.attic.*") == "granted"
    for name in ("camera.*", "camera.attic.*:north"):
        assert "has two words or more before that" in oneclaw("permissions", "grant", name).stderr
    assert "only a grant ends with .*" in oneclaw("permissions", "deny", "camera.attic.*").stderr


def test_a_default_can_be_denied(ok, state_of):
    ok("permissions", "deny", "files.write")

    assert state_of("files.write") == "denied"


@pytest.mark.long
def test_all_decisions_can_be_reset_at_once(ok, state_of):
    ok("permissions", "grant", "network.private")
    ok("permissions", "deny", "files.read")

    assert ok("permissions", "reset") == "2 decisions forgotten\n"
    assert (state_of("network.private"), state_of("files.read")) == ("asks", "granted by default")
    assert ok("permissions", "reset") == "0 decisions forgotten\n"


def test_a_permission_that_no_tool_needs_is_remembered_with_a_warning(oneclaw, state_of):
    outcome = oneclaw("permissions", "grant", "network.privat")

    assert outcome.status == 0
    assert "no installed tool declares 'network.privat'" in outcome.stderr
    assert "did you mean network.private" in outcome.stderr
    assert state_of("network.privat") == "granted"


@pytest.mark.parametrize(
    "name", some(["", "Network.Private", "network..private", ".", "a b", "network.private\n", "é"], 3)
)
def test_a_name_that_is_none_is_refused(oneclaw, ok, name):
    outcome = oneclaw("permissions", "grant", name)

    assert outcome.status == 2
    assert "lower-case words separated by dots" in outcome.stderr
    assert all(each["state"] != "granted" for each in ok("permissions", "list", "--json"))


def test_a_pattern_is_listed_until_it_is_reset(ok, state_of):
    assert ok("permissions", "grant", "shell.execute:  git  * ") == "shell.execute:git * is granted\n"
    assert ok("permissions", "deny", "shell.execute:git push *") == "shell.execute:git push * is denied\n"

    listed = {each["name"]: each for each in ok("permissions", "list", "--json")}
    granted = listed["shell.execute:git *"]
    assert (granted["state"], granted["tools"]) == ("granted", ["exec", "start_command"])
    assert granted["decision"] == "shell.execute for the command git *"
    assert (granted["source"], granted["last_used_at"]) == ("command line", None)
    assert (state_of("shell.execute:git push *"), state_of("shell.execute")) == ("denied", "asks")
    assert "shell.execute:git push *" in ok("permissions", "list")

    assert ok("permissions", "reset", "shell.execute:git  *") == "the decision on shell.execute:git * is forgotten\n"
    assert ok("permissions", "reset") == "1 decision forgotten\n"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("shell.execute:*", "name of a program"),
        ("shell.execute:git; ls", "not a single command"),
        ("network.private:not a host", "is not a host"),
        ("files.write:relative", "must be an absolute path"),
        ("Shell.execute:git *", "lower-case words separated by dots"),
    ],
)
def test_a_pattern_that_is_none_is_refused(oneclaw, ok, name, reason):
    outcome = oneclaw("permissions", "grant", name)

    assert outcome.status == 2
    assert reason in outcome.stderr
    assert all(":" not in each["name"] for each in ok("permissions", "list", "--json"))


REFUSED = {
    "network.privat": "did you mean network.private?",
    "shel.execute:ls": "did you mean shell.execute?",
    "network.everything": "oneclaw permissions list",
    "diary": "oneclaw permissions list",
    "camera.uses": "did you mean camera.use?",
    "look_around": "'look_around' is a tool; it needs: camera.use, ODD NAME",
    "network.private:a/b": "is not a host",
    "shell.execute:a|b": "not a single command",
}


def test_what_cannot_be_allowed_is_refused(oneclaw, install_plugin):
    install_plugin("needy", NEEDY)
    for name, reason in REFUSED.items():
        outcome = oneclaw("call", "--allow", name, "get_current_time")
        assert outcome.status == 2
        assert reason in outcome.stderr


@pytest.mark.parametrize("words", [("run", "hello"), ("run", "--json", "hello"), ("chat",)])
def test_each_command_refuses_what_cannot_be_allowed(oneclaw, words):
    outcome = oneclaw(words[0], "--allow", "network.privat", *words[1:])

    assert outcome.status == 2
    assert REFUSED["network.privat"] in outcome.stderr


@pytest.mark.long
def test_what_a_plugin_may_ask_for_can_be_allowed(oneclaw, install_plugin):
    install_plugin("needy", NEEDY)
    for name in ("camera.use", "ODD NAME", "diary.read", "shell.execute:git *"):
        assert oneclaw("call", "--allow", name, "get_current_time").status == 0


@pytest.mark.long
def test_an_odd_name_that_a_tool_needs_can_be_granted(ok, install_plugin, state_of):
    install_plugin("needy", NEEDY)

    ok("permissions", "grant", "ODD NAME")

    assert state_of("ODD NAME") == "granted"


def test_a_grant_can_be_for_an_agent_a_directory_and_a_time(oneclaw, ok, tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_SANDBOX", "off")
    directory = tmp_path / "project"
    directory.mkdir()
    ok("agents", "create", "Ada", "--system-prompt", "You count.")
    words = ok(
        "permissions", "grant", "shell.execute:make *", "--agent", "ada", "--in", str(directory),
        "--until", "2100-01-01",
    )  # fmt: skip
    sentence = f"shell.execute for the command make * in {directory}, by the agent Ada, until 2100-01-01 00:00"
    assert words == f"{sentence} is granted\n"
    (granted,) = [each for each in ok("permissions", "list", "--json") if each.get("agent")]
    assert (granted["decision"], granted["state"]) == (sentence, "granted")
    outcome = oneclaw("call", "exec", '{"command": "make x"}')
    assert "permission_denied" in outcome.stdout
    outcome = oneclaw("permissions", "grant", "shell.execute", "--until", "2000-01-01")
    assert (outcome.status, "is over" in outcome.stderr) == (2, True)


def test_a_decision_that_could_never_hold_is_refused_or_warned_of(oneclaw, ok, tmp_path):
    outcome = oneclaw("permissions", "deny", "network.public", "--task", "Reprot")
    assert (outcome.status, "there is no scheduled task 'Reprot'" in outcome.stderr) == (2, True)
    outcome = oneclaw("permissions", "deny", "network.public", "--agent", "Adaa")
    assert (outcome.status, "there is no agent 'Adaa'" in outcome.stderr) == (2, True)
    assert not [each for each in ok("permissions", "list", "--json") if each.get("decision")]

    outcome = oneclaw("permissions", "deny", "network.public", "--in", str(tmp_path))
    assert (outcome.status, "only for tools that say" in outcome.stderr) == (0, True)


def test_a_denied_path_is_closed_to_tools(oneclaw, ok, home):
    workspace = Path(home, "workspace")
    ok("permissions", "deny", f"files.write:{workspace / 'secret'}")

    refused = oneclaw("call", "write_file", '{"path": "secret/a.txt", "content": "a"}')

    assert "permission_denied" in refused.stdout
    assert not (workspace / "secret").exists()
    ok("call", "write_file", '{"path": "public.txt", "content": "a"}')


def test_the_log_tells_what_was_granted_and_refused(oneclaw, ok, monkeypatch):
    monkeypatch.setenv("ONECLAW_SANDBOX", "off")
    oneclaw("call", "exec", '{"command": "echo one"}')
    ok("call", "--allow", "shell.execute", "exec", '{"command": "echo two"}')

    logged = ok("permissions", "log", "--json")

    found = [(each["subject"], each["outcome"], each["decided_by"], each["tool"]) for each in logged]
    assert found == [("echo two", "granted", "option", "exec"), ("echo one", "refused", "default", "exec")]
    assert "granted by option" in ok("permissions", "log")
    assert "no session" in oneclaw("permissions", "log", "--session", "none").stderr


def test_all_permissions_that_begin_alike_are_denied_at_once_and_granted_one_by_one(oneclaw):
    outcome = oneclaw("permissions", "deny", "network")
    assert (outcome.stdout, outcome.stderr) == ("network is denied\n", "")
    refused = oneclaw("call", "http_request", '{"url": "http://192.0.2.1/"}').stdout
    assert "oneclaw permissions reset network" in refused
    outcome = oneclaw("permissions", "grant", "network")
    assert outcome.status == 2
    assert "each is granted by itself: network.public, network.private" in outcome.stderr
