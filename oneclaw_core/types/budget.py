"""Spending of requests, and the limits of a turn and of a day that stop before the next one."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime, time
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.messages import TokenUsage


@dataclass(frozen=True, slots=True)
class Spending:
    """Tokens and money that model requests spent; what is not known counts as nothing.

    Attributes:
        tokens: input tokens, cached ones included, and output tokens.
        cost: in US dollars.
        unpriced_requests: how many requests are not in the cost, since their price is not known.
        is_at_least: True if a service gave no final counts of a request, so that more may be spent.
    """

    tokens: int = 0
    cost: float = 0.0
    unpriced_requests: int = 0
    is_at_least: bool = False

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
            is_at_least=self.is_at_least or usage.is_at_least,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingLimits:
    """Limits of spending, after which the next model request is refused; ``None`` for no limit.

    A limit in money counts only what has a known price: :meth:`warning` says when that is not everything.

    Attributes:
        turn_max_tokens: input and output tokens of one turn.
        turn_max_cost: of one turn, in US dollars.
        day_max_tokens: input and output tokens of all sessions on one day.
        day_max_cost: of all sessions on one day, in US dollars.
        agent: whose own limits these are, ``None`` for those of the settings.
        is_of_message: True if these came with the message, from the program that sent it.
    """

    turn_max_tokens: int | None = None
    turn_max_cost: float | None = None
    day_max_tokens: int | None = None
    day_max_cost: float | None = None
    agent: str | None = None
    is_of_message: bool = False

    def exceeded(self, turn: Spending, day: Spending) -> str | None:
        """Find the limit that is reached, so that no further model request may be sent.

        Args:
            turn: what the turn has spent so far.
            day: what was spent since :func:`start_of_day`.

        Returns:
            What to tell the user; ``None`` if another request may be sent.
        """
        for scope, spent in (("turn", turn), ("day", day)):
            limit: int | None = getattr(self, f"{scope}_max_tokens")
            if limit is not None and spent.tokens >= limit:
                at_least = "at least " if spent.is_at_least else ""
                return self._message(f"{scope}_max_tokens", f"{at_least}{spent.tokens:,} tokens", f"{limit:,}")
        for scope, spent in (("turn", turn), ("day", day)):
            allowed: float | None = getattr(self, f"{scope}_max_cost")
            if allowed is not None and spent.cost >= allowed:
                at_least = "at least " if spent.unpriced_requests or spent.is_at_least else ""
                return self._message(f"{scope}_max_cost", at_least + dollars(spent.cost), dollars(allowed))
        return None

    def warning(self, model: str) -> str | None:
        """Say that the limits in money do not hold for a model without a known price; ``None`` if there are none.

        Args:
            model: ``PROVIDER/MODEL``.
        """
        settings = ("turn_max_cost", "day_max_cost")
        missed = " and ".join(name for name in settings if getattr(self, name) is not None)
        if not missed:
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


class ScriptAllowance:
    """The calls that the scripts of one turn may make."""

    MAX_CALLS: ClassVar[int] = 2_000
    MAX_PARALLEL: ClassVar[int] = 16

    def __init__(self) -> None:
        self._calls_left = self.MAX_CALLS

    @cached_property
    def slots(self) -> asyncio.Semaphore:
        """Taken by each call of a script while it runs."""
        import asyncio

        return asyncio.Semaphore(self.MAX_PARALLEL)

    def take(self) -> bool:
        """Take one call from what is left; return False if nothing is."""
        self._calls_left -= 1
        return self._calls_left >= 0


class TurnBudget:
    """The rounds of tool calls, tokens and money that one turn may take; a turn within it takes of both.

    Args:
        limits: all of them hold.
        max_tool_rounds: how many rounds of tool calls it may take.
        outer: the budget of the turn that this one is a part of, ``None`` for a turn of the user's.

    Attributes:
        spent: so far, turns within this one included.
        limits_days: True if a limit counts what was spent today.
    """

    def __init__(self, limits: Sequence[SpendingLimits], max_tool_rounds: int, outer: TurnBudget | None = None) -> None:
        self._limits = tuple(limits)
        self._max_tool_rounds = self._rounds_left = max_tool_rounds
        self._outer = outer
        self._warned: set[str] = set()
        self.spent = Spending()
        is_by_day = any(each.day_max_tokens is not None or each.day_max_cost is not None for each in limits)
        self.limits_days: bool = is_by_day or (outer is not None and outer.limits_days)

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

    def rounds_message(self, agent: Agent) -> str:
        """Say that the rounds are used up, and what to do."""
        option = "raise the setting turn_max_tool_rounds"
        if agent.limits.max_tool_rounds == self._max_tool_rounds:
            option = (
                f"raise the agent's limit with: oneclaw agents edit {shlex.quote(agent.name)} --max-tool-rounds NUMBER"
            )
        return (
            f"the turn was stopped after {self._max_tool_rounds} rounds of tool calls; send another message to go on, "
            f"or {option}"
        )

    def exceeded(self, day: Spending) -> str | None:
        """Find the limit that is reached, so that no further model request may be sent.

        Args:
            day: what was spent today; any value if :attr:`limits_days` is false.

        Returns:
            What to tell the user; ``None`` if another request may be sent.
        """
        for limits in self._limits:
            reached = limits.exceeded(self.spent, day)
            if reached is not None:
                return reached
        return self._outer.exceeded(day) if self._outer is not None else None

    def warning(self, model: str) -> str | None:
        """Say, once, that a limit in money does not hold for a model; see :meth:`SpendingLimits.warning`."""
        if model in self._warned:
            return None
        self._warned.add(model)
        warnings = (each.warning(model) for each in self._limits)
        found = next((warning for warning in warnings if warning is not None), None)
        return found if found is not None or self._outer is None else self._outer.warning(model)
