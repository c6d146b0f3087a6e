import asyncio
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from model_server import calls, chunk, hang_up_after, silence, sse, status, text
from oneclaw_terminal.clipboard import copy_sequence
from pseudo_terminal import CTRL_C, CTRL_D, PseudoTerminal

from oneclaw_core.channels.commands import OWN_COMMANDS
from oneclaw_core.cli import with_configuration
from oneclaw_core.http import clients as http

pytestmark = pytest.mark.one_python  # needs other plugins

MODEL = ("--model", "openai_compatible/test")


@pytest.fixture
def chat(oneclaw, tmp_path, monkeypatch):
    """Send lines to ``oneclaw chat`` without a terminal: ``chat("hello", "/quit", options=[...])``."""

    def talk(*lines, options=()):
        (tmp_path / "lines").write_text("".join(line + "\n" for line in lines))
        with (tmp_path / "lines").open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            return oneclaw("chat", *options)

    return talk


def roles(body):
    return [message["role"] for message in body["messages"]]


def start_chat(*arguments, **options):
    terminal = PseudoTerminal("chat", *arguments, environ=os.environ, **options)
    terminal.expect("/help lists the commands, Ctrl-D leaves.")
    terminal.expect(">")
    return terminal


def say(terminal, line, expected):
    terminal.type(line + "\r")
    shown = terminal.expect(expected)
    terminal.expect(">")
    return shown


def test_a_conversation_in_a_terminal(serve, home):
    slowly = sse([chunk({"role": "assistant", "content": "Slowly"})], done=False)
    late = calls(("get_current_time", {"timezone": "UTC"}))
    server = serve(text("Hello there."), silence(slowly), late, text("It is late."), text("New here?"))
    with start_chat(*MODEL) as terminal:
        say(terminal, "hi", "Hello there.")

        terminal.type("slow\r")
        terminal.expect("Slowly")
        terminal.type(CTRL_C)
        terminal.expect("(stopped; the session is kept)")
        terminal.expect(">")
        assert server.client_left.wait(60)
        say(terminal, "/session", "messages: 4\n")

        shown = say(terminal, "what time?", "It is late.")
        assert "• get_current_time UTC … 20" in shown
        assert " ms" in shown
        assert roles(server.bodies[2]) == ["system", "user", "assistant", "user", "assistant", "user"]

        assert "load_tool_group" in say(terminal, "/tools", "get_current_time")
        say(terminal, "/clear", "the old one is kept: oneclaw chat --session '")
        say(terminal, "hello again", "New here?")
        assert roles(server.bodies[4]) == ["system", "user"]

        terminal.type(CTRL_D)
        assert terminal.exit_status() == 0
    assert "Traceback" not in terminal.shown
    assert "hello again" in (home / "chat_history").read_text()
    assert stat.S_IMODE((home / "chat_history").stat().st_mode) == 0o600


@pytest.mark.long
def test_a_message_of_two_lines_and_completion(serve):
    server = serve(text("Two lines."))
    with start_chat(*MODEL) as terminal:
        terminal.type(CTRL_C)
        terminal.expect("(Ctrl-C again, /exit or Ctrl-D leaves)")
        terminal.type("first\x1b\rsecond\r")
        terminal.expect("Two lines.")
        terminal.expect(">")
        assert server.bodies[0]["messages"][-1]["content"] == "first\nsecond"
        terminal.type("/qu")
        terminal.expect("Leave.")
        terminal.type("\t\r")
        assert terminal.exit_status() == 0


SLOW_TOOL = """
    import asyncio, os
    from pathlib import Path
    from oneclaw_core import hookimpl, tool

    @tool
    async def look() -> str:
        "Look at it."
        while not Path(os.environ["LOOKED"]).exists():
            await asyncio.sleep(0.01)
        return "It is green."

    @hookimpl
    def register_tools(register):
        register(look)
"""


