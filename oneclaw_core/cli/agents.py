"""`oneclaw agents`: the personas there are, and making, changing and deleting them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.agent_options import agent_options, changes_of
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import is_terminal, json_option, print_json, print_table, print_text, printable_line, warn
from oneclaw_core.cli.stored import with_agents
from oneclaw_core.errors import OneClawError, UsageError
from oneclaw_core.tools.toolset import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.agents import AgentService
    from oneclaw_core.cli.agent_options import GivenOptions
    from oneclaw_core.tools.definition import ToolDefinition
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.tools import ToolSelection

_DESCRIPTION_CHARACTERS = 100


@click.group(cls=CommandGroup)
def agents() -> None:
    """List agents and show, make, change and delete them: personas with a system prompt, a model, and tools."""


@agents.command("list")
@json_option
def list_agents(as_json: bool) -> None:
    """List all agents, the built-in one first."""
    found = with_agents(lambda service: service.list())
    if as_json:
        print_json([agent_document(agent) for agent in found])
        return
    rows = [
        (
            agent.name,
            agent.model or "default",
            _selected(agent.selection),
            one_line(agent.description, _DESCRIPTION_CHARACTERS),
        )
        for agent in found
    ]
    print_table(("name", "model", "tools", "description"), rows)


@agents.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show the agent NAME with its system prompt and its tools."""

    async def find(service: AgentService) -> tuple[Agent, Sequence[tuple[ToolDefinition, str | None]], Sequence[str]]:
        agent = await service.get(name)
        return agent, service.tools_of(agent), service.missing_tools_of(agent)

    agent, tools, missing = with_agents(find)
    for message in missing:
        warn(message)
    if as_json:
        documents = [{"name": each.name, "description": each.description, "group": group} for each, group in tools]
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
    rows = [(each.name, group, one_line(each.description, _DESCRIPTION_CHARACTERS)) for each, group in tools]
    print_table(("tool", "group", "description"), rows)


@agents.command("create")
@click.argument("name")
@agent_options
@json_option
def create(name: str, given: GivenOptions, as_json: bool) -> None:
    """Make an agent of the name NAME; it needs a system prompt.

    Without --tools and --groups it has all tools. With one of them, it has only what is named.
    """
    from oneclaw_core.types.tools import ALL_TOOLS

    changes: Any = changes_of(given, ALL_TOOLS)
    if "system_prompt" not in changes:
        raise UsageError("an agent needs a system prompt: add --system-prompt TEXT or --system-prompt-file FILE")
    prompt = changes.pop("system_prompt")
    agent = with_agents(lambda service: service.create(name, prompt, **changes))
    if as_json:
        print_json(agent_document(agent))
    else:
        print_text(f"agent {agent.name} is created")


@agents.command("edit")
@click.argument("name")
@click.option("--name", "new_name", metavar="NEW", help="Call it so from now on; its sessions stay its own.")
@agent_options
@json_option
def edit(name: str, new_name: str | None, given: GivenOptions, as_json: bool) -> None:
    """Change what is named of the agent NAME.

    The rest stays as it is; none takes a value away.
    """

    async def change(service: AgentService) -> Agent:
        agent = await service.get(name)
        changes: Any = changes_of(given, agent.selection)
        if new_name is not None:
            changes["name"] = new_name
        if not changes:
            raise UsageError("say what to change: 'oneclaw agents edit --help' lists the options")
        return await service.update(agent.id, **changes)

    changed = with_agents(change)
    if as_json:
        print_json(agent_document(changed))
    else:
        print_text(f"agent {changed.name} is changed")


@agents.command("delete")
@click.argument("name")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask.")
def delete(name: str, is_confirmed: bool) -> None:
    """Delete the agent NAME.

    Its sessions go on with the General Assistant.
    """
    agent = with_agents(lambda service: service.get(name))
    if not is_confirmed and not agent.is_builtin:
        if not is_terminal(sys.stdin):
            raise UsageError(f"nobody can be asked here whether to delete agent {agent.name!r}: add --yes")
        if not click.confirm(f"Delete agent {printable_line(agent.name)}?", err=True):
            raise OneClawError("nothing was deleted")
    _, sessions = with_agents(lambda service: service.delete(agent.id))
    moved = f"; {sessions} session{'s go' if sessions > 1 else ' goes'} on with the General Assistant"
    print_text(f"agent {agent.name} is deleted{moved if sessions else ''}")


def agent_document(agent: Agent) -> dict[str, Any]:
    """An agent as JSON can hold it; ``null`` for its tools or groups means all."""
    tools, groups = agent.selection.tools, agent.selection.groups
    return {
        "id": agent.id,
        "name": agent.name,
        "description": agent.description,
        "system_prompt": agent.system_prompt,
        "model": agent.model,
        "parameters": dict(agent.parameters),
        "limits": {
            "max_tool_rounds": agent.limits.max_tool_rounds,
            "turn_max_tokens": agent.limits.turn_max_tokens,
            "turn_max_cost": agent.limits.turn_max_cost,
        },
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
