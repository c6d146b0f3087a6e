"""The state of a turn, from the messages of a request."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core import Message, MessageType, ToolCallStatus, restore_loaded_groups
from oneclaw_core.tools import LOAD_TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Sequence

_MESSAGE_CHARACTERS = 20_000
_ASKED = re.compile(r"To use `([\w-]+)` I need `([^`\n]+)`")
_CALL_ID = re.compile(r"call_(\d{1,18})")


class Outcome(NamedTuple):
    """The result of a call, and the arguments of that call."""

    result: Message
    arguments: dict[str, Any]

    @property
    def is_success(self) -> bool:
        """True if the tool did what it was asked."""
        return self.result.tool_status is ToolCallStatus.SUCCESS


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn in progress.

    Attributes:
        message: of the user, None if there is none.
        request: the message that began it, if this one answers a question for a missing parameter.
        asked_tool: the tool that the question was for.
        answers: the parameters that were asked for, each with the user's answer, oldest first.
        loads: the results of loading groups since the message, oldest first.
        results: the results of other tools, likewise.
        loaded: the names of all groups loaded in the conversation.
        next_call_number: for the ids of new calls.
    """

    message: str | None
    request: str
    asked_tool: str
    answers: tuple[tuple[str, str], ...]
    loads: tuple[Outcome, ...]
    results: tuple[Outcome, ...]
    loaded: frozenset[str]
    next_call_number: int


def question_for(tool: str, parameter: str, description: str) -> str:
    """Ask the user for a parameter in words that :func:`read_turn` finds again."""
    about = " ".join(description[:300].split()).rstrip(".")
    return f"To use `{tool}` I need `{parameter}`{f' ({about})' if about else ''}. What should it be?"


def read_turn(messages: Sequence[Message]) -> Turn:
    """Find the user's last message, the question that it may answer, and the results since."""
    of_user = [at for at, message in enumerate(messages) if message.type is MessageType.USER]
    texts = [messages[at].content[:_MESSAGE_CHARACTERS] for at in of_user]
    tool = ""
    answers: list[tuple[str, str]] = []
    at = len(of_user) - 1
    while at > 0:
        asked = _ASKED.match(messages[of_user[at] - 1].content)
        if messages[of_user[at] - 1].type is not MessageType.ASSISTANT or asked is None or tool not in {"", asked[1]}:
            break
        tool = asked[1]
        answers.insert(0, (asked[2], texts[at]))
        at -= 1
    outcomes = _outcomes(messages[of_user[-1] + 1 :]) if of_user else []
    # Numbers beyond the history's sequence are new even if the request has only the end of the history.
    numbers = [message.sequence or 0 for message in messages]
    numbers += [int(known[1]) for each in messages if (known := _CALL_ID.fullmatch(each.tool_call_id or ""))]
    return Turn(
        message=texts[-1] if texts else None,
        request=texts[at] if texts else "",
        asked_tool=tool,
        answers=tuple(answers),
        loads=tuple(each for each in outcomes if each.result.tool_name == LOAD_TOOL_GROUP),
        results=tuple(each for each in outcomes if each.result.tool_name != LOAD_TOOL_GROUP),
        loaded=frozenset(restore_loaded_groups(messages)),
        next_call_number=max(numbers, default=0) + 1,
    )


def _outcomes(messages: Sequence[Message]) -> list[Outcome]:
    inputs = {each.tool_call_id: each.tool_input for each in messages if each.type is MessageType.TOOL_CALL}
    results = [each for each in messages if each.type is MessageType.TOOL_RESULT]
    return [Outcome(each, _arguments(inputs.get(each.tool_call_id))) for each in results]


def _arguments(tool_input: str | None) -> dict[str, Any]:
    try:
        arguments = json.loads(tool_input or "{}")
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}
