"""The context of a chat command, in whatever channel it is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.plugins.contract.context import PluginContext

if TYPE_CHECKING:
    from oneclaw_core.plugins.contract.arguments import SessionInfo


class ChatCommandContext(PluginContext):
    """The plugin's context, with the conversation in which a command is typed.

    Attributes:
        channel: the name of the channel, ``terminal`` for ``oneclaw chat``.
        session: the conversation, ``None`` as long as nothing was said in it.
    """

    # As in ServiceContext: all other attributes are shared with the plugin's context.
    __slots__ = ("channel", "session")

    def __init__(self, plugin: PluginContext, channel: str, session: SessionInfo | None) -> None:
        self.__dict__ = plugin.__dict__
        self.channel = channel
        self.session = session
