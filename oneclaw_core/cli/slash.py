"""The commands of ``oneclaw chat`` that begin with a slash."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from oneclaw_core.cli.conversation import session_label
from oneclaw_core.cli.output import print_table, print_text
from oneclaw_core.errors import UsageError
from oneclaw_core.tools.groups import one_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.cli.conversation import Conversation

_DESCRIPTION_CHARACTERS = 70


class QuitChat(Exception):  # noqa: N818  # it is a wish, not an error
    """The user wants to leave."""


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command of the chat.

    Attributes:
        name: with its slash.
        summary: its line in the help.
        run: does it; gets the conversation and what follows the name.
        parameter: what may follow the name, as it is shown in the help.
    """

    name: str
    summary: str
    run: Callable[[Conversation, str], Awaitable[None]]
    parameter: str = ""


def is_slash_command(line: str) -> bool:
    """Whether a line is a command; a message that begins with a slash is written with a space before it."""
    return line.startswith("/")


async def run_slash_command(conversation: Conversation, line: str) -> None:
    """Do what a line says that begins with a slash.

    Raises:
        QuitChat: the user wants to leave.
        UsageError: there is no such command.
        OneClawError: the command cannot do it.
    """
    name, _, rest = line.strip().partition(" ")
    command = SLASH_COMMANDS.get(name.lower())
    if command is not None:
        await command.run(conversation, rest.strip())
        return
    close = get_close_matches(name.lower(), SLASH_COMMANDS, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "/help lists them."
    raise UsageError(f"there is no command {name}; {hint} To send it as a message, put a space before it.")


async def _help(conversation: Conversation, rest: str) -> None:
    lines = [(f"{command.name} {command.parameter}".rstrip(), command.summary) for command in SLASH_COMMANDS.values()]
    width = max(len(usage) for usage, _ in lines)
    for usage, summary in lines:
        print_text(f"{usage:<{width}}  {summary}")
    print_text("Alt-Enter begins a new line, Ctrl-C stops an answer, Ctrl-D leaves.")


async def _clear(conversation: Conversation, rest: str) -> None:
    old = await conversation.session()
    conversation.session_name = None
    kept = f"; the old one is kept: oneclaw chat --session '{session_label(old)}'" if old else ""
    print_text(f"A new session begins{kept}")


async def _tools(conversation: Conversation, rest: str) -> None:
    request, _ = await conversation.next_request()
    group_of = {definition.name: group.name for group in request.tools.groups for definition in group.tools}
    print_table(
        ("tool", "group", "description"),
        [
            (each.name, group_of.get(each.name, ""), one_line(each.description, _DESCRIPTION_CHARACTERS))
            for each in request.tools
        ],
    )


async def _groups(conversation: Conversation, rest: str) -> None:
    request, _ = await conversation.next_request()
    loaded = {group.name for group in request.tools.groups}
    groups = conversation.claw.catalog.registry.get_available_group_definitions()
    print_table(
        ("group", "loaded", "description"),
        [
            (each.name, "yes" if each.name in loaded else "", one_line(each.description, _DESCRIPTION_CHARACTERS))
            for each in groups
        ],
    )


async def _session(conversation: Conversation, rest: str) -> None:
    session = await conversation.session()
    _, model = await conversation.next_request()
    if session is None:
        print_text("session: new, begins with your first message")
    else:
        print_text(f"session: {session.name or '(no name)'}, id {session.id}")
        print_text(f"messages: {await conversation.claw.store.count_messages(session.id)}")
    print_text(f"model: {model}")


async def _model(conversation: Conversation, rest: str) -> None:
    _, model = await conversation.next_request(model=rest or None)
    if rest:
        conversation.model = model
    print_text(f"model: {model}")


async def _verbose(conversation: Conversation, rest: str) -> None:
    view = conversation.view
    view.is_verbose = not view.is_verbose
    shown = "shown" if view.is_verbose else "not shown any more"
    print_text(f"Arguments and results of tool calls are {shown}.")


async def _quit(conversation: Conversation, rest: str) -> None:
    raise QuitChat


SLASH_COMMANDS = {
    command.name: command
    for command in (
        SlashCommand("/help", "List these commands.", _help),
        SlashCommand("/tools", "List the tools that the model may call now.", _tools),
        SlashCommand("/groups", "List the tool groups, and which of them are loaded.", _groups),
        SlashCommand("/session", "Tell which session this is, and which model answers.", _session),
        SlashCommand("/model", "Show the model, or choose another for this chat.", _model, "[PROVIDER/MODEL]"),
        SlashCommand("/verbose", "Show arguments and results of tool calls, or stop that.", _verbose),
        SlashCommand("/clear", "Begin a new session; the old one is kept.", _clear),
        SlashCommand("/quit", "Leave.", _quit),
    )
}
