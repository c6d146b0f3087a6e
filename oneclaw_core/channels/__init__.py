"""Public names for plugins that let people talk to OneClaw: a page, a messenger.

A plugin writes a :class:`ChatChannel`, and a service that opens a ``ChatRouter`` of the library ``oneclaw-channels``
and passes each message to it. The router does what all messengers share: pairing, a durable inbox and outbox, sessions,
commands, questions, streaming.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.channels.chat_channel import ChatChannel as ChatChannel
    from oneclaw_core.channels.chat_channel import ChatQuestion as ChatQuestion
    from oneclaw_core.channels.chat_channel import Inbound as Inbound
    from oneclaw_core.channels.chat_channel import InboundFile as InboundFile
    from oneclaw_core.channels.chat_channel import RetryLaterError as RetryLaterError
    from oneclaw_core.channels.chat_channel import UndeliverableError as UndeliverableError

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.channels.chat_channel import TurnListener as TurnListener
    from oneclaw_core.channels.chat_channel import split_text as split_text
    from oneclaw_core.channels.commands import OWN_COMMANDS as OWN_COMMANDS
    from oneclaw_core.channels.commands import expandable_command as expandable_command
    from oneclaw_core.channels.commands import is_slash_command as is_slash_command
    from oneclaw_core.channels.commands import plugin_chat_commands as plugin_chat_commands
    from oneclaw_core.channels.mentions import with_mentioned_files as with_mentioned_files
    from oneclaw_core.permissions.requests import Asker as Asker
    from oneclaw_core.previews.preview import SessionStatus as SessionStatus
    from oneclaw_core.shipped.missing import missing_part as missing_part
    from oneclaw_core.shipped.missing import why_missing as why_missing
    from oneclaw_core.types.agents import GENERAL_ASSISTANT as GENERAL_ASSISTANT
    from oneclaw_core.types.agents import REASONING_LEVELS as REASONING_LEVELS
    from oneclaw_core.types.agents import ReasoningLevel as ReasoningLevel
    from oneclaw_core.types.user_question import UserAsker as UserAsker

__getattr__, __dir__, __all__ = lazy_names(__name__, "oneclaw_channels")
