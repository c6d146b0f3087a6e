"""Make, change and delete agents: `oneclaw agents create`, `edit` and `delete`."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oneclaw_agents.listing import agent_document
from oneclaw_core import ToolSelection, UsageError
from oneclaw_core.cli import (
    MAX_SYSTEM_PROMPT_CHARACTERS,
    confirm,
    json_option,
    print_json,
    print_text,
    printable_line,
    stacked,
    with_configuration,
    yes_option,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import Agent, Configuration

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
    """Put what the user gave into the words of the changes of :meth:`oneclaw_core.AgentService.update`.

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
        changes["selection"] = ToolSelection()
    elif tools is not None or groups is not None:
        changes["selection"] = _selection(tools, groups, selection)
    return changes


def _selection(tools: Sequence[str] | None, groups: Sequence[str] | None, now: ToolSelection) -> ToolSelection:
    """Make an agent's new selection from names; ``*`` stands for all.

    Args:
        tools: names of tools, ``None`` to leave them as they are.
        groups: names of tool groups, ``None`` to leave them as they are.
        now: the selection that the agent has; from everything, what is not named is taken out.
    """
    named = ToolSelection.naming(tools, groups)
    if now.is_everything:
        return named
    return ToolSelection(now.tools if tools is None else named.tools, now.groups if groups is None else named.groups)


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


@click.command("create")
@click.argument("name")
@agent_options
@json_option
def create(name: str, as_json: bool, **given: Any) -> None:
    """Make the agent NAME; it needs a system prompt.

    Without --tools and --groups it has all tools. With one of them, it has only the named ones.
    """
    wanted: Any = changes_of(given, ToolSelection())
    if "system_prompt" not in wanted:
        raise UsageError("an agent needs a system prompt: add --system-prompt TEXT or --system-prompt-file FILE")
    prompt = wanted.pop("system_prompt")
    agent = with_configuration(lambda changes: changes.agents.create(name, prompt, **wanted))
    _print_changed(agent, "created", as_json)


@click.command("edit")
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


@click.command("delete")
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
