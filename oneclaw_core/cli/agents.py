"""Agents: `oneclaw agents`."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.agents.service import selection_of
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.confirming import confirm, yes_option
from oneclaw_core.cli.options import stacked
from oneclaw_core.cli.output import (
    json_option,
    print_json,
    print_listing,
    print_table,
    print_text,
    printable_line,
    warn,
)
from oneclaw_core.cli.running import with_configuration
from oneclaw_core.errors import UsageError
from oneclaw_core.types.agents import MAX_SYSTEM_PROMPT_CHARACTERS
from oneclaw_core.types.tool_groups import one_line
from oneclaw_core.types.tools import ALL_TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.config.configuration import Configuration
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.tool_definition import ToolDefinition
    from oneclaw_core.types.tools import ToolSelection

# What takes a value away again.
NONE = "none"
# A character takes four bytes at most; what is longer is refused before it is read whole.
_MAX_PROMPT_BYTES = 4 * MAX_SYSTEM_PROMPT_CHARACTERS + 1

agent_options = stacked(
    click.option("--description", metavar="TEXT", help="One line for people."),
    click.option("--system-prompt", metavar="TEXT", help="The instructions that open every request."),
    click.option("--system-prompt-file", metavar="FILE", help="Read them from a file; - for standard input."),
    click.option("--model", metavar="PROVIDER/MODEL", help="The model it prefers; none for the default."),
    click.option("--temperature", metavar="NUMBER", help="From 0 to 2; none for the service's own."),
    click.option(
        "--parameter",
        metavar="NAME=VALUE",
        multiple=True,
        help="Another parameter for the model, the value as JSON or text; may be repeated.",
    ),
    click.option("--max-tool-rounds", metavar="NUMBER", help="How many rounds of tool calls a turn may take; or none."),
    click.option("--turn-max-tokens", metavar="NUMBER", help="How many tokens a turn may use; or none."),
    click.option("--turn-max-cost", metavar="DOLLARS", help="How much a turn may cost; or none."),
    click.option(
        "--tools", metavar="NAME,...", help="Its tools outside groups, and single tools of groups; * for all."
    ),
    click.option("--groups", metavar="NAME,...", help="Its tool groups; * for all."),
    click.option("--all-tools", is_flag=True, help="Give it all tools and groups."),
)
"""Gives a command the parameters that :func:`changes_of` takes, ``None`` for options that were not given."""


def changes_of(given: Mapping[str, Any], selection: ToolSelection) -> dict[str, Any]:
    """Put what the user gave into the words of :class:`oneclaw_core.agents.service.AgentChanges`.

    Raises:
        UsageError: an option does not fit.
    """
    tools, groups = (_split_names(given[name]) for name in ("tools", "groups"))
    changes = {
        "description": given["description"],
        "system_prompt": _system_prompt(given["system_prompt"], given["system_prompt_file"]),
        "parameters": _parameters(given["parameter"], given["temperature"]) or None,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    if given["model"] is not None:
        changes["model"] = None if given["model"] == NONE else given["model"]
    for name in ("max_tool_rounds", "turn_max_tokens", "turn_max_cost"):
        if given[name] is not None:
            changes[name] = _number(name, given[name], is_whole=name != "turn_max_cost")
    if given["all_tools"]:
        if tools is not None or groups is not None:
            raise UsageError("--all-tools goes with neither --tools nor --groups: they name single ones")
        changes["selection"] = ALL_TOOLS
    elif tools is not None or groups is not None:
        changes["selection"] = selection_of(tools, groups, selection)
    return changes


def _system_prompt(text: str | None, file_name: str | None) -> str | None:
    if file_name is None:
        return text
    if text is not None:
        raise UsageError("give --system-prompt or --system-prompt-file, not both")
    try:
        if file_name == "-":
            content = sys.stdin.buffer.read(_MAX_PROMPT_BYTES)
        else:
            with Path(file_name).open("rb") as file:
                content = file.read(_MAX_PROMPT_BYTES)
        return content.decode("utf-8")
    except UnicodeDecodeError:
        if len(content) == _MAX_PROMPT_BYTES:
            raise UsageError(f"a system prompt has at most {MAX_SYSTEM_PROMPT_CHARACTERS:,} characters") from None
        raise UsageError(f"{file_name} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{file_name} cannot be read: {reason}") from None


def _parameters(texts: Sequence[str], temperature: str | None) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise UsageError(f"--parameter takes NAME=VALUE, such as top_p=0.9, not {text[:100]!r}")
        parameters[name.strip()] = None if value == NONE else _json_or_text(value)
    if temperature is not None:
        parameters["temperature"] = _number("temperature", temperature)
    return parameters


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _number(name: str, text: str, *, is_whole: bool = False) -> float | None:
    if text == NONE:
        return None
    try:
        number = int(text) if is_whole else float(text)
        if is_whole or math.isfinite(number):
            return number
    except ValueError:
        pass
    kind = "a whole number" if is_whole else "a number"
    raise UsageError(f"--{name.replace('_', '-')} takes {kind} or none, not {text[:100]!r}")


def _split_names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


_DESCRIPTION_CHARACTERS = 100


@click.group(cls=CommandGroup)
def agents() -> None:
    """List agents and show, make, change and delete them: personas with a system prompt, a model, and tools."""


@agents.command("list")
@json_option
def list_agents(as_json: bool) -> None:
    """List all agents, the built-in one first."""
    found = with_configuration(lambda changes: changes.agents.list(), is_read_only=True)
    rows = (
        (
            agent.name,
            agent.model or "default",
            _selected(agent.selection),
            one_line(agent.description, _DESCRIPTION_CHARACTERS),
        )
        for agent in found
    )
    print_listing(as_json, map(agent_document, found), ("name", "model", "tools", "description"), rows)


@agents.command("show")
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
            {
                "name": each.name,
                "description": each.description,
                "group": group,
                "required_permissions": list(each.required_permissions),
            }
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


@agents.command("create")
@click.argument("name")
@agent_options
@json_option
def create(name: str, as_json: bool, **given: Any) -> None:
    """Make the agent NAME; it needs a system prompt.

    Without --tools and --groups it has all tools. With one of them, it has only the named ones.
    """
    wanted: Any = changes_of(given, ALL_TOOLS)
    if "system_prompt" not in wanted:
        raise UsageError("an agent needs a system prompt: add --system-prompt TEXT or --system-prompt-file FILE")
    prompt = wanted.pop("system_prompt")
    agent = with_configuration(lambda changes: changes.agents.create(name, prompt, **wanted))
    _print_changed(agent, "created", as_json)


@agents.command("edit")
@click.argument("name")
@click.option("--name", "new_name", metavar="NEW", help="Rename it; it keeps its sessions.")
@agent_options
@json_option
def edit(name: str, new_name: str | None, as_json: bool, **given: Any) -> None:
    """Change the agent NAME.

    Only the given options change; The value none removes one.
    """

    async def change(changes: Configuration) -> Agent:
        agent = await changes.agents.get(name)
        wanted: Any = changes_of(given, agent.selection)
        if new_name is not None:
            wanted["name"] = new_name
        if not wanted:
            raise UsageError("say what to change: 'oneclaw agents edit --help' lists the options")
        return await changes.agents.update(agent.id, **wanted)

    changed = with_configuration(change)
    _print_changed(changed, "changed", as_json)


@agents.command("delete")
@click.argument("name")
@yes_option
def delete(name: str, is_confirmed: bool) -> None:
    """Delete the agent NAME.

    Its sessions continue with the General Assistant.
    """
    agent = with_configuration(lambda changes: changes.agents.get(name))
    if not is_confirmed and not agent.is_builtin:
        confirm("delete", f"agent {agent.name!r}", f"Delete agent {printable_line(agent.name)}?")
    _, sessions = with_configuration(lambda changes: changes.agents.delete(agent.id))
    moved = f"; {sessions} session{'s go' if sessions > 1 else ' goes'} on with the General Assistant"
    print_text(f"agent {agent.name} is deleted{moved if sessions else ''}")


def _print_changed(agent: Agent, what: str, as_json: bool) -> None:
    if as_json:
        print_json(agent_document(agent))
    else:
        print_text(f"agent {agent.name} is {what}")


def agent_document(agent: Agent) -> dict[str, Any]:
    """Describe an agent for JSON; ``null`` for its tools or groups means all."""
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
