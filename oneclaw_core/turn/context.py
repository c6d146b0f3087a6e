"""Everything that is known about a turn before its first request."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import TurnLimitError, UsageError
from oneclaw_core.plugins.loading.load_plugins import disabled_plugins
from oneclaw_core.tools.context import MAX_TURN_DEPTH, depth_within
from oneclaw_core.turn.compaction import ContextLimits
from oneclaw_core.turn.estimate import ToolSizes
from oneclaw_core.turn.request import TOOL_GROUPS, TOOLS, CachePrefixes, prompt_lists, tool_names
from oneclaw_core.turn.stream import Deadline
from oneclaw_core.types.agents import REASONING_LEVELS
from oneclaw_core.types.budget import SpendingLimits, TurnBudget
from oneclaw_core.types.frozen_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from typing import Any

    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.config.settings import SettingsReader
    from oneclaw_core.contract.arguments import SessionInfo
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.plugins.sources.tool_sources import ToolSources
    from oneclaw_core.project.trust import Project
    from oneclaw_core.providers.pool import ProviderPool
    from oneclaw_core.sessions.background import Background
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
    from oneclaw_core.types.tools import ToolSelection
    from oneclaw_core.types.user_question import UserAsker

# Kept free for the answer where the length of one is unknown.
RESERVED_TOKENS = 16_000


@frozen_dataclass(kw_only=True)
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
    files: Iterable[str] = ()
    within: ToolContext | None = None
    command: str | None = None
    tool_groups: Iterable[str] | None = None
    limits: AgentLimits | None = None
    ask: Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None = None
    ask_user: UserAsker | None = None
    reasoning: ReasoningLevel | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    max_output_tokens: int | None = None
    resumes: bool = False
    task: str | None = None
    steering: list[str] | None = None

    def check(self) -> None:
        """Refuse what no turn can answer.

        Raises:
            UsageError: the text is empty, or an argument is of another type.
            TurnLimitError: too many agents run one another.
        """
        check_texts(session=self.session, agent=self.agent, model=self.model, command=self.command, task=self.task)
        if self.reasoning is not None and self.reasoning not in REASONING_LEVELS:
            raise UsageError(f"reasoning is one of {', '.join(REASONING_LEVELS)}, not {str(self.reasoning)[:100]!a}")
        longest = self.max_output_tokens
        if longest is not None and (type(longest) is not int or longest < 1):
            raise UsageError(f"max_output_tokens must be a whole number above 0, not {str(longest)[:100]!a}")
        if self.within is not None and depth_within(self.within) > MAX_TURN_DEPTH:
            raise TurnLimitError(f"agents run one another at most {MAX_TURN_DEPTH} deep: do this in the turn itself")
        has_content = isinstance(self.text, str) and (self.text.strip() or self.command is not None)
        if not has_content and not self.resumes:
            raise UsageError("the message is empty: say what you want")


@dataclass(slots=True, kw_only=True)
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
        tool_sources: bring the registry up to date before each request.
        project: the start directory.
        environ: the environment with settings.
        background: work that goes on beside the turns.
        cache_prefixes: of requests, kept over turns.
        tool_sizes: estimates of tools, kept over turns.
    """

    store: Store
    registry: ToolRegistry
    executor: ToolExecutor
    plugins: Plugins
    permissions: PermissionPolicy
    settings: SettingsReader
    models: ModelChooser
    providers: ProviderPool
    tool_sources: ToolSources
    project: Project
    environ: Mapping[str, str]
    background: Background
    cache_prefixes: CachePrefixes = field(default_factory=CachePrefixes)
    tool_sizes: ToolSizes = field(default_factory=ToolSizes)
    _applied: Mapping[str, Any] | None = field(default=None, init=False)

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

    async def refresh_tool_states(self) -> None:
        """Use the tools and groups that are disabled by now."""
        states = await self.store.tool_states()
        self.registry.set_disabled(states.disabled_tools, states.disabled_groups)

    def apply_settings(self, stored: Mapping[str, Any]) -> None:
        """Use stored settings, which another process may have changed."""
        if stored == self._applied:
            return
        self._applied = stored
        self.project.use_pins(stored)
        disabled = disabled_plugins(stored, self.environ)
        self.tool_sources.set_disabled(disabled)
        self.registry.set_disabled_plugins(disabled)

    async def prompt_of(
        self, session: SessionInfo, agent: Agent, *, is_new: bool = False, is_cached: bool = True
    ) -> TurnPrompt:
        """Return the system prompt of a session, and what has changed since the session was told last.

        Args:
            session: whose lock the caller holds, unless it only looks.
            agent: with its toolset for this turn; another one ends the prompt cache, and is told its own lists.
            is_new: True to use the current lists instead of stored ones.
            is_cached: True if the model's service may have the session's prompt in a cache.
        """
        await self.tool_sources.refresh()
        sections = await self.plugins.current_sections(session)
        toolset = "" if agent.selection.is_everything else _selection_text(agent.selection)
        kept = None if is_new else await self.store.kept_sections(session.id)
        known = None if kept is None or kept.lists is None else _read_prompt(kept.text, kept.lists)
        is_same = known is not None and known.toolset == toolset
        began_with = tool_names(known.shown) if known is not None and is_same else None
        lists = prompt_lists(agent, self.registry, sections, began_with)
        if kept is None:
            return TurnPrompt(await self.plugins.prompt_sections(session), toolset, lists, lists)
        if known is None or not is_same or not is_cached:
            return TurnPrompt(kept.text, toolset, lists, lists)
        news = "" if known.told == lists else news_of(known.told, lists)
        return replace(known, told=lists, news=news)


