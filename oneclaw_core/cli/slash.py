"""The commands of ``oneclaw chat`` that begin with a slash."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.channels.chat_command_names import TERMINAL_COMMANDS, plugin_chat_commands
from oneclaw_core.channels.chat_commands import ChatCommands
from oneclaw_core.cli.conversation import session_label
from oneclaw_core.cli.output import print_table, print_text, printable_line, printable_name, reserved_stdout
from oneclaw_core.distributions import missing_part
from oneclaw_core.errors import UsageError
from oneclaw_core.plugins.contract.arguments import SessionInfo
from oneclaw_core.tools.toolset import one_line
from oneclaw_core.turn.attachments import read_attachment, size_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.app import OneClaw
    from oneclaw_core.cli.conversation import Conversation
    from oneclaw_core.plugins.catalogue.merging import Catalog

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


async def expandable_command(claw: OneClaw, line: str) -> tuple[str, str] | None:
    """Read a line such as ``/pdf-report sales.pdf``, which a plugin expands into a message.

    Returns:
        The command's name and its arguments; ``None`` if no plugin expands it.
    """
    if not is_slash_command(line):
        return None
    name, *rest = line.split(maxsplit=1)
    if is_chat_command(claw, name):
        return None
    command = (await claw.plugins.message_commands()).get(name[1:])
    if command is None or command.problem is not None:
        return None
    return command.name, "".join(rest).rstrip()


def is_chat_command(claw: OneClaw, name: str) -> bool:
    """Return True for the name of a command of the chat itself or of a plugin, with its slash."""
    return name.lower() in SLASH_COMMANDS or name[1:] in plugin_commands_of(claw).summaries()


def chat_command_names(catalog: Catalog) -> frozenset[str]:
    """Return the names of the commands of ``oneclaw chat``, those of plugins too, without the slash."""
    return frozenset([*TERMINAL_COMMANDS, *plugin_chat_commands(catalog.plugins, TERMINAL_COMMANDS)])


async def completions(claw: OneClaw) -> dict[str, str]:
    """List what can follow a slash, with a few words on each; there is room for arguments behind some."""
    commands = {name: command.summary for name, command in SLASH_COMMANDS.items()}
    commands |= {f"/{name}": summary for name, summary in plugin_commands_of(claw).summaries().items()}
    expanded = {
        f"/{each.name} ": one_line(each.summary, _DESCRIPTION_CHARACTERS)
        for each in (await claw.plugins.message_commands()).values()
        if each.problem is None
    }
    return commands | {name: summary for name, summary in expanded.items() if name.strip() not in commands}


def plugin_commands_of(claw: OneClaw) -> ChatCommands:
    """Return the commands of plugins. Those of the chat itself go before them."""
    return ChatCommands(claw.plugins, claw.catalog.plugins, TERMINAL_COMMANDS)


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
    of_plugins = plugin_commands_of(conversation.claw)
    if name[1:] in of_plugins.summaries():
        await _run_of_plugin(conversation, of_plugins, name[1:], rest.strip())
        return
    unusable = (await conversation.claw.plugins.message_commands()).get(name[1:])
    if unusable is not None and unusable.problem is not None:
        raise UsageError(unusable.problem)
    missing = missing_part("chat command", name[1:].lower())
    if missing is not None:
        raise UsageError(f"there is no command {name}: {missing}")
    known = [each.strip() for each in await completions(conversation.claw)]
    close = get_close_matches(name.lower(), known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "/help lists them."
    raise UsageError(f"there is no command {name}; {hint} To send it as a message, put a space before it.")


async def _run_of_plugin(conversation: Conversation, commands: ChatCommands, name: str, rest: str) -> None:
    session = await conversation.session()
    info = None
    if session is not None:
        info = SessionInfo(id=session.id, name=session.name, agent=session.agent, parent_id=session.parent_id)
    with reserved_stdout():
        text = await commands.run(name, rest, channel="terminal", session=info)
    if text:
        print_text(text)


async def _help(conversation: Conversation, rest: str) -> None:
    lines = [(f"{command.name} {command.parameter}".rstrip(), command.summary) for command in SLASH_COMMANDS.values()]
    of_plugins = plugin_commands_of(conversation.claw).summaries()
    lines += [(f"/{name}", printable_line(summary)) for name, summary in of_plugins.items()]
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
    agent = await conversation.chosen_agent()
    groups = conversation.claw.catalog.registry.toolset(agent.selection).groups
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
        print_text(f"session: {printable_name(session.name or '(no name)')}, id {session.id}")
        print_text(f"messages: {await conversation.claw.store.count_messages(session.id)}")
    print_text(f"model: {model}")


async def _model(conversation: Conversation, rest: str) -> None:
    _, model = await conversation.next_request(model=rest or None)
    if rest:
        conversation.model = model
    print_text(f"model: {model}")


async def _agent(conversation: Conversation, rest: str) -> None:
    agent = await conversation.chosen_agent(rest or None)
    if rest:
        await conversation.next_request(agent=agent.id)  # its model may be one that there is not
        conversation.agent = agent.id
    print_text(f"agent: {agent.name}")


async def _attach(conversation: Conversation, rest: str) -> None:
    if rest:
        conversation.attachments.append(read_attachment(_typed_path(rest)))
    if not conversation.attachments:
        print_text("nothing is attached; attach a file with: /attach FILE")
        return
    for each in conversation.attachments:
        print_text(f"{each.name} ({each.media_type}, {size_text(each)}) goes with your next message")


async def _detach(conversation: Conversation, rest: str) -> None:
    conversation.attachments.clear()
    print_text("nothing is attached")


def _typed_path(text: str) -> Path:
    """A path as people type it, or as a terminal types it when a file is dragged there: quoted, or with backslashes."""
    path = Path(text)
    with suppress(ValueError, OSError):  # no quoting, or no possible path: reading it will say so
        if not path.exists() and len(words := shlex.split(text)) == 1:
            path = Path(words[0])
    try:
        return path.expanduser()
    except RuntimeError:  # nobody is called that
        return path


async def _compact(conversation: Conversation, rest: str) -> None:
    session = await conversation.session()
    event = None
    if session is not None:
        event = await conversation.claw.compact(session.id, agent=conversation.agent, model=conversation.model)
    if event is None:
        print_text("There is nothing to summarise: the last turn always stays as it is.")
    else:
        print_text(f"From now on, {event.notice}.")


async def _verbose(conversation: Conversation, rest: str) -> None:
    from oneclaw_core.cli.event_lines import EventLines

    view = conversation.view
    if isinstance(view, EventLines):
        print_text("With --json, arguments and results of tool calls are always printed.")
        return
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
        SlashCommand("/agent", "Show the agent, or go on with another in this chat.", _agent, "[NAME]"),
        SlashCommand("/attach", "Send an image or PDF with the next message, or list what is.", _attach, "[FILE]"),
        SlashCommand("/detach", "Send nothing with the next message after all.", _detach),
        SlashCommand("/compact", "Summarise all but the last turn, for a shorter conversation.", _compact),
        SlashCommand("/verbose", "Show arguments and results of tool calls, or stop that.", _verbose),
        SlashCommand("/clear", "Begin a new session; the old one is kept.", _clear),
        SlashCommand("/quit", "Leave.", _quit),
    )
}