@pytest.mark.long
def test_typing_while_the_model_works(serve, install_plugin, tmp_path, monkeypatch):
    package = install_plugin("slow", SLOW_TOOL)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("LOOKED", str(tmp_path / "looked"))
    server = serve(calls(("look", {})), text("Vert. **Voila.**"), text("You are welcome."), silence())
    with start_chat(*MODEL) as terminal:
        terminal.type("look\r")
        terminal.expect("• look …")
        terminal.type("/steer in French\r")
        terminal.expect("The model reads it after its next tool call")
        terminal.type("thank you\r")
        terminal.expect("2 waiting")
        terminal.type("half a lin")
        terminal.expect("half a lin")
        (tmp_path / "looked").touch()
        shown = terminal.expect("• look … It is green.")
        terminal.expect("> in French")
        terminal.expect("Vert. Voila.")
        terminal.expect("> thank you")
        terminal.expect("You are welcome.")
        terminal.type("e\r")
        terminal.expect("> half a line")
        terminal.type(CTRL_C)
        terminal.expect("(stopped; the session is kept)")
        terminal.type(CTRL_C)
        assert terminal.exit_status() == 0
    assert "half a lin•" not in shown.replace("\n", "")
    assert [each["content"] for each in server.bodies[2]["messages"] if each["role"] == "user"] == [
        "look",
        "in French",
        "thank you",
    ]


@pytest.mark.long
def test_a_plain_chat_draws_nothing_anew(serve):
    serve(calls(("get_current_time", {"timezone": "UTC"})), text("It is **late**."))
    with PseudoTerminal("chat", "--plain", *MODEL, environ=os.environ) as terminal:
        terminal.expect("> ")
        terminal.type("what time?\n")
        terminal.expect("tool get_current_time UTC: 20")
        terminal.expect("It is **late**.\n> ")
        terminal.type("/exit\n")
        assert terminal.exit_status() == 0
    assert "\x1b" not in terminal.raw.replace("\x1b[2m", "").replace("\x1b[0m", "")


def test_usage_copy_continue_and_exit(chat, serve):
    cut = sse([chunk({"role": "assistant", "content": "Half an"})], done=False)
    serve(text("One."), hang_up_after(cut), text("answer."), text("More."))
    outcome = chat(
        "/usage", "first", "/usage", "/copy", "second", "/continue", "/continue", "/exit", "lost", options=MODEL
    )
    assert "session: 0 requests, 0 tokens read, 0 written, cost $0.00" in outcome.stdout
    assert "context: 11 tokens used, of unknown size\nsession: 1 request, 11 tokens read, 7 written" in outcome.stdout
    assert "There is no terminal to copy to" in outcome.stdout
    assert outcome.stdout.endswith("answer.\nMore.\n")


def test_a_new_chat_continues_the_session_used_last(chat, serve):
    server = serve(text("One."), text("Two."))
    chat("first", options=MODEL)
    outcome = chat("/continue", "second", options=MODEL)
    assert outcome.stdout.startswith("Going on with session ")
    assert roles(server.bodies[1]) == ["system", "user", "assistant", "user"]


def test_a_session_is_picked_from_the_newest(chat):
    offline = ["--model", "offline/rules"]
    chat("first", options=[*offline, "--session", "one"])
    chat("second", options=[*offline, "--session", "two"])
    outcome = chat("/sessions", "/sessions 2", "/session", "/sessions nine", options=offline)
    listed = ["1. two: second", "2. one: first", "/sessions NUMBER goes on with one of them."]
    assert outcome.stdout.splitlines()[:3] == listed
    assert "Going on with session one, 2 messages.\nsession: one" in outcome.stdout
    assert "there is no session 'nine'" in outcome.stderr
    assert "session: one" in chat("/session", options=[*offline, "--session", "one"]).stdout
    assert "session: two" in chat("/session", options=["--continue"]).stdout


