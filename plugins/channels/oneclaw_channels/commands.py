"""Chat commands of every channel, and running whatever begins with a slash."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from oneclaw_channels.plugin_commands import plugin_commands_of
from oneclaw_core import ChatAnswer, MessageType, NotFoundError, UsageError
from oneclaw_core.channels import (
    REASONING_LEVELS,
    is_slash_command,
    missing_part,
    why_missing,
)
from oneclaw_core.cli import dollars
from oneclaw_core.tools import one_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from oneclaw_channels.conversation import Conversation
    from oneclaw_core import OneClaw, SessionInfo
    from oneclaw_core.channels import SessionStatus

_SHORT_ID_CHARACTERS = 8
_SUMMARY_CHARACTERS = 70
_COPIED_CHARACTERS = 500_000
_LISTED_SESSIONS = 15
_TITLE_CHARACTERS = 50


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command of a channel.

    Attributes:
        name: with its slash.
        summary: its line in the help.
        run: does it; gets the conversation and what follows the name.
        parameter: what may follow the name, as it is shown in the help.
        is_immediate: True if it may run during a turn.
    """

    name: str
    summary: str
    run: Callable[[Conversation, str], Awaitable[ChatAnswer | str]]
    parameter: str = ""
    is_immediate: bool = False


def session_label(session: SessionInfo) -> str:
    """Return a label for a session: its name, or enough of its id to find it."""
    return one_line(session.name) if session.name else session.id[:_SHORT_ID_CHARACTERS]


