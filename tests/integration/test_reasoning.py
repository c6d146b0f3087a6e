"""Reasoning: one portable level for an agent, a model or a run."""

import asyncio
import json

import pytest
from model_server import ModelServer
from test_every_model import EXAMPLES, WIRES, addresses, command, ended, every_format, of_type, override, said
from wire_formats import OTHERS

from oneclaw_core import AgentError, OneClaw, RetryEvent, UsageError

WITH_AGENTS = {"ONECLAW_DISABLED_PLUGINS": OTHERS.removeprefix("agents,")}
HIGH = {
    "openai_compatible": {"reasoning_effort": "high"},
    "openai": {"reasoning": {"effort": "high"}},
    "anthropic": {"thinking": {"type": "enabled", "budget_tokens": 16_384}, "max_tokens": 32_384},
    "gemini": {"generationConfig": {"thinkingConfig": {"thinkingBudget": 24_576}}},
}
# In the words of each service.
REFUSALS = {
    "openai_compatible": '"gemma3:27b" does not support thinking',
    "openai": "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    "anthropic": "adaptive thinking is not supported on this model",
    "gemini": "Thinking level is not supported for this model.",
}
CHAT = WIRES["openai_compatible"]


def levels(server):
    return [body.get("reasoning_effort") for body in server.bodies]


@pytest.mark.long
@every_format
def test_a_level_set_for_a_model_is_what_its_service_calls_it(tmp_path, wire):
    with ModelServer([wire.says("plain"), wire.says("thought")]) as server:
        said(tmp_path, addresses(server), wire, "Hello")
        override(tmp_path, wire, "reasoning", "high")
        said(tmp_path, addresses(server), wire, "Hello", session="other")
    plain, thinking = server.bodies
    changed = {name: value for name, value in thinking.items() if plain.get(name) != value}
    for name in ("prompt_cache_key", "messages", "input", "contents", "system", "instructions"):
        changed.pop(name, None)  # of another session
    assert changed == HIGH[wire.provider]


@every_format
def test_a_level_that_is_refused_is_left_out_once_and_said(tmp_path, wire):
    refusal = wire.refuses(400, REFUSALS[wire.provider])
    with ModelServer([refusal, wire.says("one"), wire.says("two")]) as server:
        override(tmp_path, wire, "reasoning", "high")
        first = said(tmp_path, addresses(server), wire, "Hello")
        second = said(tmp_path, addresses(server), wire, "And?")
    assert [first[-1].text, second[-1].text] == ["one", "two"]
    [notice] = of_type(RetryEvent, first)
    assert "left out: reasoning high" in notice.reason
    assert of_type(RetryEvent, second) == []
    key = next(iter(HIGH[wire.provider]))
    value = HIGH[wire.provider][key]
    assert [body.get(key) == value for body in server.bodies] == [True, False, False]


@pytest.mark.long
def test_another_level_is_tried_although_one_is_refused(tmp_path):
    refusal = CHAT.refuses(400, "Unsupported value: 'reasoning_effort' does not support 'none' with this model.")
    with ModelServer([refusal, CHAT.says("one"), CHAT.says("two")]) as server:
        for level in ("off", "low"):
            ended(tmp_path, addresses(server), "run", "--model", CHAT.full_model, "--reasoning", level, "Hello")
    assert levels(server) == ["none", None, "low"]


@pytest.mark.long
def test_the_level_of_a_run_goes_before_the_agents_and_that_before_the_models(tmp_path):
    with ModelServer(lambda body: CHAT.says("yes")) as server:
        environ = addresses(server)
        override(tmp_path, CHAT, "reasoning", "low")
        thinks = ("--system-prompt", "Think.", "--parameter", "reasoning=medium")
        command(tmp_path, "agents", "create", "Thinker", *thinks, environ=WITH_AGENTS)
        run = ("run", "--model", CHAT.full_model)
        for arguments in ([], ["--agent", "Thinker"], ["--agent", "Thinker", "--reasoning", "high"]):
            assert ended(tmp_path, environ, *run, *arguments, "Hello").returncode == 0
        chat = ended(tmp_path, environ, "chat", "--model", CHAT.full_model, "--reasoning", "off", stdin="Hello\n")
        assert chat.returncode == 0
    assert levels(server) == ["low", "medium", "high", "none"]


@pytest.mark.long
def test_an_agent_that_a_turn_runs_thinks_as_much_unless_it_has_a_level(tmp_path):
    """``create_agent`` with a task runs a turn within the turn."""
    task = {"name": "Helper", "system_prompt": "Help.", "task": "Say yes."}
    script = [CHAT.calls(("create_agent", task)), CHAT.says("Yes."), CHAT.says("Done.")]
    with ModelServer(script) as server:
        arguments = ("run", "--model", CHAT.full_model, "--reasoning", "low", "--allow", "agents.create", "Go")
        assert ended(tmp_path, addresses(server) | WITH_AGENTS, *arguments).returncode == 0
    assert levels(server) == ["low"] * 3


def test_a_services_own_object_is_sent_as_it_is(tmp_path):
    wire = WIRES["openai"]
    with ModelServer([wire.says("one"), wire.says("two")]) as server:
        own = 'reasoning={"effort":"xhigh","summary":"auto"}'
        command(
            tmp_path, "agents", "create", "Own", "--system-prompt", "Think.", "--parameter", own, environ=WITH_AGENTS
        )
        for level in ([], ["--reasoning", "low"]):
            ended(tmp_path, addresses(server), "run", "--agent", "Own", "--model", wire.full_model, *level, "Hello")
    assert [body["reasoning"] for body in server.bodies] == [
        {"effort": "xhigh", "summary": "auto"},
        {"effort": "low", "summary": "auto"},
    ]


def test_what_is_no_level_is_refused_before_anything_is_sent(tmp_path):
    async def attempts():
        environ = {"ONECLAW_DISABLED_PLUGINS": OTHERS}
        async with OneClaw.open(tmp_path, environ=environ, start_directory=EXAMPLES) as claw:
            with pytest.raises(UsageError, match="reasoning is one of off, low, medium, high"):
                await anext(claw.send_message("Hello", reasoning="lots"))
            with pytest.raises(AgentError, match="reasoning is one of off, low, medium, high"):
                await claw.agents.create(name="A", system_prompt="B", parameters={"reasoning": "lots"})

    asyncio.run(attempts())
    assert ended(tmp_path, {}, "run", "--reasoning", "lots", "Hello").returncode == 2
    assert ended(tmp_path, {}, "models", "set", "offline/rules", "reasoning", "lots").returncode == 2


def test_the_preview_of_a_request_shows_the_level(tmp_path):
    with ModelServer([]) as server:
        override(tmp_path, CHAT, "reasoning", "high")
        shown = command(tmp_path, "prompt", "--model", CHAT.full_model, "--wire", "--json", environ=addresses(server))
    assert '"reasoning_effort"' in json.dumps(json.loads(shown))
