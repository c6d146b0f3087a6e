"""Skills, and prompts of MCP servers, as prompts of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core import CommandUse, NotFoundError
from oneclaw_core.tools import one_line

if TYPE_CHECKING:
    from oneclaw_core import OneClaw
    from oneclaw_mcp.offer import Offer

ARGUMENTS = "arguments"
_SUMMARY_CHARACTERS = 300
_DEFAULT_AGENT = "General Assistant"


async def listed_prompts(claw: OneClaw) -> list[dict[str, Any]]:
    """Return what a user of a chat can send as ``/NAME``, in the order of the names."""
    commands = await claw.plugins.message_commands()
    argument = {"name": ARGUMENTS, "description": "What to do it with, as behind /NAME in a chat", "required": False}
    return [
        {"name": name, "description": one_line(each.summary, _SUMMARY_CHARACTERS), "arguments": [argument]}
        for name, each in sorted(commands.items())
        if each.problem is None
    ]


async def prompt_text(claw: OneClaw, offer: Offer, name: str, arguments: str) -> str:
    """Return the message that a prompt stands for.

    Args:
        claw: the open home.
        offer: the tools of the client.
        name: of the prompt.
        arguments: the text behind ``/NAME``.

    Raises:
        NotFoundError: there is no such prompt.
        OneClawError: it cannot be made of these arguments.
    """
    command = (await claw.plugins.message_commands()).get(name)
    if command is None or command.problem is not None:
        raise NotFoundError(f"there is no prompt {one_line(name, 100)!r}")
    agent = offer.agent.name if offer.agent is not None else _DEFAULT_AGENT
    use = CommandUse(name=name, arguments=arguments, agent=agent, selection=offer.selection)
    message = await claw.plugins.expand_command(use)
    if message is None:
        raise NotFoundError(f"there is no prompt {one_line(name, 100)!r}")
    groups = f"\n\nIt uses the tool groups {', '.join(message.groups)}." if message.groups else ""
    return f"{message.text}{groups}"
