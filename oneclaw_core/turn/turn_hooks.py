"""The hooks of plugins on one turn and on its requests to models."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.contract.arguments import ModelAnswer, ModelCall, ModelWork, TurnInfo, TurnOutcome, TurnWork
from oneclaw_core.errors import TurnRefusedError, describe_error
from oneclaw_core.types.events import TurnEvent, TurnFinishedEvent, UsageEvent
from oneclaw_core.types.messages import TokenUsage
from oneclaw_core.types.model_requests import LoadingRefused, ModelEvent, ModelRequest, ModelResponse, RetryNotice

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from oneclaw_core.plugins.running.event_hooks import Around
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.turn.model import ChosenModel

_INTERRUPTED = ModelAnswer(error="the request was interrupted", error_type="interrupted")
_RETRIED = ModelAnswer(error_type="retried")


class TurnHooks:
    """A turn that plugins govern or observe.

    Args:
        plugins: at work.
        info: the turn as plugins see it.
    """

    def __init__(self, plugins: Plugins, info: TurnInfo) -> None:
        self.info = info
        self._plugins = plugins
        self._unheard: list[UsageEvent] = []

    async def check(self, text: str | None = None) -> None:
        """Ask the gates whether the turn may begin.

        Args:
            text: a message that the user sends during the turn; by default the one that begins it.

        Raises:
            TurnRefusedError: one refuses it.
        """
        verdict = await self._plugins.before_turn(self.info if text is None else replace(self.info, text=text))
        if verdict is not None:
            raise TurnRefusedError(verdict.reason)

    async def with_context(self, text: str) -> str:
        """Return the user's message with the texts of plugins behind it, each marked as its plugin's."""
        if "message_context" not in self._plugins.hooks:
            return text
        return "\n\n".join([text, *(marked_context(*each) for each in await self._plugins.message_context(self.info))])

    def compacted(self, summary: str) -> None:
        """Tell observers that the older part of the history was replaced."""
        self._observe("history_compacted", session=self.info.session, summary=summary)

    def count_unheard(self, usage: UsageEvent) -> None:
        """Count usage in the outcome of the turn after its listeners are gone."""
        self._unheard.append(usage)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Callable[[TurnEvent], None]]:
        """Observe a turn, within the context managers of plugins.

        Yields:
            A function to call with each event of the turn.
        """
        text, error, error_type, is_interrupted = "", None, None, False
        usage, cost = TokenUsage(), 0.0
        has_cost = True

        def observe(event: TurnEvent) -> None:
            nonlocal text, usage, cost, has_cost
            if isinstance(event, UsageEvent):
                usage = _sum(usage, event.usage)
                cost += event.cost or 0.0
                has_cost = has_cost and event.cost is not None
            elif isinstance(event, TurnFinishedEvent):
                text = event.text

        async with self._around(TurnWork(self.info)) as around:
            self._observe("turn_started", turn=self.info)
            try:
                yield observe
            except asyncio.CancelledError:
                # A listener may stop at the final answer, and the turn is complete.
                is_interrupted = not text
                raise
            except Exception as raised:
                error, error_type = describe_error(raised), type(raised).__name__
                raise
            finally:
                for event in self._unheard:
                    observe(event)
                outcome = TurnOutcome(
                    text=text,
                    usage=usage,
                    cost=cost if has_cost else None,
                    error=error,
                    is_interrupted=is_interrupted,
                    error_type=error_type,
                )
                if around is not None:
                    around.set_result(outcome)
                self._observe("turn_finished", turn=self.info, outcome=outcome)

    def request(
        self, request: ModelRequest, chosen: ChosenModel, purpose: Literal["answer", "summary"]
    ) -> AbstractAsyncContextManager[Callable[[ModelEvent], None] | None]:
        """Observe a request to a model, within the context managers of plugins.

        Returns:
            A context manager that gives a function to call with each event of the provider; ``None`` if no plugin
            observes requests.
        """
        if self._plugins.hooks.isdisjoint({"around", "before_model_request", "after_model_response"}):
            return nullcontext()
        name, provider_type = chosen.full_name, chosen.config.type
        return self._observed(ModelCall(model=name, provider_type=provider_type, purpose=purpose, request=request))

    @asynccontextmanager
    async def _observed(self, call: ModelCall) -> AsyncIterator[Callable[[ModelEvent], None]]:
        answer, started = _INTERRUPTED, 0.0
        first: float | None = None

        def observe(event: ModelEvent) -> None:
            nonlocal answer, started, first
            if isinstance(event, RetryNotice):
                failed = replace(_RETRIED, error=event.reason, duration_ms=_ms_since(started), first_chunk_ms=first)
                self._observe("after_model_response", turn=self.info, request=call, response=failed)
                started, first = self._begin_attempt(call), None
            elif isinstance(event, ModelResponse):
                duration_ms = _ms_since(started)
                answer = ModelAnswer(response=event, duration_ms=duration_ms, first_chunk_ms=first or duration_ms)
            elif first is None and not isinstance(event, LoadingRefused):
                first = _ms_since(started)

        async with self._around(ModelWork(self.info, call)) as around:
            started = self._begin_attempt(call)
            try:
                yield observe
            except Exception as error:
                name = type(error).__name__
                failed = ModelAnswer(error=describe_error(error), error_type=name, first_chunk_ms=first)
                answer = replace(failed, duration_ms=_ms_since(started))
                raise
            finally:
                if around is not None:
                    around.set_result(answer)
                self._observe("after_model_response", turn=self.info, request=call, response=answer)

    def _begin_attempt(self, call: ModelCall) -> float:
        self._observe("before_model_request", turn=self.info, request=call)
        return time.perf_counter()

    def _around(self, work: TurnWork | ModelWork) -> AbstractAsyncContextManager[Around | None]:
        return self._plugins.around(work) if "around" in self._plugins.hooks else nullcontext()

    def _observe(self, hook: str, **arguments: Any) -> None:
        if hook in self._plugins.hooks:
            self._plugins.observe(hook, **arguments)


def marked_context(plugin: str, text: str) -> str:
    """Mark a text that is sent with the user's message as a plugin's, or OneClaw's own."""
    inside = text.strip().replace("</context", "<\\/context")
    return f'<context plugin="{plugin}">\n{inside}\n</context>'


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _sum(first: TokenUsage, second: TokenUsage) -> TokenUsage:
    def added(name: str) -> int | None:
        values = (getattr(first, name), getattr(second, name))
        return None if values == (None, None) else sum(value or 0 for value in values)

    names = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
    is_at_least = first.is_at_least or second.is_at_least
    return TokenUsage(**{name: added(name) for name in names}, is_at_least=is_at_least)
