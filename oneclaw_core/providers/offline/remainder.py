"""What a message says beyond the request itself: the text that a tool is to be given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_core.providers.offline.literals import Kind
from oneclaw_core.providers.offline.terms import normal_words, stem, word_set
from oneclaw_core.providers.offline.words import ACTIONS, STOP_WORDS, SYNONYMS, Action, is_question

if TYPE_CHECKING:
    from collections.abc import Collection

    from oneclaw_core.providers.offline.catalogue import PreparedTool
    from oneclaw_core.providers.offline.literals import Literal
    from oneclaw_core.providers.offline.parameters import Parameter

_FILLERS = word_set("please can could would you me my the a an for to about that of with in on this and")
_GREETINGS = word_set("hello hi hey thanks yes no ok okay")  # they say nothing in a request, and much in a text
_INTRODUCTIONS = word_set("with for about called named that to")
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_LEADS_TO_VALUE = re.compile(
    r"\s*\b(?:to|in|into|from|of|at|on|onto|as|inside)(?:\s+(?:the|a|my))?(?:\s+(?:file|page|url))?\s*$", re.IGNORECASE
)
_BEFORE_COLON = re.compile(r"^[^:\n]{1,80}:\s+")
# In "an agent that writes poems", what the agent is told to do.
_THAT_DOES = re.compile(r"\b(?:that|who|which)\s+(.+)", re.IGNORECASE | re.DOTALL)
_MARKED = re.compile(r"\b(?:for|about)\s+(.+)", re.IGNORECASE | re.DOTALL)


def remaining_text(message: str, used: Collection[Literal], tool: PreparedTool, parameter: Parameter) -> str:
    """Cut from a message what asks for the tool and what other parameters have got.

    A question holds no text for a tool, but may be looked for as it stands. What is optional is only taken from behind
    "for" or "about".

    Args:
        message: what the user wrote.
        used: the values that have found their parameters.
        tool: the tool that is asked for.
        parameter: what the text is for.

    Returns:
        The text, empty if nothing is left that says anything.
    """
    text = message
    for literal in sorted(used, key=lambda each: each.start, reverse=True):
        before = _LEADS_TO_VALUE.sub("", text[max(0, literal.start - 100) : literal.start])
        text = f"{text[: max(0, literal.start - 100)]}{before} {text[literal.end :]}"
    introduction = _BEFORE_COLON.search(text)
    if introduction is not None:
        return text[introduction.end() :].strip()
    told = _THAT_DOES.search(text) if is_instruction(parameter) else None
    if told is not None:
        return told[1].strip(" .?!\n")
    is_asking = is_question(message)
    is_query = parameter.kind is Kind.QUERY
    if is_asking and not is_query:
        return ""
    if not parameter.is_required or (is_asking and used):
        marked = _MARKED.search(text)
        return marked.group(1).strip(" .?!\n") if marked else ""
    rest = text[_request_end(text, tool) :]
    if tool.action is Action.RUN:
        return rest.strip()  # a command's punctuation belongs to it
    own_terms = tool.name_terms | _described(tool) | frozenset(map(stem, normal_words(parameter.name)))
    return rest.strip(" .?!,\n\t") if _says_something(rest, frozenset() if is_query else own_terms) else ""


def is_instruction(parameter: Parameter) -> bool:
    """Whether a parameter takes what somebody is told to do, in as many words as it needs."""
    return not {"prompt", "instructions"}.isdisjoint(normal_words(parameter.name))


def _says_something(text: str, empty: frozenset[str]) -> bool:
    """Whether a text has more than filler words and words that speak of the tool itself."""
    words = normal_words(text[:2000])
    if not words:
        return bool(text.strip(" .?!,\n\t"))  # signs alone, which are what the user wrote
    return any(word in _GREETINGS or (word not in STOP_WORDS and stem(word) not in empty) for word in words)


def _described(tool: PreparedTool) -> frozenset[str]:
    return frozenset(map(stem, normal_words(tool.definition.description.split(".")[0])))


def _request_end(text: str, tool: PreparedTool) -> int:
    """Find where the words that only ask for the tool end."""
    end = 0
    described = _described(tool)
    words = list(_WORD.finditer(text[:2000]))
    for at, match in enumerate(words):
        word = match.group().lower()
        stemmed = stem(word)
        is_name = not tool.name_terms.isdisjoint((stemmed, *SYNONYMS.get(stemmed, ())))
        is_request = word in _FILLERS or is_name or stemmed in ACTIONS
        follower = words[at + 1].group().lower() if at + 1 < len(words) else ""
        if not is_request and not (stemmed in described and follower in _INTRODUCTIONS):
            break
        end = match.end()
    return end