def test_the_clipboard_is_filled_through_the_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    assert copy_sequence("Grüße")[0] == "\x1b]52;c;R3LDvMOfZQ==\x07"
    assert copy_sequence("x" * 80_000)[0] == ""
    monkeypatch.setenv("TERM", "linux")
    assert "does not let programs copy" in copy_sequence("text")[1]


@pytest.mark.long
def test_termination_in_the_middle_of_a_turn(serve, ok):
    serve(silence(sse([chunk({"role": "assistant", "content": "Slowly"})], done=False)))
    with start_chat(*MODEL, "--session", "work") as terminal:
        terminal.type("slow\r")
        terminal.expect("Slowly")
        terminal.send_signal()
        assert terminal.exit_status() == 143
    assert "Slowly" in ok("sessions", "show", "work")


def test_lines_from_a_pipe_are_one_session(chat, serve, ok):
    server = serve(text("One."), text("Two."))
    outcome = chat("first", "", "second", options=MODEL)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "One.\nTwo.\n", "")
    assert roles(server.bodies[1]) == ["system", "user", "assistant", "user"]
    (session,) = ok("sessions", "list", "--json")
    assert (session["name"], session["title"]) == (None, "first")


@pytest.mark.long
def test_a_session_with_a_name_goes_on(chat, serve):
    server = serve(text("One."), text("Two."))
    chat("first", options=[*MODEL, "--session", "work"])
    chat("second", options=[*MODEL, "--session", "work"])
    assert roles(server.bodies[1]) == ["system", "user", "assistant", "user"]


def test_nothing_said_leaves_no_session(chat, ok):
    assert chat("/help", "/quit").status == 0
    assert ok("sessions", "list", "--json") == []


@pytest.mark.long
def test_a_turn_that_fails_is_one_line_and_the_chat_goes_on(chat, serve):
    serve(status(401), text("Now it works."))
    outcome = chat("first", "second", options=MODEL)
    assert outcome.stdout == "Now it works.\n"
    assert outcome.stderr.startswith("oneclaw: ")
    assert outcome.stderr.count("\n") == 1
    # A script learns that not all went well.
    assert outcome.status == 1


def test_a_turn_that_fails_unexpectedly_is_one_line_and_in_the_log(chat, install_plugin, home):
    install_plugin(
        "odd",
        """
        from oneclaw_core import hookimpl

        class Odd:
            def stream(self, request):
                raise KeyError("odd")

            async def aclose(self):
                pass

        @hookimpl
        def register_providers(register):
            register("odd", lambda config: Odd())
        """,
    )
    with_configuration(lambda changes: changes.providers.add("odd", "odd"))
    outcome = chat("first", "/session", options=["--model", "odd/x"])
    assert outcome.status == 1
    assert outcome.stderr == f"oneclaw: unexpected KeyError; the traceback is in {home / 'logs' / 'oneclaw.log'}\n"
    assert "messages: 1\n" in outcome.stdout
    assert "KeyError: 'odd'" in (home / "logs" / "oneclaw.log").read_text()


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "says"),
    [(["--model", "no/model"], "the providers are"), (["--agent", "Nobody"], "there is no agent 'Nobody'")],
)
def test_a_model_or_agent_that_there_is_not_ends_it_at_once(chat, options, says):
    outcome = chat("hello", options=options)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert says in outcome.stderr


def test_help_lists_the_commands(chat):
    lines = chat("/help").stdout.splitlines()
    names = [line.split()[0] for line in lines if line.startswith("/")]
    assert names[: len(OWN_COMMANDS)] == [f"/{name}" for name in OWN_COMMANDS]
    assert {"/memory", "/skills"} <= set(names)
    assert {"/help", "/model", "/attach", "/detach", "/clear", "/quit"} <= set(names)


@pytest.mark.long
def test_quit_leaves_the_rest_unread(chat):
    assert chat("/quit", "/help").stdout == ""


def test_an_unknown_command_says_which_are_close_and_sends_nothing(chat, ok):
    outcome = chat("/clera", "/xyzzy")
    assert outcome.status == 1
    first, second = outcome.stderr.splitlines()
    assert "did you mean /clear" in first
    assert "/help lists them" in second
    assert ok("sessions", "list", "--json") == []