class SlashCommands:
    """All that can follow a slash in one channel.

    Args:
        claw: the open home.
        own: the commands of the channel alone, by name with the slash.

    Attributes:
        claw: the open home; it may be replaced.
    """

    def __init__(self, claw: OneClaw, own: Mapping[str, SlashCommand] | None = None) -> None:
        self.claw = claw
        self._commands = {**SHARED, **(own or {})}

    async def summaries(self) -> dict[str, str]:
        """List the commands, with a few words on each; there is room for arguments behind some."""
        commands = {name: command.summary for name, command in self._commands.items()}
        commands |= {f"/{name}": summary for name, summary in plugin_commands_of(self.claw).summaries().items()}
        expanded = {
            f"/{each.name} ": one_line(each.summary, _SUMMARY_CHARACTERS)
            for each in (await self.claw.plugins.message_commands()).values()
            if each.problem is None
        }
        return commands | {name: summary for name, summary in expanded.items() if name.strip() not in commands}

    def is_immediate(self, line: str) -> bool:
        """Return True for a command that may run during a turn."""
        command = self._commands.get(line.split(maxsplit=1)[0].lower()) if is_slash_command(line) else None
        return command is not None and command.is_immediate

    async def run(self, conversation: Conversation, line: str) -> ChatAnswer:
        """Run a command.

        Raises:
            UsageError: there is no such command.
            OneClawError: the command cannot do it.
        """
        name, _, rest = line.strip().partition(" ")
        command = self._commands.get(name.lower())
        if command is not None and command.run is _help:
            return ChatAnswer(text=self._help())
        if command is not None:
            answer = await command.run(conversation, rest.strip())
            return answer if isinstance(answer, ChatAnswer) else ChatAnswer(text=answer)
        of_plugins = plugin_commands_of(self.claw)
        if name[1:] in of_plugins.summaries():
            info = await conversation.session()
            channel, confirm = conversation.channel, conversation.confirm
            return await of_plugins.run(name[1:], rest.strip(), channel=channel, session=info, confirm=confirm)
        raise await self._unknown(name)

    def _help(self) -> str:
        lines = [(f"{each.name} {each.parameter}".rstrip(), each.summary) for each in self._commands.values()]
        of_plugins = plugin_commands_of(self.claw).summaries()
        lines += [(f"/{name}", one_line(summary)) for name, summary in of_plugins.items()]
        width = max(len(usage) for usage, _ in lines)
        return "\n".join(f"{usage:<{width}}  {summary}" for usage, summary in lines)

    async def _unknown(self, name: str) -> UsageError:
        unusable = (await self.claw.plugins.message_commands()).get(name[1:])
        if unusable is not None and unusable.problem is not None:
            return UsageError(unusable.problem)
        absent = self.claw.catalog.absent_plugins
        missing = missing_part("chat command", name[1:].lower(), absent)
        if missing is not None:
            return UsageError(f"there is no command {name}: {missing}")
        known = [each.strip() for each in await self.summaries()]
        close = get_close_matches(name.lower(), known, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "/help lists them."
        if "skills" in absent or all(record.name != "skills" for record in self.claw.catalog.plugins):
            hint += f" If it is a skill, it needs the plugin skills, which {why_missing('skills', absent)}."
        return UsageError(f"there is no command {name}; {hint} To send it as a message, put a space before it.")


async def follow(conversation: Conversation, answer: ChatAnswer) -> None:
    """Do what a command's answer says about the conversation; the channel shows its text, copies and leaves.

    Raises:
        NotFoundError: there is no such session.
        OneClawError: a turn did not complete.
    """
    if answer.session is not None:
        conversation.session_name = answer.session or None
    if answer.resume:
        await conversation.resume()
    if answer.send is not None:
        conversation.attachments += answer.attachments
        await conversation.send(answer.send)


async def _help(conversation: Conversation, rest: str) -> str:
    raise NotImplementedError  # SlashCommands knows them all


async def _clear(conversation: Conversation, rest: str) -> ChatAnswer:
    old = await conversation.session()
    kept = f"; the old one is kept: oneclaw chat --session '{session_label(old)}'" if old else ""
    return ChatAnswer(text=f"A new session begins{kept}", session="")


async def _session(conversation: Conversation, rest: str) -> str:
    session = await conversation.session()
    _, model = await conversation.next_request()
    if session is None:
        return f"session: new, begins with your first message\nmodel: {model}"
    count = await conversation.claw.store.count_messages(session.id)
    return f"session: {session.name or '(no name)'}, id {session.id}\nmessages: {count}\nmodel: {model}"


async def _model(conversation: Conversation, rest: str) -> str:
    _, model = await conversation.next_request(model=rest or None)
    if rest:
        conversation.model = model
    return f"model: {model}"


async def _reasoning(conversation: Conversation, rest: str) -> str:
    level = rest.lower()
    if level and level not in (*REASONING_LEVELS, "default"):
        raise UsageError(f"/reasoning takes one of: {', '.join(REASONING_LEVELS)}, default")
    if level:
        conversation.reasoning = next((each for each in REASONING_LEVELS if each == level), None)
    return f"reasoning: {conversation.reasoning or 'as set for the agent or the model'}"


async def _agent(conversation: Conversation, rest: str) -> str:
    agent = await conversation.chosen_agent(rest or None)
    if rest:
        await conversation.next_request(agent=agent.id)  # its model may be one that there is not
        conversation.agent = agent.id
    return f"agent: {agent.name}"


async def _compact(conversation: Conversation, rest: str) -> str:
    session = await conversation.session()
    event = None
    if session is not None:
        event = await conversation.claw.compact(session.id, agent=conversation.agent, model=conversation.model)
    if event is None:
        return "There is nothing to summarise: the last turn always stays as it is."
    return f"From now on, {event.notice}."


async def _usage(conversation: Conversation, rest: str) -> str:
    status = await conversation.status()
    usage = status.usage
    lines = [f"model: {status.model}", f"context: {_context(status)}"]
    at_least = "at least " if usage.at_least_requests or usage.priced_requests < usage.requests else ""
    cost = "unknown" if usage.cost is None else f"{at_least}{dollars(usage.cost)}"
    lines.append(
        f"session: {usage.requests:,} request{'' if usage.requests == 1 else 's'}, "
        f"{usage.input_tokens or 0:,} tokens read"
        + (f" ({usage.cached_share:.0%} from the cache)" if usage.cached_share else "")
        + f", {usage.output_tokens or 0:,} written, cost {cost if usage.requests else dollars(0)}"
    )
    lines.append(f"tool groups: {', '.join(status.groups) or 'none loaded'}")
    return "\n".join(lines)


def _context(status: SessionStatus) -> str:
    tokens, window = status.context_tokens, status.context_window
    if status.context_share is not None:
        return f"{tokens:,} of {window:,} tokens ({status.context_share:.0%})"
    used = "not used yet" if tokens is None else f"{tokens:,} tokens used"
    return f"{used}, {'of unknown size' if window is None else f'{window:,} tokens'}"


async def _continue(conversation: Conversation, rest: str) -> ChatAnswer:
    store = conversation.claw.store
    session = await conversation.session()
    if session is None:
        found = await store.last_used_session(conversation.claw.services.project.path)
        if found is None:
            raise UsageError("there is no session to continue: send a message")
        count = await store.count_messages(found.id)
        return ChatAnswer(text=f"Going on with session {session_label(found)}, {count} messages.", session=found.id)
    history = (await store.load_turn(session.id, 0)).history
    last = history[-1] if history else None
    if last is not None and last.type is MessageType.ASSISTANT and not last.is_incomplete:
        return ChatAnswer(send="Continue.")
    return ChatAnswer(resume=True)


async def _sessions(conversation: Conversation, rest: str) -> ChatAnswer | str:
    store = conversation.claw.store
    newest = [each for each in await store.list_sessions(_LISTED_SESSIONS) if each.parent_id is None]
    if rest:
        is_number = rest.isascii() and rest.isdigit() and 1 <= int(rest[:4]) <= len(newest)
        found = newest[int(rest) - 1] if is_number else await store.find_session(rest)
        if found is None:
            raise NotFoundError(f"there is no session {rest!r}: /sessions lists the newest with their numbers")
        count = await store.count_messages(found.id)
        return ChatAnswer(text=f"Going on with session {session_label(found)}, {count} messages.", session=found.id)
    current = await conversation.session()
    lines = [
        f"{number}. {session_label(each)}{' (this one)' if current is not None and each.id == current.id else ''}: "
        f"{one_line(each.title or each.last_text, _TITLE_CHARACTERS)}"
        for number, each in enumerate(newest, 1)
    ]
    return "\n".join([*lines, "/sessions NUMBER goes on with one of them."]) if lines else "there is no session yet"


async def _copy(conversation: Conversation, rest: str) -> ChatAnswer:
    session = await conversation.session()
    # While a turn runs, the last answer is one of an earlier turn.
    store = conversation.claw.store
    history = (await store.load_turn(session.id, _COPIED_CHARACTERS)).history if session is not None else ()
    texts = [each.content for each in history if each.type is MessageType.ASSISTANT and each.content.strip()]
    if not texts:
        raise UsageError("there is no answer to copy yet")
    return ChatAnswer(copy=texts[-1])


async def _steer(conversation: Conversation, rest: str) -> ChatAnswer | str:
    if rest and not conversation.is_running:
        return ChatAnswer(send=rest)
    if rest:
        conversation.steering.append(rest)
    else:
        messages = [line for line in conversation.waiting if not is_slash_command(line)]
        if not messages:
            raise UsageError("no message waits: write /steer and the message")
        for line in messages:
            conversation.waiting.remove(line)
            conversation.steering.append(line)
    return "The model reads it after its next tool call, or else when it has answered."


async def _queue(conversation: Conversation, rest: str) -> str:
    if rest.lower() == "clear":
        conversation.waiting.clear()
        conversation.steering.clear()
    elif rest:
        raise UsageError("/queue takes nothing, or clear")
    waiting = [*conversation.steering, *conversation.waiting]
    return "\n".join(f"{number}. {one_line(each)}" for number, each in enumerate(waiting, 1)) or "nothing waits"


async def _stop(conversation: Conversation, rest: str) -> str:
    if conversation.stop is None or not conversation.stop():
        return "nothing runs"
    return ""


async def _leave(conversation: Conversation, rest: str) -> ChatAnswer:
    return ChatAnswer(leave=True)


SHARED = {
    command.name: command
    for command in (
        SlashCommand("/help", "List these commands.", _help, is_immediate=True),
        SlashCommand("/usage", "Show how full the context is, and what the session cost.", _usage, is_immediate=True),
        SlashCommand("/session", "Show the session and its model.", _session, is_immediate=True),
        SlashCommand("/sessions", "List the newest sessions, or switch to one.", _sessions, "[NUMBER|NAME]"),
        SlashCommand("/model", "Show the model, or choose another for this chat.", _model, "[PROVIDER/MODEL]"),
        SlashCommand("/reasoning", "Show or choose how much the model thinks.", _reasoning, "[LEVEL]"),
        SlashCommand("/agent", "Show the agent, or switch to another in this chat.", _agent, "[NAME]"),
        SlashCommand("/compact", "Summarise all but the last turn, for a shorter conversation.", _compact),
        SlashCommand("/continue", "Continue where it stopped; in a new chat, the session used last.", _continue),
        SlashCommand("/copy", "Copy the last answer.", _copy, is_immediate=True),
        SlashCommand("/clear", "Begin a new session; the old one is kept.", _clear),
        SlashCommand("/exit", "Leave.", _leave, is_immediate=True),
        SlashCommand("/quit", "Leave.", _leave, is_immediate=True),
        SlashCommand("/steer", "Send the model a message after its next tool call.", _steer, "[TEXT]", True),
        SlashCommand("/queue", "Show the waiting messages, or clear them.", _queue, "[clear]", True),
        SlashCommand("/stop", "Stop the answer; the session is kept.", _stop, is_immediate=True),
    )
}
"""The commands of every channel, by name with the slash."""
