import json
import re

import pytest
from history_entries import INTERRUPTED, PNG, assistant, call, failure, result, user
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_http_providers.history import AnsweredCall, Exchange, exchanges

from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.tools import ToolResult

ids = st.sampled_from(["a", "b", "c"])
entries = st.one_of(
    st.builds(user, st.just("hi")),
    st.builds(assistant, st.just("yes")),
    st.builds(call, ids),
    st.builds(result, ids),
)


def test_an_answer_has_its_calls_and_these_their_results_wherever_they_stand():
    said, first, second = assistant("I look."), call("a"), call("b")
    found = list(
        exchanges([user("go"), said, first, second, result("b", "two"), user("well?"), result("a", "one", PNG)])
    )
    assert found == [
        user("go"),
        Exchange(
            said,
            [
                AnsweredCall(first, ToolResult.success("one", (PNG,))),
                AnsweredCall(second, ToolResult.success("two")),
            ],
        ),
        user("well?"),
    ]


def test_results_and_new_answers_end_a_round():
    found = list(exchanges([call("a"), result("a"), call("b"), assistant("x"), assistant("y"), call("c")]))
    assert [(each.text, [made.id for made in each.calls]) for each in found] == [
        ("", ["a"]),
        ("", ["b"]),
        ("x", []),
        ("y", ["c"]),
    ]


def test_the_result_that_came_first_is_that_of_the_call():
    [found] = exchanges([call("a"), result("a", "first"), result("a", "second")])
    assert found.calls[0].result.result == "first"


def test_failures_and_interrupted_calls_are_told_in_the_envelope():
    [found] = exchanges([call("a"), call("b"), failure("a", "timeout", "too slow"), result("c")])
    assert [json.loads(each.envelope) for each in found.calls] == [
        {"status": "error", "error_type": "timeout", "message": "too slow"},
        INTERRUPTED,
    ]
    assert [each.result.is_success for each in found.calls] == [False, False]


@given(st.lists(entries, max_size=12))
def test_nothing_said_or_called_is_lost_repeated_or_reordered(history):
    found = []
    for entry in exchanges(history):
        if isinstance(entry, Message):
            found.append(entry)
        else:
            found += [entry.answer] if entry.answer is not None else []
            found += [each.message for each in entry.calls]
    assert found == [each for each in history if each.type is not MessageType.TOOL_RESULT]


@pytest.mark.parametrize("written", ["", " ", None, "{", "[1]", "null", '{"a": NaN}', "[" * 50_000])
def test_arguments_that_are_no_json_object_are_none(written):
    made = AnsweredCall(call("a", arguments=written), ToolResult.success())
    assert (made.arguments, made.arguments_text) == ({}, "{}")


def test_arguments_stay_as_they_were_written():
    made = AnsweredCall(call("a", arguments='{ "b":1,"a": 2 }'), ToolResult.success())
    assert (made.arguments, made.arguments_text) == ({"b": 1, "a": 2}, '{ "b":1,"a": 2 }')


@pytest.mark.parametrize("name", ["find", "web.search: now!", "x" * 80, "", None, "größe"])
def test_names_are_made_acceptable(name):
    made = AnsweredCall(call("a", name), ToolResult.success())
    assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", made.name)
    assert (made.name == name) is (name == "find")


@pytest.mark.parametrize("data", [None, {}, {"other": {"x": 1}}, {"ours": [1]}, {"ours": None}])
def test_what_was_not_noted_for_a_wire_format_is_empty(data):
    assert Exchange(assistant("x", data)).provider_data("ours") == Exchange().provider_data("ours") == {}
    assert Exchange(assistant("x", {"ours": {"x": 1}})).provider_data("ours") == {"x": 1}