@pytest.mark.long
def test_a_space_before_a_slash_makes_it_a_message(chat, serve):
    server = serve(text("A path."))
    assert chat(" /etc/hosts is what?", options=MODEL).stdout == "A path.\n"
    assert "/etc/hosts is what?" in server.bodies[0]["messages"][-1]["content"]


@pytest.mark.usefixtures("all_plugins")
def test_tools_and_groups_follow_what_is_loaded(chat, serve):
    serve(calls(("load_tool_group", {"group_name": "pdf"})), text("Loaded."))
    before, after = chat("/tools", "/groups", "load pdf", "/tools", "/groups", options=MODEL).stdout.split("Loaded.\n")
    assert "pdf_info" not in before
    assert "pdf_info" in after
    (group_before,) = (line for line in before.splitlines() if line.startswith("pdf "))
    (group_after,) = (line for line in after.splitlines() if line.startswith("pdf "))
    assert (group_before.split()[1], group_after.split()[1]) != ("yes", "yes")
    assert group_after.split()[1] == "yes"


def test_the_model_can_be_shown_and_changed(chat, serve):
    serve(text("From the service."))
    outcome = chat("/model", "/model no/model", "/model openai_compatible/test", "hello", "/session")
    assert "model: offline/rules\nmodel: openai_compatible/test\nFrom the service.\n" in outcome.stdout
    assert outcome.stdout.endswith("model: openai_compatible/test\n")
    assert "'no/model'" in outcome.stderr


def test_the_reasoning_can_be_shown_and_changed(chat, serve):
    server = serve(*[text("Yes.")] * 3)
    lines = ("/reasoning", "hi", "/reasoning HIGH", "hi", "/reasoning lots", "/reasoning default", "hi")
    outcome = chat(*lines, options=MODEL)
    assert [body.get("reasoning_effort") for body in server.bodies] == [None, "high", None]
    assert outcome.stdout.startswith("reasoning: as set for the agent or the model\n")
    assert "reasoning: high\n" in outcome.stdout
    assert "/reasoning takes one of: off, low, medium, high, default" in outcome.stderr


def test_verbose_shows_arguments_and_results(chat, serve):
    call = calls(("get_current_time", {"timezone": "UTC"}))
    serve(call, text("Late."), call, text("Later."))
    outcome = chat("/verbose", "what time?", "/verbose", "and now?", options=MODEL)
    verbose, brief = outcome.stderr.split(" ms\n", 2)[0], outcome.stderr.splitlines()[-1]
    assert verbose.startswith(
        '• get_current_time\n    {\n      "timezone": "UTC"\n    }\n• get_current_time … success '
    )
    assert brief.startswith("• get_current_time UTC … 20")


@pytest.mark.parametrize(("model", "prepared"), [(MODEL, 1), ((), 0)])
def test_the_first_request_is_prepared_while_somebody_types(oneclaw, serve, monkeypatch, model, prepared):
    found = []

    class Typist:
        def close(self):
            pass

        async def read(self):
            deadline = time.monotonic() + (20 if prepared else 0)
            while not (ready := http._ssl_context.cache_info().currsize) and time.monotonic() < deadline:
                await asyncio.sleep(0.01)
            found.append(ready)

    serve()
    http._ssl_context.cache_clear()
    monkeypatch.setattr("oneclaw_terminal.chat.is_terminal", lambda stream: True)
    monkeypatch.setattr("oneclaw_terminal.chat.PlainInput", Typist)
    assert oneclaw("chat", "--no-worker", "--plain", *model).status == 0
    assert found == [prepared]


