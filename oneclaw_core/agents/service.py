"""Listing, making, changing and deleting agents: what the command line, tools and plugins all go through."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypedDict

from oneclaw_core.errors import AgentError, NotFoundError
from oneclaw_core.shipped.missing import missing_part, unknown_name
from oneclaw_core.types.agents import BUILTIN_AGENTS, REASONING_LEVELS, Agent, check_own
from oneclaw_core.types.text import clean_text
from oneclaw_core.types.tools import ToolDefinition, ToolSelection

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from typing_extensions import Unpack

    from oneclaw_core.sessions.store import Store
    from oneclaw_core.tools.registry import ToolRegistry

_LIMITS = ("max_tool_rounds", "turn_max_tokens", "turn_max_cost")


class AgentFields(TypedDict, total=False):
    """Fields of an agent beside its name and system prompt; see :class:`Agent` and :class:`~oneclaw_core.AgentLimits`.

    Attributes:
        description: one line for people.
        model: ``PROVIDER/MODEL``, ``None`` for the default.
        parameters: sampling parameters; ``None`` takes one away.
        max_tool_rounds: ``None`` for no limit; so are the next two.
        turn_max_tokens: input and output tokens.
        turn_max_cost: in US dollars.
        selection: the tools that it may have.
    """

    description: str
    model: str | None
    parameters: Mapping[str, Any]
    max_tool_rounds: int | None
    turn_max_tokens: int | None
    turn_max_cost: float | None
    selection: ToolSelection


class AgentChanges(AgentFields, total=False):
    """Changes to an agent. Of ``parameters``, only the given ones change."""

    name: str
    system_prompt: str


class AgentService:
    """The agents of an open home, the built-in one first.

    Args:
        store: where they lie.
        registry: the tools that they can have.
        check_model: raises ``NotFoundError`` for a model whose provider is not configured.
    """

    def __init__(self, store: Store, registry: ToolRegistry, check_model: Callable[[str], Awaitable[None]]) -> None:
        self._store = store
        self._registry = registry
        self._check_model = check_model

    async def list(self) -> Sequence[Agent]:
        """List all agents: built-in ones, then the others by their names."""
        return [*BUILTIN_AGENTS, *await self._store.list_agents()]

    async def get(self, name_or_id: str) -> Agent:
        """Find an agent by its name, in any case, or its id.

        Raises:
            NotFoundError: there is none; the message names those that are much like it.
        """
        found = await self._store.find_agent(name_or_id)
        if found is not None:
            return found
        names = {agent.name.casefold(): agent.name for agent in await self.list()}
        close = get_close_matches(name_or_id[:200].casefold(), names, cutoff=0.6)
        hint = f"did you mean {' or '.join(names[each] for each in close)}?" if close else "list them with: "
        raise NotFoundError(
            f"there is no agent {clean_text(name_or_id)[:100]!r}; {hint if close else hint + 'oneclaw agents list'}"
        )

    def missing_tools_of(self, agent: Agent) -> Sequence[str]:
        """Describe tools and tool groups of OneClaw that an agent has and no loaded plugin brings, a line each."""
        registry, selection = self._registry, agent.selection
        groups = [each.name for each in registry.get_all_group_definitions()]
        return [
            f"the {kind} {name} is missing: {hint}"
            for kind, names, known in (
                ("tool", selection.tools, registry.get_all_tool_names()),
                ("tool group", selection.groups, groups),
            )
            for name in sorted((names or frozenset()) - frozenset(known))
            if (hint := missing_part(kind, name, registry.absent_plugins)) is not None
        ]

    def tools_of(self, agent: Agent) -> Sequence[tuple[ToolDefinition, str | None]]:
        """The enabled tools that an agent has, each with its tool group, ``None`` for a core tool; those come first."""
        seen = self._registry.toolset(agent.selection)
        core = ((definition, None) for definition in seen.core_tools)
        grouped = ((definition, group.name) for group in seen.groups for definition in seen.tools_of(group.name))
        return [*core, *grouped]

    async def create(
        self, name: str, system_prompt: str, *, makers: Sequence[str] = (), **fields: Unpack[AgentFields]
    ) -> Agent:
        """Make an agent.

        Args:
            name: not that of another agent, whatever its case.
            system_prompt: the instructions that open every request.
            makers: the names of the agents that make it, whose denied permissions it is denied too.
            fields: what else is to be said of it.

        Returns:
            The agent, with its id.

        Raises:
            AgentError: a value is not acceptable.
            DuplicateError: there is an agent of that name.
            NotFoundError: there is no such tool, tool group or provider.
        """
        await self._check_new_model(fields)
        blank = Agent(name=_line(name), description="", system_prompt=_text(system_prompt))
        return await self._store.create_agent(self._changed(blank, fields), makers)

    async def update(self, name_or_id: str, **changes: Unpack[AgentChanges]) -> Agent:
        """Change what is named of an agent; it holds from the next turn on, in other processes too.

        Args:
            name_or_id: which agent. A new name takes its sessions along.
            changes: the new values.

        Returns:
            The agent as it is now.

        Raises:
            AgentError: a value is not acceptable.
            DuplicateError: there is another agent of the new name.
            ProtectedError: the agent is built in.
            NotFoundError: there is no such agent, tool, tool group or provider.
        """
        await self._check_new_model(changes)
        found = await self.get(name_or_id)
        return await self._store.change_agent(found.id, lambda agent: self._changed(agent, changes))

    async def check_update(self, name_or_id: str, **changes: Unpack[AgentChanges]) -> None:
        """Refuse what :meth:`update` would refuse, before the user is asked; a name that is taken is found out there.

        Raises:
            UsageError: as for :meth:`update`.
        """
        await self._check_new_model(changes)
        found = await self.get(name_or_id)
        check_own(found, "changed")
        self._changed(found, changes)

    async def check_deletion(self, name_or_id: str) -> None:
        """Refuse what :meth:`delete` would refuse.

        Raises:
            UsageError: as for :meth:`delete`.
        """
        check_own(await self.get(name_or_id), "deleted")

    async def delete(self, name_or_id: str) -> tuple[Agent, int]:
        """Delete an agent; its sessions go on with the General Assistant.

        Returns:
            The agent that was, and how many sessions it had.

        Raises:
            ProtectedError: the agent is built in.
            NotFoundError: there is no such agent.
        """
        return await self._store.delete_agent((await self.get(name_or_id)).id)

    async def _check_new_model(self, changes: AgentFields) -> None:
        model = changes.get("model")
        if model is None:
            return
        if not isinstance(model, str):
            raise AgentError("an agent's model must be PROVIDER/MODEL, such as offline/rules")
        await self._check_model(model)

    def _changed(self, agent: Agent, changes: AgentChanges | AgentFields) -> Agent:
        values: dict[str, Any] = dict(changes)
        unknown = values.keys() - AgentChanges.__annotations__.keys()
        if unknown:
            known = ", ".join(sorted(AgentChanges.__annotations__))
            raise AgentError(f"an agent has no {min(unknown)!r}; what can be set is: {known}")
        for field in ("name", "description"):
            if field in values:
                values[field] = _line(values[field])
        if "system_prompt" in values:
            values["system_prompt"] = _text(values["system_prompt"])
        if "selection" in values:
            self._check_names(values["selection"], agent.selection)
        if "parameters" in values:
            values["parameters"] = _merged(agent.parameters, values["parameters"])
        limits = {name: values.pop(name) for name in _LIMITS if name in values}
        if limits:
            values["limits"] = replace(agent.limits, **limits)
        return replace(agent, **values)

    def _check_names(self, selection: object, old: ToolSelection) -> None:
        """Refuse new names that nothing has; one that was there may be of a plugin that is not installed just now."""
        if not isinstance(selection, ToolSelection):
            raise AgentError("an agent's selection must be a ToolSelection")
        if selection.within is not None:
            raise AgentError("what an agent may have is stored by itself: make a ToolSelection without 'within'")
        tools = self._registry.get_all_tool_names()
        groups = [group.name for group in self._registry.get_all_group_definitions()]
        for kind, new, before, known, other, others in (
            ("tool", selection.tools, old.tools, tools, "tool group", groups),
            ("tool group", selection.groups, old.groups, groups, "tool", tools),
        ):
            for name in sorted((new or frozenset()) - (before or frozenset()) - frozenset(known), key=str):
                if name in others:
                    raise AgentError(f"{name!r} is a {other}, not a {kind}: name it among the {other.split()[-1]}s")
                command, absent = f"oneclaw {kind.split()[-1]}s list", self._registry.absent_plugins
                raise NotFoundError(unknown_name(kind, str(name)[:100], known, command, absent))


def _line(text: Any) -> Any:
    """A text on one line; what is not a text is left for the agent to refuse."""
    return " ".join(clean_text(text).split()) if isinstance(text, str) else text


def _text(text: Any) -> Any:
    return clean_text(text).strip() if isinstance(text, str) else text


def _merged(old: Mapping[str, Any], new: object) -> dict[str, Any]:
    if not isinstance(new, dict):
        raise AgentError("an agent's parameters must be an object, such as {'temperature': 0.2}")
    level = new.get("reasoning")
    if isinstance(level, str) and level not in REASONING_LEVELS:
        raise AgentError(f"reasoning is one of {', '.join(REASONING_LEVELS)}, not {level[:100]!a}")
    return {name: value for name, value in {**old, **new}.items() if value is not None}
