"""A level of reasoning in the words of each generation of models."""

import json

import pytest
from history_entries import user
from oneclaw_anthropic.thinking import takes_effort, thinking_parameters
from oneclaw_anthropic.wire import Concessions, RequestEncoder
from provider_session import hello


def body(model, level, most=None, **fields):
    request = hello(model, messages=(user("hi"),), reasoning=level, **fields)
    return json.loads(RequestEncoder("https://x").encode(request, Concessions(max_tokens=most)))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-3-5-sonnet-20241022", False),
        ("claude-3-7-sonnet-latest", False),
        ("claude-opus-4-20250514", False),
        ("claude-opus-4-1-20250805", False),
        ("claude-sonnet-4-5", False),
        ("claude-haiku-4-5-20251001", False),
        ("anthropic/claude-sonnet-4.5", False),
        ("glm-5", False),
        ("claude-opus-4-6", True),
        ("anthropic.claude-opus-4-7-v1:0", True),
        ("claude-opus-4.8", True),
        ("claude-sonnet-5", True),
        ("claude-fable-5-1", True),
        ("claude-next", True),
    ],
)
def test_the_generation_is_known_by_the_name(model, expected):
    assert takes_effort(model) is expected


@pytest.mark.parametrize(
    ("model", "level", "expected"),
    [
        ("claude-haiku-4-5", "off", {"thinking": {"type": "disabled"}}),
        ("claude-haiku-4-5", "low", {"thinking": {"type": "enabled", "budget_tokens": 2_048}}),
        ("claude-sonnet-5", "off", {"thinking": {"type": "disabled"}}),
        ("claude-sonnet-5", "high", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        ("claude-fable-5", "low", {"output_config": {"effort": "low"}}),
    ],
)
def test_a_level_is_written_as_the_generation_wants_it(model, level, expected):
    sent = body(model, level)
    assert {name: sent[name] for name in ("thinking", "output_config") if name in sent} == expected


def test_a_level_takes_the_place_of_what_says_the_same_and_of_nothing_else():
    given = {
        "thinking": {"type": "enabled", "budget_tokens": 9, "display": "omitted"},
        "output_config": {"effort": "max", "format": {"type": "json_schema"}},
    }
    assert thinking_parameters("claude-opus-5", "low", given) == {
        "thinking": {"type": "adaptive", "display": "omitted"},
        "output_config": {"effort": "low", "format": {"type": "json_schema"}},
    }


@pytest.mark.parametrize(
    ("fields", "most", "max_tokens", "budget"),
    [
        ({}, None, 32_384, 16_384),
        ({}, 8_192, 8_192, 4_096),
        ({"max_output_tokens": 4_000}, None, 20_384, 16_384),
        ({"max_output_tokens": 20_000}, None, 20_000, 16_384),
        ({"max_output_tokens": 4_000}, 1_500, 1_500, None),
    ],
)
def test_thoughts_leave_room_for_the_answer(fields, most, max_tokens, budget):
    sent = body("claude-haiku-4-5", "high", most, **fields)
    assert sent["max_tokens"] == max_tokens
    assert sent.get("thinking", {}).get("budget_tokens") == budget


def test_a_model_that_does_not_think_keeps_its_temperature():
    parameters = {"temperature": 0.3}
    assert "temperature" not in body("claude-sonnet-5", "low", parameters=parameters)
    assert body("claude-sonnet-5", "off", parameters=parameters)["temperature"] == 0.3
