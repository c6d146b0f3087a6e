"""What a turn may still take, and what turns within it take of that."""

from oneclaw_core import TokenUsage
from oneclaw_core.types.spending import Spending, SpendingLimits
from oneclaw_core.types.turn_budget import TurnBudget

DAY = Spending()


def used(tokens):
    return TokenUsage(input_tokens=tokens)


def test_rounds_are_taken_until_there_are_none():
    budget = TurnBudget((), 2)
    assert [budget.take_round() for _ in range(4)] == [True, True, False, False]


def test_rounds_of_a_turn_within_are_taken_of_both():
    outer = TurnBudget((), 3)
    inner = TurnBudget((), 2, outer)
    assert [inner.take_round() for _ in range(3)] == [True, True, False]
    assert [outer.take_round() for _ in range(2)] == [True, False]


def test_a_turn_within_cannot_take_more_rounds_than_are_left():
    inner = TurnBudget((), 100, TurnBudget((), 1))
    assert [inner.take_round() for _ in range(2)] == [True, False]


def test_tokens_and_cost_count_for_both():
    outer = TurnBudget([SpendingLimits(turn_max_tokens=100)], 5)
    one, other = TurnBudget((), 5, outer), TurnBudget((), 5, outer)
    one.add(used(60), 0.1)
    assert one.exceeded(DAY) is other.exceeded(DAY) is outer.exceeded(DAY) is None
    other.add(used(40), None)
    assert outer.spent == Spending(100, 0.1, 1)
    assert (one.spent, other.spent) == (Spending(60, 0.1), Spending(40, 0.0, 1))
    assert "100 tokens" in one.exceeded(DAY)
    assert one.exceeded(DAY) == other.exceeded(DAY) == outer.exceeded(DAY)


def test_of_several_limits_each_holds():
    own = SpendingLimits(turn_max_tokens=10, agent="Slow Poet")
    budget = TurnBudget([own, SpendingLimits(turn_max_tokens=100, day_max_cost=1)], 5)
    assert budget.limit_days
    budget.add(used(10), 0)
    message = budget.exceeded(DAY)
    assert "turn_max_tokens of the agent allows 10" in message
    assert message.endswith("oneclaw agents edit 'Slow Poet' --turn-max-tokens NUMBER")
    assert "the setting day_max_cost" in TurnBudget([SpendingLimits(day_max_cost=1)], 5).exceeded(Spending(0, 2.0))


def test_a_missing_price_is_told_for_the_limits_around_it_too():
    outer = TurnBudget([SpendingLimits(turn_max_cost=1)], 5)
    inner = TurnBudget([SpendingLimits(turn_max_tokens=5)], 5, outer)
    assert inner.warning("lab/model", has_price=True) is None
    assert "turn_max_cost" in inner.warning("lab/model", has_price=False)
    assert not inner.limit_days
