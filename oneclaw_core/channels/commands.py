"""Names of chat commands, and running those of plugins.

Listings use this module too: importing it imports no asyncio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.contract.contact_points import ChatAnswer
from oneclaw_core.errors import OneClawError, PluginError, describe_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable

    from oneclaw_core.app import OneClaw
    from oneclaw_core.contract.arguments import SessionInfo
    from oneclaw_core.plugins.catalog import Catalog
    from oneclaw_core.plugins.plugin import Plugin, Registration
    from oneclaw_core.plugins.running.runtime import Plugins

CHAT_COMMAND_HOOK = "register_chat_commands"
OWN_COMMANDS = (
    *("help", "usage", "session", "sessions", "model", "reasoning", "agent", "compact"),
    *("continue", "copy", "clear", "exit", "quit", "steer", "queue", "stop"),
    *("tools", "groups", "attach", "detach", "verbose"),
)
"""The names that plugins cannot take: of the commands of every channel, and of those of ``oneclaw chat`` alone."""
RUN_SECONDS = 600.0
"""The time limit of a chat command of a plugin."""


def is_slash_command(line: str) -> bool:
    """Return True for a command; a message that begins with a slash is written with a space before it."""
    return line.startswith("/")


def chat_command_names(catalog: Catalog) -> frozenset[str]:
    """Return the names of the commands of ``oneclaw chat``, those of plugins too, without the slash."""
    return frozenset([*OWN_COMMANDS, *plugin_chat_commands(catalog.plugins, OWN_COMMANDS)])


def plugin_commands_of(claw: OneClaw) -> ChatCommands:
    """Return the commands of plugins. Those of the chat itself go before them."""
    return ChatCommands(claw.plugins, claw.catalog.plugins, OWN_COMMANDS)


async def expandable_command(claw: OneClaw, line: str) -> tuple[str, str] | None:
    """Read a line such as ``/pdf-report sales.pdf``, which a plugin expands into a message.

    Returns:
        The command's name and its arguments; ``None`` if no plugin expands it.
    """
    if not is_slash_command(line):
        return None
    name, *rest = line.split(maxsplit=1)
    if name[1:].lower() in OWN_COMMANDS or name[1:] in plugin_commands_of(claw).summaries():
        return None
    command = (await claw.plugins.message_commands()).get(name[1:])
    if command is None or command.problem is not None:
        return None
    return command.name, "".join(rest).rstrip()


def plugin_chat_commands(records: Iterable[Plugin], taken: Collection[str]) -> dict[str, Registration]:
    """Gather the chat commands of plugins, by name without the slash; a name that is taken is reported.

    Args:
        records: the plugins, in the order of loading; of two that bring the same name, the first one's stays.
        taken: names of the commands that there are without plugins.
    """
    found: dict[str, Registration] = {}
    for record in records:
        for registration in record.registrations:
            if registration.hook != CHAT_COMMAND_HOOK:
                continue
            name = registration.name
            if name in taken or name in found:
                cause = f"the chat command /{name} is taken"
                record.report(CHAT_COMMAND_HOOK, cause, "use another name", check="names.command-taken")
            else:
                found[name] = registration
    return found


class ChatCommands:
    """Runs the chat commands of plugins.

    Args:
        plugins: the plugins at work.
        records: the plugins.
        taken: names of commands that the channel has itself.
    """

    def __init__(self, plugins: Plugins, records: Iterable[Plugin], taken: Collection[str]) -> None:
        self._plugins = plugins
        self._found = plugin_chat_commands(records, taken)

    def summaries(self) -> dict[str, str]:
        """Return what each command does, by name without the slash."""
        return {
            name: str(each.options.get("help") or f"(of plugin {each.plugin})") for name, each in self._found.items()
        }

    def private(self) -> frozenset[str]:
        """Return the names of those that do not work where others read along."""
        return frozenset(name for name, each in self._found.items() if each.options.get("is_private"))

    async def run(
        self,
        name: str,
        rest: str,
        *,
        channel: str,
        session: SessionInfo | None,
        confirm: Callable[[str], Awaitable[bool]] | None = None,
    ) -> ChatAnswer:
        """Run a command.

        Args:
            name: without the slash; :meth:`summaries` has it.
            rest: the text behind the name.
            channel: where it was typed.
            session: the conversation, ``None`` for a new one.
            confirm: asks the person; ``None`` where no one can be asked.

        Returns:
            What the channel is to do.

        Raises:
            OneClawError: it failed; the message says what to do.
        """
        import inspect

        from oneclaw_core.channels.command_context import ChatCommandContext
        from oneclaw_core.plugins.isolation import ForeignError, HookError, call_isolated

        registration = self._found[name]
        plugin = await self._plugins.context_of(registration.plugin)
        target = await self._plugins.object_of(registration)
        context = ChatCommandContext(plugin, channel, session, confirm)
        is_async = inspect.iscoroutinefunction(target)

        def failed(fault: str) -> HookError:
            return HookError(registration.plugin, f"/{name}", fault)

        try:
            answer = await call_isolated(lambda: target(context, rest), RUN_SECONDS, is_async=is_async)
        except TimeoutError:
            raise failed(f"did not end within {RUN_SECONDS:g} s") from None
        except ForeignError as error:
            raised = error.raised
            if isinstance(raised, OneClawError) and not isinstance(raised, PluginError):
                raise raised from None
            raise failed(f"raised {describe_error(raised)}") from raised
        if answer is None or isinstance(answer, str):
            return ChatAnswer(text=answer or "")
        if not isinstance(answer, ChatAnswer):
            raise failed(f"returned an object of type {type(answer).__name__}, neither a text nor a ChatAnswer")
        return answer
