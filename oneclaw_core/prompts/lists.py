"""The lists in a system prompt: sections of plugins, tool groups, core tools; and what has changed in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.tools.toolset import build_system_prompt_with_tool_groups
from oneclaw_core.turn.prompt import TOOL_GROUPS, TOOLS
from oneclaw_core.types.tool_groups import FIND_TOOL_GROUPS

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from oneclaw_core.contract.arguments import PromptSection
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.agents import Agent


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
