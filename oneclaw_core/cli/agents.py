"""`oneclaw agents`: the personas there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.agents import BUILTIN_AGENTS, find_agent
from oneclaw_core.cli.output import json_option, print_json, print_table, print_text

if TYPE_CHECKING:
    from oneclaw_core.agents import Agent


@click.group()
def agents() -> None:
    """List and show agents: personas with a system prompt and a model."""


@agents.command("list")
@json_option
def list_agents(as_json: bool) -> None:
    """List all agents."""
    if as_json:
        print_json([_document(agent) for agent in BUILTIN_AGENTS])
    else:
        rows = [(agent.name, agent.model or "default", agent.description) for agent in BUILTIN_AGENTS]
        print_table(("name", "model", "description"), rows)


@agents.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show an agent with its system prompt."""
    agent = find_agent(name)
    if as_json:
        print_json(_document(agent))
        return
    print_text(f"{agent.name}: {agent.description}")
    print_text(f"model: {agent.model or 'default'}")
    for key, value in agent.parameters.items():
        print_text(f"{key}: {value!s}")
    print_text(f"\n{agent.system_prompt}")


def _document(agent: Agent) -> dict[str, Any]:
    return {
        "name": agent.name,
        "description": agent.description,
        "system_prompt": agent.system_prompt,
        "model": agent.model,
        "parameters": dict(agent.parameters),
    }
