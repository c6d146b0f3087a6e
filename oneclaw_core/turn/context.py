"""Everything that is known about a turn before its first request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oneclaw_core.errors import TurnLimitError, UsageError
from oneclaw_core.plugins.contract.arguments import SessionInfo
from oneclaw_core.tools.context import MAX_TURN_DEPTH, depth_within
from oneclaw_core.turn.compaction import ContextLimits
from oneclaw_core.turn.estimate import ToolSizes
from oneclaw_core.turn.request import CachePrefixes
from oneclaw_core.turn.stream import Deadline
from oneclaw_core.types.agents import REASONING_LEVELS
from oneclaw_core.types.budget import SpendingLimits, TurnBudget

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from typing import Any

    from oneclaw_core.config.settings import Settings, SettingsReader
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.providers.pool import ProviderPool
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.settings import UserStates
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.sessions.turns import TurnStart
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.executor import ToolExecutor
    from oneclaw_core.tools.permissions import PermissionAnswer, PermissionPolicy, PermissionRequest
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.turn.model import ChosenModel, ModelChooser
    from oneclaw_core.turn.turn_hooks import TurnHooks
    from oneclaw_core.types.agents import Agent, AgentLimits, ReasoningLevel
    from oneclaw_core.types.messages import Attachment

# Kept free for the answer where the length of one is unknown.
RESERVED_TOKENS = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """The arguments of :meth:`oneclaw_core.OneClaw.send_message`, which describes them.

    Attributes:
        resumes: True to finish the last turn of the session instead of sending a message.
    """

    text: str
    session: str | None = None
    agent: str | None = None
    model: str | None = None
    attachments: Iterable[Attachment] = ()
    within: ToolContext | None = None
    command: str | None = None
    tool_groups: Iterable[str] | None = None
    limits: AgentLimits | None = None
    ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None
    reasoning: ReasoningLevel | None = None
    resumes: bool = False
    task: str | None = None

    def check(self) -> None:
        """Refuse what no turn can answer.

        Raises:
            UsageError: the text is empty, or an argument is of another type.
            TurnLimitError: too many agents run one another.
        """
        check_texts(session=self.session, agent=self.agent, model=self.model, command=self.command, task=self.task)
        if self.reasoning is not None and self.reasoning not in REASONING_LEVELS:
            raise UsageError(f"reasoning is one of {', '.join(REASONING_LEVELS)}, not {str(self.reasoning)[:100]!a}")
        if self.within is not None and depth_within(self.within) > MAX_TURN_DEPTH:
            raise TurnLimitError(f"agents run one another at most {MAX_TURN_DEPTH} deep: do this in the turn itself")
        has_content = isinstance(self.text, str) and (self.text.strip() or self.command is not None)
        if not has_content and not self.resumes:
            raise UsageError("the message is empty: say what you want")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """The parts of an open home that every turn works with.

    Attributes:
        store: keeps the history.
        registry: the tools.
        executor: runs tool calls.
        plugins: at work.
        permissions: the user's decisions.
        settings: reads the settings.
        models: chooses agent and model.
        providers: open connections.
        refresh_tools: brings the registry up to date before each request.
        apply_settings: passes stored settings, which another process may have changed, to the rest of the home.
        cache_prefixes: of requests, kept over turns.
        tool_sizes: estimates of tools, kept over turns.
    """

    store: Store
    registry: ToolRegistry
    executor: ToolExecutor
    plugins: Plugins
    permissions: PermissionPolicy
    settings: SettingsReader[Settings]
    models: ModelChooser
    providers: ProviderPool
    refresh_tools: Callable[[], Awaitable[None]]
    apply_settings: Callable[[Mapping[str, Any]], None]
    cache_prefixes: CachePrefixes = field(default_factory=CachePrefixes)
    tool_sizes: ToolSizes = field(default_factory=ToolSizes)

    def apply_states(self, start: TurnStart) -> None:
        """Use the stored permissions and disabled tools, which another process may have changed."""
        self.permissions.replace_grants(start.grants)
        self.registry.set_disabled(start.tool_states.disabled_tools, start.tool_states.disabled_groups)

    async def refresh_states(self) -> UserStates:
        """Use what the user has set by now, which another process may have changed, and return it."""
        states = await self.store.user_states()
        self.use_states(states)
        return states

    def use_states(self, states: UserStates) -> None:
        """Use what the user has set."""
        self.permissions.replace_grants(states.grants)
        self.registry.set_disabled(states.disabled_tools, states.disabled_groups)
        self.apply_settings(states.settings)

    async def kept_sections(self, session: SessionInfo, *, is_new: bool = False) -> str:
        """Return the sections of the system prompt that are kept with a session; plugins are asked once a session."""
        if not is_new:
            kept = await self.store.kept_sections(session.id)
            if kept is not None:
                return kept
        return await self.plugins.prompt_sections(session)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """One turn: whose it is, which model answers, and what it may take.

    Attributes:
        session: whose lock the caller holds.
        agent: on whose behalf, with its toolset for this turn.
        model: answers the turn.
        budget: the rounds, tokens and money that it may take.
        deadline: the end of its time.
        context_limits: how much the model may be sent.
        result_max_characters: of each result that the model is shown.
        within: the tool call that it is run for, ``None`` for a turn of the user.
        hooks: of plugins on the turn; ``None`` for none.
        task: the scheduled task that it is run for; ``None`` for a turn of the user's.
    """

    session: Session
    agent: Agent
    model: ChosenModel
    budget: TurnBudget
    deadline: Deadline
    context_limits: ContextLimits
    result_max_characters: int
    within: ToolContext | None = None
    hooks: TurnHooks | None = None
    task: str | None = None


def turn_context(
    session: Session,
    agent: Agent,
    model: ChosenModel,
    settings: Settings,
    hooks: TurnHooks | None,
    message: NewMessage | None = None,
) -> TurnContext:
    """Put the context of a turn together; of its limits, the strictest hold. Its time begins now.

    Args:
        session: whose lock the caller holds.
        agent: with its limits.
        model: answers the turn.
        settings: of the home.
        hooks: of plugins on the turn.
        message: that it answers, with limits of its own; ``None`` for none.
    """
    own = message.limits if message is not None else None
    within = message.within if message is not None else None
    task = message.task if message is not None else None
    if within is not None and within.turn is not None:
        task = within.turn.task
    rounds = min(settings.turn_max_tool_rounds, agent.limits.max_tool_rounds or settings.turn_max_tool_rounds)
    spending = [
        SpendingLimits(
            turn_max_tokens=agent.limits.turn_max_tokens,
            turn_max_cost=agent.limits.turn_max_cost,
            agent=agent.name,
        ),
        SpendingLimits(
            turn_max_tokens=settings.turn_max_tokens,
            turn_max_cost=settings.turn_max_cost,
            day_max_tokens=settings.day_max_tokens,
            day_max_cost=settings.day_max_cost,
        ),
    ]
    if own is not None:
        rounds = min(rounds, own.max_tool_rounds or rounds)
        limits = SpendingLimits(
            turn_max_tokens=own.turn_max_tokens, turn_max_cost=own.turn_max_cost, is_of_message=True
        )
        spending.insert(0, limits)
    outer = within.turn.budget if within is not None and within.turn is not None else None
    reserve = model.max_output_tokens or min(model.info.max_output_tokens or RESERVED_TOKENS, RESERVED_TOKENS)
    return TurnContext(
        session=session,
        agent=agent,
        model=model,
        budget=TurnBudget(spending, rounds, outer),
        deadline=Deadline(settings.turn_deadline_seconds),
        context_limits=ContextLimits(model.info.context_window, reserve, settings.history_max_characters),
        result_max_characters=settings.tool_result_max_characters,
        within=within,
        hooks=hooks,
        task=task,
    )


def session_info(session: Session) -> SessionInfo:
    """Describe a stored session for plugins."""
    return SessionInfo(id=session.id, name=session.name, agent=session.agent, parent_id=session.parent_id)


def check_texts(**given: object) -> None:
    """Refuse arguments that are neither texts nor ``None``.

    Raises:
        UsageError: one is something else.
    """
    for name, value in given.items():
        if not isinstance(value, str | None):
            raise UsageError(f"{name} must be a text or None, not {type(value).__name__}")
