"""Sentences about the results of tool calls."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core import ToolCallStatus
from oneclaw_offline.values import blanked, find_literals
from oneclaw_offline.words import is_question, stems, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core import Message

_SHORT_CHARACTERS = 600
_SEARCHED_CHARACTERS = 50_000
_PARSED_CHARACTERS = 2_000_000
_HOW_MANY = re.compile(r"\b(?:how many|number of)\s+([^\W\d_]+)", re.IGNORECASE)
_PAIR = re.compile(r"\s*(?:[-*] )?([^\W_][\w ()/-]{0,40}?)\s*:\s+(\S.*)")
_NUMBER = re.compile(r"\d[\d,]*\b")


class Outcome(NamedTuple):
    """The result of a call, and the arguments of that call."""

    result: Message
    arguments: Mapping[str, Any]


def report(message: str, outcomes: Iterable[Outcome]) -> str:
    """Report the results of calls, oldest first."""
    return "\n\n".join(_report_one(message[:2000], outcome) for outcome in outcomes)


def _report_one(message: str, outcome: Outcome) -> str:
    result = outcome.result
    tool = f"`{result.tool_name}`"
    if result.tool_status is not ToolCallStatus.SUCCESS:
        kind = f" ({result.error_type})" if result.error_type else ""
        return f"{tool} failed{kind}: {_cut(result.content.strip() or 'it gave no reason')}"
    text = _readable(result.content).strip()
    if not text:
        return f"{tool} is done; it returned nothing."
    sentence = _sentence(message, outcome.arguments, text[:_SEARCHED_CHARACTERS].splitlines()[:1000])
    gap = "\n\n" if "\n" in text or len(text) > _SHORT_CHARACTERS else " "
    return sentence or f"{tool} answers:{gap}{_cut(text)}"


def _cut(text: str) -> str:
    if len(text) <= _SHORT_CHARACTERS:
        return text
    return f"{text[:_SHORT_CHARACTERS].rsplit(None, 1)[0]} …\n\n(This is the beginning of {len(text):,} characters.)"


def _readable(text: str) -> str:
    """Write a JSON object as ``key: value`` lines; other text stays as it is."""
    if len(text) > _PARSED_CHARACTERS or not text[:1000].lstrip().startswith("{"):
        return text
    try:
        pairs = json.loads(text).items()
        texts = ((key, each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)) for key, each in pairs)
        readable = "\n".join(f"{key}: {each}" for key, each in texts)
        readable.encode()  # JSON can escape half a character, which cannot be printed
    except (ValueError, RecursionError):
        return text
    return readable


def _sentence(message: str, arguments: Mapping[str, Any], lines: Sequence[str]) -> str | None:
    """Answer "How many pages has a.pdf?" or "Who is the author of a.pdf?" from a line such as ``Pages: 6``."""
    pairs = [(match[1], match[2].strip()) for line in lines if (match := _PAIR.fullmatch(line[:400]))]
    # What the call was about is its path or URL, or else its only text.
    texts = [value for value in arguments.values() if isinstance(value, str) and 0 < len(value) <= 200]
    telling = [text for text in texts if {each.kind for each in find_literals(text)} & {"path", "url"}]
    subject = telling[0] if telling else texts[0] if len(texts) == 1 else None
    asked = _HOW_MANY.search(message)
    noun = asked[1].lower() if asked is not None else ""
    for key, value in pairs if noun else ():
        number = _NUMBER.match(value)
        if number is not None and stems(key) - stems("number count total of") == stems(noun):
            return f"{subject or 'The result'} has {number[0]} {noun.removesuffix('s') if number[0] == '1' else noun}."
    words = stems(blanked(message))
    fitting = [(key, value) for key, value in pairs if terms(key) and words.issuperset(terms(key))]
    if len(fitting) != 1 or len(lines) < 2 or not is_question(message):
        return None
    key, value = fitting[0]
    return f"The {key.lower()}{f' of {subject}' if subject else ''} is {value.rstrip('.')}."
