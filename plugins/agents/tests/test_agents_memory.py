"""Sub-agents leave nothing in memory."""

import pytest
from counted_objects import assert_none_left, counted_objects, freeze_objects

from oneclaw_core import ToolCall
from oneclaw_core.providers import ModelResponse

SPAWN = '{"task": "look", "name": "look"}'


def answer(request):
    """Spawn a sub-agent and wait for it; the sub-agent answers at once."""
    if request.messages[0].content.startswith("look"):
        return ModelResponse(text="Seen.")
    rounds = sum(each.tool_name is not None for each in request.messages) // 2
    calls = (("load_tool_group", '{"group_name": "agents"}'), ("spawn_agent", SPAWN), ("wait_for_agents", "{}"))
    if rounds < len(calls):
        return ModelResponse(tool_calls=(ToolCall("", *calls[rounds]),))
    return ModelResponse(text="Done.")


@pytest.mark.long
def test_agents_leave_no_objects(oneclaw_factory, monkeypatch, caplog):
    caplog.set_level("CRITICAL")  # pytest keeps what is logged
    oneclaw = oneclaw_factory(["agents"])
    monkeypatch.setattr(oneclaw.model, "answer", answer)
    turns = 30

    def take_turns(times, first):
        for number in range(first, first + times):
            turn = oneclaw.send("begin", session=f"s{number}", model="scripted/model")
            assert turn.text == "Done."
            assert [each.result.is_success for each in turn.tool_calls] == [True, True, True]
        oneclaw.tool_calls.clear()
        oneclaw.loaded_groups.clear()

    freeze_objects()
    take_turns(turns, 0)
    before = counted_objects()
    take_turns(turns, turns)
    assert_none_left(before, turns, most_per_call=3)
