"""The text of a message beyond the request itself, for a tool that takes a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_offline.words import GENERIC_TERMS, STOP_WORDS, SYNONYMS, is_question, stem, stems, word_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import ToolDefinition
    from oneclaw_offline.parameters import Parameter

_READ_CHARACTERS = 2_000
_FILLERS = word_set("please can could would will you help me my use the a an for to about of with in on this and")
_CLAUSES = word_set("that which who")
_SILENT_WORDS = STOP_WORDS - word_set("hello hi hey thanks yes no ok okay") | word_set("today tomorrow")
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_LEAD = re.compile(
    r"\s*\b(?:to|in|into|from|of|at|on|as)(?:\s+(?:the|a|my))?(?:\s+(?:file|page|url))?\s*$", re.IGNORECASE
)
_LEAD_CHARACTERS = 40
_BEFORE_COLON = re.compile(r"[^:\n]{1,80}:\s+")
_TOPIC = re.compile(r"\b(?:for|about|on|regarding)\s+(.+)", re.IGNORECASE | re.DOTALL)
_BY_MEANS = re.compile(r"\s(?:in|with|using|by)\s+(?:the\s+)?(\w+)$", re.IGNORECASE)


def remaining_text(message: str, spans: Iterable[tuple[int, int]], tool: ToolDefinition, parameter: Parameter) -> str:
    """Cut from a message the request and the values of other parameters.

    Args:
        message: of the user.
        spans: where those values stand.
        tool: the tool that is asked for.
        parameter: what the text is for. A question has no text but for a query.

    Returns:
        The text, empty if nothing is left that says something.
    """
    text, at = "", 0
    for start, end in sorted(spans):
        first = max(at, start - _LEAD_CHARACTERS)
        text += f"{message[at:first]}{_LEAD.sub('', message[first:start])} " if start >= at else ""
        at = max(at, end)
    text = re.sub(r"(?<=\w)[.?!]+$", "", (text + message[at:]).strip())
    introduction = _BEFORE_COLON.match(text)
    if introduction is not None:
        return text[introduction.end() :].strip()
    is_query = parameter.kind == "query"
    if is_question(message) or not parameter.is_required:
        topic = _TOPIC.search(text) if is_query else None
        return topic[1].strip() if topic else text if is_query and parameter.is_required else ""
    first_sentence = tool.description[:_READ_CHARACTERS].partition(". ")[0]
    own = stems(" ".join((tool.name, first_sentence, *tool.parameters["properties"])))
    text = text[_request_end(text[:_READ_CHARACTERS], stems(f"{tool.name} {parameter.name}"), own) :].strip(" ,;\n\t")
    means = _BY_MEANS.search(text[-_LEAD_CHARACTERS:])
    text = text.removesuffix(means[0]) if means is not None and stem(means[1]) in own else text
    words = [word.lower() for word in _WORD.findall(text[:_READ_CHARACTERS])]
    is_silent = all(word in _SILENT_WORDS or (stem(word) in own and not is_query) for word in words)
    return "" if words and is_silent else text


def _request_end(text: str, named: frozenset[str], own: frozenset[str]) -> int:
    """Find the end of the words that only ask for the tool."""
    end = 0
    words = list(_WORD.finditer(text))
    for match, follower in zip(words, [*words[1:], None], strict=False):
        word, term = match[0].lower(), stem(match[0])
        if word in _CLAUSES:
            return match.end()
        is_request = not named.isdisjoint((term, *SYNONYMS.get(term, ()))) or term in GENERIC_TERMS or term in SYNONYMS
        is_told = term in own and (follower is None or end == 0 or follower[0].lower() in _FILLERS | _CLAUSES)
        if not (word in _FILLERS or is_request or is_told):
            break
        end = match.end()
    return end
