"""Parts that are left out of a request because its service refused them, and are remembered for later turns.

A part is named by a text, so that it can be stored with what else was learned about a model:

- ``file:DIGEST``: a file, by the digest of its content
- ``reasoning``: the reasoning that is echoed, and that a wire format asks to get; ``reasoning:SESSION:SEQUENCE``:
  that of a session up to a message
- ``effort:LEVEL``: the level of reasoning that is asked for
- ``stream_options``, ``tools``, ``output``: the part of that name
- ``most_tools:NUMBER``: the tools beyond a number
- ``parameter:NAME``: a parameter of the agent, such as ``temperature``
- ``most_output:NUMBER``: the longer answer that is asked for
- ``max_tokens``, ``max_completion_tokens``: the limit of the answer under that name; it goes under the other one
- ``neighbours``: messages of one role behind one another, which are joined
"""

from __future__ import annotations

import logging
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.providers import LEARNED_SETTING
from oneclaw_core.types.messages import Attachment, Message, MessageType
from oneclaw_core.types.text import compact_json
from oneclaw_core.types.tool_groups import ActiveTools

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oneclaw_core.turn.state import TurnState
    from oneclaw_core.types.model_requests import LoadingRefused, ModelRequest


EFFORT = "effort:"
FILE = "file:"
MAX_TOKENS = "max_tokens"
MAX_COMPLETION_TOKENS = "max_completion_tokens"
MOST_OUTPUT = "most_output:"
NEIGHBOURS = "neighbours"
PARAMETER = "parameter:"
MOST_TOOLS = "most_tools:"
REASONING = "reasoning"
STREAM_OPTIONS = "stream_options"
TOOLS = "tools"
OUTPUT = "output"
LIMIT_NAMES = (MAX_TOKENS, MAX_COMPLETION_TOKENS)
_DIGEST_BYTES = 12
# How many parts are remembered for a model: the newest.
_MOST_REMEMBERED = 200

_log = logging.getLogger("oneclaw.turn")


def most_tools_in(left_out: Iterable[str]) -> int | None:
    """Return the number of tools that a service was found to take, ``None`` if it has refused none for their number."""
    return min(_numbers(left_out, MOST_TOOLS), default=None)


def _numbers(left_out: Iterable[str], prefix: str) -> Iterator[int]:
    found = (part.removeprefix(prefix) for part in left_out if part.startswith(prefix))
    return (int(number) for number in found if number.isdecimal())


def without_refused(request: ModelRequest) -> ModelRequest:
    """Leave out of a request what ``left_out`` names.

    Its wire format leaves out ``stream_options``, and does not ask for ``reasoning`` that it would have to echo.

    The same request in gives the same request out.
    """
    left_out = request.left_out
    messages: Sequence[Message] = request.messages
    until = _reasoning_until(left_out, request.session_id)
    if until is not None:
        messages = [_without_reasoning(message, until) for message in messages]
    if any(part.startswith(FILE) for part in left_out):
        messages = [_without_files(message, left_out) if message.attachments else message for message in messages]
    if NEIGHBOURS in left_out:
        messages = _joined(messages)
    reasoning = None if f"{EFFORT}{request.reasoning}" in left_out else request.reasoning
    request = replace(request, messages=tuple(messages), reasoning=reasoning)
    request = _without_parameters(request, left_out)
    told = []
    if OUTPUT in left_out and request.output is not None:
        told.append(f"Answer with JSON alone, which this JSON Schema describes:\n{compact_json(request.output.schema)}")
        request = replace(request, output=None)
    if TOOLS in left_out and request.tools.names:
        told.append("No tool can be called: the model service takes none with this model. Answer without tools.")
        request = replace(request, tools=ActiveTools(()))
    return replace(request, system_prompt="\n\n".join(filter(None, [request.system_prompt, *told])))


def shown_parts(parts: Iterable[str], request: ModelRequest) -> str:
    """Name parts of a request for the user."""
    files = {FILE + digest_of(each): each.name for message in request.messages for each in message.attachments}
    return ", ".join(files.get(part) or _shown(part) for part in parts)


def digest_of(attachment: Attachment) -> str:
    """Return what stands for the content of a file."""
    return blake2b(attachment.data, digest_size=_DIGEST_BYTES, person=b"oneclaw-file").hexdigest()


