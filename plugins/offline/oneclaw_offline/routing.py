"""Choice of a tool or a tool group for a message: BM25 over names, descriptions and parameters."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from oneclaw_core.search import bm25
from oneclaw_offline.arguments import Filling, fill
from oneclaw_offline.values import blanked, file_extension, find_literals, read_parameters
from oneclaw_offline.words import (
    CHANGING_TERMS,
    GENERIC_TERMS,
    HARMFUL_TERMS,
    READING_TERMS,
    RUNNING_TERMS,
    SYNONYMS,
    is_question,
    stem,
    stems,
    terms,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core import ToolDefinition

_ROUTED_CHARACTERS = 4_000
_MOST_TERMS = 40
_MOST_FILLED = 6
_LOAD_TERMS = stems("load activate enable")
_LOADED_TERMS = stems("tool toolset group")
_INFORMING = {"info": 0.5, "read": 0.45, "list": 0.4, "search": 0.4}
# Questions about earlier conversations say what was done, not where that is kept.
_PAST = re.compile(
    r"\b(?:i|we|you) (?:(?:ever|just|already|once|last) )?"
    r"(?:said|say|told|tell|mention|talk|discuss|decide|agree|remember|wr[io]te)(?:d|ed)?\b",
    re.IGNORECASE,
)
_RECORDED = {"history": 1.0, stem("conversation"): 0.9}


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool with its arguments, or a group to load."""

    score: float
    group: str = ""
    tool: ToolDefinition | None = None
    filling: Filling = field(default_factory=Filling)


def group_to_load(message: str, groups: Iterable[str]) -> str | None:
    """Return the group that a message such as "Load the PDF tools" names, if it asks for nothing else."""
    words = terms(message[:500])
    named = frozenset(words) - _LOAD_TERMS - _LOADED_TERMS
    if not named or words[0] not in _LOAD_TERMS:
        return None
    return min((name for name in groups if named <= stems(name)), key=len, default=None)


def choose(message: str, tools: Mapping[str, ToolDefinition], groups: Mapping[str, str]) -> Choice | None:
    """Choose the tool or group that fits a message best, or None if none fits.

    Args:
        message: Message of the user.
        tools: Tools that can be called, by name.
        groups: Descriptions of the groups that can be loaded, by name.
    """
    text = message[:_ROUTED_CHARACTERS]
    query, words = _query(text), stems(text)
    order = frozenset() if is_question(message) else words.union(*(SYNONYMS.get(word, ()) for word in words))
    asked = READING_TERMS if is_question(message) else _kind_of_verb(terms(text))
    documents = {name: _document(tool) for name, tool in tools.items() if _is_allowed(name, order)}
    documents |= {f"group {name}": _weighed(name, description, "") for name, description in groups.items()}
    choices = []
    for key, score in sorted(_scores(query, documents).items(), key=lambda each: -each[1]):
        name = key.removeprefix("group ")
        score *= _name_share(name, query)
        if name != key:
            choices.append(Choice(1.25 * score, name))
        elif sum(choice.tool is not None for choice in choices) < _MOST_FILLED:
            filling = fill(tools[name], message)
            use = 1 + 0.15 * len(filling.calls[0]) if filling.calls else 0.5
            choices.append(Choice(score * use * _verb_share(name, asked), "", tools[name], filling))
    return max(choices, key=lambda choice: choice.score, default=None)


def _query(text: str) -> dict[str, Mapping[str, float]]:
    """Return the terms to look for, each with the terms that count for it and their share."""
    literals = find_literals(text)
    words = terms(blanked(text)) or terms(" ".join(each.value for each in literals if each.kind == "text"))
    query: dict[str, Mapping[str, float]] = {
        word: {other: 0.6 - 0.05 * at for at, other in enumerate(SYNONYMS.get(word, ()))} | {word: 1.0}
        for word in words
    }
    for each in literals:
        if each.kind in {"path", "url", "email"}:
            is_path = each.kind == "path"
            query[f"<{each.kind}>"] = {f"<{each.kind}>": 0.5 if is_path else 1.0}
            extension = file_extension(each.value) if each.kind != "email" else None
            query |= {f".{extension}": {extension: 2.0 if is_path else 0.5}} if extension else {}
    query |= {"?": _INFORMING} if is_question(text) else {}
    query |= {"<past>": _RECORDED} if _PAST.search(text) else {}
    return dict(list(query.items())[:_MOST_TERMS])


def _scores(query: Mapping[str, Mapping[str, float]], documents: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Score the documents that have a term of a query that is not generic."""
    counts: dict[str, list[float]] = {key: [] for key in documents}
    weights = []
    for term, wanted in query.items():
        for key, document in documents.items():
            counts[key].append(max((share * document.get(other, 0) for other, share in wanted.items()), default=0))
        having = sum(each[-1] > 0 for each in counts.values())
        rarity = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
        weights.append(rarity * (0.4 if _is_generic(term) else 0.5 if term in RUNNING_TERMS else 1.0))
    sizes = {key: sum(document.values()) for key, document in documents.items()}
    average = sum(sizes.values()) / (len(sizes) or 1)
    return {
        key: bm25(found, weights, 0.6 + 0.4 * sizes[key] / average)
        for key, found in counts.items()
        if any(count > 0 and not _is_generic(term) for count, term in zip(found, query, strict=True))
    }


def _is_generic(term: str) -> bool:
    return term in GENERIC_TERMS or term == "?" or term.isdigit() or (len(term) == 1 and term.isascii())


def _is_allowed(name: str, order: frozenset[str]) -> bool:
    """Return False for a tool that sends or deletes if the message gives no order to do that."""
    return not (harm := stems(name) & HARMFUL_TERMS) or bool(harm & order)


def _kind_of_verb(words: Iterable[str]) -> frozenset[str] | None:
    """Return the set of verbs that has the first verb among some words."""
    return next((kind for word in words for kind in (READING_TERMS, CHANGING_TERMS) if word in kind), None)


def _verb_share(name: str, asked: frozenset[str] | None) -> float:
    """Favour a tool that reads if the message asks, and one that changes something if it orders a change."""
    done = _kind_of_verb(terms(name))
    return 1.0 if asked is None or done is None else 1.2 if asked is done else 0.3


def _name_share(name: str, query: Mapping[str, Mapping[str, float]]) -> float:
    """Favour what is named in full."""
    words = frozenset(terms(name))
    return 0.7 + 0.3 * sum(any(word in wanted for wanted in query.values()) for word in words) / (len(words) or 1)


def _document(tool: ToolDefinition) -> Mapping[str, float]:
    parameters = read_parameters(tool.parameters)
    kinds = {f"<{each.kind}>": 2.0 if each.is_required else 0.6 for each in reversed(parameters)}
    return kinds | _weighed(tool.name, tool.description, " ".join(each.name for each in parameters))


@lru_cache(maxsize=4096)
def _weighed(name: str, description: str, parameters: str) -> dict[str, float]:
    """Weigh the terms that a tool or group is found by."""
    weighed: dict[str, float] = {}
    for text, weight in ((name, 3.0), (description[:2000], 1.0), (parameters, 0.6)):
        weighed |= {term: weighed.get(term, 0) + weight for term in terms(text)}
    return weighed
