"""The model of a turn: choose it, and ask it within the spending limits."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, nullcontext
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.config.models import cost_of, load_prices, model_facts, needs_prices, said_of
from oneclaw_core.config.providers import LEARNED_SETTING, OFFLINE_MODEL, Providers, with_key
from oneclaw_core.errors import (
    NotFoundError,
    ProviderError,
    SettingsError,
    SpendingLimitError,
    StoreError,
)
from oneclaw_core.providers.left_out import most_tools_in, shown_parts
from oneclaw_core.sessions.usage import UsageRecord
from oneclaw_core.turn.attachments import accepted_media_types
from oneclaw_core.turn.request import prepare_request, undispatched_response
from oneclaw_core.types.agents import GENERAL_ASSISTANT, REASONING_LEVELS
from oneclaw_core.types.budget import Spending, start_of_day
from oneclaw_core.types.events import ModelSwitchedEvent, UsageEvent
from oneclaw_core.types.frozen_dataclass import frozen_dataclass
from oneclaw_core.types.messages import TokenUsage
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
    from collections.abc import Awaitable, Callable, Mapping

    from oneclaw_core.agents.service import AgentService
    from oneclaw_core.config.keys import KeyStore
    from oneclaw_core.config.models import ModelLists, ModelPrices
    from oneclaw_core.config.settings import SettingsReader
    from oneclaw_core.providers.base import Provider, ProviderConfig
    from oneclaw_core.providers.known import KnownProviders
    from oneclaw_core.providers.pool import ProviderPool
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.sessions.turns import TurnSetup
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.turn.fallback import Fallback
    from oneclaw_core.turn.request import CachePrefixes
    from oneclaw_core.turn.stream import Deadline, Emit
    from oneclaw_core.turn.turn_hooks import TurnHooks
    from oneclaw_core.types.agents import Agent, ReasoningLevel
    from oneclaw_core.types.budget import TurnBudget
    from oneclaw_core.types.model_requests import ModelEvent, ModelInfo, ModelRequest

    # No coroutine function: an answer has thousands of pieces.
    Show = Callable[[ModelEvent], Awaitable[None] | None]

_log = logging.getLogger("oneclaw.turn")
# Output that an answer which breaks off has used.
_RECEIVED = (TextDelta, ReasoningDelta, ArgumentsDelta)
# How many parts one request can lose, and how many are remembered for a model: the newest.
_MOST_REFUSALS = 8
_MOST_REMEMBERED = 200


@frozen_dataclass
class ChosenModel:
    """The model that answers a turn.

    Attributes:
        provider: the service.
        config: of the service.
        info: what is known about the model.
        tool_loading: how its loaded groups are told to it.
        max_output_tokens: the longest answer wanted, ``None`` for the wire format's own limit.
        prices: what the user says it costs, ``None`` for what is known.
        left_out: the parts of requests that the service has refused, each with the reason that it gave.
        reasoning: how much it is to think, ``None`` for the service's own.
        fallback: the models that are asked if it fails, where it stands behind another model; else ``None``.
    """

    provider: Provider
    config: ProviderConfig
    info: ModelInfo
    tool_loading: ToolLoading = ToolLoading.NATIVE
    max_output_tokens: int | None = None
    prices: ModelPrices | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    reasoning: ReasoningLevel | None = None
    fallback: Fallback | None = None

    @property
    def full_name(self) -> str:
        """``PROVIDER/MODEL``."""
        return f"{self.config.name}/{self.info.name}"

    @property
    def attachment_media_types(self) -> tuple[str, ...]:
        """Prefixes of the media types that the model takes and its wire format can carry."""
        of_format = tuple(getattr(self.provider, "attachment_media_types", ()))
        return accepted_media_types(of_format, self.info.input_media_types)

    @property
    def loads_natively(self) -> bool:
        """True if a loaded group leaves what a request begins with as it was."""
        return bool(getattr(self.provider, "loads_natively", False))

    async def measured(self) -> ChosenModel:
        """Return the model with the context window that its server really uses, if it can be asked for that."""
        provider: Any = self.provider
        window: int | None = await provider.find_context_window(self.info.name)
        if window is None:
            return self
        return replace(self, info=replace(self.info, context_window=min(window, self.info.context_window or window)))

    def loading_of(self, request: ModelRequest, loading: ToolLoading, left_out: Mapping[str, str]) -> ToolLoading:
        """Return how a request tells loaded groups: through the dispatcher if the service takes fewer tools."""
        most = getattr(self.provider, "most_tools", None)
        if left_out and (found := most_tools_in(left_out)) is not None:
            most = found
        is_over = most is not None and bool(request.tools.groups) and len(request.tools.names) > most
        return ToolLoading.DISPATCH if is_over else loading

    @property
    def writes_summaries(self) -> bool:
        """True if the model writes summaries; what is not a language model says so of itself."""
        return bool(getattr(self.provider, "is_language_model", True))


class ModelChooser:
    """Finds the agent and the model of a turn, by what is asked for, stored and set.

    Args:
        agents: the agents.
        settings: reads the settings.
        environ: providers and settings of the environment.
        known: providers that plugins know.
        keys: of the providers.
        lists: known models.
        providers: open connections.
    """

    def __init__(
        self,
        agents: AgentService,
        settings: SettingsReader,
        environ: Mapping[str, str],
        known: KnownProviders,
        keys: KeyStore,
        lists: ModelLists,
        providers: ProviderPool,
    ) -> None:
        self._agents = agents
        self._settings = settings
        self._environ = environ
        self._known = known
        self._keys = keys
        self._lists = lists
        self._providers = providers

    async def choose(
        self,
        setup: TurnSetup,
        agent: str | None,
        model: str | None,
        within: ToolContext | None = None,
        reasoning: ReasoningLevel | None = None,
        parameters: Mapping[str, Any] | None = None,
        longest: int | None = None,
    ) -> tuple[Agent, ChosenModel]:
        """Choose the agent and the model of a turn.

        Args:
            setup: what the store says.
            agent: asked for; ``None`` for that of the session.
            model: asked for; ``None`` for that of the session, the agent, the outer turn or the settings.
            within: the tool call that the turn is run for.
            reasoning: how much the model is to think; ``None`` for what is set for the agent, the outer turn or the
                model.
            parameters: sampling parameters in place of the agent's.
            longest: the longest answer wanted, in tokens.

        Raises:
            AgentError: a parameter is not acceptable.
            NotFoundError: there is no such agent, provider or model.
        """
        session, stored = setup.session, setup.settings
        persona = setup.agent
        if persona is None and agent is not None:
            persona = await self._agents.get(agent)
        if persona is None:
            # Another version of the program, or a hand, took the agent away and left its sessions.
            _log.warning("there is no agent %r any more; %s goes on", session and session.agent, GENERAL_ASSISTANT.name)
            persona = GENERAL_ASSISTANT
        name = model or (session.model if session else None) or persona.model
        if name is None and within is not None and within.turn is not None:
            name = within.turn.model
        if name is None:
            name = self._settings.read(stored).model or OFFLINE_MODEL
        if parameters:
            persona = replace(persona, parameters={**persona.parameters, **parameters})
        level = persona.parameters.get("reasoning")
        if level in REASONING_LEVELS:  # else an object of the service's own
            reasoning = reasoning or level
            kept = {key: value for key, value in persona.parameters.items() if key != "reasoning"}
            persona = replace(persona, parameters=kept)
        if reasoning is None and within is not None and within.turn is not None:
            reasoning = within.turn.reasoning
        try:
            chosen = await self._open(name, stored, reasoning, longest)
        except NotFoundError as error:
            if name != persona.model:
                raise
            raise NotFoundError(f"the model of agent {persona.name!r} cannot be used: {error}") from None
        if hasattr(chosen.provider, "route"):
            chosen = await self._first_behind(chosen, stored, longest)
        return persona, chosen

    async def _first_behind(self, asked: ChosenModel, stored: Mapping[str, Any], longest: int | None) -> ChosenModel:
        """Return the first of the models that stand behind another one."""
        from oneclaw_core.providers.base import route_of
        from oneclaw_core.turn.fallback import Fallback

        route = route_of(asked.provider, asked.info.name)
        assert route is not None

        async def open_model(name: str) -> ChosenModel:
            found = await self._open(name, stored, asked.reasoning, longest)
            if hasattr(found.provider, "route"):
                raise SettingsError(
                    f"{name} has models of others behind it too, and only models of services can be here"
                )
            return found

        return await Fallback(asked.full_name, route, open_model, self._providers, stored).first()

    async def _open(
        self, name: str, stored: Mapping[str, Any], reasoning: ReasoningLevel | None, longest: int | None
    ) -> ChosenModel:
        """Make a model ready to be asked.

        Raises:
            OneClawError: it cannot be asked.
        """
        config, model_name = Providers(stored, self._environ, self._known).split(name)
        config = await with_key(config, self._keys)
        await self._providers.prepare(config)
        full_name = f"{config.name}/{model_name}"
        said = said_of(stored, full_name)
        learned = stored.get(LEARNED_SETTING + full_name)
        # What a server refused says nothing of another one at another address.
        if not isinstance(learned, dict) or learned.get("base_url") != config.base_url:
            learned = {}
        loading = ToolLoading((said.tool_loading if said else None) or ToolLoading.NATIVE)
        if learned.get("tool_loading") in set(ToolLoading):  # else by another version
            loading = loading.at_most(ToolLoading(learned["tool_loading"]))
        return ChosenModel(
            self._providers.get(config),
            config,
            model_facts(config, model_name, self._lists, stored),
            loading,
            min(filter(None, (longest, said.max_output_tokens if said else None)), default=None),
            said.prices if said else None,
            left_out_by(learned),
            reasoning or (said.reasoning if said else None) or config.reasoning,
        )


class ModelCalls:
    """The requests of one turn to the chosen model.

    Args:
        store: where usage is noted, and what was learned about the model.
        session_id: whose turn it is.
        chosen: the model.
        budget: how much may be spent.
        cache_prefixes: of requests, kept over turns.
        deadline: of the turn.
        hooks: of plugins on the turn; ``None`` for none.
        emit: hands the usage of attempts that failed to the listener; ``None`` without one.
    """

    def __init__(
        self,
        store: Store,
        session_id: str,
        chosen: ChosenModel,
        budget: TurnBudget,
        cache_prefixes: CachePrefixes,
        deadline: Deadline,
        hooks: TurnHooks | None = None,
        emit: Emit | None = None,
        on_switch: Callable[[ChosenModel], None] | None = None,
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._budget = budget
        self._cache_prefixes = cache_prefixes
        self._deadline = deadline
        self._hooks = hooks
        self._emit = emit
        self._on_switch = on_switch
        self._use(chosen)

    def _use(self, chosen: ChosenModel) -> None:
        self._chosen = chosen
        self._tool_loading = chosen.tool_loading
        self._loading_refused: LoadingRefused | None = None
        self._left_out = dict(chosen.left_out)
        self._has_warned = False
        self._is_shown = False
        self._prices: asyncio.Task[None] | None = None

    @property
    def model(self) -> str:
        """The name of the model at its provider, which changes if another one takes its place."""
        return self._chosen.info.name

    @property
    def is_shown(self) -> bool:
        """True if a part of the last answer was shown, so that nothing is asked in its place."""
        return self._is_shown

    async def switch(self, error: ProviderError) -> None:
        """Let the next model behind the one that was asked for take the place of one that failed.

        Raises:
            ProviderError: there is none, the failure is no reason for it, or a part of the answer was shown.
        """
        failed = self._chosen
        if failed.fallback is None:
            raise error
        self._use(await failed.fallback.after(error, failed, self._store, is_final=self._is_shown))
        if self._on_switch is not None:
            self._on_switch(self._chosen)
        if self._emit is not None:
            await self._emit(ModelSwitchedEvent(self._chosen.full_name, failed.full_name, str(error)))

    async def ask_any(
        self,
        request: ModelRequest,
        show: Show | None = None,
        purpose: Literal["answer", "summary"] = "answer",
    ) -> ModelResponse | None:
        """Do the same as :meth:`ask` for a request that fits every model, and go on to the next model by itself."""
        while True:
            try:
                return await self.ask(replace(request, model=self.model), show, purpose)
            except ProviderError as error:
                await self.switch(error)

    async def ask(
        self,
        request: ModelRequest,
        show: Show | None = None,
        purpose: Literal["answer", "summary"] = "answer",
    ) -> ModelResponse | None:
        """Send a request and return the model's answer; ``None`` if the service ended without one.

        The usage of attempts that do not lead to the answer is recorded, also if the turn is cancelled in one.

        Args:
            request: as it would be sent without a dispatcher.
            show: called with each part of the answer, and each retry, as it comes; what it returns is awaited.
            purpose: of the request, for plugins.

        Raises:
            SpendingLimitError: a limit is reached; nothing was sent.
            ProviderError: the model could not be asked.
            TurnDeadlineError: the turn's time is over.
            TurnStoppedError: the user stopped the turn.
        """
        await self._check_limits()
        self._is_shown = False
        fallback = self._chosen.fallback
        if self._prices is None and needs_prices(self._chosen.config, self._chosen.prices):
            # Their import takes longer than a turn; it runs while the model thinks.
            self._prices = asyncio.create_task(asyncio.to_thread(load_prices))
        found: dict[str, str] = {}
        while True:
            left_out = self._left_out | found
            loading = self._chosen.loading_of(request, self._tool_loading, left_out)
            sent = prepare_request(
                request,
                self._chosen.info,
                loading,
                self._chosen.max_output_tokens,
                left_out,
                self._chosen.reasoning,
            )
            if fallback is not None:
                sent = replace(sent, first_byte_seconds=fallback.silence_seconds)
            try:
                hooks = self._hooks
                async with nullcontext() if hooks is None else hooks.request(sent, self._chosen, purpose) as observe:
                    response = await self._answer(sent, show, observe)
                break
            except ProviderError as error:
                new = [part for part in error.refused_parts if part not in left_out]
                if not new or len(found) >= _MOST_REFUSALS:
                    raise
                found |= dict.fromkeys(new, _reason_in(error))
                notice = RetryNotice(f"{error}; left out: {shown_parts(new, sent)}", 0)
                _log.info("%s", notice.reason)
            if show is not None and (shown := show(notice)) is not None:
                await shown
        if response is None:
            return None
        if fallback is not None:
            fallback.answered(self._chosen.full_name)
        if self._loading_refused is not None or found:
            # Only now is it sure that this was what the service refused.
            self._left_out |= found
            await self._remember_refusal(self._loading_refused, found)
            self._loading_refused = None
        return undispatched_response(response) if loading is ToolLoading.DISPATCH else response

    async def _answer(
        self,
        sent: ModelRequest,
        show: Show | None,
        observe: Callable[[ModelEvent], None] | None,
    ) -> ModelResponse | None:
        response: ModelResponse | None = None
        # Of the attempt that runs.
        usage: TokenUsage | None = None
        received: list[str] = []
        try:
            async with aclosing(self._deadline.limit(self._chosen.provider.stream(sent))) as events:
                async for event in events:
                    if observe is not None:
                        observe(event)
                    if isinstance(event, ModelResponse):
                        response = event
                        continue
                    if isinstance(event, UsageSoFar):
                        usage = event.usage
                        continue
                    if isinstance(event, _RECEIVED):
                        received.append(event.text)
                        self._is_shown = self._is_shown or not isinstance(event, ArgumentsDelta)
                    elif isinstance(event, (RetryNotice, LoadingRefused)):
                        if usage is not None or received:
                            lost, usage = self._note_lost(sent, usage, received), None
                            received = []
                            await lost
                            await self._check_limits()
                        if isinstance(event, LoadingRefused):
                            # The service may refuse another part of this attempt, too.
                            self._loading_refused = event
                            self._tool_loading = event.instead
                            continue
                        fallback = self._chosen.fallback
                        if fallback is not None and event.error is not None and fallback.gives_up(event):
                            raise event.error
                    if show is not None and (shown := show(event)) is not None:
                        await shown
        except GeneratorExit:
            raise  # nothing can be awaited any more
        except BaseException as error:
            if response is None:
                await self._note_lost(sent, usage, received, is_heard=isinstance(error, Exception))
            raise
        if response is None:
            await self._note_lost(sent, usage, received)
        return response

    async def _note_lost(
        self, sent: ModelRequest, usage: TokenUsage | None, received: list[str], *, is_heard: bool = True
    ) -> None:
        """Record an attempt whose answer did not complete.

        Args:
            sent: the request.
            usage: as the service had counted it; ``None`` if its answer had not begun.
            received: the text that had come.
            is_heard: True if a listener waits for events.
        """
        if usage is None and not received:
            return
        from oneclaw_core.turn.estimate import Estimator, text_tokens

        usage = usage or TokenUsage(is_at_least=True)
        if usage.is_at_least or usage.input_tokens is None or usage.output_tokens is None:
            counted = Estimator().raw(sent) if usage.input_tokens is None else usage.input_tokens
            written = max(usage.output_tokens or 0, text_tokens("".join(received)))
            usage = replace(usage, input_tokens=counted, output_tokens=written, is_at_least=True)
        if not usage.input_tokens and not usage.output_tokens:
            return
        record, event = await self.note(usage)
        try:
            await self._store.record_usage(self._session_id, record)
        except StoreError:
            _log.exception("the usage of an answer that broke off is not recorded")
        if not is_heard:
            if self._hooks is not None:
                self._hooks.count_unheard(event)
        elif self._emit is not None:
            await self._emit(event)

    async def note(self, usage: TokenUsage, request: ModelRequest | None = None) -> tuple[UsageRecord, UsageEvent]:
        """Count what an answer used, and put it into the words of the store and of the user.

        Args:
            usage: as the service counted it.
            request: what was answered; ``None`` for one that continues no conversation.
        """
        try:
            if self._prices is not None:
                # A caller that is cancelled here may ask again, to record what was used.
                await asyncio.shield(self._prices)
            cost = cost_of(self._chosen.config, self._chosen.info.name, usage, self._chosen.prices)
        except Exception:  # noqa: BLE001  # an answer that is paid for is not lost for want of its price
            _log.exception("the price of %s cannot be found", self._chosen.full_name)
            cost = None
        self._budget.add(usage, cost)
        if cost is None and not self._has_warned:
            self._has_warned = True
            warning = self._budget.warning(self._chosen.full_name)
            if warning is not None:
                _log.warning("%s", warning)
        record = UsageRecord(self._chosen.config.name, self._chosen.info.name, usage, cost)
        if request is not None:
            loading = self._chosen.loading_of(request, self._tool_loading, self._left_out)
            are_groups_at_front = loading is ToolLoading.APPEND or not (
                self._chosen.loads_natively or loading is ToolLoading.DISPATCH
            )
            record = replace(
                record,
                tool_groups=tuple(group.name for group in request.tools.groups),
                prefix=self._cache_prefixes.of(request, are_groups_at_front=are_groups_at_front),
            )
        return record, UsageEvent(self._chosen.full_name, usage, cost)

    async def _check_limits(self) -> None:
        day = await self._store.spent_since(start_of_day()) if self._budget.limits_days else Spending()
        reached = self._budget.exceeded(day)
        if reached is not None:
            raise SpendingLimitError(reached)

    async def _remember_refusal(self, refused: LoadingRefused | None, left_out: Mapping[str, str]) -> None:
        """Have the model asked in the way that it takes in later turns too; the user can have another tried again."""
        name, base_url = self._chosen.full_name, self._chosen.config.base_url
        if refused is not None:
            _log.info("%s is told loaded tool groups the %s way: %s", name, refused.instead, refused.reason)

        def with_refusals(learned: Any) -> dict[str, Any]:
            is_of_server = isinstance(learned, dict) and learned.get("base_url") == base_url
            known: dict[str, Any] = {**learned} if is_of_server else {"base_url": base_url}
            if refused is not None:
                known["tool_loading"] = str(refused.instead)
            if left_out:
                parts = {**left_out_by(known), **left_out}
                known["left_out"] = dict(list(parts.items())[-_MOST_REMEMBERED:])
            return known

        await self._store.change_setting(LEARNED_SETTING + name, with_refusals)


def left_out_by(learned: Mapping[str, Any]) -> dict[str, str]:
    """Return the parts of requests that a service has refused, each with its reason."""
    found = learned.get("left_out")
    return {str(part): str(reason) for part, reason in found.items()} if isinstance(found, dict) else {}


def _reason_in(error: ProviderError) -> str:
    """Return what the service itself said, which is the end of the message."""
    return str(error).rpartition("it says: ")[2]
