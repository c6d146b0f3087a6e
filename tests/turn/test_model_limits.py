"""Limits on what a model is sent and may answer."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from oneclaw_core import ToolCall
from oneclaw_core.providers import ModelInfo, ModelResponse
from oneclaw_core.turn.context import context_limits
from oneclaw_core.turn.model import ChosenModel
from oneclaw_core.turn.unusable_answers import CUT_OFF, cut_calls
from oneclaw_core.types.messages import TokenUsage


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
    limits = context_limits(chosen, 9_000)
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
