import io
import json
import os
import signal
import subprocess
import sys
import threading

import pytest
from how_long import some
from model_server import calls, chunk, hang_up_after, silence, sse, status, text
from pseudo_terminal import PseudoTerminal

MODEL = ("--model", "openai_compatible/test")

TOOLS = """
    from oneclaw_core import ToolContext, hookimpl, tool

    @tool
    def chatty(word: str) -> str:
        "Print a word."
        print("printed " + word)
        return "said " + word

    @tool
    def steer() -> str:
        "Give back what would clear a terminal."
        return "\\x1b[2J"

    @tool
    async def guarded(context: ToolContext) -> str:
        "Ask for a permission."
        await context.ask_permission("secrets.read", "read the diary")
        return "Dear diary"

    @hookimpl
    def register_tools(register):
        for each in (chatty, steer, guarded):
            register(each)
"""


@pytest.fixture
def stdin(monkeypatch):
    """Give the program something to read: ``stdin(b"text")``."""

    def give(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))

    return give


def events_of(outcome):
    return [json.loads(line) for line in outcome.stdout.splitlines()]


@pytest.mark.long
def test_the_answer_is_on_stdout_and_tool_calls_are_on_stderr(oneclaw, serve):
    serve(calls(("get_current_time", {"timezone": "UTC"}), content="Let me see."), text("It is late."))
    outcome = oneclaw("run", *MODEL, "What time is it?")
    assert outcome.status == 0
    assert outcome.stdout == "Let me see.\nIt is late.\n"
    assert outcome.stderr.startswith("• get_current_time UTC … 20")
    assert outcome.stderr.endswith(" ms\n")
    assert outcome.stderr.count("\n") == 1


@pytest.mark.long
def test_it_works_with_no_key_and_no_network(oneclaw):
    outcome = oneclaw("run", "What time is it?")
    assert outcome.status == 0
    assert "get_current_time" in outcome.stdout


def test_a_failed_tool_call_says_why(oneclaw, serve):
    serve(calls(("read_file", {"path": "missing.txt"})), text("There is none."))
    line = oneclaw("run", *MODEL, "Read it").stderr
    assert line.startswith("• read_file missing.txt … ")
    assert "missing.txt" in line.removeprefix("• read_file missing.txt … ")


@pytest.mark.long
@pytest.mark.usefixtures("all_plugins")
def test_json_prints_one_event_a_line(oneclaw, serve):
    serve(calls(("load_tool_group", {"group_name": "pdf"})), text("Done."))
    outcome = oneclaw("run", *MODEL, "--json", "--session", "work", "Load pdf")
    events = events_of(outcome)
    kinds = [event["event"] for event in events]
    assert kinds[:4] == ["usage", "tool_call", "tool_result", "group_loaded"]
    assert kinds[4:-2] == ["text"] * len(kinds[4:-2])
    assert kinds[-2:] == ["usage", "turn_finished"]
    assert events[3]["tools"] == ["pdf_info", "pdf_extract_text", "pdf_render_page"]
    assert events[-1] == {
        "event": "turn_finished",
        "session": "work",
        "text": "Done.",
    }
    assert outcome.stderr == ""


def test_json_ends_with_an_error_event_when_the_turn_fails(oneclaw, serve):
    serve(status(401))
    outcome = oneclaw("run", *MODEL, "--json", "hello")
    assert outcome.status == 1
    last = events_of(outcome)[-1]
    assert (last["event"], last["error_type"]) == ("error", "ProviderAuthenticationError")
    assert outcome.stderr == f"oneclaw: {last['message']}\n"
    assert "sk-0123456789" not in outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "nowhere/x", "hello"], "the providers are: offline"),
        (["--model", "offline", "hello"], "PROVIDER/MODEL"),
        (["--agent", "Nobody", "hello"], "there is no agent 'Nobody'"),
        (["  "], "the message is empty"),
        (["--session", " ", "hello"], "name must not be empty"),
    ],
)
def test_wrong_usage_is_one_line_and_leaves_no_session(oneclaw, ok, arguments, says):
    outcome = oneclaw("run", *arguments)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert says in outcome.stderr
    assert outcome.stderr.count("\n") == 1
    assert ok("sessions", "list", "--json") == []


@pytest.mark.long
def test_a_session_goes_on(oneclaw, serve):
    server = serve(text("Hello Ada."), text("You are Ada."))
    for message in ("I am Ada", "Who am I?"):
        assert oneclaw("run", *MODEL, "--session", "work", message).status == 0
    assert [message["role"] for message in server.bodies[1]["messages"]] == ["system", "user", "assistant", "user"]


