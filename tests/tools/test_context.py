"""Keys of calls; turns within tool calls: how deep, for whom the user's answers are, and whose time stands still."""

import asyncio
from dataclasses import replace

from pytest_oneclaw import running_call

from oneclaw_core import ToolContext
from oneclaw_core.files import PathGuard
from oneclaw_core.tools.context import TurnScope, depth_within
from oneclaw_core.types.budget import TurnBudget


def context(tmp_path, session_id, turn=None):
    guard = PathGuard(tmp_path, tmp_path)
    return ToolContext(tmp_path, session_id, "test", "create_agent", "call_1", guard, turn=turn)


def test_depth_counts_the_calls_around_a_turn(tmp_path):
    budget = TurnBudget((), 1)
    first = TurnScope(budget)
    second = TurnScope(budget, context(tmp_path, "a", first))
    third = TurnScope(budget, context(tmp_path, "b", second))
    assert [each.depth for each in (first, second, third)] == [0, 1, 2]
    assert depth_within(context(tmp_path, "c", third)) == 3
    assert depth_within(context(tmp_path, None)) == 1


def test_answers_are_for_the_session_of_the_outermost_turn(tmp_path):
    budget = TurnBudget((), 1)
    first = TurnScope(budget)
    second = TurnScope(budget, context(tmp_path, "top", first))
    third = TurnScope(budget, context(tmp_path, "middle", second))
    assert [each.permission_session("own") for each in (first, second, third)] == ["own", "top", "top"]
    assert TurnScope(budget, context(tmp_path, None)).permission_session("own") is None


def test_the_time_of_all_calls_around_stands_still_while_the_user_is_asked(tmp_path):
    async def main():
        budget, infinite = TurnBudget((), 1), float("inf")
        async with (
            running_call(tmp_path, timeout_seconds=5) as outer,
            running_call(tmp_path, timeout_seconds=5) as inner,
        ):
            second = TurnScope(budget, replace(outer, turn=TurnScope(budget)))
            third = TurnScope(budget, replace(inner, turn=second))
            with third.outer_calls_paused():
                assert outer.remaining_seconds() == inner.remaining_seconds() == infinite
                with second.outer_calls_paused():
                    pass
                assert outer.remaining_seconds() == infinite
            assert 0 < outer.remaining_seconds() <= 5
            assert 0 < inner.remaining_seconds() <= 5
            with TurnScope(budget).outer_calls_paused():
                assert outer.remaining_seconds() <= 5

    asyncio.run(main())


def test_each_call_has_its_own_idempotency_key(tmp_path):
    call = context(tmp_path, "session 1")
    same = context(tmp_path, "session 1").without_services()
    others = [replace(call, session_id="session 2"), replace(call, call_id="call_2"), context(tmp_path, None)]

    assert call.idempotency_key == same.idempotency_key == "9a58c76c-7a33-581a-a286-30012ad7a414"
    assert len({call.idempotency_key, *(each.idempotency_key for each in others)}) == 4
