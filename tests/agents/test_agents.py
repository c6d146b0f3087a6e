"""What an agent can be, and what it cannot."""

import pytest

from oneclaw_core import Agent, AgentError, AgentLimits, ToolSelection
from oneclaw_core.types.agents import BUILTIN_AGENTS, GENERAL_ASSISTANT, builtin_agent, name_key


def agent(**fields):
    return Agent(**{"name": "Poet", "description": "", "system_prompt": "You write poems.", **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "P" * 100},
        {"name": "Dichter 詩人 🖋"},
        {"system_prompt": "x" * 50_000},
        {"system_prompt": "two\nlines\n\tand a tab"},
        {"model": "openai/gpt"},
        {"model": "lab/meta/llama:70b"},
        {"parameters": {"temperature": 0}},
        {"parameters": {"temperature": 2.0, "top_p": 0.5, "stop": ["."]}},
        {"limits": AgentLimits(max_tool_rounds=1, turn_max_tokens=1, turn_max_cost=0.01)},
        {"selection": ToolSelection(frozenset({"read_file"}), frozenset())},
    ],
)
def test_what_an_agent_can_be(fields):
    made = agent(**fields)
    assert all(getattr(made, name) == value for name, value in fields.items())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": ""}, "name must not be empty"),
        ({"name": "P" * 101}, "at most 100 characters"),
        ({"name": " Poet"}, "without spaces around it"),
        ({"name": "Po\net"}, "one line"),
        ({"name": "Po\x1b[31met"}, "control characters"),
        ({"name": "Po\u202eet"}, "control characters"),
        ({"name": "Po\ud800et"}, "control characters"),
        ({"name": None}, "must be a text"),
        ({"description": "a\nb"}, "description is one line"),
        ({"description": "d" * 1001}, "at most 1,000"),
        ({"system_prompt": ""}, "system_prompt must not be empty"),
        ({"system_prompt": " \n"}, "system_prompt must not be empty"),
        ({"system_prompt": "x" * 50_001}, "at most 50,000 characters, and this one has 50,001"),
        ({"system_prompt": 5}, "system_prompt"),
        ({"model": "gpt"}, "PROVIDER/MODEL"),
        ({"model": "/gpt"}, "PROVIDER/MODEL"),
        ({"model": "openai/"}, "PROVIDER/MODEL"),
        ({"model": "openai/gpt\n"}, "PROVIDER/MODEL"),
        ({"model": ""}, "PROVIDER/MODEL"),
        ({"model": "openai/" + "g" * 300}, "PROVIDER/MODEL"),
        ({"parameters": {"temperature": -0.1}}, "temperature must be a number from 0 to 2"),
        ({"parameters": {"temperature": 2.1}}, "temperature must be a number from 0 to 2"),
        ({"parameters": {"temperature": True}}, "temperature must be a number from 0 to 2"),
        ({"parameters": {"temperature": "hot"}}, "temperature must be a number from 0 to 2"),
        ({"parameters": {"temperature": float("nan")}}, "JSON"),
        ({"parameters": {"x": object()}}, "JSON"),
        ({"parameters": {"x y": 1}}, "name of a parameter"),
        ({"parameters": {"x": "y" * 10_000}}, "at most 10,000"),
        ({"selection": ToolSelection(frozenset({"a b"}))}, "name of a tool"),
        ({"selection": ToolSelection(groups=frozenset({"; rm"}))}, "name of a tool"),
        ({"selection": ToolSelection(frozenset({5}))}, "name of a tool"),
    ],
)
def test_what_an_agent_cannot_be(fields, words):
    with pytest.raises(AgentError, match=words) as caught:
        agent(**fields)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "limits",
    [
        {"max_tool_rounds": 0},
        {"max_tool_rounds": 1.5},
        {"max_tool_rounds": True},
        {"turn_max_tokens": -1},
        {"turn_max_tokens": 10**30},
        {"turn_max_cost": 0},
        {"turn_max_cost": float("inf")},
        {"turn_max_cost": "1"},
    ],
)
def test_limits_are_above_zero(limits):
    with pytest.raises(AgentError, match=next(iter(limits))):
        AgentLimits(**limits)


@pytest.mark.parametrize(
    ("one", "other"), [("Poet", "POET"), ("Straße", "STRASSE"), ("e\u0301", "\u00c9"), ("\ufb01x", "FIX"), (" a", "a ")]
)
def test_names_that_count_as_the_same(one, other):
    assert name_key(one) == name_key(other)


def test_the_general_assistant_is_found_by_name_and_id():
    assert BUILTIN_AGENTS == (GENERAL_ASSISTANT,)
    assert builtin_agent("GENERAL assistant") is builtin_agent("general-assistant") is GENERAL_ASSISTANT
    assert builtin_agent("Poet") is None
    assert GENERAL_ASSISTANT.selection.is_everything
