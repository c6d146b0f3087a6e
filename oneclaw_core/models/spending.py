"""Keep the requests of a turn within its budget, and count what every attempt used.

What an answer used is stored with its cost, and with a fingerprint of what its request began with, so that one can say
later which part ended a prompt cache.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain, takewhile
from typing import TYPE_CHECKING

from oneclaw_core.compaction.estimate import Estimator, text_tokens
from oneclaw_core.config.prices import cost_of, load_prices, needs_prices
from oneclaw_core.errors import SpendingLimitError, StoreError
from oneclaw_core.models.adapted import loading_of
from oneclaw_core.sessions.usage import PrefixFingerprint, UsageRecord
from oneclaw_core.turn.steps import usage_event
from oneclaw_core.types.budget import Spending, start_of_day
from oneclaw_core.types.identity_cache import IdentityCache
from oneclaw_core.types.messages import Message, TokenUsage
from oneclaw_core.types.model_requests import (
    ArgumentsDelta,
    LoadingRefused,
    ModelResponse,
    ReasoningDelta,
    RetryNotice,
    TextDelta,
    ToolLoading,
    UsageSoFar,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Sequence

    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.turn.state import Answer, Ask, TurnState
    from oneclaw_core.types.model_requests import ModelEvent, ModelRequest
    from oneclaw_core.types.steps import Handler, Step
    from oneclaw_core.types.tools import ToolDefinition


_HASH_BYTES = 8

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


class CachePrefixes:
    """Makes fingerprints of requests; one for many turns, since it remembers those of tools."""

    def __init__(self) -> None:
        self._tools = IdentityCache(_of_tool)

    def of(self, request: ModelRequest, *, are_groups_at_front: bool) -> PrefixFingerprint:
        """Make the fingerprint of a request.

        Args:
            request: everything a model is sent.
            are_groups_at_front: True if the tools of loaded groups stand with the core tools, before the messages,
                so that loading a group changes what the request begins with.
        """
        groups = request.tools.groups if are_groups_at_front else ()
        tools = chain(request.tools.core, *(group.tools for group in groups), request.tools.of_turn)
        return PrefixFingerprint(
            tools=_hash(map(self._tools.of, tools)),
            system_prompt=_hash([request.system_prompt.encode(errors="replace")]),
            history=_of_history(request.messages),
        )


def _of_tool(tool: ToolDefinition) -> bytes:
    text = json.dumps([tool.name, tool.description, tool.parameters], default=str)
    return blake2b(text.encode(), digest_size=_HASH_BYTES).digest()


def _of_history(messages: Sequence[Message]) -> str:
    """Say where the messages begin: what is stored never changes, and what is not stored is a summary."""
    unstored = [each.content for each in takewhile(lambda each: each.sequence is None, messages)]
    first = messages[len(unstored)].sequence if len(unstored) < len(messages) else None
    return f"{first}:{_hash(text.encode(errors='replace') for text in unstored)}" if unstored else str(first)


def _hash(parts: Iterable[bytes]) -> str:
    digest = blake2b(digest_size=_HASH_BYTES)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def spending(costs: Costs) -> Step[Ask, Answer]:
    """Make the step that refuses a request beyond the limits, and adds to the answer what it used.

    It raises ``SpendingLimitError`` where a limit is reached; then nothing is sent.
    """
    prefixes = CachePrefixes()

    async def spent(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
        turn = ask.turn
        await _check_limits(turn)
        costs.begin_to_read(turn.model)
        answer = await run(ask)
        try:
            usage = await costs.note(turn, answer.response.usage)
        except asyncio.CancelledError:  # a whole answer, which is paid for
            await turn.store.record_usage(turn.session_id, await costs.note(turn, answer.response.usage))
            raise
        if ask.purpose == "answer":
            groups = tuple(group.name for group in ask.request.tools.groups)
            prefix = prefixes.of(ask.request, are_groups_at_front=_are_groups_at_front(turn.model, ask.request))
            usage = replace(usage, tool_groups=groups, prefix=prefix)
        return replace(answer, usage=usage)

    return spent


def counted(costs: Costs) -> Step[Ask, Answer]:
    """Make the step that records attempts whose answer does not end, and checks the limits before the next one."""

    async def recorded(ask: Ask, run: Handler[Ask, Answer]) -> Answer:
        attempt, is_whole = _Attempt(), False

        async def show_next(event: ModelEvent, lost: _Attempt) -> None:
            await _record_lost(costs, ask, lost)
            await _check_limits(ask.turn)
            if (shown := ask.show(event)) is not None:
                await shown

        def show(event: ModelEvent) -> Awaitable[None] | None:
            nonlocal attempt, is_whole
            if isinstance(event, ModelResponse):
                is_whole = True
            elif isinstance(event, UsageSoFar):
                attempt.usage = event.usage
            elif isinstance(event, (TextDelta, ReasoningDelta, ArgumentsDelta)):
                attempt.received.append(event.text)
            elif isinstance(event, (RetryNotice, LoadingRefused)) and attempt.has_begun:
                lost, attempt = attempt, _Attempt()
                return show_next(event, lost)
            return ask.show(event)

        try:
            return await run(replace(ask, show=show))
        except (Exception, asyncio.CancelledError) as error:
            if not is_whole:
                await _record_lost(costs, ask, attempt, is_heard=isinstance(error, Exception))
            raise

    return recorded


@dataclass(slots=True)
class _Attempt:
    """The part of an answer that has arrived: as the service counted it, and its text."""

    usage: TokenUsage | None = None
    received: list[str] = field(default_factory=list)

    @property
    def has_begun(self) -> bool:
        return self.usage is not None or bool(self.received)


async def _check_limits(turn: TurnState) -> None:
    """Refuse another request if a limit is reached.

    Raises:
        SpendingLimitError: one is.
    """
    day = await turn.store.spent_since(start_of_day()) if turn.budget.limits_days else Spending()
    reached = turn.budget.exceeded(day)
    if reached is not None:
        raise SpendingLimitError(reached)


async def _record_lost(costs: Costs, ask: Ask, attempt: _Attempt, *, is_heard: bool = True) -> None:
    """Record an attempt whose answer did not end, as far as it is not counted with an estimate as a lower bound.

    Args:
        costs: of requests.
        ask: the request.
        attempt: what had come.
        is_heard: True if a listener waits for events.
    """
    if not attempt.has_begun:
        return
    turn, usage = ask.turn, attempt.usage or TokenUsage(is_at_least=True)
    if usage.is_at_least or usage.input_tokens is None or usage.output_tokens is None:
        asked = Estimator().raw(ask.request) if usage.input_tokens is None else usage.input_tokens
        written = max(usage.output_tokens or 0, text_tokens("".join(attempt.received)))
        usage = replace(usage, input_tokens=asked, output_tokens=written, is_at_least=True)
    if not usage.input_tokens and not usage.output_tokens:
        return
    record = await costs.note(turn, usage)
    try:
        await turn.store.record_usage(turn.session_id, record)
    except StoreError:
        _log.exception("the usage of an answer that broke off is not recorded")
    if is_heard:
        await turn.emit(usage_event(record))
    elif turn.hooks is not None:
        turn.hooks.count_unheard(usage_event(record))


def _are_groups_at_front(model: ChosenModel, request: ModelRequest) -> bool:
    """Return True if the tools of loaded groups stand with the core tools, before the messages."""
    loading = loading_of(model, request)
    return loading is ToolLoading.APPEND or not (model.loads_natively or loading is ToolLoading.DISPATCH)
