"""Servers that send tool calls as text: what runs, what asks, what the user is told."""

import json

import pytest
from model_server import ModelServer, calls, chunk, raw, sse, text
from test_every_model import WIRES, addresses, ended, of_type, said, stored

from oneclaw_core.types.events import NoticeEvent, RetryEvent, TextEvent, ToolCallEvent, ToolResultEvent

CHAT = WIRES["openai_compatible"]
TIME = '<tool_call>\n{"name": "get_current_time", "arguments": {"timezone": "UTC"}}\n</tool_call>'
WRITE = '{"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}'


def asked(tmp_path, *script, message="Hello"):
    with ModelServer(list(script)) as server:
        events = said(tmp_path, addresses(server), CHAT, message)
    return events, server.bodies


def failed(tmp_path, *script):
    with ModelServer(list(script)) as server:
        done = ended(tmp_path, addresses(server), "run", "--session", "s", "--model", CHAT.full_model, "Hello")
    assert done.returncode == 1
    return done


@pytest.mark.parametrize("pieces", [1, 3, 40])
def test_a_call_to_a_tool_that_only_reads_runs_and_the_user_is_told(tmp_path, pieces):
    events, bodies = asked(tmp_path, text(TIME, pieces=pieces), text("Late."))
    assert [(each.name, each.arguments) for each in of_type(ToolCallEvent, events)] == [
        ("get_current_time", {"timezone": "UTC"})
    ]
    assert of_type(ToolResultEvent, events)[0].result.is_success
    assert "".join(each.text for each in of_type(TextEvent, events)) == events[-1].text == "Late."
    [notice] = of_type(NoticeEvent, events)
    assert "sends tool calls as text" in notice.notice
    assert "--jinja" in notice.notice
    # The model reads the call as it would have come.
    assistant = bodies[1]["messages"][-2]
    assert assistant["content"] is None
    assert assistant["tool_calls"][0]["function"]["name"] == "get_current_time"


def test_a_call_to_a_tool_with_effects_asks_whatever_was_allowed_before(tmp_path):
    with ModelServer([text(WRITE), text("It was denied.")]) as server:
        allowed = ("--allow", "files.write", "--session", "s", "--model", CHAT.full_model)
        done = ended(tmp_path, addresses(server), "run", *allowed, "Write it")
    assert done.returncode == 0
    assert "calls.as_text" in server.bodies[1]["messages"][-1]["content"]
    assert not list(tmp_path.rglob("a.txt"))


@pytest.mark.parametrize(
    "answer",
    [
        '<tool_call>\n{"name": "no_such_tool", "arguments": {}}\n</tool_call>',
        '{"name": "get_current_time", "arguments": {"zone": {}, "timezone": [1]}}',
        f"Let me look.\n\n{TIME}",
    ],
    ids=["unknown tool", "wrong arguments", "behind a text"],
)
def test_a_call_that_cannot_be_run_is_an_error_that_says_how_to_fix_it(tmp_path, answer):
    done = failed(tmp_path, text(answer))
    assert "sends tool calls as text" in done.stderr
    assert "trying again" not in done.stderr
    assert "<tool_call>" not in done.stdout


def test_a_server_that_has_sent_calls_as_calls_is_asked_again(tmp_path):
    events, bodies = asked(
        tmp_path, calls(("get_current_time", {})), text(TIME), calls(("get_current_time", {})), text("Late.")
    )
    assert len(of_type(ToolCallEvent, events)) == 2
    assert "wrote a call of get_current_time as text" in of_type(RetryEvent, events)[0].reason
    told = bodies[2]["messages"][-2:]
    assert [each["role"] for each in told] == ["assistant", "user"]
    assert "could not be read" in told[1]["content"]
    # What the model was told is not part of the conversation.
    assert "could not be read" not in json.dumps(bodies[3])
    assert events[-1].text == "Late."


@pytest.mark.long
def test_an_answer_that_only_looks_like_a_call_is_an_answer(tmp_path):
    for answer in ('{"name": "Oslo", "population": 7}', f"A call:\n```\n{TIME}\n```", "[x](y)", '{"name": "o", "args'):
        events, _ = asked(tmp_path, text(answer, pieces=9))
        assert "".join(each.text for each in of_type(TextEvent, events)) == events[-1].text == answer


def test_half_a_call_is_no_call(tmp_path):
    half = raw(sse([chunk({"content": TIME[:-12]}), chunk({}, "length")]))
    assert "cannot be run" in failed(tmp_path, half).stderr
    assert not [each for each in stored(tmp_path)[0] if each.tool_name]
