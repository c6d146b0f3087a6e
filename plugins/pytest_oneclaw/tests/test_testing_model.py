"""The scripted model, and the assertions about what a turn did."""

import greeting_plugin
import pytest
from pytest_oneclaw import (
    assert_group_loaded,
    assert_group_not_loaded,
    assert_permission_asked,
    assert_tool_called,
    assert_tool_error,
    assert_tool_not_called,
    assert_tool_not_offered,
    assert_tool_offered,
    assert_tool_succeeded,
)

from oneclaw_core import ToolCall
from oneclaw_core.providers import ModelResponse, ProviderUnavailableError


@pytest.fixture
def oneclaw_plugins():
    return [greeting_plugin]


@pytest.mark.long
def test_a_group_is_loaded_and_its_tool_called(oneclaw, model):
    model.calls("load_tool_group", group_name="greetings").calls("greet", who="Ada").then("I greeted Ada.")

    turn = oneclaw.send("Greet Ada")

    assert turn.text == "I greeted Ada."
    assert_group_loaded(turn, "greetings")
    call = assert_tool_called(turn, "greet", who="Ada")
    assert assert_tool_succeeded(call) == "Hello Ada"
    assert [call.name for call in turn.tool_calls] == ["load_tool_group", "greet"]
    assert len(model.requests) == 3
    assert "greetings" in model.requests[0].system_prompt
    assert_tool_not_offered(model.requests[0], "greet")
    assert_tool_offered(model.requests[1], "greet")
    assert model.requests[2].messages[-1].content == "Hello Ada"


@pytest.mark.long
def test_offline_rules_answer_where_there_is_no_script(oneclaw):
    turn = oneclaw.send("Greet Ada by name")

    assert_group_loaded(turn, "greetings")
    assert_tool_called(turn, "greet")


def test_messages_are_one_conversation(oneclaw, model):
    model.calls("load_tool_group", group_name="greetings").then("Ready.")
    oneclaw.send("Get ready")
    model.calls("greet", who="Ada").then("Done.")
    second = oneclaw.send("Now greet")
    model.says("Hello.")
    oneclaw.send("And anew", session=None)

    assert_group_not_loaded(second, "greetings")
    assert_group_loaded(oneclaw, "greetings")
    assert_tool_succeeded(assert_tool_called(second, "greet"))
    assert_tool_not_offered(model.requests[-1], "greet")


def test_calls_in_one_answer_run_together(oneclaw, model):
    model.calls("load_tool_group", group_name="greetings")
    model.says("Both.").also_calls("greet", who="Ada").also_calls("greet", who="nobody")
    model.then("Done.")

    turn = oneclaw.send("Greet Ada and nobody")

    assert_tool_succeeded(assert_tool_called(turn, "greet", who="Ada"))
    assert_tool_error(assert_tool_called(turn, "greet", who="nobody"), "nobody_there", match="ask the user")
    assert len(model.requests) == 3


def test_there_is_nothing_to_add_a_call_to(model):
    with pytest.raises(ValueError, match="none before it"):
        model.also_calls("greet", who="Ada")


def test_arguments_that_are_no_json(oneclaw, model):
    model.calls("load_tool_group", group_name="greetings").calls("greet", '{"who": ').then("Sorry.")

    assert_tool_error(assert_tool_called(oneclaw.send("Greet"), "greet"), "validation_error")


def test_a_function_makes_the_answer(oneclaw, model):
    model.then(lambda request: ModelResponse(tool_calls=(ToolCall("1", "get_current_time", "{}"),)))
    model.then(lambda request: f"It is {request.messages[-1].content}.")

    turn = oneclaw.send("What time is it?")

    assert turn.text == f"It is {turn.tool_calls[0].result.result}."


def test_the_service_fails(oneclaw, model):
    model.fails(ProviderUnavailableError("overloaded"))

    with pytest.raises(ProviderUnavailableError, match="overloaded"):
        oneclaw.send("Hello")


def test_an_answer_that_is_missing_fails_the_test(oneclaw_factory):
    home = oneclaw_factory([greeting_plugin])
    home.model.calls("get_current_time")

    with pytest.raises(AssertionError) as caught:
        home.send("What time is it?")

    message = str(caught.value)
    assert "was asked for answer 2, and its script has 1" in message
    assert "1. calls get_current_time({})" in message
    assert "model.then('Done.')" in message
    home.model.faults.clear()


def test_answers_that_were_not_asked_for_fail_the_test(oneclaw, model):
    model.says("One").then("Two").calls("greet", who="Ada")
    oneclaw.send("Hello")

    with pytest.raises(AssertionError, match=r"(?s)the last 2 of its answers:\n  says 'Two'\n  calls greet\(.*Ada"):
        oneclaw.check_model_is_done()
    model.then("Three")
    oneclaw.send("Again")
    oneclaw.send("And again")


def test_assertions_say_what_happened_instead(oneclaw, model):
    model.calls("load_tool_group", group_name="greetings").calls("greet", who="nobody").then("No one.")
    turn = oneclaw.send("Greet")
    good = oneclaw.call_tool("greet", who="Ada")

    with pytest.raises(AssertionError, match=r'(?s)greet was not called with \{"who": "Ada"\}.*greet\(.*nobody_there'):
        assert_tool_called(turn, "greet", who="Ada")
    with pytest.raises(AssertionError, match=r"fetch_greeting was not called; called were:\n  load_tool_group"):
        assert_tool_called(turn, "fetch_greeting")
    with pytest.raises(AssertionError, match="greet was called"):
        assert_tool_not_called(turn, "greet")
    with pytest.raises(AssertionError, match="'pdf' was not loaded; loaded: greetings"):
        assert_group_loaded(turn, "pdf")
    with pytest.raises(AssertionError, match="'greetings' was loaded"):
        assert_group_not_loaded(turn, "greetings")
    with pytest.raises(AssertionError, match=r"greet\(.*\) failed with nobody_there: There is no one"):
        assert_tool_succeeded(assert_tool_called(turn, "greet"))
    with pytest.raises(AssertionError, match="succeeded, though timeout was expected: Hello Ada"):
        assert_tool_error(good, "timeout")
    with pytest.raises(AssertionError, match="failed with nobody_there, not timeout"):
        assert_tool_error(turn.tool_calls[1], "timeout")
    with pytest.raises(AssertionError, match="does not match 'somebody'"):
        assert_tool_error(turn.tool_calls[1], "nobody_there", match="somebody")
    with pytest.raises(AssertionError, match=r"not asked for files\.write; asked was for:\n  nothing"):
        assert_permission_asked(oneclaw.user, "files.write")
    with pytest.raises(AssertionError, match="was not offered greet; it was offered: load_tool_group"):
        assert_tool_offered(model.requests[0], "greet")
    with pytest.raises(AssertionError, match="was offered greet"):
        assert_tool_not_offered(model.requests[1], "greet")
    assert "answer: No one." in str(turn)