@frozen_dataclass
class TurnPrompt:
    """The parts of the system prompt that are kept with a session, so that its prompt cache lasts.

    Attributes:
        sections: of plugins, as one text.
        toolset: the tools that the lists are about, as a text.
        shown: the lists that the session began with, as :func:`oneclaw_core.turn.request.prompt_lists` writes them.
        told: the lists as the model knows them, with all that it was told since.
        news: to be told with the user's message; empty for nothing.
    """

    sections: str
    toolset: str
    shown: Mapping[str, str]
    told: Mapping[str, str]
    news: str = ""

    def lists(self) -> str:
        """Return what is stored of the lists, as JSON."""
        told = {} if self.told == self.shown else {"told": self.told}
        return json.dumps({"toolset": self.toolset, "shown": self.shown, **told}, ensure_ascii=False)


def _read_prompt(sections: str, lists: str) -> TurnPrompt | None:
    """Read what :meth:`TurnPrompt.lists` has written; ``None`` if it is something else."""
    try:
        found = json.loads(lists)
        shown = found["shown"]
        prompt = TurnPrompt(sections, found["toolset"], shown, found.get("told", shown))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    all_lists = (prompt.shown, prompt.told)
    is_whole = all(isinstance(each, dict) and {TOOL_GROUPS, TOOLS} <= each.keys() for each in all_lists)
    return prompt if is_whole and all(isinstance(text, str) for each in all_lists for text in each.values()) else None


def _selection_text(selection: ToolSelection) -> str:
    parts = [None if names is None else sorted(names) for names in (selection.tools, selection.groups)]
    within = "" if selection.within is None else _selection_text(selection.within)
    return f"{json.dumps(parts)}{within}"


def news_of(told: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Tell a model what has changed in its lists; an entry of a list is a line that begins with ``- ``."""
    parts = ["This has changed since the conversation began."]
    for name in {**told, **now}:
        before, after = told.get(name, "").split("\n"), now.get(name, "").split("\n")
        if before == after:
            continue
        title = next(line for line in (*after, *before) if line).lstrip("# ")
        # A new tool comes with its definition.
        added = [line for line in after if line.startswith("- ") and line not in before and name != TOOLS]
        names = {_entry_name(line) for line in after}
        removed = [_entry_name(line) for line in before if line.startswith("- ") and _entry_name(line) not in names]
        if after == [""]:
            parts.append(f"There is no longer: {title}")
        elif before == [""] or not (added or removed or name == TOOLS):
            parts.append("\n".join(after))
        else:
            parts += ["\n".join([f"New in {title}:", *added])] if added else []
            parts += [f"No longer in {title}: {', '.join(removed)}"] if removed else []
    return "\n\n".join(parts) if len(parts) > 1 else ""


def _entry_name(line: str) -> str:
    return line.removeprefix("- ").split(": ", 1)[0]


@frozen_dataclass(kw_only=True)
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
        prompt: the system prompt that is kept with the session; ``None`` for one without sections of plugins.
        steering: the user's messages during the turn, of which it removes those that it has stored; ``None`` for none.
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
    prompt: TurnPrompt | None = None
    steering: list[str] | None = None


def turn_context(
    session: Session,
    agent: Agent,
    model: ChosenModel,
    settings: Settings,
    hooks: TurnHooks | None,
    prompt: TurnPrompt,
    message: NewMessage | None = None,
) -> TurnContext:
    """Put the context of a turn together; of its limits, the strictest hold. Its time begins now."""
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
    return TurnContext(
        session=session,
        agent=agent,
        model=model,
        budget=TurnBudget(spending, rounds, outer),
        deadline=Deadline(settings.turn_deadline_seconds),
        context_limits=context_limits(model, settings.history_max_characters),
        result_max_characters=settings.tool_result_max_characters,
        within=within,
        hooks=hooks,
        task=task,
        prompt=prompt,
        steering=message.steering if message is not None else None,
    )


def context_limits(model: ChosenModel, history_max_characters: int | None) -> ContextLimits:
    """Return how much a model may be sent."""
    reserve = model.max_output_tokens or min(model.info.max_output_tokens or RESERVED_TOKENS, RESERVED_TOKENS)
    return ContextLimits(model.info.context_window, reserve, history_max_characters)


def check_texts(**given: object) -> None:
    """Refuse arguments that are neither texts nor ``None``.

    Raises:
        UsageError: one is something else.
    """
    for name, value in given.items():
        if not isinstance(value, str | None):
            raise UsageError(f"{name} must be a text or None, not {type(value).__name__}")
