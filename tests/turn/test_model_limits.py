"""Limits on what a model is sent and may answer."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from oneclaw_core import ToolCall
from oneclaw_core.compaction.plan import ContextLimits
from oneclaw_core.models.recovery import empty_answer
from oneclaw_core.providers import ModelInfo, ModelResponse
from oneclaw_core.turn.call_records import cut_calls
from oneclaw_core.turn.model import ChosenModel
from oneclaw_core.turn.progress import CUT_OFF
from oneclaw_core.types.messages import MessageType, StopReason, TokenUsage, ToolCallStatus


def model(provider=None, *, max_output_tokens=None, **info):
    info = ModelInfo(name="llama", **info)
    return ChosenModel(provider, SimpleNamespace(name="local"), info, max_output_tokens=max_output_tokens)


@pytest.mark.parametrize(
    ("known", "served", "used"),
    [(128_000, 4_096, 4_096), (4_096, 128_000, 4_096), (None, 4_096, 4_096), (128_000, None, 128_000), (None,) * 3],
)
def test_the_smaller_window_counts(known, served, used):
    asked = []

    async def find_context_window(name):
        asked.append(name)
        return served

    provider = SimpleNamespace(find_context_window=find_context_window)
    measured = asyncio.run(model(provider, context_window=known).measured())
    assert measured.info.context_window == used
    assert (asked, measured.full_name) == (["llama"], "local/llama")


@pytest.mark.parametrize(
    ("wanted", "longest", "reserved"),
    [(None, None, 16_000), (None, 4_000, 4_000), (None, 64_000, 16_000), (30_000, 64_000, 30_000), (500, None, 500)],
)
def test_room_is_kept_for_the_answer(wanted, longest, reserved):
    chosen = model(max_output_tokens=wanted, context_window=100_000)
    chosen = replace(chosen, info=replace(chosen.info, max_output_tokens=longest))
    turn = SimpleNamespace(model=chosen, settings=SimpleNamespace(history_max_characters=9_000))
    limits = ContextLimits.of(turn)
    assert (limits.context_window, limits.reserve_output, limits.history_max_characters) == (100_000, reserved, 9_000)


@pytest.mark.parametrize(("limit", "count"), [(4096, "4,096 "), (None, "")])
def test_a_call_that_the_limit_cut_is_answered_with_what_to_do(limit, count):
    response = ModelResponse(cut_calls=(ToolCall("a", "write_file", '{"te'),), usage=TokenUsage(output_tokens=limit))
    call, failure = cut_calls(response)
    assert (call.tool_call_id, call.tool_name, call.tool_input) == (failure.tool_call_id, "write_file", "{}")
    assert (failure.tool_name, failure.error_type) == ("write_file", CUT_OFF)
    assert failure.content == (
        f"The call was cut by the limit of {count}output tokens and did not run; split the work into smaller calls."
    )
    assert (call.type, call.tool_status, failure.type) == (
        MessageType.TOOL_CALL,
        ToolCallStatus.PENDING,
        MessageType.TOOL_RESULT,
    )
    assert (failure.tool_status, failure.duration_ms) == (ToolCallStatus.ERROR, 0)
    assert call.tool_call_id.startswith("call_")


def test_calls_that_were_cut_stand_before_their_results():
    cut = (ToolCall("a", "write_file", "{"), ToolCall("a", "read_file", "{"))
    found = cut_calls(ModelResponse(cut_calls=cut))
    assert [each.tool_name for each in found] == ["write_file", "read_file"] * 2
    assert len({each.tool_call_id for each in found}) == 2


SAY_IT_DIFFERENTLY = "say it differently, or start a new session"


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        (
            StopReason.LENGTH_LIMIT,
            "it spent all tokens before it said anything: let it think less with: oneclaw models set 'local/a b' "
            "reasoning low, or allow more with: oneclaw models set 'local/a b' max_output_tokens NUMBER",
        ),
        (StopReason.CONTENT_FILTER, SAY_IT_DIFFERENTLY),
        (StopReason.REFUSAL, SAY_IT_DIFFERENTLY),
        (StopReason.COMPLETE, "try again, or choose another model"),
    ],
)
def test_an_empty_answer_is_reported_with_what_to_do(reason, hint):
    for given, said in ((None, str(reason)), ("odd_reason", "odd_reason")):
        error = empty_answer("local/a b", ModelResponse(stop_reason=reason, finish_reason=given))
        assert str(error) == f"local/a b answered with nothing (finish reason: {said}); {hint}"
