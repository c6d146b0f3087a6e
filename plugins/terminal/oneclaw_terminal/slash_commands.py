"""Commands of `oneclaw chat` alone, beside those of every channel."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_channels import SlashCommand

from oneclaw_core.cli import print_table, read_attachment, size_text
from oneclaw_core.tools import one_line
from oneclaw_terminal.view import Verbosity

if TYPE_CHECKING:
    from oneclaw_channels import Conversation

_DESCRIPTION_CHARACTERS = 70


async def _tools(conversation: Conversation, rest: str) -> str:
    request, _ = await conversation.next_request()
    group_of = {definition.name: group.name for group in request.tools.groups for definition in group.tools}
    print_table(
        ("tool", "group", "description"),
        [
            (each.name, group_of.get(each.name, ""), one_line(each.description, _DESCRIPTION_CHARACTERS))
            for each in request.tools
        ],
    )
    return ""


async def _groups(conversation: Conversation, rest: str) -> str:
    request, _ = await conversation.next_request()
    loaded = {group.name for group in request.tools.groups}
    agent = await conversation.chosen_agent()
    groups = conversation.claw.catalog.registry.toolset(agent.selection).groups
    print_table(
        ("group", "loaded", "description"),
        [
            (each.name, "yes" if each.name in loaded else "", one_line(each.description, _DESCRIPTION_CHARACTERS))
            for each in groups
        ],
    )
    return ""


async def _attach(conversation: Conversation, rest: str) -> str:
    if rest:
        conversation.attachments.append(read_attachment(_typed_path(rest)))
    if not conversation.attachments:
        return "nothing is attached; attach a file with: /attach FILE"
    return "\n".join(
        f"{each.name} ({each.media_type}, {size_text(each)}) goes with your next message"
        for each in conversation.attachments
    )


async def _detach(conversation: Conversation, rest: str) -> str:
    conversation.attachments.clear()
    return "nothing is attached"


def _typed_path(text: str) -> Path:
    """A path as people type it, or as a terminal types it when a file is dragged there: quoted, or with backslashes."""
    path = Path(text)
    with suppress(ValueError, OSError):  # no quoting, or no possible path: reading it will say so
        if not path.exists() and len(words := shlex.split(text)) == 1:
            path = Path(words[0])
    try:
        return path.expanduser()
    except RuntimeError:  # there is no such user
        return path


async def _verbose(conversation: Conversation, rest: str) -> str:
    view = conversation.view
    if not isinstance(view, Verbosity):
        return "With --json, arguments and results of tool calls are always printed."
    view.is_verbose = not view.is_verbose
    shown = "shown" if view.is_verbose else "not shown any more"
    return f"Arguments and results of tool calls are {shown}."


TERMINAL = {
    command.name: command
    for command in (
        SlashCommand("/tools", "List the tools that the model can call now.", _tools, is_immediate=True),
        SlashCommand("/groups", "List the tool groups, and which of them are loaded.", _groups, is_immediate=True),
        SlashCommand("/attach", "Attach an image or PDF to the next message, or list those.", _attach, "[FILE]"),
        SlashCommand("/detach", "Remove the attachments of the next message.", _detach),
        SlashCommand("/verbose", "Show arguments and results of tool calls, or hide them again.", _verbose),
    )
}
"""The commands of the terminal alone, by name with the slash."""
