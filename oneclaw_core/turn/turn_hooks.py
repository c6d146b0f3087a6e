"""The hooks of plugins on one turn and on its requests to models."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.errors import TurnRefusedError, describe_error
from oneclaw_core.plugins.contract.arguments import (
    ModelAnswer,
    ModelCall,
    ModelWork,
    TurnInfo,
    TurnOutcome,
    TurnWork,
)
from oneclaw_core.providers.base import ModelResponse, RetryNotice
from oneclaw_core.turn.closing import closing
from oneclaw_core.turn.own_context import in_own_context
from oneclaw_core.types.events import TurnFinishedEvent, UsageEvent
from oneclaw_core.types.messages import TokenUsage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from oneclaw_core.plugins.running.around import Around
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.providers.base import ModelEvent, ModelRequest
    from oneclaw_core.types.events import TurnEvent

_INTERRUPTED = ModelAnswer(error="the request was interrupted", error_type="interrupted")


class TurnHooks:
    """A turn that plugins govern or observe.

    Args:
        plugins: at work.
        info: the turn as plugins see it.
    """

    def __init__(self, plugins: Plugins, info: TurnInfo) -> None:
        self.info = info
        self._plugins = plugins

    async def check(self) -> None:
        """Ask the gates whether the turn may begin.

        Raises:
            TurnRefusedError: one refuses it.
        """
        verdict = await self._plugins.before_turn(self.info)
        if verdict is not None:
            raise TurnRefusedError(verdict.reason)

    async def with_context(self, text: str) -> str:
        """Return the user's message with the texts of plugins behind it, each marked as its plugin's."""
        if "message_context" not in self._plugins.hooks:
            return text
        return "\n\n".join([text, *(_marked(*each) for each in await self._plugins.message_context(self.info))])

    def followed(self, events: AsyncGenerator[TurnEvent, None]) -> AsyncGenerator[TurnEvent, None]:
        """Return the events of the turn, observed, and within the context managers of plugins."""
        observed = self._observed(events)
        return in_own_context(observed) if "around" in self._plugins.hooks else observed

    def request(
        self,
        events: AsyncIterator[ModelEvent],
        request: ModelRequest,
        model: str,
        provider_type: str,
        purpose: Literal["answer", "summary"],
    ) -> AsyncIterator[ModelEvent]:
        """Return the events of a request to a model, observed, and within the context managers of plugins.

        Args:
            events: of the provider.
            request: as it is sent.
            model: as ``PROVIDER/MODEL``.
            provider_type: of the provider.
            purpose: of the request.
        """
        hooks = self._plugins.hooks
        if hooks.isdisjoint({"around", "before_model_request", "after_model_response"}):
            return events
        call = ModelCall(model=model, provider_type=provider_type, purpose=purpose, request=request)
        observed = self._observed_request(events, call)
        return in_own_context(observed) if "around" in hooks else observed

    def compacted(self, summary: str) -> None:
        """Tell observers that the older part of the history was replaced."""
        self._observe("history_compacted", session=self.info.session, summary=summary)

    async def _observed(self, events: AsyncGenerator[TurnEvent, None]) -> AsyncGenerator[TurnEvent, None]:
        text, error, is_interrupted = "", None, False
        usage, cost = TokenUsage(), 0.0
        has_cost = True
        async with self._around(TurnWork(self.info)) as around, aclosing(events):
            self._observe("turn_started", turn=self.info)
            try:
                async for event in events:
                    if isinstance(event, UsageEvent):
                        usage = _sum(usage, event.usage)
                        cost += event.cost or 0.0
                        has_cost = has_cost and event.cost is not None
                    elif isinstance(event, TurnFinishedEvent):
                        text = event.text
                    yield event
            except (asyncio.CancelledError, GeneratorExit):
                # A listener may stop at the final answer, and the turn is complete.
                is_interrupted = not text
                raise
            except Exception as raised:
                error = describe_error(raised)
                raise
            finally:
                outcome = TurnOutcome(
                    text=text,
                    usage=usage,
                    cost=cost if has_cost else None,
                    error=error,
                    is_interrupted=is_interrupted,
                )
                if around is not None:
                    around.set_result(outcome)
                self._observe("turn_finished", turn=self.info, outcome=outcome)

    async def _observed_request(
        self, events: AsyncIterator[ModelEvent], call: ModelCall
    ) -> AsyncGenerator[ModelEvent, None]:
        answer = _INTERRUPTED
        async with self._around(ModelWork(self.info, call)) as around, closing(events):
            started = self._begin_attempt(call)
            try:
                async for event in events:
                    if isinstance(event, RetryNotice):
                        failed = ModelAnswer(error=event.reason, error_type="retried", duration_ms=_ms_since(started))
                        self._observe("after_model_response", turn=self.info, request=call, response=failed)
                        started = self._begin_attempt(call)
                    elif isinstance(event, ModelResponse):
                        answer = ModelAnswer(response=event, duration_ms=_ms_since(started))
                    yield event
            except Exception as error:
                name = type(error).__name__
                answer = ModelAnswer(error=describe_error(error), error_type=name, duration_ms=_ms_since(started))
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


def _marked(plugin: str, text: str) -> str:
    inside = text.strip().replace("</context", "<\\/context")
    return f'<context plugin="{plugin}">\n{inside}\n</context>'


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def _sum(first: TokenUsage, second: TokenUsage) -> TokenUsage:
    def added(name: str) -> int | None:
        values = (getattr(first, name), getattr(second, name))
        return None if values == (None, None) else sum(value or 0 for value in values)

    names = ("input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
    return TokenUsage(**{name: added(name) for name in names})