def test_a_turn_that_failed_is_resumed_without_a_message(oneclaw, serve):
    server = serve(status(401), text("It is late."))
    assert oneclaw("run", *MODEL, "--session", "work", "What time is it?").status == 1
    outcome = oneclaw("run", *MODEL, "--resume", "--session", "work", "--json")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert {event["event"] for event in events_of(outcome)} == {"text", "usage", "turn_finished"}
    assert [message["role"] for message in server.bodies[1]["messages"]] == ["system", "user"]

    again = oneclaw("run", *MODEL, "--resume")
    assert (again.status, again.stdout) == (0, "It is late.\n")
    assert again.stderr == "nothing to resume: the last turn of session work has its answer\n"
    assert len(server.bodies) == 2


@pytest.mark.long
@pytest.mark.parametrize("ending", some([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], 3))
@pytest.mark.one_python
def test_a_program_that_was_ended_during_an_answer_is_resumed(oneclaw, serve, ending):
    beginning = silence(sse([chunk({"content": "It is l"})], done=False))
    server = serve(beginning, text("It is late."))
    command = [sys.executable, "-m", "oneclaw_core", "run", *MODEL, "--session", "work", "--json", "What time is it?"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
        assert json.loads(program.stdout.readline()) == {"event": "text", "text": "It is l"}
        program.send_signal(ending)
        program.communicate()
    shown = oneclaw("sessions", "show", "work")
    assert ("broken off): It is l" in shown.stdout) == (ending != signal.SIGKILL)
    outcome = oneclaw("run", *MODEL, "--resume", "--session", "work")
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "It is late.\n", "")
    assert [message["role"] for message in server.bodies[1]["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Missing argument 'MESSAGE'"),
        (["What", "time", "is", "it?"], "put the whole message in quotes"),
        (["--resume", "hello"], "takes neither a message nor --attach"),
        (["--resume"], "there is no session to resume"),
        (["--resume", "--session", "work"], "there is no session 'work'"),
    ],
)
def test_what_cannot_be_resumed_is_wrong_usage(oneclaw, arguments, says):
    outcome = oneclaw("run", *arguments)
    assert outcome.status == 2
    assert says in outcome.stderr


def test_an_answer_that_breaks_off_ends_its_line_and_fails(oneclaw, serve):
    half = sse([chunk({"role": "assistant", "content": "Half an"})], done=False)
    serve(hang_up_after(half))
    outcome = oneclaw("run", *MODEL, "hello")
    assert (outcome.status, outcome.stdout) == (1, "Half an\n")
    assert outcome.stderr.startswith("oneclaw: ")
    assert outcome.stderr.count("\n") == 1


def test_a_dash_reads_the_message_from_stdin(oneclaw, serve, stdin):
    server = serve(text("Yes."))
    stdin("first line\nsecond: größer".encode())
    assert oneclaw("run", *MODEL, "-").status == 0
    assert server.bodies[0]["messages"][-1]["content"] == "first line\nsecond: größer"


def test_stdin_that_is_no_text_is_refused(oneclaw, stdin):
    stdin(b"\xff\xfe\x00")
    outcome = oneclaw("run", "-")
    assert (outcome.status, outcome.stderr) == (2, "oneclaw: standard input is not UTF-8 text\n")


def test_stdin_without_end_is_refused(oneclaw, serve, stdin, monkeypatch):
    monkeypatch.setattr("oneclaw_core.cli.run.MAX_STDIN_BYTES", 5)
    server = serve(text("Yes."))
    stdin(b"12345")
    assert oneclaw("run", *MODEL, "-").status == 0
    stdin(b"123456")
    outcome = oneclaw("run", *MODEL, "-")
    assert (outcome.status, outcome.stdout) == (2, "")
    assert outcome.stderr == "oneclaw: standard input is longer than 5 bytes; send a part of it\n"
    assert len(server.bodies) == 1


def test_json_tells_of_a_message_that_cannot_be_read(oneclaw, stdin):
    stdin(b"\xff\xfe")
    for arguments in (("-",), ("--attach", "nothing.pdf", "hello")):
        outcome = oneclaw("run", "--json", *arguments)
        assert (outcome.status, outcome.json["event"], outcome.json["error_type"]) == (2, "error", "UsageError")


@pytest.mark.long
def test_what_a_tool_prints_never_gets_into_the_answer(oneclaw, serve, install_plugin):
    install_plugin("tools", TOOLS)
    serve(calls(("chatty", {"word": "this"})), text("Done."), calls(("chatty", {"word": "that"})), text("Done."))
    plain = oneclaw("run", *MODEL, "say this")
    assert plain.stdout == "Done.\n"
    assert "printed this" in plain.stderr
    as_json = oneclaw("run", *MODEL, "--json", "say that")
    assert events_of(as_json)[-1]["text"] == "Done."
    assert "printed that" in as_json.stderr


