"""Channels: ways to reach a person, such as a messenger, mail or a desktop notification."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from oneclaw_core.types.messages import Attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class OutMessage:
    """A message to a person.

    Attributes:
        to: who or where, as the channel writes it, such as a chat or an address; empty for the channel's own owner.
        text: Markdown.
        attachments: files.
        reply_to: the channel's id of the message that it answers.
    """

    to: str = ""
    text: str
    attachments: tuple[Attachment, ...] = ()
    reply_to: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A message that a channel has sent.

    Attributes:
        id: the channel's id of it, ``None`` if it has none.
    """

    id: str | None = None


class Channel(ABC):
    """Sends messages to people. The registered target makes it from a ``PluginContext``.

    A channel that receives messages too does so in a service of its plugin, which passes them on with
    ``ServiceContext.send_message``.

    Attributes:
        max_characters: how long a text may be, ``None`` for any length.
    """

    max_characters: ClassVar[int | None] = None

    @abstractmethod
    async def send(self, message: OutMessage) -> Receipt | None:
        """Send a message.

        Args:
            message: what to send, and to whom.

        Raises:
            Exception: it was not sent.
        """