_SHOWN = {
    MOST_TOOLS: "tools beyond {}",
    PARAMETER: "{}",
    MOST_OUTPUT: "answers of more than {} tokens",
    NEIGHBOURS: "the parting of messages of one role",
    EFFORT: "reasoning {}",
    OUTPUT: "the schema of the answer",
    REASONING: "earlier reasoning",
}


def _shown(part: str) -> str:
    found = (text.format(part.removeprefix(begin)) for begin, text in _SHOWN.items() if part.startswith(begin))
    return next(found, part)


def _without_parameters(request: ModelRequest, left_out: Mapping[str, str]) -> ModelRequest:
    """Leave out parameters; limit the length of the answer, which may stand in the parameters too."""
    names = {part.removeprefix(PARAMETER) for part in left_out if part.startswith(PARAMETER)}
    if names and not names.isdisjoint(request.parameters):
        kept = {name: value for name, value in request.parameters.items() if name not in names}
        request = replace(request, parameters=kept)
    most = min(_numbers(left_out, MOST_OUTPUT), default=None)
    given = answer_limit(request)
    if given is not None and most is not None and given > most:
        request = replace(request, max_output_tokens=most)
    if given is not None and request.max_output_tokens is None and any(name in left_out for name in LIMIT_NAMES):
        request = replace(request, max_output_tokens=given)
    return request


def answer_limit(request: ModelRequest) -> int | None:
    """Return the longest answer that a request asks for, in the parameters too; ``None`` if it asks for none."""
    given = (request.max_output_tokens, *(request.parameters.get(name) for name in LIMIT_NAMES))
    return next((each for each in given if isinstance(each, int)), None)


def _joined(messages: Sequence[Message]) -> list[Message]:
    """Join messages of the user, and put an answer between a result and a message of the user."""
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        if last is not None and message.type is MessageType.USER:
            if last.type is MessageType.USER:
                text = "\n\n".join(filter(None, [last.content, message.content]))
                joined[-1] = replace(message, content=text, attachments=(*last.attachments, *message.attachments))
                continue
            if last.type is MessageType.TOOL_RESULT:
                joined.append(Message(type=MessageType.ASSISTANT, content="Understood."))
        joined.append(message)
    return joined


def _reasoning_until(left_out: Mapping[str, str], session_id: str) -> float | None:
    if REASONING in left_out:
        return float("inf")
    return max(_numbers(left_out, f"{REASONING}:{session_id}:"), default=None)


def _without_reasoning(message: Message, until: float) -> Message:
    is_refused = message.provider_data is not None and (message.sequence or 0) <= until
    return replace(message, provider_data=None) if is_refused else message


def _without_files(message: Message, left_out: Mapping[str, str]) -> Message:
    found = [(file, left_out.get(FILE + digest_of(file))) for file in message.attachments]
    notes = [
        f"[{file.name} ({file.media_type}) is not sent: the model service refused it: {reason}]"
        for file, reason in found
        if reason is not None
    ]
    if not notes:
        return message
    text = "\n".join([*filter(None, [message.content]), *notes])
    taken = tuple(file for file, reason in found if reason is None)
    return replace(message, content=text, is_json=False, attachments=taken)


def left_out_by(learned: Mapping[str, Any]) -> dict[str, str]:
    """Return the parts of requests that a service has refused, each with its reason."""
    found = learned.get("left_out")
    return {str(part): str(reason) for part, reason in found.items()} if isinstance(found, dict) else {}


async def remember(turn: TurnState, refused: LoadingRefused | None, left_out: Mapping[str, str]) -> None:
    """Have the model asked in the way that it takes in later turns too; the user can have another tried again."""
    name, base_url = turn.model.full_name, turn.model.config.base_url
    if refused is not None:
        _log.info("%s is told loaded tool groups the %s way: %s", name, refused.instead, refused.reason)

    def with_refusals(learned: Any) -> dict[str, Any]:
        is_of_server = isinstance(learned, dict) and learned.get("base_url") == base_url
        known: dict[str, Any] = {**learned} if is_of_server else {"base_url": base_url}
        if refused is not None:
            known["tool_loading"] = str(refused.instead)
        if left_out:
            parts = {**left_out_by(known), **left_out}
            known["left_out"] = dict(list(parts.items())[-_MOST_REMEMBERED:])
        return known

    await turn.store.change_setting(LEARNED_SETTING + name, with_refusals)
