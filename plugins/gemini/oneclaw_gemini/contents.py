"""A session's history as Gemini's contents. No I/O.

Gemini wants contents of ``user`` and ``model`` in turn, a ``user`` one first and last; every call answered, in the
order of the calls, in the one content right after; and what the model said exactly as it came, with the signatures of
its thoughts. Source: https://ai.google.dev/gemini-api/docs/function-calling and .../thought-signatures.
"""

from __future__ import annotations

import base64
import math
import re
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import exchanges, valid_name

from oneclaw_core import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from oneclaw_http_providers import AnsweredCall, Exchange

    from oneclaw_core import Attachment

    Content = dict[str, Any]
    Part = dict[str, Any]

PROVIDER_TYPE = "gemini"
CARRIED_MEDIA_TYPES = ("image/", "application/pdf")
# Stands for the signature of a thought that another model had, or no one noted (documented, for Gemini 3 and later).
NO_SIGNATURE = "skip_thought_signature_validator"
# These want no signatures, and take no files within results. All that come after are taken to be like the newest.
_BEFORE_GEMINI_3 = re.compile(r"(models/)?(gemini-[12]\.|gemini-pro|gemma|learnlm)")
_NESTED_MEDIA_TYPES = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf"})
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_MAX_NAME_CHARACTERS = 63
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_MAX_DEPTH = 64
_MAX_NUMBER_BITS = 1000
# Said in the model's place where a turn ended without an answer, since results and the user's words stay apart.
_NO_ANSWER = "(no answer)"
_CUT_HISTORY = "(what came before is not shown)"
_GO_ON = "(go on)"


def contents(messages: Sequence[Message], model: str, server: str) -> list[Content]:
    """Convert a history.

    Args:
        messages: in their order.
        model: the model's name; models before Gemini 3 are sent some things otherwise.
        server: the origin of the server asked, as the answers are noted with it.
    """
    is_old = is_before_gemini_3(model)
    found: list[Content] = []
    for entry in exchanges(messages):
        if isinstance(entry, Message):
            _add_user_parts(found, _user_parts(entry))
        else:
            _add_exchange(found, entry, server, is_old=is_old)
    if not found or found[-1]["role"] == "model":
        found.append({"role": "user", "parts": [{"text": _GO_ON}]})
    return found


def is_before_gemini_3(model: str) -> bool:
    """Return True if a model is of the generations that are sent some things otherwise."""
    return _BEFORE_GEMINI_3.match(model) is not None


def is_acceptable(part: object) -> bool:
    """Return True if Gemini accepts a part of an answer in later requests; it refuses some that it sends."""
    if not isinstance(part, dict) or not _is_sendable(part):
        return False
    if "functionCall" not in part:
        return True
    call = part["functionCall"]
    return (
        isinstance(call, dict)
        and isinstance(call.get("name"), str)
        and _NAME.fullmatch(call["name"]) is not None
        and isinstance(call.get("args", {}), dict)
        and isinstance(call.get("id", ""), str)
    )


def _add_user_parts(found: list[Content], parts: list[Part]) -> None:
    if found and found[-1]["role"] == "user":
        if not any("functionResponse" in part for part in found[-1]["parts"]):
            found[-1]["parts"] += parts
            return
        # The model would take what stands beside results for its own words.
        found.append({"role": "model", "parts": [{"text": _NO_ANSWER}]})
    found.append({"role": "user", "parts": parts})


def _add_exchange(found: list[Content], entry: Exchange, server: str, *, is_old: bool) -> None:
    parts = _echoed(entry, server) or _rebuilt(entry)
    if not parts:
        return
    if not is_old:
        parts = _signed(parts)
    if not found:
        found.append({"role": "user", "parts": [{"text": _CUT_HISTORY}]})
    if found[-1]["role"] == "model":
        found[-1]["parts"] += parts
    else:
        found.append({"role": "model", "parts": parts})
    if entry.calls:
        sent = [part["functionCall"] for part in parts if "functionCall" in part]
        found += _answers(zip(sent, entry.calls, strict=True), is_old=is_old)


