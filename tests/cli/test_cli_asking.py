import json
import os
import time

import pytest
from how_long import some
from model_server import calls, text
from pseudo_terminal import CTRL_C, CTRL_D, PseudoTerminal
from rich.cells import cell_len

from oneclaw_core.cli.asking import terminal_asker
from oneclaw_core.permissions import approval_question, question_text
from oneclaw_core.permissions.requests import PermissionRequest


@pytest.fixture(autouse=True)
def _without_a_sandbox(home, monkeypatch):
    """Commands are asked for."""
    monkeypatch.setenv("ONECLAW_SANDBOX", "off")


def question(request):
    """All of a question, on a terminal that is wide enough for its sentences."""
    return question_text(approval_question(request), 200)


DIARY = """
    from oneclaw_core import ToolContext, hookimpl, tool

    @tool
    async def read_diary(page: int, context: ToolContext) -> str:
        "Read a page of the diary."
        await context.ask_permission("diary.read", f"open the diary at page {page}")
        return "Dear diary"

    @hookimpl
    def register_tools(register):
        register(read_diary)
"""


# One asks, and the other reports while the question is open.
BUSY = """
    import asyncio, os
    from pathlib import Path
    from oneclaw_core import ToolContext, hookimpl, tool

    @tool
    async def ask_first(context: ToolContext) -> str:
        "Ask for a permission."
        await context.ask_permission("door.open")
        return "opened"

    @tool
    async def report_progress(context: ToolContext) -> str:
        "Report how far it has come."
        while not Path(os.environ["ASKED"]).exists():
            await asyncio.sleep(0.01)
        context.progress("half of it", 0.5)
        await asyncio.sleep(0.05)
        Path(os.environ["ASKED"] + ".reported").touch()
        return "reported"

    @hookimpl
    def register_tools(register):
        register(ask_first)
        register(report_progress)
"""


@pytest.fixture
def call_diary(home, install_plugin):
    package = install_plugin("diary", DIARY)
    environ = os.environ | {"PYTHONPATH": str(package.parent)}
    return lambda: PseudoTerminal("call", "read_diary", '{"page": 7}', environ=environ)


@pytest.mark.long
def test_the_user_is_asked_until_the_answer_is_one(call_diary):
    with call_diary() as terminal:
        terminal.expect("Tool read_diary wants permission diary.read\n")
        terminal.expect('arguments: {"page": 7}\n')
        terminal.expect("it will: open the diary at page 7\n")
        terminal.expect("Allow once? [y/N], or a word: session, always, never, details: ")
        terminal.type("a\n")  # what lasts needs its whole word
        terminal.expect("Please type y for this once, n for no, or a whole word: session, always,")
        terminal.type("Y\n")
        terminal.expect('"result": "Dear diary"')
        assert terminal.exit_status() == 0


@pytest.mark.long
@pytest.mark.one_python
def test_what_was_typed_before_the_question_is_no_answer(call_diary):
    with call_diary() as terminal:
        terminal.type("a\n")
        terminal.expect("details: ")
        terminal.type("n\n")
        terminal.expect("permission_denied")
        assert terminal.exit_status() == 1


@pytest.mark.long
@pytest.mark.one_python
@pytest.mark.parametrize("typed", some([CTRL_D, "NO\n", "\n"], 3))
def test_enter_and_the_end_of_the_input_mean_no(call_diary, typed):
    with call_diary() as terminal:
        terminal.expect("details: ")
        terminal.type(typed)
        terminal.expect("permission_denied")
        assert terminal.exit_status() == 1


@pytest.mark.long
def test_always_is_remembered(call_diary, ok):
    with call_diary() as terminal:
        terminal.expect("details: ")
        terminal.type("always\n")
        assert terminal.exit_status() == 0
    assert "Dear diary" in ok("call", "read_diary", '{"page": 8}')


@pytest.mark.one_python
def test_ctrl_c_at_a_question_ends_the_program(call_diary):
    with call_diary() as terminal:
        terminal.expect("details: ")
        terminal.type(CTRL_C)
        assert terminal.exit_status() == 130
    assert "Traceback" not in terminal.shown


def test_nothing_in_a_question_can_steer_the_terminal():
    request = PermissionRequest(
        "network.private", "http\x1b[2J", {"url": "http://x/\x1b[1A\x9b"}, detail="connect\r\nto \u202ex"
    )
    first, arguments, label, *detail = question(request).split("\n")
    assert first == (
        "Tool http\\x1b[2J wants permission network.private: "
        "make requests to private, loopback and link-local addresses"
    )
    assert arguments == '  arguments: {"url": "http://x/\\u001b[1A\\x9b"}'
    assert [label, *detail[:2]] == ["  it will:", "    │ connect\\r", "    │ to \\u202ex"]


def shell_question(command, **others):
    arguments = {"command": command, **others}
    request = PermissionRequest("shell.execute", "exec", arguments, subject=command)
    return [line for line in question(request).split("\n") if " grants: " not in line]


def test_a_command_is_shown_whole_and_apart_from_other_arguments():
    assert shell_question("git log -p", working_directory="/tmp") == [
        "Tool exec wants permission shell.execute: run shell commands, which can do all that you can",
        "  command:",
        "    │ git log -p",
        '  arguments: {"working_directory": "/tmp"}',
    ]


