"""``oneclaw agents``, and ``--agent`` everywhere."""

import sys

import pytest
from how_long import some
from model_server import calls, text

PROMPT = ("--system-prompt", "You write poems.")


@pytest.mark.long
@pytest.mark.usefixtures("all_plugins")
def test_an_agent_from_its_making_to_its_end(ok):
    made = (
        "--description",
        "Writes\tpoems",
        "--model",
        "offline/rules",
        "--temperature",
        "0.9",
        "--parameter",
        "top_k=5",
    )
    limits = "--max-tool-rounds", "5", "--turn-max-tokens", "1000", "--turn-max-cost", "0.5"
    tools = "--tools", "read_file, write_file", "--groups", "pdf"
    assert ok("agents", "create", "Poet", *PROMPT, *made, *limits, *tools) == "agent Poet is created\n"
    document = ok("agents", "show", "POET", "--json")
    available = document.pop("available_tools")
    identity = document.pop("id")
    assert document == {
        "name": "Poet",
        "description": "Writes poems",
        "system_prompt": "You write poems.",
        "model": "offline/rules",
        "parameters": {"temperature": 0.9, "top_k": 5},
        "limits": {"max_tool_rounds": 5, "turn_max_tokens": 1000, "turn_max_cost": 0.5},
        "tools": ["read_file", "write_file"],
        "groups": ["pdf"],
        "built_in": False,
    }
    assert [(tool["name"], tool["group"]) for tool in available[:4]] == [
        ("load_tool_group", None),
        ("read_file", None),
        ("write_file", None),
        ("pdf_info", "pdf"),
    ]
    assert available[1]["description"].startswith("Read a text file")
    assert [each["name"] for each in ok("agents", "list", "--json")] == ["General Assistant", "Poet"]
    edited = ok(
        "agents", "edit", "poet", "--name", "Bard", "--temperature", "none", "--turn-max-cost", "none", "--json"
    )
    assert (edited["id"], edited["name"], edited["parameters"]) == (identity, "Bard", {"top_k": 5})
    assert edited["limits"] == {"max_tool_rounds": 5, "turn_max_tokens": 1000, "turn_max_cost": None}
    assert ok("agents", "delete", identity, "--yes") == "agent Bard is deleted\n"
    assert len(ok("agents", "list", "--json")) == 1


@pytest.mark.long
def test_showing_an_agent_tells_its_tools_with_their_descriptions(ok):
    ok("agents", "create", "Poet", *PROMPT, "--tools", "get_current_time")
    lines = ok("agents", "show", "Poet").splitlines()
    assert lines[0] == "Poet"
    assert lines[1].startswith("id: ")
    assert lines[2:7] == ["model: default", "tools: get_current_time", "", "You write poems.", ""]
    assert lines[8].split(maxsplit=1) == [
        "get_current_time",
        "Get the current date and time, here or in another time zone.",
    ]
    assert ok("agents", "show", "general assistant").splitlines()[1] == "id: general-assistant (built in)"


@pytest.mark.parametrize(
    ("options", "tools", "groups"),
    some(
        [
            (["--groups", "pdf"], [], ["pdf"]),
            (["--tools", "read_file"], ["read_file"], []),
            ([], None, None),
            (["--all-tools"], None, None),
            (["--tools", "*", "--groups", ""], None, []),
            (["--tools", "", "--groups", "*"], [], None),
            (["--tools", ""], [], []),
        ],
        7,
    ),
)
@pytest.mark.usefixtures("all_plugins")
def test_choosing_tools_when_it_is_made(ok, options, tools, groups):
    made = ok("agents", "create", "Poet", *PROMPT, *options, "--json")
    assert (made["tools"], made["groups"]) == (tools, groups)


@pytest.mark.parametrize(
    ("options", "tools", "groups"),
    some(
        [
            (["--tools", "write_file"], ["write_file"], ["pdf"]),
            (["--description", "x"], ["read_file"], ["pdf"]),
            (["--groups", ""], ["read_file"], []),
            (["--tools", "*"], None, ["pdf"]),
            (["--all-tools"], None, None),
        ],
        5,
    ),
)
@pytest.mark.usefixtures("all_plugins")
def test_choosing_other_tools_leaves_what_is_not_named(ok, options, tools, groups):
    ok("agents", "create", "Poet", *PROMPT, "--tools", "read_file", "--groups", "pdf")
    changed = ok("agents", "edit", "Poet", *options, "--json")
    assert (changed["tools"], changed["groups"]) == (tools, groups)


