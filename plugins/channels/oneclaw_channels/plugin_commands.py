"""Chat commands of plugins, in whatever channel they are typed."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from oneclaw_core import ChatAnswer, ChatCommandContext, OneClawError, PluginError
from oneclaw_core.channels import OWN_COMMANDS, plugin_chat_commands
from oneclaw_core.plugins import ForeignError, HookError, call_isolated
from oneclaw_core.process import describe_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable

    from oneclaw_core import OneClaw, SessionInfo
    from oneclaw_core.plugins import Plugin, Plugins

RUN_SECONDS = 600.0
"""The time limit of a chat command of a plugin."""


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


def plugin_commands_of(claw: OneClaw) -> ChatCommands:
    """Return the commands of plugins. Those of the chat itself go before them."""
    return ChatCommands(claw.plugins, claw.catalog.plugins, OWN_COMMANDS)
