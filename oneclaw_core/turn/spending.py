"""Keep the requests of a turn within its budget, and count what every attempt used."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.config.prices import cost_of
from oneclaw_core.errors import SpendingLimitError, StoreError
from oneclaw_core.sessions.usage import UsageRecord
from oneclaw_core.turn.estimate import Estimator, text_tokens
from oneclaw_core.types.budget import Spending, start_of_day
from oneclaw_core.types.events import UsageEvent
from oneclaw_core.types.messages import TokenUsage
from oneclaw_core.types.model_requests import ToolLoading

if TYPE_CHECKING:
    from oneclaw_core.turn.state import Answer, Ask, TurnState
    from oneclaw_core.types.model_requests import ModelRequest
    from oneclaw_core.types.steps import Handler

_log = logging.getLogger("oneclaw.turn")


async def spending(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
    """Refuse a request beyond the limits, and add to the answer what it used.

    Raises:
        SpendingLimitError: a limit is reached; nothing was sent.
    """
    turn = ask.turn
    await check_limits(turn)
    turn.parts.models.begin_to_read_prices(turn.model)
    answer = await run(ask)
    try:
        usage = await _note(turn, answer.response.usage, ask.request if ask.purpose == "answer" else None)
    except asyncio.CancelledError:  # a whole answer, which is paid for
        await turn.store.record_usage(turn.session_id, await _note(turn, answer.response.usage))
        raise
    return replace(answer, usage=usage)


async def check_limits(turn: TurnState) -> None:
    """Refuse another request if a limit is reached.

    Raises:
        SpendingLimitError: one is.
    """
    day = await turn.store.spent_since(start_of_day()) if turn.budget.limits_days else Spending()
    reached = turn.budget.exceeded(day)
    if reached is not None:
        raise SpendingLimitError(reached)


def usage_event(usage: UsageRecord) -> UsageEvent:
    """Return what a request used for the listener."""
    return UsageEvent(f"{usage.provider}/{usage.model}", usage.usage, usage.cost)


async def record_unstored(turn: TurnState, answer: Answer) -> None:
    """Record the usage of an answer that does not enter the history."""
    assert answer.usage is not None
    await turn.store.record_usage(turn.session_id, answer.usage)
    await turn.emit(usage_event(answer.usage))


async def record_lost(ask: Ask, usage: TokenUsage | None, received: list[str], *, is_heard: bool = True) -> None:
    """Record an attempt whose answer did not complete.

    Args:
        ask: the request.
        usage: as the service had counted it; ``None`` if its answer had not begun.
        received: the text that had come.
        is_heard: True if a listener waits for events.
    """
    if usage is None and not received:
        return
    turn, usage = ask.turn, usage or TokenUsage(is_at_least=True)
    if usage.is_at_least or usage.input_tokens is None or usage.output_tokens is None:
        counted = Estimator().raw(ask.request) if usage.input_tokens is None else usage.input_tokens
        written = max(usage.output_tokens or 0, text_tokens("".join(received)))
        usage = replace(usage, input_tokens=counted, output_tokens=written, is_at_least=True)
    if not usage.input_tokens and not usage.output_tokens:
        return
    record = await _note(turn, usage)
    try:
        await turn.store.record_usage(turn.session_id, record)
    except StoreError:
        _log.exception("the usage of an answer that broke off is not recorded")
    if is_heard:
        await turn.emit(usage_event(record))
    elif turn.hooks is not None:
        turn.hooks.count_unheard(usage_event(record))


async def _note(turn: TurnState, usage: TokenUsage, request: ModelRequest | None = None) -> UsageRecord:
    """Count what an answer used.

    Args:
        turn: that asked.
        usage: as the service counted it.
        request: what was answered; ``None`` for one that continues no conversation.
    """
    model = turn.model
    try:
        await turn.parts.models.prices_read()
        cost = cost_of(model.config, model.info.name, usage, model.prices)
    except Exception:  # noqa: BLE001  # an answer that is paid for is not lost for want of its price
        _log.exception("the price of %s cannot be found", model.full_name)
        cost = None
    turn.budget.add(usage, cost)
    if cost is None and (warning := turn.budget.warning(model.full_name)) is not None:
        _log.warning("%s", warning)
    record = UsageRecord(model.config.name, model.info.name, usage, cost)
    if request is None:
        return record
    loading = model.loading_of(request)
    are_groups_at_front = loading is ToolLoading.APPEND or not (model.loads_natively or loading is ToolLoading.DISPATCH)
    return replace(
        record,
        tool_groups=tuple(group.name for group in request.tools.groups),
        prefix=turn.parts.cache_prefixes.of(request, are_groups_at_front=are_groups_at_front),
    )
