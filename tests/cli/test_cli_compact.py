import os
import sys
import threading

import pytest
from model_server import silence, status, text
from pseudo_terminal import CTRL_C, CTRL_D, PseudoTerminal

MODEL = ("--model", "openai_compatible/test")
NOTHING = "There is nothing to summarise: the last turn always stays as it is."


@pytest.fixture
def chat(oneclaw, tmp_path, monkeypatch):
    def talk(*lines, options=MODEL):
        (tmp_path / "lines").write_text("".join(line + "\n" for line in lines))
        with (tmp_path / "lines").open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            return oneclaw("chat", *options)

    return talk


@pytest.mark.long
def test_compact_summarises_all_but_the_last_turn(chat, serve, ok):
    server = serve(text("Hello, Ada."), text("Fine."), text("The user is called Ada."), text("Ada."))
    outcome = chat("I am Ada", "How are you?", "/compact", "Who am I?", options=[*MODEL, "--session", "ada"])
    assert "From now on, the 2 oldest messages are summarised for the model, in about 6 tokens." in outcome.stdout
    asked = server.bodies[2]
    assert asked["messages"][:-1] == [*server.bodies[1]["messages"], {"role": "assistant", "content": "Fine."}]
    assert 'stays in view: "How are you?"' in asked["messages"][-1]["content"]
    summary, *others = server.bodies[3]["messages"][1:]
    assert "The user is called Ada." in summary["content"]
    assert [message["content"] for message in others] == ["How are you?", "Fine.", "Who am I?"]
    shown = ok("sessions", "show", "ada")
    assert "You: I am Ada" in shown
    assert "The user is called Ada." not in shown


def test_compact_twice_has_nothing_to_do_the_second_time(chat, serve):
    server = serve(text("One."), text("Two."), text("Short."))
    assert chat("/compact", "one", "/compact", "two", "/compact", "/compact").stdout.count(NOTHING) == 3
    assert len(server.bodies) == 3


@pytest.mark.long
def test_a_failure_is_told_and_the_conversation_goes_on_whole(chat, serve):
    server = serve(text("One."), text("Two."), status(401), text("Three."))
    outcome = chat("one", "two", "/compact", "three")
    assert "key" in outcome.stderr
    assert outcome.stdout.endswith("Three.\n")
    assert [message["content"] for message in server.bodies[3]["messages"][1:]] == [
        "one",
        "One.",
        "two",
        "Two.",
        "three",
    ]


@pytest.mark.long
@pytest.mark.one_python
def test_ctrl_c_stops_it_and_the_chat_goes_on(serve):
    is_asked = threading.Event()

    def summary(body):
        is_asked.set()
        return silence()

    server = serve(text("One."), text("Two."), summary, text("Three."))
    with PseudoTerminal("chat", *MODEL, environ=os.environ) as terminal:
        terminal.expect(">")
        for line, answer in (("one", "One."), ("two", "Two.")):
            terminal.type(line + "\r")
            terminal.expect(answer)
            terminal.expect(">")
        terminal.type("/compact\r")
        assert is_asked.wait(60)
        terminal.type(CTRL_C)
        terminal.expect("(stopped; the session is kept)")
        terminal.expect(">")
        assert server.client_left.wait(60)
        terminal.type("three\r")
        terminal.expect("Three.")
        terminal.expect(">")
        terminal.type(CTRL_D)
        assert terminal.exit_status() == 0
    assert "Traceback" not in terminal.shown
    assert [each["content"] for each in server.bodies[3]["messages"][1:]] == ["one", "One.", "two", "Two.", "three"]


def test_rules_write_no_summaries(chat):
    outcome = chat("Hello", "Hello again", "/compact", options=())
    assert "not a language model" in outcome.stderr
    assert outcome.status == 1


@pytest.mark.long
def test_what_a_model_is_sent_next_begins_with_the_summary(chat, serve, ok):
    serve(text("One."), text("Two."), text("All is well."))
    chat("one", "two", "/compact", options=[*MODEL, "--session", "work"])
    first, *others = ok("prompt", "--session", "work", "--json")["messages"]
    assert "All is well." in first["content"]
    assert [message["content"] for message in others] == ["two", "Two."]
