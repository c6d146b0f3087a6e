"""A kit for authors of channels: the router of messages, its inbox and outbox, pairing, and the files of people.

A plugin writes a :class:`oneclaw_core.channels.ChatChannel`, and a service that opens a :class:`ChatRouter` and passes
each message to it. The router does what all channels share: pairing, a durable inbox and outbox, sessions, commands,
questions, streaming.
"""

from oneclaw_channels.commands import SlashCommand as SlashCommand
from oneclaw_channels.commands import SlashCommands as SlashCommands
from oneclaw_channels.commands import follow as follow
from oneclaw_channels.conversation import MOST_WAITING as MOST_WAITING
from oneclaw_channels.conversation import Conversation as Conversation
from oneclaw_channels.conversation import TurnQueue as TurnQueue
from oneclaw_channels.mailbox import ChatState as ChatState
from oneclaw_channels.mailbox import Mailbox as Mailbox
from oneclaw_channels.mailbox import Pairing as Pairing
from oneclaw_channels.mailbox import Person as Person
from oneclaw_channels.plugin_commands import ChatCommands as ChatCommands
from oneclaw_channels.received_files import message_with_files as message_with_files
from oneclaw_channels.router import ChatRouter as ChatRouter
