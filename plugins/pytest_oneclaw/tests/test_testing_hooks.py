"""Hooks of a plugin under test, called through the plugins of a home."""

import pytest
from pytest_oneclaw import made_call, made_outcome, made_session, made_turn

from oneclaw_core import Deny, PromptSection, ToolResult, UsageError, hookimpl


class Policy:
    __name__ = "policy"

    def __init__(self):
        self.seen = []

    @hookimpl
    async def before_turn(self, turn):
        return Deny("no greetings") if turn.text == "Hello" else None

    @hookimpl
    def before_tool_call(self, call):
        return Deny("no sudo") if "sudo" in call.arguments.get("command", "") else None

    @hookimpl
    def rewrite_tool_call(self, call):
        return {**call.arguments, "seen": True}

    @hookimpl
    def rewrite_tool_result(self, result):
        return ToolResult.success(result.result.replace("key", "***"))

    @hookimpl
    def message_context(self, turn):
        return f"about {turn.text}"

    @hookimpl
    def prompt_sections(self, session):
        return [PromptSection("a", session.id)]

    @hookimpl
    def turn_finished(self, turn, outcome):
        self.seen.append((turn.text, outcome.text))


@pytest.fixture
def policy():
    return Policy()


@pytest.fixture
def oneclaw_plugins(policy):
    return [policy]


def test_gates_return_their_verdict(oneclaw):
    refusal = oneclaw.call_hook("before_tool_call", call=made_call("exec", {"command": "sudo ls"}))
    assert refusal == Deny("The plugin policy refuses this: no sudo")
    assert oneclaw.call_hook("before_tool_call", call=made_call("exec", {"command": "ls"})) is None
    assert isinstance(oneclaw.call_hook("before_turn", turn=made_turn()), Deny)


def test_rewriters_return_what_is_used(oneclaw):
    assert oneclaw.call_hook("rewrite_tool_call", call=made_call("exec", {"a": 1})) == {"a": 1, "seen": True}
    result = oneclaw.call_hook("rewrite_tool_result", call=made_call("exec"), result=ToolResult.success("a key"))
    assert result.result == "a ***"


def test_prompt_hooks_return_their_texts(oneclaw):
    assert oneclaw.call_hook("message_context", turn=made_turn("tea")) == {"policy": "about tea"}
    assert oneclaw.call_hook("prompt_sections", session=made_session(id="s9")) == "s9"


def test_observers_have_had_the_event(oneclaw, policy):
    oneclaw.call_hook("turn_finished", turn=made_turn("tea"), outcome=made_outcome("served"))
    assert policy.seen == [("tea", "served")]


def test_other_hooks_are_refused(oneclaw):
    with pytest.raises(UsageError, match="register_tools"):
        oneclaw.call_hook("register_tools")
