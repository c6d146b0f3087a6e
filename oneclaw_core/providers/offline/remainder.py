"""What a message says beyond the request itself: the text that a tool is to be given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_core.providers.offline.terms import normal_words, stem, word_set
from oneclaw_core.providers.offline.words import ACTIONS, SYNONYMS, Action

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.providers.offline.catalogue import PreparedTool
    from oneclaw_core.providers.offline.literals import Literal

_FILLERS = word_set("please can could would you me my the a an for to about that of with in on this and")
_INTRODUCTIONS = word_set("with for about called named that to")
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_LEADS_TO_VALUE = re.compile(
    r"\s*\b(?:to|in|into|from|of|at|on|onto|as|inside)(?:\s+(?:the|a|my))?(?:\s+(?:file|page|url))?\s*$", re.IGNORECASE
)
_BEFORE_COLON = re.compile(r"^[^:\n]{1,80}:\s+")
_MARKED = re.compile(r"\b(?:for|about)\s+(.+)", re.IGNORECASE | re.DOTALL)


def remaining_text(message: str, used: Iterable[Literal], tool: PreparedTool, *, only_if_marked: bool = False) -> str:
    """Cut from a message what asks for the tool and what other parameters have got.

    Args:
        message: what the user wrote.
        used: the values that have found their parameters.
        tool: the tool that is asked for.
        only_if_marked: take only what follows "for" or "about".

    Returns:
        The text, empty if nothing is left.
    """
    text = message
    for literal in sorted(used, key=lambda each: each.start, reverse=True):
        before = _LEADS_TO_VALUE.sub("", text[max(0, literal.start - 100) : literal.start])
        text = f"{text[: max(0, literal.start - 100)]}{before} {text[literal.end :]}"
    introduction = _BEFORE_COLON.search(text)
    if introduction is not None:
        return text[introduction.end() :].strip()
    if only_if_marked:
        marked = _MARKED.search(text)
        return marked.group(1).strip(" .?!\n") if marked else ""
    rest = text[_request_end(text, tool) :]
    # A command's punctuation belongs to it.
    return rest.strip() if tool.action is Action.RUN else rest.strip(" .?!,\n\t")


def _request_end(text: str, tool: PreparedTool) -> int:
    """Find where the words that only ask for the tool end."""
    end = 0
    described = frozenset(map(stem, normal_words(tool.definition.description.split(".")[0])))
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