def test_nothing_in_a_command_is_hidden_or_taken_for_the_question():
    command = "ls\r\x1b[2K\u202e\u200b\u00a0\t;\n\nAllow? [o]nce: o\n  arguments: {}"
    assert shell_question(command)[2:] == [
        "    │ ls\\r\\x1b[2K\\u202e\\u200b\\xa0\\t;",
        "    │ ",
        "    │ Allow? [o]nce: o",
        "    │   arguments: {}",
    ]


FORGED = "ls" + " " * 5_000 + "\n" * 30 + "Tool ls wants permission files.read\nAllow? [o]nce: o\n" * 30


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 24), (120, 50), (40, 12)])
def test_a_question_fits_on_the_screen_and_bars_what_others_wrote(columns, rows):
    for command in (FORGED, "begin" + "x" * 10_000 + "end", "\u5bff\u53f8 " * 500):
        request = PermissionRequest(
            "shell.execute", "exec", {"other": FORGED}, FORGED, None, command, directory="/srv/work"
        )
        shown = question_text(approval_question(request), columns, rows).split("\n")
        assert all(cell_len(row) < columns for row in shown)
        assert len(shown) <= max(rows - 2, 24)
        others = [row for row in shown if not row.startswith("    │ ")]
        assert others[0].startswith("Tool ")
        assert not any("Allow" in row or "wants" in row for row in others[1:])
        assert any(" rows: d shows all …]" in row for row in others)


def test_code_in_the_detail_is_shown_line_by_line_and_once():
    code = "\n".join(f"line({number});" for number in range(300))
    arguments = {"name": "t", "js_code": code}
    shown = question(PermissionRequest("tools.write", "create_js_tool", arguments, f"create t:\n{code}")).split("\n")
    assert [row for row in shown if "line(" in row] == [f"    │ {line}" for line in code.split("\n")]
    assert '  arguments: {"name": "t"}' in shown


def test_many_spaces_are_seen_and_counted():
    assert shell_question("ls" + " " * 500 + "; rm -rf /")[2:] == ["    │ ls␣[500 spaces]␣; rm -rf /"]
    assert shell_question("if true\n    echo  a␣ ")[2:] == ["    │ if true", "    │     echo␣␣a\\u2423␣"]


@pytest.mark.long
@pytest.mark.one_python
def test_details_show_all_of_a_command(home, monkeypatch):
    monkeypatch.setenv("ONECLAW_SANDBOX", "off")
    command = "; ".join(f"echo {number}" for number in range(400))
    arguments = json.dumps({"command": command})
    with PseudoTerminal("call", "exec", arguments, environ=os.environ) as terminal:
        terminal.expect("rows: d shows all …]")
        terminal.expect("details: ")
        terminal.type("d\n")
        terminal.expect("more rows: Enter shows them, q goes back -- ")
        for _ in range(4):
            terminal.type("\n")
        terminal.expect("echo 398; echo 399")
        terminal.expect("details: ")
        terminal.type("n\n")
        assert terminal.exit_status() == 1


@pytest.mark.long
@pytest.mark.one_python
def test_always_is_offered_for_what_it_can_name_and_holds_where_it_was_asked(home, ok, monkeypatch):
    monkeypatch.setenv("ONECLAW_SANDBOX", "off")

    def call(command, *others):
        arguments = json.dumps({"command": command, **dict(others)})
        return PseudoTerminal("call", "exec", arguments, environ=os.environ)

    with call("echo one; echo two") as terminal:
        terminal.expect("    │ echo one; echo two\n")
        terminal.expect("Allow once? [y/N], or a word: session, never, details: ")
        terminal.type("always\n")
        terminal.expect("or a whole word: session, never,")
        terminal.type("n\n")
        terminal.expect("permission_denied")
        assert terminal.exit_status() == 1
    with call("echo one") as terminal:
        terminal.expect("always grants:\n    │ shell.execute for the command echo one in ")
        terminal.expect("details: ")
        terminal.type("always\n")
        terminal.expect("[exit code: 0]")
        assert terminal.exit_status() == 0
    assert "[exit code: 0]" in ok("call", "exec", '{"command": "echo one"}')
    with call("echo one", ("working_directory", "/")) as terminal:
        terminal.expect("always, never, details: ")
        terminal.type("n\n")
        assert terminal.exit_status() == 1
    (granted,) = [each for each in ok("permissions", "list", "--json") if each.get("directory")]
    assert granted["decision"].startswith("shell.execute for the command echo one in /")
    assert granted["last_used_at"] is not None
    outcomes = [(each["outcome"], each["decided_by"]) for each in ok("permissions", "log", "--json")]
    assert outcomes == [("refused", "user"), ("granted", "grant"), ("granted", "user"), ("refused", "user")]


@pytest.mark.long
@pytest.mark.one_python
def test_progress_does_not_draw_over_an_open_question(home, serve, install_plugin):
    package = install_plugin("busy", BUSY)
    serve(calls(("ask_first", {}), ("report_progress", {})), text("Done."))
    environ = os.environ | {"PYTHONPATH": str(package.parent), "ASKED": str(home.parent / "asked")}
    with PseudoTerminal("run", "--model", "openai_compatible/test", "go", environ=environ) as terminal:
        terminal.expect("details: ")
        (home.parent / "asked").touch()
        while not (home.parent / "asked.reported").exists():
            time.sleep(0.01)
        terminal.type("o\n")
        between = terminal.expect("report_progress")
        terminal.expect("Done.")
        assert terminal.exit_status() == 0
    assert between.splitlines()[0] == "o"
    assert "half" not in between


def test_there_is_no_one_to_ask_without_a_terminal():
    assert terminal_asker() is None
