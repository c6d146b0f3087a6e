"""What requests spend, and the limits of a turn and of a day that stop before the next one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime, time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.types.messages import TokenUsage


@dataclass(frozen=True, slots=True)
class Spending:
    """What model requests spent, to compare it with limits: what is not known counts as nothing.

    Attributes:
        tokens: input tokens, cached ones included, and output tokens.
        cost: in US dollars.
        unpriced_requests: how many requests are not in the cost, since their price is not known.
    """

    tokens: int = 0
    cost: float = 0.0
    unpriced_requests: int = 0

    def plus(self, usage: TokenUsage, cost: float | None) -> Spending:
        """Add a request.

        Args:
            usage: what it used.
            cost: in US dollars, ``None`` where it is not known.
        """
        return Spending(
            tokens=self.tokens + (usage.input_tokens or 0) + (usage.output_tokens or 0),
            cost=self.cost + (cost or 0.0),
            unpriced_requests=self.unpriced_requests + (cost is None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingLimits:
    """How much may be spent before the next model request is refused; ``None`` for no limit.

    A limit in money counts only what has a known price: :meth:`warning` says when that is not everything.

    Attributes:
        turn_max_tokens: input and output tokens of one turn.
        turn_max_cost: of one turn, in US dollars.
        day_max_tokens: input and output tokens of all sessions on one day.
        day_max_cost: of all sessions on one day, in US dollars.
        agent: whose own limits these are, ``None`` for those of the settings.
        is_of_message: whether these came with the message, from the program that sent it.
    """

    turn_max_tokens: int | None = None
    turn_max_cost: float | None = None
    day_max_tokens: int | None = None
    day_max_cost: float | None = None
    agent: str | None = None
    is_of_message: bool = False

    @property
    def limit_days(self) -> bool:
        """Whether it has to be known what was spent today."""
        return self.day_max_tokens is not None or self.day_max_cost is not None

    def exceeded(self, turn: Spending, day: Spending) -> str | None:
        """Find the limit that is reached, so that no further model request may be sent.

        Args:
            turn: what the turn has spent so far.
            day: what was spent since :func:`start_of_day`; any value if :attr:`limit_days` is false.

        Returns:
            What to tell the user; ``None`` if another request may be sent.
        """
        for setting, limit, tokens in (
            ("turn_max_tokens", self.turn_max_tokens, turn.tokens),
            ("day_max_tokens", self.day_max_tokens, day.tokens),
        ):
            if limit is not None and tokens >= limit:
                return self._message(setting, f"{tokens:,} tokens", f"{limit:,}")
        for setting, allowed, spent in (
            ("turn_max_cost", self.turn_max_cost, turn),
            ("day_max_cost", self.day_max_cost, day),
        ):
            if allowed is not None and spent.cost >= allowed:
                at_least = "at least " if spent.unpriced_requests else ""
                return self._message(setting, at_least + dollars(spent.cost), dollars(allowed))
        return None

    def warning(self, model: str, *, has_price: bool) -> str | None:
        """Say that a limit in money does not hold for a model; ``None`` if all is well.

        Args:
            model: ``PROVIDER/MODEL``.
            has_price: whether its price is known.
        """
        settings = ("turn_max_cost", "day_max_cost")
        missed = " and ".join(name for name in settings if getattr(self, name) is not None)
        if has_price or not missed:
            return None
        return (
            f"the price of {model} is not known, so its requests count as $0 for {missed}: set "
            f"{missed.replace('cost', 'tokens')} as well, or its input_price and output_price with: "
            f"oneclaw models set {shlex.quote(model)} input_price DOLLARS"
        )

    def _message(self, setting: str, spent: str, limit: str) -> str:
        if setting.startswith("day"):
            return (
                f"no further request was sent: {spent} were spent today, and the setting {setting} allows {limit}; "
                f"go on tomorrow, or raise it with: oneclaw config set {setting} NUMBER"
            )
        if self.is_of_message:
            return f"the turn was stopped: it has spent {spent}, and {setting} of this message is {limit}"
        whose, command = f"the setting {setting}", f"oneclaw config set {setting} NUMBER"
        if self.agent is not None:
            option = f"--{setting.replace('_', '-')}"
            whose, command = f"{setting} of the agent", f"oneclaw agents edit {shlex.quote(self.agent)} {option} NUMBER"
        return (
            f"the turn was stopped: it has spent {spent}, and {whose} allows {limit}; send another message "
            f"to go on, or raise it with: {command}"
        )


def start_of_day() -> datetime:
    """When today began, in the time zone of the machine."""
    # A time without a zone is taken for the machine's, with the offset that held at that time.
    return datetime.combine(datetime.now().astimezone().date(), time()).astimezone()


def dollars(amount: float) -> str:
    """Write an amount of US dollars, small ones with more digits."""
    if amount and abs(amount) < 0.00005:
        return "less than $0.0001"
    return f"${amount:,.2f}" if amount == 0 or abs(amount) >= 1 else f"${amount:.4f}"


class TurnBudget:
    """Counts what one turn has taken; what a turn within it takes counts for both.

    Args:
        limits: all of them hold.
        max_tool_rounds: how many rounds of tool calls it may take.
        outer: the budget of the turn that this one is a part of, ``None`` for a turn of the user's.

    Attributes:
        spent: so far, turns within this one included.
    """

    def __init__(self, limits: Sequence[SpendingLimits], max_tool_rounds: int, outer: TurnBudget | None = None) -> None:
        self._limits = tuple(limits)
        self._rounds_left = max_tool_rounds
        self._outer = outer
        self.spent = Spending()

    def take_round(self) -> bool:
        """Take a round of tool calls from what is left; say whether there was one."""
        if self._rounds_left <= 0 or (self._outer is not None and not self._outer.take_round()):
            return False
        self._rounds_left -= 1
        return True

    def add(self, usage: TokenUsage, cost: float | None) -> None:
        """Count a model request.

        Args:
            usage: what it used.
            cost: in US dollars, ``None`` where it is not known.
        """
        self.spent = self.spent.plus(usage, cost)
        if self._outer is not None:
            self._outer.add(usage, cost)

    @property
    def limit_days(self) -> bool:
        """Whether it has to be known what was spent today."""
        return any(each.limit_days for each in self._limits) or (self._outer is not None and self._outer.limit_days)

    def exceeded(self, day: Spending) -> str | None:
        """Find the limit that is reached, so that no further model request may be sent.

        Args:
            day: what was spent today; any value if :attr:`limit_days` is false.

        Returns:
            What to tell the user; ``None`` if another request may be sent.
        """
        for limits in self._limits:
            reached = limits.exceeded(self.spent, day)
            if reached is not None:
                return reached
        return self._outer.exceeded(day) if self._outer is not None else None

    def warning(self, model: str, *, has_price: bool) -> str | None:
        """Say that a limit in money does not hold for a model; see :meth:`SpendingLimits.warning`."""
        warnings = (each.warning(model, has_price=has_price) for each in self._limits)
        found = next((warning for warning in warnings if warning is not None), None)
        if found is None and self._outer is not None:
            return self._outer.warning(model, has_price=has_price)
        return found
