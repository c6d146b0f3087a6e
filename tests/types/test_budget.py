"""Limits in tokens and money, and what turns within a turn take of them."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import pytest

from oneclaw_core.config.settings import read_settings
from oneclaw_core.types.budget import Spending, SpendingLimits, TurnBudget, dollars, start_of_day
from oneclaw_core.types.messages import TokenUsage

NOTHING = Spending()


def test_spending_adds_up_and_what_is_unknown_counts_as_nothing() -> None:
    spent = NOTHING.plus(TokenUsage(input_tokens=100, cached_input_tokens=90, output_tokens=10), 0.5)
    assert spent == Spending(110, 0.5, 0)
    assert spent.plus(TokenUsage(output_tokens=5), None) == Spending(115, 0.5, 1)
    assert spent.plus(TokenUsage(), 0.0) == spent


def test_without_limits_nothing_is_exceeded() -> None:
    limits = SpendingLimits()
    much = Spending(10**12, 1e9, 10**6)
    assert limits.exceeded(much, much) is None
    assert limits.warning("ollama/llama") is None


@pytest.mark.parametrize(
    ("limits", "reached", "below"),
    [
        (SpendingLimits(turn_max_tokens=100), (Spending(100), NOTHING), (Spending(99), Spending(100, 5.0))),
        (SpendingLimits(turn_max_cost=0.5), (Spending(1, 0.5), NOTHING), (Spending(9, 0.49), Spending(9, 5.0))),
        (SpendingLimits(day_max_tokens=100), (NOTHING, Spending(101)), (Spending(100), Spending(99))),
        (SpendingLimits(day_max_cost=0.5), (NOTHING, Spending(1, 0.6)), (Spending(9, 5.0), Spending(9, 0.4))),
    ],
)
def test_a_limit_is_exceeded_when_it_is_reached(
    limits: SpendingLimits, reached: tuple[Spending, Spending], below: tuple[Spending, Spending]
) -> None:
    assert limits.exceeded(*below) is None
    message = limits.exceeded(*reached)
    assert message is not None
    assert "\n" not in message


def test_the_message_says_what_was_spent_and_what_to_do() -> None:
    assert SpendingLimits(turn_max_tokens=100_000).exceeded(Spending(120_500), NOTHING) == (
        "the turn was stopped: it has spent 120,500 tokens, and the setting turn_max_tokens allows 100,000; send "
        "another message to go on, or raise it with: oneclaw config set turn_max_tokens NUMBER"
    )
    assert SpendingLimits(day_max_cost=5.0).exceeded(NOTHING, Spending(1, 5.125, 2)) == (
        "no further request was sent: at least $5.12 were spent today, and the setting day_max_cost allows $5.00; go "
        "on tomorrow, or raise it with: oneclaw config set day_max_cost NUMBER"
    )


def test_what_was_spent_at_least_is_said_so() -> None:
    spent = NOTHING.plus(TokenUsage(input_tokens=100, is_at_least=True), 0.5).plus(TokenUsage(input_tokens=1), 0.5)
    for limits, words in (
        (SpendingLimits(turn_max_tokens=100), "it has spent at least 101 tokens, and"),
        (SpendingLimits(turn_max_cost=1.0), "it has spent at least $1.00, and"),
    ):
        assert words in (limits.exceeded(spent, NOTHING) or "")


def test_a_limit_of_days_is_known_to_need_the_day() -> None:
    assert TurnBudget([SpendingLimits(day_max_tokens=1)], 5).limits_days
    assert TurnBudget([SpendingLimits(day_max_cost=1)], 5).limits_days
    assert not TurnBudget([SpendingLimits(turn_max_tokens=1, turn_max_cost=1)], 5).limits_days


def test_a_limit_in_money_warns_of_a_model_without_a_price() -> None:
    limits = SpendingLimits(turn_max_cost=1, day_max_cost=2)
    assert limits.warning("ollama/llama") == (
        "the price of ollama/llama is not known, so its requests count as $0 for turn_max_cost and day_max_cost: set "
        "turn_max_tokens and day_max_tokens as well, or its input_price and output_price with: "
        "oneclaw models set ollama/llama input_price DOLLARS"
    )
    assert SpendingLimits(day_max_tokens=1).warning("ollama/llama") is None


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "$0.00"),
        (0.00001, "less than $0.0001"),
        (0.00006, "$0.0001"),
        (0.25, "$0.2500"),
        (1, "$1.00"),
        (1234.5, "$1,234.50"),
    ],
)
def test_amounts_are_readable(amount: float, text: str) -> None:
    assert dollars(amount) == text


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be changed here")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/New_York", "Pacific/Kiritimati"])
def test_a_day_begins_at_midnight_where_the_machine_is(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        began = start_of_day()
        assert (began.hour, began.minute, began.second, began.microsecond) == (0, 0, 0, 0)
        assert timedelta() <= datetime.now().astimezone() - began < timedelta(hours=25)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_settings_limit_only_the_tokens_of_a_turn_by_default_and_take_numbers() -> None:
    names = ("turn_max_tokens", "turn_max_cost", "day_max_tokens", "day_max_cost")
    defaults = read_settings({}, {})
    assert [getattr(defaults, name) for name in names] == [2_000_000, None, None, None]
    set_ = read_settings({"turn_max_tokens": 5}, {"ONECLAW_DAY_MAX_COST": "2.5"})
    assert [getattr(set_, name) for name in names] == [5, None, None, 2.5]


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
    assert budget.limits_days
    budget.add(used(10), 0)
    message = budget.exceeded(DAY)
    assert "turn_max_tokens of the agent allows 10" in message
    assert message.endswith("oneclaw agents edit 'Slow Poet' --turn-max-tokens NUMBER")
    assert "the setting day_max_cost" in TurnBudget([SpendingLimits(day_max_cost=1)], 5).exceeded(Spending(0, 2.0))


def test_a_missing_price_is_told_for_the_limits_around_it_too():
    outer = TurnBudget([SpendingLimits(turn_max_cost=1)], 5)
    inner = TurnBudget([SpendingLimits(turn_max_tokens=5)], 5, outer)
    assert "turn_max_cost" in inner.warning("lab/model")
    assert not inner.limits_days
