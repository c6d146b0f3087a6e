"""Skills, and prompts of MCP servers, as prompts of the server."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core import CommandUse, NotFoundError, ToolSelection
from oneclaw_core.tools import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import ExpandedMessage, MessageCommand, OneClaw
    from oneclaw_mcp.offer import Offer

_FREE = "arguments"
_LOAD_SKILL = "load_skill"
_SUMMARY_CHARACTERS = 300
_DEFAULT_AGENT = "General Assistant"


async def listed_prompts(claw: OneClaw, offer: Offer) -> list[dict[str, Any]]:
    """Return what a client may have of all that a user of a chat can send as ``/NAME``, in the order of the names."""
    commands = await claw.plugins.message_commands()
    return [
        {"name": name, "description": one_line(each.summary, _SUMMARY_CHARACTERS), "arguments": _arguments(each)}
        for name, each in sorted(commands.items())
        if each.problem is None and _is_offered(claw, offer, name)
    ]


async def expanded_prompt(claw: OneClaw, offer: Offer, name: str, given: Mapping[str, str]) -> ExpandedMessage:
    """Return the message that a prompt stands for, with the groups that it uses named in its text.

    Args:
        claw: the open home.
        offer: the tools of the client.
        name: of the prompt.
        given: the arguments of the client.

    Raises:
        NotFoundError: there is no such prompt.
        OneClawError: it cannot be made of these arguments.
    """
    command = (await claw.plugins.message_commands()).get(name)
    if command is None or command.problem is not None or not _is_offered(claw, offer, name):
        raise NotFoundError(f"there is no prompt {one_line(name, 100)!r}")
    agent = offer.agent.name if offer.agent is not None else _DEFAULT_AGENT
    use = CommandUse(name=name, arguments=_typed(command, given), agent=agent, selection=offer.selection)
    message = await claw.plugins.expand_command(use)
    if message is None:
        raise NotFoundError(f"there is no prompt {one_line(name, 100)!r}")
    groups = f"\n\nIt uses the tool groups {', '.join(message.groups)}." if message.groups else ""
    return replace(message, text=f"{message.text}{groups}")


def _arguments(command: MessageCommand) -> list[dict[str, Any]]:
    if not command.arguments:
        return [{"name": _FREE, "description": "What to do it with, as behind /NAME in a chat", "required": False}]
    return [{"name": each.rstrip("*"), "required": each.endswith("*")} for each in command.arguments]


def _typed(command: MessageCommand, given: Mapping[str, str]) -> str:
    """Return what a user would type behind the name of a command."""
    names = [each.rstrip("*") for each in command.arguments]
    if _FREE in given and _FREE not in names:
        return given[_FREE]
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items() if name in names)


def _is_offered(claw: OneClaw, offer: Offer, name: str) -> bool:
    """Return True for a prompt of a server whose tools may be called, and a skill where skills may be loaded.

    A prompt starts its server and sends it the arguments without a permission, since a person chose it. So a client
    without a person gets none.
    """
    server, is_of_server, _ = name.partition("__")
    if is_of_server:
        group = f"mcp_{server}"
        return offer.can_approve and offer.calls(group) and offer.selection.allows_whole_group(group)
    return offer.selection == ToolSelection() or offer.shows(claw.services.registry, _LOAD_SKILL)