@pytest.mark.long
def test_no_one_is_asked_where_no_one_sits(oneclaw, serve, install_plugin):
    install_plugin("tools", TOOLS)
    serve(calls(("guarded", {})), text("Not allowed."), calls(("guarded", {})), text("Read."))
    denied = events_of(oneclaw("run", *MODEL, "--json", "read it"))
    (result,) = (event for event in denied if event["event"] == "tool_result")
    assert result["error_type"] == "permission_denied"
    assert "oneclaw permissions grant secrets.read" in result["message"]
    allowed = events_of(oneclaw("run", *MODEL, "--json", "--allow", "secrets.read", "read it"))
    (result,) = (event for event in allowed if event["event"] == "tool_result")
    assert result["result"] == "Dear diary"


@pytest.mark.long
def test_piped_text_steers_no_terminal_later_unless_it_is_to_be_raw(oneclaw, serve, monkeypatch):
    serve(text("\x1b[2Jcleared\r\n"), text("\x1b[2Jcleared\r\n"))
    assert oneclaw("run", *MODEL, "hello").stdout == "\\x1b[2Jcleared\n"
    monkeypatch.setenv("ONECLAW_RAW_OUTPUT", "1")
    assert oneclaw("run", *MODEL, "hello").stdout == "\x1b[2Jcleared\r\n"


@pytest.mark.long
@pytest.mark.one_python
def test_on_a_terminal_control_characters_are_shown_not_obeyed(home, serve, install_plugin):
    package = install_plugin("tools", TOOLS)
    serve(calls(("steer", {})), text("It says \x1b[2J."))
    environ = os.environ | {"PYTHONPATH": str(package.parent)}
    with PseudoTerminal("run", *MODEL, "clear it", environ=environ) as terminal:
        terminal.expect("• steer … \\x1b[2J")
        terminal.expect("It says \\x1b[2J.")
        assert terminal.exit_status() == 0
    assert "\x1b[2J" not in terminal.raw


@pytest.mark.long
def test_on_a_terminal_the_offline_model_hints_at_others(home):
    with PseudoTerminal("run", "hello", environ=os.environ) as terminal:
        terminal.expect("answered by offline/rules, which is not a language model; choose one with --model")
        assert terminal.exit_status() == 0


@pytest.mark.long
@pytest.mark.parametrize(("number", "expected"), some([(signal.SIGINT, 130), (signal.SIGTERM, 143)], 2))
@pytest.mark.one_python
def test_a_signal_ends_the_turn_and_keeps_the_session(home, serve, oneclaw, number, expected):
    beginning = sse([chunk({"role": "assistant", "content": "Slowly"})], done=False)
    server = serve(silence(beginning), text("Here I am."))
    program = [sys.executable, "-m", "oneclaw_core", "run", *MODEL, "--session", "work", "slow"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(60, process.kill)
        watchdog.start()
        assert process.stdout.read(6) == "Slowly"
        process.send_signal(number)
        rest, errors = process.communicate()
        watchdog.cancel()
    assert (process.returncode, rest, errors) == (expected, "\n", "")
    assert server.client_left.wait(60)
    assert oneclaw("run", *MODEL, "--session", "work", "again").stdout == "Here I am.\n"
    sent = [(message["role"], message["content"]) for message in server.bodies[1]["messages"][1:]]
    assert sent == [("user", "slow"), ("assistant", "Slowly"), ("user", "again")]


SCHEMA = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'


def test_output_by_a_schema_is_json_alone(oneclaw, serve, tmp_path):
    (tmp_path / "n.json").write_text(SCHEMA)
    server = serve(calls(("final_result", {"n": "one"})), calls(("final_result", {"n": 1})))
    outcome = oneclaw("run", *MODEL, "--session", "s", "--output-schema", str(tmp_path / "n.json"), "Count.")
    assert (outcome.status, json.loads(outcome.stdout)) == (0, {"n": 1})
    assert "/n: 'one' is not of type 'integer'" in json.dumps(server.bodies[-1], ensure_ascii=False)
    serve(calls(("final_result", {"n": 2})))
    last = events_of(oneclaw("run", *MODEL, "--json", "--output-schema", str(tmp_path / "n.json"), "Count."))[-1]
    assert (last["event"], last["output"]) == ("turn_finished", {"n": 2})
    shown = oneclaw("sessions", "show", "s").stdout
    assert "final_result" not in shown
    assert '{"n":1}' in shown


@pytest.mark.long
def test_without_a_valid_output_there_is_an_error_and_nothing_on_stdout(oneclaw, serve, tmp_path):
    (tmp_path / "n.json").write_text(SCHEMA)
    serve(*[calls(("final_result", {}))] * 3)
    outcome = oneclaw("run", *MODEL, "--output-schema", str(tmp_path / "n.json"), "Count.")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert "gave no valid output: /: 'n' is a required property" in outcome.stderr


@pytest.mark.parametrize("content", ["", "[1]", '{"type": "object", "properties": 1}'])
def test_a_file_that_is_no_schema(oneclaw, tmp_path, content):
    (tmp_path / "n.json").write_text(content)
    outcome = oneclaw("run", "--output-schema", str(tmp_path / "n.json"), "Count.")
    assert (outcome.status, outcome.stdout) == (2, "")
