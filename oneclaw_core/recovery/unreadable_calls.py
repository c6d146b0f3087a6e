"""Ask a model again after a tool call that could not be read, and tell it so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.types.messages import Message, MessageType

if TYPE_CHECKING:
    from oneclaw_core.errors import UnreadableCallError

# In a row; a model that stumbles more often does so again and again.
MOST_ATTEMPTS = 2
_KEPT_CHARACTERS = 2_000
_TOLD = (
    "[This message comes from the program, not from the user.] Your last tool call could not be read, and nothing was "
    "run. Call the tool again: in the tool call format of this API, with its exact name, and with arguments that are "
    "one valid JSON object. If the call is very long, split the work into smaller calls."
)


def told_again(error: UnreadableCallError) -> tuple[Message, Message]:
    """Return what tells the model what became of its call; the history does not get it.

    The roles of the messages alternate as in any other.
    """
    written = error.written[:_KEPT_CHARACTERS].strip() or "[a tool call that could not be read]"
    return Message(type=MessageType.ASSISTANT, content=written), Message(type=MessageType.USER, content=_TOLD)
