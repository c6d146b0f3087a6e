import os

import pytest
from pseudo_terminal import CTRL_C, CTRL_D, PseudoTerminal

from oneclaw_core.cli.asking import question, terminal_asker
from oneclaw_core.tools.permissions import PermissionRequest

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


@pytest.fixture
def call_diary(home, install_plugin):
    package = install_plugin("diary", DIARY)
    environ = os.environ | {"PYTHONPATH": str(package.parent)}
    return lambda: PseudoTerminal("call", "read_diary", '{"page": 7}', environ=environ)


def test_the_user_is_asked_until_the_answer_is_one(call_diary):
    with call_diary() as terminal:
        terminal.expect("Tool read_diary wants permission diary.read\n")
        terminal.expect('arguments: {"page": 7}\n')
        terminal.expect("it will: open the diary at page 7\n")
        terminal.expect("Allow? [o]nce, this [s]ession, [a]lways, [n]o, ne[v]er: ")
        terminal.type("yes\n")
        terminal.expect("Please type one of o, s, a, n, v.")
        terminal.type("O\n")
        terminal.expect('"result": "Dear diary"')
        assert terminal.exit_status() == 0


def test_what_was_typed_before_the_question_is_no_answer(call_diary):
    with call_diary() as terminal:
        terminal.type("a\n")
        terminal.expect("ne[v]er: ")
        terminal.type("n\n")
        terminal.expect("permission_denied")
        assert terminal.exit_status() == 1


def test_the_end_of_the_input_means_no(call_diary):
    with call_diary() as terminal:
        terminal.expect("ne[v]er: ")
        terminal.type(CTRL_D)
        terminal.expect("permission_denied")
        assert terminal.exit_status() == 1


def test_always_is_remembered(call_diary, ok):
    with call_diary() as terminal:
        terminal.expect("ne[v]er: ")
        terminal.type("a\n")
        assert terminal.exit_status() == 0
    assert "Dear diary" in ok("call", "read_diary", '{"page": 8}')


def test_ctrl_c_at_a_question_ends_the_program(call_diary):
    with call_diary() as terminal:
        terminal.expect("ne[v]er: ")
        terminal.type(CTRL_C)
        assert terminal.exit_status() == 130
    assert "Traceback" not in terminal.shown


def test_nothing_in_a_question_can_steer_the_terminal():
    request = PermissionRequest(
        "network.private", "http\x1b[2J", {"url": "http://x/\x1b[1A\x9b"}, detail="connect\r\nto \u202ex"
    )
    first, arguments, detail = question(request).split("\n")
    assert first == (
        "Tool http\\x1b[2J wants permission network.private: "
        "make requests to private, loopback and link-local addresses"
    )
    assert arguments == '  arguments: {"url": "http://x/\\u001b[1A\\x9b"}'
    assert detail == "  it will: connect to \\u202ex"


def test_long_arguments_are_cut():
    assert len(question(PermissionRequest("files.write", "write_file", {"content": "x" * 10_000}))) < 1000


def test_there_is_nobody_to_ask_without_a_terminal():
    assert terminal_asker() is None
