"""What whoever sends a message can choose for its turn: the tool groups that it has, and what it may take."""

import asyncio
from types import SimpleNamespace

import pytest

from oneclaw_core import (
    AgentLimits,
    GroupLoadedEvent,
    OneClaw,
    SpendingLimitError,
    ToolResultEvent,
    TurnFinishedEvent,
    TurnLimitError,
    hookimpl,
    tool,
)


@tool
def count_sheep() -> str:
    """Count sheep."""
    return "five sheep"


@tool
def count_goats() -> str:
    """Count goats."""
    return "two goats"


def register_tools(register):
    register(count_sheep, group="sheep")
    register(count_goats, group="goats")


class Farm:
    name, value, dist = "farm", "farm", SimpleNamespace(name="farm", version="1")

    def load(self):
        return SimpleNamespace(register_tools=hookimpl(register_tools))


def events_of(home, message, *, environ=None, **options):
    from oneclaw_core.plugins.loading import discover

    builtin = [point for point in discover() if point.name in ("builtin", "offline")]

    async def run():
        async with OneClaw.open(home, environ=environ or {}, plugins=[*builtin, Farm()]) as claw:
            return [event async for event in claw.send_message(message, **options)]

    return asyncio.run(run())


def called(events):
    return [event.name for event in events if isinstance(event, ToolResultEvent)]


def test_the_groups_are_loaded_before_the_model_is_asked(tmp_path):
    events = events_of(tmp_path, "Count sheep", tool_groups=["sheep"])

    assert [event.group for event in events if isinstance(event, GroupLoadedEvent)] == ["sheep"]
    assert called(events) == ["load_tool_group", "count_sheep"]


def test_no_other_group_is_offered(tmp_path):
    events = events_of(tmp_path, "Count goats", tool_groups=["sheep"])

    assert "count_goats" not in called(events)
    assert isinstance(events[-1], TurnFinishedEvent)


def test_a_turn_without_any_group(tmp_path):
    assert called(events_of(tmp_path, "Count sheep", tool_groups=[])) == []


def test_a_group_that_is_not_there_is_passed_over(tmp_path):
    events = events_of(tmp_path, "Count sheep", tool_groups=["cows", "sheep"])

    assert called(events) == ["load_tool_group", "count_sheep"]


def test_without_a_choice_all_is_as_ever(tmp_path):
    assert called(events_of(tmp_path, "Count goats")) == ["load_tool_group", "count_goats"]


def test_the_limits_of_a_message_hold_beside_the_others(tmp_path):
    with pytest.raises(SpendingLimitError, match="and turn_max_tokens of this message is 1"):
        events_of(tmp_path, "Count sheep", limits=AgentLimits(turn_max_tokens=1))
    with pytest.raises(TurnLimitError, match="after 1 rounds"):
        events_of(tmp_path, "Count sheep", limits=AgentLimits(max_tool_rounds=1))


@pytest.mark.long
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("ONECLAW_TURN_MAX_TOKENS", "and the setting turn_max_tokens allows 1"),
        ("ONECLAW_DAY_MAX_TOKENS", "and the setting day_max_tokens allows 1"),
    ],
)
def test_the_limits_of_the_settings_hold_for_every_message(tmp_path, setting, said):
    with pytest.raises(SpendingLimitError, match=said):
        events_of(tmp_path, "Count sheep", environ={setting: "1"})
    events_of(tmp_path / "another", "Count sheep", environ={setting: "1000000"})


def test_a_setting_limits_the_rounds_of_calls(tmp_path):
    with pytest.raises(TurnLimitError, match="after 1 rounds"):
        events_of(tmp_path, "Count sheep", environ={"ONECLAW_TURN_MAX_TOOL_ROUNDS": "1"})