@pytest.mark.long
def test_an_agent_with_everything_keeps_only_what_is_named(ok):
    ok("agents", "create", "Poet", *PROMPT)
    changed = ok("agents", "edit", "Poet", "--tools", "read_file", "--json")
    assert (changed["tools"], changed["groups"]) == (["read_file"], [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    some(
        [
            (["create", "Poet"], "needs a system prompt"),
            (["create", "", *PROMPT], "must not be empty"),
            (["create", "General assistant", *PROMPT], "already"),
            (["create", "x" * 101, *PROMPT], "at most 100"),
            (["create", "Poet", "--system-prompt", "x" * 50_001], "at most 50,000"),
            (["create", "Poet", *PROMPT, "--system-prompt-file", "x"], "not both"),
            (["create", "Poet", "--system-prompt-file", "/nowhere/at-all"], "cannot be read: No such file"),
            (["create", "Poet", "--system-prompt-file", "/"], "cannot be read: Is a directory"),
            (["create", "Poet", "--system-prompt-file", "a\x00b"], "cannot be read"),
            (["create", "Poet", *PROMPT, "--model", "gpt"], "PROVIDER/MODEL"),
            (["create", "Poet", *PROMPT, "--temperature", "hot"], "--temperature takes a number or none"),
            (["create", "Poet", *PROMPT, "--temperature", "nan"], "--temperature takes a number or none"),
            (["create", "Poet", *PROMPT, "--temperature", "3"], "from 0 to 2"),
            (["create", "Poet", *PROMPT, "--max-tool-rounds", "1.5"], "--max-tool-rounds takes a whole number or none"),
            (["create", "Poet", *PROMPT, "--max-tool-rounds", "9" * 400], "max_tool_rounds must be a whole number"),
            (["create", "Poet", *PROMPT, "--turn-max-tokens", "0"], "turn_max_tokens must be"),
            (["create", "Poet", *PROMPT, "--turn-max-cost", "-1"], "turn_max_cost must be"),
            (["create", "Poet", *PROMPT, "--parameter", "top_p"], "NAME=VALUE"),
            (["create", "Poet", *PROMPT, "--parameter", "top p=1"], "name of a parameter"),
            (["create", "Poet", *PROMPT, "--parameter", "x=NaN"], "JSON"),
            (["create", "Poet", *PROMPT, "--tools", "reed_file"], "did you mean read_file"),
            (["create", "Poet", *PROMPT, "--tools", "pdf"], "is a tool group"),
            (["create", "Poet", *PROMPT, "--groups", "pdf_info"], "is a tool, not a tool group"),
            (["create", "Poet", *PROMPT, "--tools", "read_file", "--all-tools"], "--all-tools"),
            (["show", "Nobody"], "there is no agent 'Nobody'"),
            (["edit", "Nobody", "--description", "x"], "there is no agent 'Nobody'"),
            (["edit", "General Assistant", "--description", "x"], "built in"),
            (["edit", "General Assistant"], "say what to change"),
            (["delete", "Nobody", "--yes"], "there is no agent 'Nobody'"),
            (["delete", "General Assistant"], "built in"),
        ],
        3,
    ),
)
@pytest.mark.usefixtures("all_plugins")
def test_what_is_refused(oneclaw, arguments, words):
    outcome = oneclaw("agents", *arguments)
    assert outcome.status == 2
    assert words in outcome.stderr
    assert outcome.stdout == ""
    assert len(outcome.stderr.splitlines()) == 1
    assert len(oneclaw("agents", "list", "--json").json) == 1


def test_deleting_asks_and_tells_of_the_sessions(oneclaw, ok):
    ok("agents", "create", "Poet", *PROMPT)
    assert oneclaw("run", "--agent", "Poet", "--session", "s", "hello").status == 0
    refused = oneclaw("agents", "delete", "Poet")
    assert (refused.status, "add --yes" in refused.stderr) == (2, True)
    deleted = ok("agents", "delete", "Poet", "--yes")
    assert deleted == "agent Poet is deleted; 1 session goes on with the General Assistant\n"
    assert ok("sessions", "list", "--json")[0]["agent"] == "General Assistant"


def test_the_system_prompt_from_a_file(ok, tmp_path):
    path = tmp_path / "prompt.md"
    path.write_text("You write\npoems. 🖋\n", encoding="utf-8")
    made = ok("agents", "create", "Poet", "--system-prompt-file", str(path), "--json")
    assert made["system_prompt"] == "You write\npoems. 🖋"


@pytest.mark.parametrize(("content", "words"), [(b"\xff\xfe", "not UTF-8"), (b"x" * 300_000, "at most 50,000")])
def test_a_file_that_is_no_system_prompt(oneclaw, tmp_path, content, words):
    path = tmp_path / "prompt.md"
    path.write_bytes(content)
    outcome = oneclaw("agents", "create", "Poet", "--system-prompt-file", str(path))
    assert outcome.status == 2
    assert words in outcome.stderr


@pytest.mark.usefixtures("all_plugins")
def test_tools_list_of_an_agent(ok, oneclaw):
    ok("agents", "create", "Poet", *PROMPT, "--tools", "read_file,pdf_info")
    names = [tool["name"] for tool in ok("tools", "list", "--agent", "poet", "--json")]
    assert names == ["load_tool_group", "read_file", "pdf_info"]
    assert [tool["name"] for tool in ok("tools", "list", "--agent", "Poet", "--group", "pdf", "--json")] == ["pdf_info"]
    everything = ok("tools", "list", "--json")
    assert ok("tools", "list", "--agent", "General Assistant", "--json") == everything
    refused = oneclaw("tools", "list", "--agent", "Peot")
    assert (refused.status, "did you mean Poet" in refused.stderr) == (2, True)


@pytest.mark.long
@pytest.mark.usefixtures("all_plugins")
def test_prompt_of_an_agent(ok):
    ok("agents", "create", "Poet", *PROMPT, "--tools", "read_file,pdf_info", "--temperature", "0.5")
    document = ok("prompt", "--agent", "Poet", "--json")
    assert document["system_prompt"].startswith("You write poems.")
    assert "- pdf: " in document["system_prompt"]
    assert document["parameters"] == {"temperature": 0.5}
    assert [tool["name"] for tool in document["tools"]] == ["load_tool_group", "read_file"]


@pytest.mark.usefixtures("all_plugins")
def test_going_on_with_another_agent_in_a_chat(ok, oneclaw, serve, tmp_path, monkeypatch):
    server = serve(text("ok"), text("ok"))
    monkeypatch.setenv("ONECLAW_MODEL", "openai_compatible/test")
    ok("agents", "create", "Poet", *PROMPT, "--groups", "pdf", "--tools", "read_file")
    lines = ["hello", "/agent", "/agent poet", "/agent", "/groups", "hello again", "/agent Peot", "/agent"]
    (tmp_path / "lines").write_text("\n".join(lines))
    with (tmp_path / "lines").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        outcome = oneclaw("chat", "--session", "s")
    agents = [line for line in outcome.stdout.splitlines() if line.startswith("agent: ")]
    assert agents == ["agent: General Assistant", "agent: Poet", "agent: Poet", "agent: Poet"]
    assert "did you mean Poet" in outcome.stderr
    first, second = server.bodies
    assert not first["messages"][0]["content"].startswith("You write poems.")
    assert second["messages"][0]["content"].startswith("You write poems.")
    # The history is kept.
    assert [each["content"] for each in second["messages"][1:]] == ["hello", "ok", "hello again"]
    assert [tool["function"]["name"] for tool in second["tools"]] == ["load_tool_group", "read_file"]


@pytest.mark.long
@pytest.mark.usefixtures("all_plugins")
def test_the_groups_in_a_chat_are_those_of_the_agent(ok, oneclaw, tmp_path, monkeypatch):
    ok("agents", "create", "Poet", *PROMPT, "--tools", "read_file")
    (tmp_path / "lines").write_text("/groups\n/agent Poet\n/groups\n")
    with (tmp_path / "lines").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        shown = oneclaw("chat").stdout
    before, after = shown.split("agent: Poet")
    assert "pdf " in before
    assert "pdf " not in after


def test_showing_an_agent_marks_the_tools_that_need_permissions(ok):
    ok("agents", "create", "Poet", *PROMPT, "--tools", "get_current_time,read_file")
    heading, *rows = ok("agents", "show", "Poet").split("\n\n")[-1].splitlines()
    start = heading.index("needs permission")
    marks = {row.split()[0]: row[start:].split()[0] for row in rows}
    assert (marks["read_file"], marks["get_current_time"]) == ("files.read", "Get")
    tools = {each["name"]: each for each in ok("agents", "show", "Poet", "--json")["available_tools"]}
    assert tools["read_file"]["required_permissions"] == ["files.read"]


@pytest.mark.long
def test_the_built_in_agent_is_listed_and_shown(ok):
    (agent,) = ok("agents", "list", "--json")
    shown = ok("agents", "show", "general assistant", "--json")
    assert (agent["name"], agent["built_in"]) == ("General Assistant", True)
    assert agent.items() <= shown.items()
    assert [each["name"] for each in shown["available_tools"]] == [
        each["name"] for each in ok("tools", "list", "--json")
    ]
    assert agent["system_prompt"] in ok("agents", "show", "General Assistant")
    assert "General Assistant" in ok("agents", "list")


@pytest.mark.long
def test_a_session_within_another_says_so(ok, oneclaw, serve, monkeypatch):
    task = {"name": "Poet", "system_prompt": "You write.", "task": "Write."}
    serve(calls(("create_agent", task)), text("Waves."), text("Done."))
    monkeypatch.setenv("ONECLAW_MODEL", "openai_compatible/test")
    assert oneclaw("run", "--session", "mine", "Have a poem written.").stdout == "Done.\n"
    listed = {each["agent"]: each for each in ok("sessions", "list", "--json")}
    assert listed["General Assistant"]["parent_id"] is None
    assert listed["Poet"]["parent_id"] == listed["General Assistant"]["id"]
    assert "Waves." in ok("sessions", "show", listed["Poet"]["id"])
    ok("sessions", "delete", "mine", "--yes")
    assert ok("sessions", "list", "--json") == []