def _answers(calls: Iterable[tuple[Mapping[str, Any], AnsweredCall]], *, is_old: bool) -> Iterator[Content]:
    """Answer the calls of a round: their results in one content, and in another the files that do not go into those."""
    responses: list[Part] = []
    files: list[Part] = []
    for sent, call in calls:
        response: dict[str, Any] = {key: sent[key] for key in ("id", "name") if sent.get(key)}
        response["response"] = _outcome(call)
        for attachment in call.result.attachments:
            part = _file_part(attachment)
            if not is_old and attachment.media_type.lower() in _NESTED_MEDIA_TYPES:
                response.setdefault("parts", []).append(part)
            else:
                files += [{"text": f"File {attachment.name}, from the result of {sent['name']}:"}, part]
        responses.append({"functionResponse": response})
    yield {"role": "user", "parts": responses}
    if files:  # beside results they would be counted as such
        yield {"role": "user", "parts": files}


def _echoed(entry: Exchange, server: str) -> list[Part] | None:
    """Give an answer as it came from this server, if the calls in it are those of the history."""
    data = entry.provider_data(PROVIDER_TYPE)
    if data.get("server") != server:
        return None
    parts: list[Part] = data.get("parts", [])
    names = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
    return list(parts) if names == [call.message.tool_name for call in entry.calls] else None


def _rebuilt(entry: Exchange) -> list[Part]:
    text = [{"text": entry.text}] if entry.text else []
    return [*text, *({"functionCall": _call(call)} for call in entry.calls)]


def _call(call: AnsweredCall) -> dict[str, Any]:
    name = valid_name(call.message.tool_name)
    if not re.match("[a-zA-Z_]", name):
        name = f"_{name}"
    arguments = call.arguments
    return {"name": name[:_MAX_NAME_CHARACTERS], "args": arguments if _is_sendable(arguments) else {}}


def _signed(parts: list[Part]) -> list[Part]:
    """Sign the first call, as Gemini 3 wants it, unless the service has signed anything itself."""
    first = next((place for place, part in enumerate(parts) if "functionCall" in part), None)
    if first is None or any("thoughtSignature" in part for part in parts):
        return parts
    return [*parts[:first], parts[first] | {"thoughtSignature": NO_SIGNATURE}, *parts[first + 1 :]]


def _user_parts(message: Message) -> list[Part]:
    parts: list[Part] = []
    for attachment in message.attachments:
        part = _file_part(attachment)
        parts += [{"text": f"Attached file {attachment.name}:"}, part] if "inlineData" in part else [part]
    return [*parts, {"text": message.content}] if message.content or not parts else parts


def _file_part(attachment: Attachment) -> Part:
    media_type = attachment.media_type.lower()
    if not media_type.startswith(CARRIED_MEDIA_TYPES):
        # Given to another service earlier in the session: here it would have every later request refused.
        return {"text": f"[{attachment.name} ({media_type}) cannot be shown to this model]"}
    return {"inlineData": {"mimeType": media_type, "data": base64.b64encode(attachment.data).decode()}}


def _outcome(call: AnsweredCall) -> dict[str, Any]:
    outcome = call.outcome
    if call.is_json and not _is_sendable(outcome):
        outcome = call.result.to_dict()
    return {"output" if call.result.is_success else "error": outcome}


def _is_sendable(value: object) -> bool:
    """Return True if Gemini accepts a value: no infinite numbers, no half characters, no deep nesting."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        within: list[object] = []
        for each in level:
            if isinstance(each, dict):
                within += each
                within += each.values()
            elif isinstance(each, list):
                within += each
            elif not _is_sendable_leaf(each):
                return False
        if not within:
            return True
        level = within
    return False


def _is_sendable_leaf(value: object) -> bool:
    match value:
        case str():
            return _HALF_CHARACTER.search(value) is None
        case int():
            return value.bit_length() <= _MAX_NUMBER_BITS
        case float():
            return math.isfinite(value)
    return True
