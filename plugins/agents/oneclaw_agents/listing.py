"""List and show agents: `oneclaw agents list` and `show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli import (
    document_of,
    json_option,
    print_json,
    print_listing,
    print_table,
    print_text,
    warn,
    with_configuration,
)
from oneclaw_core.tools import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import Agent, Configuration, ToolDefinition, ToolSelection

_DESCRIPTION_CHARACTERS = 100


@click.command("list")
@json_option
def list_agents(as_json: bool) -> None:
    """List all agents, the built-in one first."""
    found = with_configuration(lambda changes: changes.agents.list(), is_read_only=True)
    columns = ("name", "model", "tools", "description")
    print_listing(as_json, map(agent_document, found), columns, map(_row, found))


@click.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show the agent NAME with its system prompt and its tools."""

    async def find(changes: Configuration) -> tuple[Agent, Sequence[tuple[ToolDefinition, str | None]], Sequence[str]]:
        service = changes.agents
        agent = await service.get(name)
        return agent, service.tools_of(agent), service.missing_tools_of(agent)

    agent, tools, missing = with_configuration(find, is_read_only=True)
    for message in missing:
        warn(message)
    if as_json:
        documents = [
            document_of(each, "name", "description") | {"group": group} | document_of(each, "required_permissions")
            for each, group in tools
        ]
        print_json(agent_document(agent) | {"available_tools": documents})
        return
    print_text(f"{agent.name}: {agent.description}" if agent.description else agent.name)
    print_text(f"id: {agent.id}{' (built in)' if agent.is_builtin else ''}")
    print_text(f"model: {agent.model or 'default'}")
    limits = agent_document(agent)["limits"]
    for key, value in {**agent.parameters, **limits}.items():
        if value is not None:
            print_text(f"{key}: {value!s}")
    print_text(f"tools: {_selected(agent.selection)}")
    print_text(f"\n{agent.system_prompt}\n")
    rows = [
        (each.name, group, ", ".join(each.required_permissions), one_line(each.description, _DESCRIPTION_CHARACTERS))
        for each, group in tools
    ]
    print_table(("tool", "group", "needs permission", "description"), rows)


def _row(agent: Agent) -> tuple[str, ...]:
    description = one_line(agent.description, _DESCRIPTION_CHARACTERS)
    return agent.name, agent.model or "default", _selected(agent.selection), description


def agent_document(agent: Agent) -> dict[str, Any]:
    """Describe an agent for JSON; ``null`` for its tools or groups means all."""
    tools, groups = agent.selection.tools, agent.selection.groups
    return {
        **document_of(agent, "id", "name", "description", "system_prompt", "model"),
        "parameters": dict(agent.parameters),
        "limits": document_of(agent.limits, "max_tool_rounds", "turn_max_tokens", "turn_max_cost"),
        "tools": None if tools is None else sorted(tools),
        "groups": None if groups is None else sorted(groups),
        "built_in": agent.is_builtin,
    }


def _selected(selection: ToolSelection) -> str:
    """Say in a few words which tools an agent has."""
    if selection.is_everything:
        return "all"
    tools = "all core tools" if selection.tools is None else ", ".join(sorted(selection.tools))
    groups = "all groups" if selection.groups is None else ", ".join(f"{name}/*" for name in sorted(selection.groups))
    return ", ".join(part for part in (tools, groups) if part) or "none"
