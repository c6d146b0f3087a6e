"""Answers that are empty or cut by the token limit, with every wire format."""

import json

import pytest
from how_long import some
from model_server import ModelServer, chunk, raw, sse
from test_every_model import WIRES, addresses, command, ended, every_format, of_type, said, stored
from wire_formats import SEAL

from oneclaw_core.errors import ProviderError
from oneclaw_core.types.events import RetryEvent, ToolCallEvent, ToolResultEvent, TurnFinishedEvent, UsageEvent
from oneclaw_core.types.messages import MessageType, ToolCallStatus

CHAT = WIRES["openai_compatible"]
SEALING = ("anthropic", "gemini", "openai")
TIME = ("get_current_time", {"timezone": "Asia/Tokyo"})
HALF = ("write_file", '{"path": "story.txt", "content": "Once upon a')


@every_format
def test_an_empty_answer_is_asked_for_once_more(tmp_path, wire):
    with ModelServer([wire.says_nothing(), wire.says("Hello."), wire.says("Bye.")]) as server:
        events = said(tmp_path, addresses(server), wire, "Hello")
        said(tmp_path, addresses(server), wire, "Bye")
    [retry] = of_type(RetryEvent, events)
    assert f"{wire.full_model} answered with nothing (finish reason: {wire.finish_reasons[0]})" in retry.reason
    assert [event.usage for event in of_type(UsageEvent, events)] == [wire.usage] * 2
    assert server.contents[0] == server.contents[1]
    wire.assert_goes_on(*server.contents[1:])
    assert [message.content for message in stored(tmp_path)[0]] == ["Hello", "Hello.", "Bye", "Bye."]


@pytest.mark.long
@every_format
def test_a_second_empty_answer_is_an_error_after_which_the_session_goes_on(tmp_path, wire):
    with ModelServer([wire.says_nothing(), wire.says_nothing(), wire.says("Hello.")]) as server:
        finished = ended(tmp_path, addresses(server), "run", "--session", "s", "--model", wire.full_model, "Hello")
        events = said(tmp_path, addresses(server), wire, "Hello?")
    assert finished.returncode == 1
    assert f"{wire.full_model} answered with nothing (finish reason: {wire.finish_reasons[0]})" in finished.stderr
    assert isinstance(events[-1], TurnFinishedEvent)
    assert len(server.bodies) == 3
    assert [message.content for message in stored(tmp_path)[0]] == ["Hello", "Hello?", "Hello."]
    assert json.loads(command(tmp_path, "usage", "--json"))["total"]["requests"] == 3


@pytest.mark.long
@every_format
def test_tokens_spent_before_anything_was_said_are_reported_with_what_to_do(tmp_path, wire):
    spent = wire.says_nothing(reaches_limit=True)
    told = rf"\(finish reason: {wire.finish_reasons[1]}\); .* models set {wire.full_model} max_output_tokens NUMBER"
    with ModelServer([spent, spent]) as server, pytest.raises(ProviderError, match=told):
        said(tmp_path, addresses(server), wire, "Hello")
    assert len(server.bodies) == 2


@pytest.mark.long
def test_thoughts_alone_are_an_empty_answer(tmp_path):
    with ModelServer([CHAT.says("\n", thought="Hm."), CHAT.says("Hello.")]) as server:
        assert said(tmp_path, addresses(server), CHAT, "Hello")[-1].text == "Hello."
    assert [message.content for message in stored(tmp_path)[0]] == ["Hello", "Hello."]


@pytest.mark.long
@every_format
@pytest.mark.parametrize("thought", [None, "Long."], ids=["plain", "with-thoughts"])
def test_a_call_that_the_token_limit_cut_is_reported_to_the_model_and_the_turn_goes_on(tmp_path, wire, thought):
    cut = wire.is_cut(TIME, half=HALF, content="I write it.", thought=thought)
    with ModelServer([cut, wire.says("In parts, then."), wire.says("Bye.")]) as server:
        events = said(tmp_path, addresses(server), wire, "Write a story")
        said(tmp_path, addresses(server), wire, "Bye")
    outcomes = {event.name: event.result for event in of_type(ToolResultEvent, events)}
    assert outcomes["get_current_time"].is_success
    assert outcomes["write_file"].to_dict() == {
        "status": "error",
        "error_type": "cut_off",
        "message": f"The call was cut by the limit of {wire.usage.output_tokens} output tokens and did not run; "
        "split the work into smaller calls.",
    }
    assert [event.name for event in of_type(ToolCallEvent, events)] == ["get_current_time", "write_file"]
    assert events[-1].text == "In parts, then."
    # What is kept of it is what goes back to the service, in this turn and in later ones.
    history = stored(tmp_path)[0]
    assert next(message.content for message in history if message.type is MessageType.ASSISTANT) == "I write it."
    called = {message.tool_name: message for message in history if message.type is MessageType.TOOL_CALL}
    assert json.loads(called["get_current_time"].tool_input) == TIME[1]
    assert (called["write_file"].tool_input, called["write_file"].tool_status) == ("{}", ToolCallStatus.ERROR)
    for body in server.bodies[1:]:
        sent = json.dumps(wire.history(body))
        assert "cut by the limit of" in sent
        assert "Once upon a" not in sent
        assert "I write it." in sent
        assert (SEAL in sent) == (thought is not None and wire.provider in SEALING)
    wire.assert_goes_on(*server.contents[1:])


@pytest.mark.long
def test_a_model_whose_calls_are_cut_again_and_again_explains_itself(tmp_path):
    cuts = [CHAT.is_cut(half=HALF, content=f"Attempt {number}.") for number in range(3)]
    with ModelServer([*cuts, CHAT.says("It is too long for me.")]) as server:
        events = said(tmp_path, addresses(server), CHAT, "Write a story")
    assert events[-1].text == "It is too long for me."
    assert "tools" not in server.bodies[3]
    assert [message.tool_status for message in stored(tmp_path)[0] if message.tool_name] == [ToolCallStatus.ERROR] * 6


@pytest.mark.long
def test_a_cut_call_of_the_dispatcher_is_one_of_the_tool_that_it_names(tmp_path):
    half = ("use_tool", '{"name": "pdf_info", "arguments": {"path": "')
    with ModelServer([CHAT.is_cut(half=half, content=""), CHAT.says("Later.")]) as server:
        command(tmp_path, "models", "set", CHAT.full_model, "tool_loading", "dispatch")
        events = said(tmp_path, addresses(server), CHAT, "Read it")
    [outcome] = of_type(ToolResultEvent, events)
    assert (outcome.name, outcome.result.error_type) == ("pdf_info", "cut_off")
    [call] = server.bodies[1]["messages"][-2]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"name": "pdf_info", "arguments": {}}


@pytest.mark.long
@pytest.mark.parametrize("as_json", some([False, True], 3))
@pytest.mark.parametrize(("reason", "status"), [("length", 1), ("content_filter", 1), ("of_our_own", 1), ("stop", 0)])
def test_an_answer_that_was_cut_off_is_no_success(tmp_path, reason, status, as_json):
    half = raw(sse([chunk({"content": "Half of"}), chunk({}, reason)]))
    with ModelServer([half]) as server:
        arguments = ("run", *(["--json"] if as_json else []), "--model", CHAT.full_model, "Hello")
        finished = ended(tmp_path, addresses(server), *arguments)
    assert finished.returncode == status
    assert "Half of" in finished.stdout
    assert as_json or ("cut off" in finished.stderr or "incomplete" in finished.stderr) == bool(status)
