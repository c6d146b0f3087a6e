"""The conversation of `oneclaw chat`, and its commands that begin with a slash."""

from __future__ import annotations

import shlex
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.channels.chat_commands import TERMINAL_COMMANDS, ChatCommands, plugin_chat_commands
from oneclaw_core.cli.output import print_table, print_text, printable_line, printable_name, reserved_stdout, warn
from oneclaw_core.distributions import missing_part, why_missing
from oneclaw_core.errors import UsageError
from oneclaw_core.plugins.contract.arguments import SessionInfo
from oneclaw_core.tools.toolset import one_line
from oneclaw_core.turn.attachments import read_attachment, size_text
from oneclaw_core.types.agents import GENERAL_ASSISTANT, REASONING_LEVELS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.app import OneClaw
    from oneclaw_core.cli.rendering import EventLines, TurnView
    from oneclaw_core.plugins.catalogue.merging import Catalog
    from oneclaw_core.providers.base import ModelRequest
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.types.agents import Agent, ReasoningLevel
    from oneclaw_core.types.messages import Attachment

_SHORT_ID_CHARACTERS = 8


@dataclass
class Conversation:
    """A session that may have to be begun yet, and how the user wants it.

    Attributes:
        claw: the open home.
        view: shows the turns.
        session_name: the session's name or id; ``None`` as long as an unnamed one is not begun.
        agent: the agent chosen for this chat, ``None`` for the session's.
        model: the model chosen for this chat as ``PROVIDER/MODEL``, ``None`` for the session's.
        attachments: files that go with the next message.
        reasoning: how much the model is to think in this chat, ``None`` for what is set.
    """

    claw: OneClaw
    view: TurnView | EventLines
    session_name: str | None = None
    agent: str | None = None
    model: str | None = None
    attachments: list[Attachment] = field(default_factory=list)
    reasoning: ReasoningLevel | None = None
    _notices: set[str] = field(default_factory=set)

    async def session(self) -> Session | None:
        """Return the session, ``None`` if it is not begun."""
        return await self.claw.store.find_session(self.session_name) if self.session_name is not None else None

    async def chosen_agent(self, name: str | None = None) -> Agent:
        """Return the agent of that name; without one, the chosen agent, else the session's.

        Raises:
            NotFoundError: there is no such agent.
        """
        wanted = name or self.agent
        if wanted is not None:
            return await self.claw.agents.get(wanted)
        session = await self.session()
        found = await self.claw.store.find_agent(session.agent) if session is not None else None
        return found or GENERAL_ASSISTANT

    async def next_request(self, *, model: str | None = None, agent: str | None = None) -> tuple[ModelRequest, str]:
        """Return the next request and the full name of the model.

        Args:
            model: in place of the one that is chosen.
            agent: in place of the one that is chosen.

        Raises:
            NotFoundError: there is no such agent, provider or model.
        """
        session = await self.session()
        return await self.claw.next_request(
            session=session.id if session else None, agent=agent or self.agent, model=model or self.model
        )

    async def send(self, text: str, *, command: str | None = None, files: tuple[str, ...] = ()) -> None:
        """Send a message with what is attached, and show the turn.

        Args:
            text: the message.
            command: a command that a plugin expands into the message.
            files: names of files whose text stands in the message.

        Raises:
            UsageError: the message cannot be sent, such as with an attachment that the model does not take; what is
                attached stays so.
            OneClawError: the turn did not come to its end; the session is intact.
        """
        if self.session_name is None:
            # Begun before the turn, so that a turn that is cancelled stays in the session.
            title = text if command is None else f"/{command} {text}"
            begun = await self.claw.begin_session(agent=self.agent, model=self.model, title=title)
            self.session_name = begun.id
        for notice in await self.claw.review_project():
            if notice not in self._notices:
                self._notices.add(notice)
                warn(notice)
        attachments, self.attachments = self.attachments, []
        turn = self.claw.send_message(
            text,
            session=self.session_name,
            agent=self.agent,
            model=self.model,
            attachments=attachments,
            files=files,
            command=command,
            reasoning=self.reasoning,
        )
        try:
            with reserved_stdout():
                async with aclosing(turn) as events:
                    async for event in events:
                        self.view.show(event)
        except UsageError:
            self.attachments = attachments
            raise
        finally:
            self.view.finish()


def session_label(session: Session) -> str:
    """Return a label for a session: its name, or enough of its id to find it."""
    return printable_name(session.name) if session.name else session.id[:_SHORT_ID_CHARACTERS]


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
    """Return True for a command; a message that begins with a slash is written with a space before it."""
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
    missing = missing_part("chat command", name[1:].lower(), conversation.claw.catalog.absent_plugins)
    if missing is not None:
        raise UsageError(f"there is no command {name}: {missing}")
    known = [each.strip() for each in await completions(conversation.claw)]
    close = get_close_matches(name.lower(), known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "/help lists them."
    catalog = conversation.claw.catalog
    if "skills" in catalog.absent_plugins or all(record.name != "skills" for record in catalog.plugins):
        hint += f" If it is a skill, it needs the plugin skills, which {why_missing('skills', catalog.absent_plugins)}."
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


async def _reasoning(conversation: Conversation, rest: str) -> None:
    level = rest.lower()
    if level and level not in (*REASONING_LEVELS, "default"):
        raise UsageError(f"/reasoning takes one of: {', '.join(REASONING_LEVELS)}, default")
    if level:
        conversation.reasoning = next((each for each in REASONING_LEVELS if each == level), None)
    print_text(f"reasoning: {conversation.reasoning or 'as set for the agent or the model'}")


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
    except RuntimeError:  # there is no such user
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
    from oneclaw_core.cli.rendering import EventLines

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
        SlashCommand("/reasoning", "Show or choose how much the model thinks.", _reasoning, "[LEVEL]"),
        SlashCommand("/agent", "Show the agent, or go on with another in this chat.", _agent, "[NAME]"),
        SlashCommand("/attach", "Send an image or PDF with the next message, or list what is.", _attach, "[FILE]"),
        SlashCommand("/detach", "Send nothing with the next message after all.", _detach),
        SlashCommand("/compact", "Summarise all but the last turn, for a shorter conversation.", _compact),
        SlashCommand("/verbose", "Show arguments and results of tool calls, or stop that.", _verbose),
        SlashCommand("/clear", "Begin a new session; the old one is kept.", _clear),
        SlashCommand("/quit", "Leave.", _quit),
    )
}
