"""The context of a chat command of a plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.contract.context import PluginContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.contract.arguments import SessionInfo


class ChatCommandContext(PluginContext):
    """The plugin's context, with the conversation in which a command is typed.

    Attributes:
        channel: the name of the channel, ``terminal`` for ``oneclaw chat``.
        session: the conversation, ``None`` as long as nothing was said in it.
    """

    # As in ServiceContext: all other attributes are shared with the plugin's context.
    __slots__ = ("_confirm", "channel", "session")

    def __init__(
        self,
        plugin: PluginContext,
        channel: str,
        session: SessionInfo | None,
        confirm: Callable[[str], Awaitable[bool]] | None = None,
    ) -> None:
        self.__dict__ = plugin.__dict__
        self.channel = channel
        self.session = session
        self._confirm = confirm

    async def confirm(self, question: str) -> bool:
        """Ask the person who typed the command; return False where no one can be asked.

        Args:
            question: to be answered with yes or no, such as what would be changed.
        """
        if self._confirm is None:
            return False
        return await self._at_home(self._confirm(str(question)))
