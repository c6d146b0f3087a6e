"""Asking the chosen model: in its way of loading tool groups, within the spending limits, with the cost noted."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from oneclaw_core.config.models import cost_of, load_prices, needs_prices
from oneclaw_core.config.providers import LEARNED_SETTING
from oneclaw_core.errors import SpendingLimitError
from oneclaw_core.providers.base import LoadingRefused, ModelResponse, ToolLoading, loads_natively
from oneclaw_core.sessions.usage import UsageRecord
from oneclaw_core.turn.closing import closing
from oneclaw_core.turn.dispatch import undispatched_response
from oneclaw_core.turn.prepare_request import is_dispatched, prepare_request
from oneclaw_core.turn.turn_hooks import observed_request
from oneclaw_core.types.budget import Spending, start_of_day
from oneclaw_core.types.events import UsageEvent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.config.models import ModelPrices
    from oneclaw_core.providers.base import ModelEvent, ModelInfo, ModelRequest, Provider, ProviderConfig
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.turn.cache_prefix import CachePrefixes
    from oneclaw_core.turn.deadline import Deadline
    from oneclaw_core.turn.turn_hooks import TurnHooks
    from oneclaw_core.types.budget import TurnBudget
    from oneclaw_core.types.messages import TokenUsage

    # No coroutine function: an answer has thousands of pieces.
    Show = Callable[[ModelEvent], Awaitable[None] | None]

_log = logging.getLogger("oneclaw.turn")


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """The model that answers a turn.

    Attributes:
        provider: the service.
        config: of the service.
        info: what is known about the model.
        tool_loading: how its loaded groups are told to it.
        max_output_tokens: the longest answer wanted, ``None`` for the wire format's own limit.
        prices: what the user says it costs, ``None`` for what is known.
    """

    provider: Provider
    config: ProviderConfig
    info: ModelInfo
    tool_loading: ToolLoading = ToolLoading.NATIVE
    max_output_tokens: int | None = None
    prices: ModelPrices | None = None

    @property
    def full_name(self) -> str:
        """``PROVIDER/MODEL``."""
        return f"{self.config.name}/{self.info.name}"


class ModelCalls:
    """The requests of one turn to the chosen model.

    Args:
        store: where usage is noted, and what was learned about the model.
        session_id: whose turn it is.
        chosen: the model.
        budget: how much may be spent.
        cache_prefixes: of requests, kept over turns.
        deadline: of the turn; ``None`` for none.
        hooks: of plugins on the turn; ``None`` for none.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        chosen: ChosenModel,
        budget: TurnBudget,
        cache_prefixes: CachePrefixes,
        deadline: Deadline | None = None,
        hooks: TurnHooks | None = None,
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._chosen = chosen
        self._budget = budget
        self._cache_prefixes = cache_prefixes
        self._deadline = deadline
        self._hooks = hooks
        self._tool_loading = chosen.tool_loading
        self._has_warned = False
        self._prices: asyncio.Task[None] | None = None

    async def ask(
        self,
        request: ModelRequest,
        show: Show | None = None,
        purpose: Literal["answer", "summary"] = "answer",
    ) -> ModelResponse | None:
        """Send a request and return the model's answer; ``None`` if the service ended without one.

        Args:
            request: as it would be sent without a dispatcher.
            show: called with each part of the answer, and each retry, as it comes; what it returns is awaited.
            purpose: of the request, for plugins.

        Raises:
            SpendingLimitError: a limit is reached; nothing was sent.
            ProviderError: the model could not be asked.
            TurnDeadlineError: the turn's time is over.
        """
        await self._check_limits()
        if self._prices is None and needs_prices(self._chosen.config, self._chosen.prices):
            # Their import takes longer than a turn; it runs while the model thinks.
            self._prices = asyncio.create_task(asyncio.to_thread(load_prices))
        sent = prepare_request(request, self._chosen.info, self._tool_loading, self._chosen.max_output_tokens)
        calls_dispatcher = is_dispatched(request, self._tool_loading)
        async with observed_request(self._hooks, sent, self._chosen, purpose) as observe:
            response, refused = await self._answer(sent, show, observe)
        if response is None:
            return None
        if refused is not None:
            # Only now is it sure that the way of loading was what the service refused.
            await self._remember_refusal(refused)
        return undispatched_response(response) if calls_dispatcher else response

    async def _answer(
        self,
        sent: ModelRequest,
        show: Show | None,
        observe: Callable[[ModelEvent], None] | None,
    ) -> tuple[ModelResponse | None, LoadingRefused | None]:
        response: ModelResponse | None = None
        refused: LoadingRefused | None = None
        answer = self._chosen.provider.stream(sent)
        async with closing(answer if self._deadline is None else self._deadline.limit(answer)) as events:
            async for event in events:
                if observe is not None:
                    observe(event)
                if isinstance(event, ModelResponse):
                    response = event
                elif isinstance(event, LoadingRefused):
                    refused = event
                    self._tool_loading = event.instead
                elif show is not None and (shown := show(event)) is not None:
                    await shown
        return response, refused

    async def note(self, usage: TokenUsage, request: ModelRequest | None = None) -> tuple[UsageRecord, UsageEvent]:
        """Count what an answer used, and put it into the words of the store and of the user.

        Args:
            usage: as the service counted it.
            request: what was answered; ``None`` for one that continues no conversation.
        """
        try:
            if self._prices is not None:
                await self._prices
            cost = cost_of(self._chosen.config, self._chosen.info.name, usage, self._chosen.prices)
        except Exception:  # noqa: BLE001  # an answer that is paid for is not lost for want of its price
            _log.exception("the price of %s cannot be found", self._chosen.full_name)
            cost = None
        self._budget.add(usage, cost)
        warning = self._budget.warning(self._chosen.full_name, has_price=cost is not None)
        if warning is not None and not self._has_warned:
            self._has_warned = True
            _log.warning("%s", warning)
        record = UsageRecord(self._chosen.config.name, self._chosen.info.name, usage, cost)
        if request is not None:
            are_groups_at_front = self._tool_loading is ToolLoading.APPEND or not (
                loads_natively(self._chosen.provider) or self._tool_loading is ToolLoading.DISPATCH
            )
            record = replace(
                record,
                tool_groups=tuple(group.name for group in request.tools.groups),
                prefix=self._cache_prefixes.of(request, are_groups_at_front=are_groups_at_front),
            )
        return record, UsageEvent(self._chosen.full_name, usage, cost)

    async def _check_limits(self) -> None:
        day = await self._store.spent_since(start_of_day()) if self._budget.limit_days else Spending()
        reached = self._budget.exceeded(day)
        if reached is not None:
            raise SpendingLimitError(reached)

    async def _remember_refusal(self, refused: LoadingRefused) -> None:
        """Have the model asked in the way that it takes in later turns too; the user can have another tried again."""
        name = self._chosen.full_name
        _log.info("%s is told loaded tool groups the %s way: %s", name, refused.instead, refused.reason)
        learned = {"tool_loading": str(refused.instead), "base_url": self._chosen.config.base_url}
        await self._store.set_setting(LEARNED_SETTING + name, learned)
