"""Recognize in an error of a service which parts of a request it refused. No I/O.

:mod:`oneclaw_core.models.left_out` names the parts.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from oneclaw_core import Message, MessageType
from oneclaw_core.models import (
    EFFORT,
    FILE,
    LIMIT_NAMES,
    MOST_OUTPUT,
    MOST_TOOLS,
    NEIGHBOURS,
    OUTPUT,
    PARAMETER,
    REASONING,
    STREAM_OPTIONS,
    TOOLS,
    answer_limit,
    digest_of,
)
from oneclaw_http_providers.error_meaning import most_output_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import Attachment
    from oneclaw_core.providers import ModelRequest


_STREAM_OPTIONS_REFUSED = re.compile(r"stream[ _]options|include_usage", re.IGNORECASE)
# Of OpenAI and those who imitate it, of Ollama, Anthropic and Gemini.
_EFFORT_REFUSED = re.compile(
    r"reasoning[\W_]{0,2}effort|\beffort\b|output_config|budget_tokens|\bthinking[ _.]?(level|budget|config|type)"
    r"|(not|n't) support (setting )?(adaptive |extended )?thinking\b|\bthink value\b|only works in thinking mode"
    r"|\bthinking\b\W.*\b(not supported|unsupported|not permitted|unknown|unrecognized|unexpected|extra)"
    r"|(unsupported|unexpected|unknown|unrecognized|extra)\b.*\b(thinking|reasoning)\b(?!_)"
    r"|\breasoning\b(?!_).*(unsupported|not supported|not permitted|not allowed|unexpected|unknown|unrecognized)",
    re.IGNORECASE,
)
# Of the four wire formats, and of servers that imitate them.
_OUTPUT_REFUSED = re.compile(
    r"response[_ ]?format|text\.format|output_config\.format|output_format|json[_ ]?schema|structured[_ ]?outputs?"
    r"|response[_ ]?(json[_ ]?schema|mime[_ ]?type)|(invalid|unsupported) schema|schema .*(not supported|invalid)"
    r"|too many states|grammar",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(
    r"(not|n't) support (the )?(use of )?(tools?|functions?)\b|that support tool use|enable-auto-tool-choice"
    r"|(tools?|tool (use|calling)|function calling) (is|are) not (supported|enabled|available)",
    re.IGNORECASE,
)
# OpenAI, Gemini, and servers that validate with pydantic or JSON Schema.
_MOST_TOOLS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\btools\W+array too long.*?maximum length (\d{1,5})\b",
        r"\btools\b.{0,40}? at most (\d{1,5}) items",
        r"\b(?:at most|up to|more than|maximum of|max|limit of) (\d{1,5}) (?:tools|functions?(?:[ _]declarations)?)\b",
        r"\b(?:maximum|allowed|max) number of (?:tools|functions|function[ _]declarations)\D{0,20}(\d{1,5})\b",
    )
)
_TOO_MANY_TOOLS = re.compile(r"too many (tools|functions|function[ _]declarations)", re.IGNORECASE)
_SEAL_REFUSED = re.compile(
    r"thought[ _]?signature|'reasoning'.*without its required|\brs_\w+' not found"
    # Anthropic's thinking is bound to what came before it; a system prompt that has changed is enough to lose it.
    r"|thinking\W.*(cannot be modified|bound to )|signature\W+in\W+thinking",
    re.IGNORECASE,
)
_REASONING_UNKNOWN = re.compile(
    r"\breasoning(_content|_details)?\b.*(unsupported|not supported|not permitted|not allowed|unexpected|unknown"
    r"|unrecognized|extra)|(unsupported|unexpected|unknown|unrecognized|extra)\b.*\breasoning(_content|_details)?\b",
    re.IGNORECASE,
)
# Of OpenAI: from a model that does not reason, or about what another account encrypted.
_ENCRYPTED_REASONING_REFUSED = re.compile(r"encrypted[ _]content", re.IGNORECASE)
_ENCRYPTED_REASONING_UNKNOWN = re.compile(r"encrypted[ _]content\b.*\bnot (supported|permitted|allowed)", re.IGNORECASE)
_IMAGE_WORDS = re.compile(r"\b(images?|pictures?|image_url|input_image|pixels?|dimensions?)\b", re.IGNORECASE)
_DOCUMENT_WORDS = re.compile(r"\b(pdfs?|documents?|input_file|pages)\b", re.IGNORECASE)
_FILE_WORDS = re.compile(
    r"\b(files?|attachments?|media|multimodal|vision|base64|inline_?data|mime.?types?|contains an invalid argument)\b",
    re.IGNORECASE,
)
_BYTES = re.compile(r"(\d{4,}) bytes")
_MEGABYTES = re.compile(r"(\d{1,3}(?:\.\d+)?) ?MB\b")
# Of llama.cpp's templates, of Mistral, and of vLLM.
_ROLES_REFUSED = re.compile(
    r"\broles?\b.*(alternat|after role|expected|must)|alternat\w+.*\broles?\b|consecutive .*(messages|roles?)"
    r"|unexpected role|multiple user messages",
    re.IGNORECASE | re.DOTALL,
)
_NOT_TAKEN = re.compile(
    r"unsupported|not support|deprecated|not (be )?(allowed|permitted|available)|may only be|only the default|must be"
    r"|cannot both|can't both|not compatible|incompatible|unrecognized|unknown|unexpected|extra inputs|invalid"
    r"|out of range|not (a )?(valid|known)|should be|no longer|when thinking|不支持|无效|サポート|지원",
    re.IGNORECASE,
)
# What a model can do without, the one that is missed least first.
_KEPT_PARAMETERS = frozenset({*LIMIT_NAMES, "max_output_tokens"})
_SAMPLING = ("top_k", "top_p", "frequency_penalty", "presence_penalty", "temperature")


def refused_parts(refusal: str, request: ModelRequest) -> tuple[str, ...]:
    """Name the parts of a request that a refusal is about; none if it is about nothing that can be left out."""
    if has_neighbours(request.messages) and _ROLES_REFUSED.search(refusal):
        return () if NEIGHBOURS in request.left_out else (NEIGHBOURS,)
    if (part := _refused_limit(refusal, request) or _refused_parameter(refusal, request)) is not None:
        return (part,)
    if request.output is not None and _OUTPUT_REFUSED.search(refusal):
        return (OUTPUT,)
    if _STREAM_OPTIONS_REFUSED.search(refusal):
        return () if STREAM_OPTIONS in request.left_out else (STREAM_OPTIONS,)
    count = len(request.tools.names)
    most = _most_tools(refusal, count) if request.tools.groups else None  # core tools cannot be dispatched
    if most is not None:
        return (f"{MOST_TOOLS}{most}",)
    if count and _NO_TOOLS.search(refusal):
        return (TOOLS,)
    has_echo = any(each.provider_data for each in request.messages if each.type is not MessageType.TOOL_RESULT)
    if _ENCRYPTED_REASONING_REFUSED.search(refusal):
        is_unknown = not has_echo or _ENCRYPTED_REASONING_UNKNOWN.search(refusal)
        return (REASONING,) if is_unknown else (_reasoning_so_far(request),)
    if request.reasoning is not None and _EFFORT_REFUSED.search(refusal):
        return (f"{EFFORT}{request.reasoning}",)
    if has_echo:
        if _SEAL_REFUSED.search(refusal):
            return (_reasoning_so_far(request),)
        if _REASONING_UNKNOWN.search(refusal):
            return (REASONING,)
    return tuple(dict.fromkeys(FILE + digest_of(each) for each in _suspected_files(refusal, request.messages)))


def unexplained_parts(request: ModelRequest) -> tuple[str, ...]:
    """Name the parts to leave out of a request that was refused for a reason that is not understood."""
    if has_neighbours(request.messages) and NEIGHBOURS not in request.left_out:
        return (NEIGHBOURS,)
    files = request.messages[-1].files_for_model if request.messages else ()
    return tuple(dict.fromkeys(FILE + digest_of(each) for each in files))


def has_neighbours(messages: Sequence[Message]) -> bool:
    """Return True if a message of the user follows another one, or the result of a call."""
    before = (MessageType.USER, MessageType.TOOL_RESULT)
    return any(each.type in before and then.type is MessageType.USER for each, then in pairwise(messages))


def _refused_limit(refusal: str, request: ModelRequest) -> str | None:
    """Name the limit of the answer, if its length or its name is refused."""
    given = answer_limit(request)
    most = most_output_tokens(refusal) if isinstance(given, int) else None
    if most is not None and isinstance(given, int) and most < given:
        return f"{MOST_OUTPUT}{most}"
    named = sorted((refusal.find(name), name) for name in LIMIT_NAMES)
    refused = named[0][1]  # the other one is recommended behind it
    is_name = named[0][0] >= 0 and given is not None and _NOT_TAKEN.search(refusal)
    return refused if is_name and refused not in request.left_out else None


def _refused_parameter(refusal: str, request: ModelRequest) -> str | None:
    given = [name for name, value in request.parameters.items() if value is not None and name not in _KEPT_PARAMETERS]
    names = [*(name for name in _SAMPLING if name in given), *(name for name in given if name not in _SAMPLING)]
    named = [name for name in names if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", refusal)]
    return f"{PARAMETER}{named[0]}" if named and _NOT_TAKEN.search(refusal) else None


def _reasoning_so_far(request: ModelRequest) -> str:
    return f"{REASONING}:{request.session_id}:{max(message.sequence or 0 for message in request.messages)}"


def _most_tools(refusal: str, count: int) -> int | None:
    found = next((match for pattern in _MOST_TOOLS if (match := pattern.search(refusal))), None)
    if found is not None:
        most = int(found[1])
    elif _TOO_MANY_TOOLS.search(refusal):
        most = count - 1
    else:
        return None
    return most if 0 < most < count else None


def _suspected_files(refusal: str, messages: Sequence[Message]) -> list[Attachment]:
    """Find the files that are to blame: those of the named kind and size, the newest if the error names no size."""
    is_image, is_document = _IMAGE_WORDS.search(refusal), _DOCUMENT_WORDS.search(refusal)
    if not (is_image or is_document or _FILE_WORDS.search(refusal)):
        return []
    kinds = ("image/" if is_image else "", "application/pdf" if is_document else "")
    answered = max((place for place, each in enumerate(messages) if each.type is MessageType.ASSISTANT), default=-1)
    placed = [(place, file) for place, each in enumerate(messages) for file in each.attachments]
    of_kind = [each for each in placed if each[1].media_type.lower().startswith(tuple(filter(None, kinds)))] or placed
    sized = [file for _, file in of_kind if _has_named_size(file, refusal)]
    # What the service has taken before is not to blame, unless nothing else is left.
    newest = [file for place, file in of_kind if place > answered]
    return sized or newest or [file for _, file in of_kind]


def _has_named_size(attachment: Attachment, refusal: str) -> bool:
    encoded = 4 * -(-len(attachment.data) // 3)
    if any(int(found) in (len(attachment.data), encoded) for found in _BYTES.findall(refusal)):
        return True
    limit = _MEGABYTES.search(refusal)
    return limit is not None and encoded > float(limit[1]) * 1_000_000
