"""Plain sentences that make ``offline/rules`` create an agent, and what of them becomes its instructions."""

import json

import pytest
from history_entries import user

from oneclaw_core import ToolRegistry
from oneclaw_core.plugins.loading import load_plugins
from oneclaw_core.providers.base import ModelRequest
from oneclaw_core.providers.offline.rules import decide
from oneclaw_core.tools.groups import active_tools


@pytest.fixture(scope="module")
def registry() -> ToolRegistry:
    return load_plugins(()).registry


def answer(registry, message):
    tools = active_tools(registry, [])
    return decide(ModelRequest(model="rules", system_prompt="", messages=(user(message),), tools=tools, session_id="s"))


@pytest.mark.parametrize(
    ("message", "name", "prompt"),
    [
        ("create an agent named Poet that writes poems", "Poet", "writes poems"),
        ("Create a new agent called Poet that writes poems.", "Poet", "writes poems"),
        ('Make a new agent named "Code Reviewer" who reviews Python code for bugs.', "Code Reviewer", None),
        ('create an agent named Poet with instructions "Write poems."', "Poet", "Write poems."),
        ("Create an agent called Helper, system prompt: You help people.", "Helper", "You help people."),
    ],
)
def test_sentences_that_create_an_agent(registry, message, name, prompt):
    [call] = answer(registry, message).tool_calls
    arguments = json.loads(call.arguments)
    assert (call.name, arguments["name"]) == ("create_agent", name)
    assert arguments["system_prompt"] == (prompt or "reviews Python code for bugs")


def test_what_is_missing_is_asked_for(registry):
    found = answer(registry, "create an agent")
    assert found.tool_calls == ()
    assert "`name`" in found.text


@pytest.mark.parametrize(
    ("message", "tool"),
    [("create a file notes.txt that says hello", "write_file"), ("what time is it in Tokyo?", "get_current_time")],
)
def test_other_sentences_go_where_they_went(registry, message, tool):
    assert [call.name for call in answer(registry, message).tool_calls] == [tool]
