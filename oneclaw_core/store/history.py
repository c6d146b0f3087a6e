"""Which part of a history a model is sent: whole turns from its end, as many as fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.messages import Message, MessageType

if TYPE_CHECKING:
    from collections.abc import Iterable


def newest_turns(
    from_the_end: Iterable[Message],
    pending_call_ids: Iterable[str | None],
    max_characters: int | None,
    *,
    follows_summary: bool = False,
) -> tuple[Message, ...]:
    """Take the newest turns that fit, at least one.

    The part begins with a user's message, and holds the calls of all results in it and all calls still pending: a
    call and its result are never parted, not even where a later turn answered the call of a killed one.

    Args:
        from_the_end: the history backwards; it is read no further than needed.
        pending_call_ids: the calls without a result.
        max_characters: what all the entries may have together, ``None`` for no limit.
        follows_summary: whether a summary stands for all that precedes the entries. Then they may begin within a turn.

    Returns:
        The part in its order; nothing if there is no user's message and no summary.
    """
    calls_to_come = set(pending_call_ids)
    taken: list[Message] = []
    characters = 0
    fitting = 0
    newest_user_message = 0
    for message in from_the_end:
        taken.append(message)
        characters += _characters(message)
        if fitting and max_characters is not None and characters > max_characters:
            break
        if message.type is MessageType.TOOL_RESULT:
            calls_to_come.add(message.tool_call_id)
        elif message.type is MessageType.TOOL_CALL:
            calls_to_come.discard(message.tool_call_id)
        elif message.type is MessageType.USER:
            newest_user_message = newest_user_message or len(taken)
            if not calls_to_come:
                fitting = len(taken)
    else:
        fits = max_characters is None or characters <= max_characters
        if follows_summary and (fits or not newest_user_message):
            fitting = len(taken)
    return tuple(reversed(taken[: fitting or newest_user_message]))


def _characters(message: Message) -> int:
    """How long an entry is as a model gets it."""
    length = len(message.content)
    if message.shown_characters is not None:
        length = min(length, message.shown_characters)
    return length + len(message.tool_input or "")
