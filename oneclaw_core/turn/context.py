"""Everything that is known about a turn before its first request."""

from __future__ import annotations

from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING

from oneclaw_core.errors import TurnLimitError, UsageError
from oneclaw_core.tools.context import MAX_TURN_DEPTH, depth_within
from oneclaw_core.turn.compaction import ContextLimits
from oneclaw_core.types.budget import SpendingLimits

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from oneclaw_core.config.settings import Settings
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.executor import ToolExecutor
    from oneclaw_core.tools.permissions import PermissionAnswer, PermissionRequest
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.turn.estimate import ToolSizes
    from oneclaw_core.turn.model import ChosenModel
    from oneclaw_core.turn.request import CachePrefixes
    from oneclaw_core.turn.turn_hooks import TurnHooks
    from oneclaw_core.types.agents import Agent, AgentLimits
    from oneclaw_core.types.messages import Attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """The arguments of :meth:`oneclaw_core.OneClaw.send_message`, which describes them."""

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

    def check(self) -> None:
        """Refuse what no turn can answer.

        Raises:
            UsageError: the text is empty, or an argument is of another type.
            TurnLimitError: too many agents run one another.
        """
        check_texts(session=self.session, agent=self.agent, model=self.model, command=self.command)
        if self.within is not None and depth_within(self.within) > MAX_TURN_DEPTH:
            raise TurnLimitError(f"agents run one another at most {MAX_TURN_DEPTH} deep: do this in the turn itself")
        if not isinstance(self.text, str) or not (self.text.strip() or self.command is not None):
            raise UsageError("the message is empty: say what you want")


def check_texts(**given: object) -> None:
    """Refuse arguments that are neither texts nor ``None``.

    Raises:
        UsageError: one is something else.
    """
    for name, value in given.items():
        if not isinstance(value, str | None):
            raise UsageError(f"{name} must be a text or None, not {type(value).__name__}")


# Kept free for the answer where the length of one is unknown.
RESERVED_TOKENS = 16_000


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """Limits of a turn.

    Attributes:
        deadline_seconds: as a whole.
        max_tool_rounds: of tool calls.
        result_max_characters: of each result that the model is shown.
        context: how much the model may be sent.
        spending: how much may be spent.
        agent_spending: how much the agent may spend.
        own_spending: how much the one who sent the message allows; all three hold.
    """

    deadline_seconds: float
    max_tool_rounds: int
    result_max_characters: int
    context: ContextLimits = field(default_factory=ContextLimits)
    spending: SpendingLimits = field(default_factory=SpendingLimits)
    agent_spending: SpendingLimits = field(default_factory=SpendingLimits)
    own_spending: SpendingLimits = field(default_factory=SpendingLimits)

    @property
    def all_spending(self) -> tuple[SpendingLimits, ...]:
        """All limits of spending, the narrowest first."""
        return self.own_spending, self.agent_spending, self.spending

    def rounds_message(self, agent: Agent) -> str:
        """Say that the rounds are used up, and what to do."""
        option = "raise the setting turn_max_tool_rounds"
        if agent.limits.max_tool_rounds == self.max_tool_rounds:
            option = f"raise the agent's limit with: oneclaw agents edit {quote(agent.name)} --max-tool-rounds NUMBER"
        return (
            f"the turn was stopped after {self.max_tool_rounds} rounds of tool calls; send another message to go on, "
            f"or {option}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """The parts of an open home that every turn works with.

    Attributes:
        store: keeps the history.
        registry: the tools.
        executor: runs tool calls.
        plugins: at work.
        cache_prefixes: of requests, kept over turns.
        tool_sizes: estimates of tools, kept over turns.
        refresh_tools: brings the registry up to date before each request.
    """

    store: Store
    registry: ToolRegistry
    executor: ToolExecutor
    plugins: Plugins
    cache_prefixes: CachePrefixes
    tool_sizes: ToolSizes
    refresh_tools: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """One turn: whose it is, which model answers, and what it may take.

    Attributes:
        session: whose lock the caller holds.
        agent: on whose behalf, with its toolset for this turn.
        model: answers the turn.
        limits: of the turn.
        within: the tool call that it is run for, ``None`` for a turn of the user.
        hooks: of plugins on the turn; ``None`` for none.
    """

    session: Session
    agent: Agent
    model: ChosenModel
    limits: TurnLimits
    within: ToolContext | None = None
    hooks: TurnHooks | None = None


def turn_limits(settings: Settings, agent: Agent, model: ChosenModel, own: AgentLimits) -> TurnLimits:
    """Put the limits of a turn together; the strictest hold.

    Args:
        settings: of the home.
        agent: with its limits.
        model: answers the turn.
        own: of the message.
    """
    most_rounds = (settings.turn_max_tool_rounds, agent.limits.max_tool_rounds, own.max_tool_rounds)
    reserve = model.max_output_tokens or min(model.info.max_output_tokens or RESERVED_TOKENS, RESERVED_TOKENS)
    return TurnLimits(
        deadline_seconds=settings.turn_deadline_seconds,
        max_tool_rounds=min(each for each in most_rounds if each is not None),
        result_max_characters=settings.tool_result_max_characters,
        context=ContextLimits(model.info.context_window, reserve, settings.history_max_characters),
        spending=SpendingLimits(
            turn_max_tokens=settings.turn_max_tokens,
            turn_max_cost=settings.turn_max_cost,
            day_max_tokens=settings.day_max_tokens,
            day_max_cost=settings.day_max_cost,
        ),
        agent_spending=SpendingLimits(
            turn_max_tokens=agent.limits.turn_max_tokens,
            turn_max_cost=agent.limits.turn_max_cost,
            agent=agent.name,
        ),
        own_spending=SpendingLimits(
            turn_max_tokens=own.turn_max_tokens, turn_max_cost=own.turn_max_cost, is_of_message=True
        ),
    )
