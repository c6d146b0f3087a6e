"""What stands in a request's messages: what the user asked, and what has been done about it in this turn."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.messages import Message, MessageType, ToolCallStatus
from oneclaw_core.tools.groups import LOAD_TOOL_GROUP, requested_group, restore_loaded_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

MESSAGE_LIMIT = 100_000
_QUESTION = "To use `{tool}` I need `{parameter}`"
_ASKED = re.compile(r"^To use `([\w-]+)` I need `([^`\n]+)`")
_CALL_ID = re.compile(r"call_(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A call of this turn with its result.

    Attributes:
        tool_name: the tool called.
        arguments: what it was called with; empty if that was no JSON object.
        is_success: whether it did what it was asked.
        text: the result, or the error message.
        error_type: of an error.
    """

    tool_name: str
    arguments: dict[str, Any]
    is_success: bool
    text: str
    error_type: str | None


@dataclass(frozen=True, slots=True)
class AskedFor:
    """The user's answer to a question of the rules for a parameter."""

    tool_name: str
    parameter: str
    answer: str


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn under way.

    Attributes:
        message: what the user wrote; ``None`` if there is no user message at all.
        base_message: the message that began it, where this one answers a question for a missing parameter.
        answers: the user's answers to such questions, oldest first.
        outcomes: the results since ``message``, oldest first.
        loaded: the names of all groups loaded in the conversation.
        next_call_number: for the ids of new calls.
    """

    message: str | None
    base_message: str
    answers: tuple[AskedFor, ...]
    outcomes: tuple[Outcome, ...]
    loaded: frozenset[str]
    next_call_number: int

    @property
    def loads(self) -> list[Outcome]:
        """The attempts to load a group in this turn."""
        return [outcome for outcome in self.outcomes if outcome.tool_name == LOAD_TOOL_GROUP]

    @property
    def results(self) -> list[Outcome]:
        """What all other tools gave in this turn."""
        return [outcome for outcome in self.outcomes if outcome.tool_name != LOAD_TOOL_GROUP]

    @property
    def just_loaded(self) -> frozenset[str]:
        """The groups loaded in this turn."""
        names = (outcome.arguments.get("group_name") for outcome in self.loads if outcome.is_success)
        return frozenset(name for name in names if isinstance(name, str))


def question_for(tool: str, parameter: str, description: str) -> str:
    """Ask the user for a parameter in words that :func:`read_turn` finds again."""
    question = _QUESTION.format(tool=tool, parameter=parameter)
    description = " ".join(description.split())[:300].rstrip(".")
    return f"{question} ({description}). What should it be?" if description else f"{question}. What should it be?"


def read_turn(messages: Sequence[Message]) -> Turn:
    """Find out where a conversation stands."""
    last = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].type is MessageType.USER), None)
    if last is None:
        return Turn(None, "", (), (), frozenset(), 1)
    message = messages[last].content[:MESSAGE_LIMIT]
    base_message, answers = _questions_before(messages[:last], message)
    return Turn(
        message=message,
        base_message=base_message,
        answers=answers,
        outcomes=_outcomes(messages[last + 1 :]),
        loaded=_loaded_groups(messages),
        next_call_number=_next_call_number(messages),
    )


def _questions_before(messages: Sequence[Message], message: str) -> tuple[str, tuple[AskedFor, ...]]:
    answers: list[AskedFor] = []
    at = len(messages) - 1
    while at >= 1 and messages[at].type is MessageType.ASSISTANT:
        asked = _ASKED.match(messages[at].content)
        if asked is None:
            break
        before = at - 1
        while before >= 0 and messages[before].type is not MessageType.USER:
            before -= 1
        if before < 0 or (answers and asked.group(1) != answers[0].tool_name):
            break
        answers.insert(0, AskedFor(asked.group(1), asked.group(2), message))
        message = messages[before].content[:MESSAGE_LIMIT]
        at = before - 1
    return message, tuple(answers)


def _outcomes(messages: Sequence[Message]) -> tuple[Outcome, ...]:
    calls = {each.tool_call_id: each for each in messages if each.type is MessageType.TOOL_CALL}
    outcomes = []
    for result in messages:
        if result.type is MessageType.TOOL_RESULT:
            call = calls.get(result.tool_call_id)
            outcomes.append(
                Outcome(
                    tool_name=result.tool_name or (call.tool_name if call else None) or "the tool",
                    arguments=_arguments(call.tool_input if call else None),
                    is_success=result.tool_status is ToolCallStatus.SUCCESS,
                    text=result.content,
                    error_type=result.error_type,
                )
            )
    return tuple(outcomes)


def _arguments(tool_input: str | None) -> dict[str, Any]:
    try:
        arguments = json.loads(tool_input or "{}")
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _loaded_groups(messages: Sequence[Message]) -> frozenset[str]:
    succeeded = {
        each.tool_call_id
        for each in messages
        if each.type is MessageType.TOOL_RESULT
        and each.tool_name == LOAD_TOOL_GROUP
        and each.tool_status is ToolCallStatus.SUCCESS
    }
    by_result = (
        requested_group(each.tool_input)
        for each in messages
        if each.type is MessageType.TOOL_CALL and each.tool_call_id in succeeded
    )
    return frozenset(restore_loaded_groups(messages)) | frozenset(name for name in by_result if name is not None)


def _next_call_number(messages: Sequence[Message]) -> int:
    """Number calls beyond the history's sequence, which also holds when the request shows only its end."""
    highest = 0
    for message in messages:
        if message.sequence is not None:
            highest = max(highest, message.sequence)
        if message.tool_call_id is not None:
            known = _CALL_ID.fullmatch(message.tool_call_id)
            highest = max(highest, int(known.group(1)) if known else 0)
    return highest + 1
