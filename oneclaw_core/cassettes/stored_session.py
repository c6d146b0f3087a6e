"""A stored session as a cassette."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.cassettes.cassette_file import CassetteError, RecordedAnswer
from oneclaw_core.cassettes.conversation_key import ConversationKeys
from oneclaw_core.turn.request import shown_history
from oneclaw_core.types.messages import MessageType, ToolCall
from oneclaw_core.types.model_requests import ModelResponse
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.types.messages import Message


def entries_of_session(history: Iterable[Message]) -> list[RecordedAnswer]:
    """Return the answers of a model in a history, with keys of conversations.

    Args:
        history: the entries of a session, all of them.

    Raises:
        CassetteError: it holds no answer.
    """
    keys, messages = ConversationKeys(), shown_history(history)
    entries: list[RecordedAnswer] = []
    begin = 0
    for place, message in enumerate(messages):
        if message.type is MessageType.USER and not message.is_of_output:
            begin = place
        if message.type is not MessageType.ASSISTANT or message.is_incomplete:
            continue
        calls = _calls_behind(messages, place)
        if _is_of_turn(message, calls, messages[place - 1] if place else None):
            continue
        # The way to an output is sent in its own turn alone.
        before = [each for each in messages[:begin] if not each.is_of_output] + messages[begin:place]
        response = ModelResponse(text=message.content, tool_calls=tuple(calls))
        key, said = keys.of_messages(before), keys.said(before)
        entries.append(RecordedAnswer.of(response, (), key, said, is_strict=False))
    if not entries:
        raise CassetteError("the session has no answer of a model")
    return entries


def _calls_behind(messages: list[Message], place: int) -> list[ToolCall]:
    calls: list[ToolCall] = []
    for each in messages[place + 1 :]:
        if each.type is not MessageType.TOOL_CALL:
            break
        calls.append(ToolCall(each.tool_call_id or "", each.tool_name or "", each.tool_input or ""))
    return calls


def _is_of_turn(message: Message, calls: list[ToolCall], before: Message | None) -> bool:
    """Return True for what the turn wrote itself, and writes again: loads of groups, and an output as the answer."""
    if not calls:
        is_taken = before is not None and before.is_of_output and before.type is MessageType.TOOL_RESULT
        return is_taken and before is not None and before.error_type is None
    return message.model is None and {each.name for each in calls} == {LOAD_TOOL_GROUP}
