"""What a turn may still take: rounds of tool calls, tokens and money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.types.spending import Spending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.types.messages import TokenUsage
    from oneclaw_core.types.spending import SpendingLimits


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
