"""The system prompt of a session: kept from its beginning, so that its prompt cache lasts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.tools.registry import ToolRegistry, build_system_prompt_with_tool_groups
from oneclaw_core.turn.request import TOOL_GROUPS, TOOLS, TurnPrompt
from oneclaw_core.types.tool_groups import FIND_TOOL_GROUPS

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from oneclaw_core.contract.arguments import PromptSection, SessionInfo
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.tool_sources.tool_sources import ToolSources
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.tools import ToolSelection


class Prompts:
    """The system prompts of sessions.

    Args:
        store: keeps them.
        registry: the tools there are.
        plugins: bring sections.
        tool_sources: bring the registry up to date.
    """

    def __init__(self, store: Store, registry: ToolRegistry, plugins: Plugins, tool_sources: ToolSources) -> None:
        self._store = store
        self._registry = registry
        self._plugins = plugins
        self._tool_sources = tool_sources

    async def of(
        self, session: SessionInfo, agent: Agent, *, is_new: bool = False, is_cached: bool = True
    ) -> TurnPrompt:
        """Return the system prompt of a session, and what has changed since the session was told last.

        Args:
            session: whose lock the caller holds, unless it only looks.
            agent: with its toolset for this turn; another one ends the prompt cache, and is told its own lists.
            is_new: True to use the current lists instead of stored ones.
            is_cached: True if the model's service may have the session's prompt in a cache.
        """
        await self._tool_sources.refresh()
        sections = await self._plugins.current_sections(session)
        toolset = "" if agent.selection.is_everything else selection_text(agent.selection)
        kept = None if is_new else await self._store.kept_sections(session.id)
        known = None if kept is None or kept.lists is None else read_prompt(kept.text, kept.lists)
        is_same = known is not None and known.toolset == toolset
        began_with = known.core_tools() if known is not None and is_same else None
        lists = prompt_lists(agent, self._registry, sections, began_with)
        if kept is None:
            return TurnPrompt(await self._plugins.prompt_sections(session), toolset, lists, lists)
        if known is None or not is_same or not is_cached:
            return TurnPrompt(kept.text, toolset, lists, lists)
        news = "" if known.told == lists else news_of(known.told, lists)
        return replace(known, told=lists, news=news)


def read_prompt(sections: str, lists: str) -> TurnPrompt | None:
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


def selection_text(selection: ToolSelection) -> str:
    """Write a selection of tools as a text, the same for the same selection."""
    parts = [None if names is None else sorted(names) for names in (selection.tools, selection.groups)]
    within = "" if selection.within is None else selection_text(selection.within)
    return f"{json.dumps(parts)}{within}"


def prompt_lists(
    agent: Agent,
    registry: ToolRegistry,
    current_sections: Sequence[PromptSection] = (),
    began_with: Container[str] | None = None,
) -> dict[str, str]:
    """Write the current lists of skills and groups for a model.

    Args:
        agent: with its toolset for this turn.
        registry: whose tools and groups; one without an enabled tool for the agent is not listed.
        current_sections: of plugins; left out if they are about a core tool that the agent lacks.
        began_with: the core tools that the session began with, which keeps its way of listing groups; ``None`` for a
            new one.

    Returns:
        The sections of plugins, the list of tool groups (``TOOL_GROUPS``) and the names of the core tools (``TOOLS``),
        which stands in no system prompt, since the request has the tools themselves.
    """
    selected = registry.toolset(agent.selection)
    core = {each.name: None for each in selected.active((), began_with).core}
    lists: dict[str, str] = {}
    for each in current_sections:
        if each.core_tool is None or each.core_tool in core:
            name = f"section {each.id}"
            lists[name] = f"{lists[name]}\n\n{each.text}" if name in lists else each.text
    lists[TOOL_GROUPS] = build_system_prompt_with_tool_groups(
        "", selected.groups, finds_groups=FIND_TOOL_GROUPS in core
    )
    lists[TOOLS] = "\n".join(["## Tools", *(f"- {name}" for name in core)])
    return lists


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