def test_verbose_changes_nothing_for_programs_and_says_so(chat, serve):
    call = calls(("get_current_time", {"timezone": "UTC"}))
    serve(call, text("Late."))
    outcome = chat("/verbose", "what time?", options=[*MODEL, "--json"])
    assert outcome.stderr == "With --json, arguments and results of tool calls are always printed.\n"
    (called,) = [each for each in map(json.loads, outcome.stdout.splitlines()) if each["event"] == "tool_call"]
    assert called["arguments"] == {"timezone": "UTC"}


@pytest.mark.long
def test_output_that_has_no_room_ends_the_chat(home, tmp_path):
    (tmp_path / "lines").write_text("hello\nhello again\n")
    for options in ((), ("--json",)):
        with (tmp_path / "lines").open() as lines, Path("/dev/full").open("w") as full:
            program = [sys.executable, "-m", "oneclaw_core", "chat", *options]
            done = subprocess.run(program, stdin=lines, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1
        assert done.stderr.endswith("No space left on device; make room on the disk, and try again\n")
        assert done.stderr.count("oneclaw: ") == 1


@pytest.mark.long
def test_clear_begins_a_new_session_and_says_how_to_find_the_old_one(chat, serve, ok):
    server = serve(text("One."), text("Two."))
    outcome = chat("first", "/clear", "second", options=[*MODEL, "--session", "my work"])
    assert "the old one is kept: oneclaw chat --session 'my work'" in outcome.stdout
    assert roles(server.bodies[1]) == ["system", "user"]
    assert len(ok("sessions", "list", "--json")) == 2


@pytest.mark.long
def test_events_are_printed_for_programs(chat):
    outcome = chat("What time is it in Tokyo?", "/session", "Hello", options=["--json", "--session", "clock"])
    events = [json.loads(line) for line in outcome.stdout.splitlines()]

    assert outcome.status == 0
    assert {"tool_call", "tool_result", "text", "usage", "turn_finished"} <= {each["event"] for each in events}
    assert [each["session"] for each in events if each["event"] == "turn_finished"] == ["clock", "clock"]
    assert "session: clock" in outcome.stderr


def test_programs_are_told_what_failed(chat, oneclaw):
    wrong = chat("/nonsense", "Hello", options=["--json"])
    events = [json.loads(line) for line in wrong.stdout.splitlines()]
    assert (wrong.status, events[0]["error_type"], events[-1]["event"]) == (1, "UsageError", "turn_finished")

    for options in (("--agent", "nobody"), ("--attach", "nothing.pdf")):
        outcome = oneclaw("chat", "--json", *options)
        assert (outcome.status, outcome.json["event"]) == (2, "error")


CHAT_COMMANDS = """
from oneclaw_core import ChatAnswer, hookimpl


async def dice(context, rest):
    if rest == "loaded":
        raise ValueError("not here")
    if rest == "sent":
        return ChatAnswer(text="thrown", send="Four!", leave=not await context.confirm("Go on?"))
    return "four " + rest


@hookimpl
def register_chat_commands(register):
    register("dice", "oneclaw_casino:dice", help="Throw dice.")
    register("model", "oneclaw_casino:dice", help="Not this one.")
"""


@pytest.mark.long
def test_a_plugin_brings_commands(chat, install_plugin, oneclaw):
    install_plugin("casino", CHAT_COMMANDS)

    outcome = chat("/help", "/dice times", "/dice loaded", "/model", "/dice again")

    assert "/dice                    Throw dice." in outcome.stdout
    assert "Not this one." not in outcome.stdout
    assert "four times\n" in outcome.stdout
    assert "plugin casino: /dice raised ValueError: not here" in outcome.stderr
    assert "model: offline/rules\n" in outcome.stdout
    assert outcome.stdout.endswith("four again\n")
    answered = chat("/dice sent", "not read any more")
    assert answered.stdout.startswith("thrown\n")
    assert [each["title"] for each in oneclaw("sessions", "list", "--json").json] == ["Four!"]
    (record,) = [each for each in oneclaw("plugins", "list", "--json").json if each["name"] == "casino"]
    assert [each["cause"] for each in record["problems"]] == ["the chat command /model is taken"]
