"""Costs of requests."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from oneclaw_core.config.prices import cost_of, load_prices, needs_prices
from oneclaw_core.sessions.usage import UsageRecord

if TYPE_CHECKING:
    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.turn.state import TurnState
    from oneclaw_core.types.messages import TokenUsage

_log = logging.getLogger("oneclaw.turn")


class Costs:
    """Finds out what requests cost; one for a home."""

    def __init__(self) -> None:
        self._reading: asyncio.Task[None] | None = None

    def begin_to_read(self, model: ChosenModel) -> None:
        """Read the known prices if the model needs them: their import takes longer than a turn, so it runs beside."""
        if (self._reading is None or self._reading.done()) and needs_prices(model.config, model.prices):
            self._reading = asyncio.create_task(asyncio.to_thread(load_prices))

    async def note(self, turn: TurnState, usage: TokenUsage) -> UsageRecord:
        """Take what a request used from the budget of a turn, and return a record of it.

        Args:
            turn: that asked.
            usage: as the service counted it.
        """
        model = turn.model
        try:
            if self._reading is not None and not self._reading.done():
                await asyncio.shield(self._reading)  # the waiting may be cancelled, and begun again
            cost = cost_of(model.config, model.info.name, usage, model.prices)
        except Exception:  # noqa: BLE001  # an answer that is paid for is not lost for want of its price
            _log.exception("the price of %s cannot be found", model.full_name)
            cost = None
        turn.budget.add(usage, cost)
        if cost is None and (warning := turn.budget.warning(model.full_name)) is not None:
            _log.warning("%s", warning)
        return UsageRecord(model.config.name, model.info.name, usage, cost)
