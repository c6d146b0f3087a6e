"""Finding tools among all groups by what they are called, what they do and what they take."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

from oneclaw_core.search import bm25, folded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import ToolDefinition

# A word of a name says more than one of a description.
_NAME_WEIGHT = 3
_SHORTEST_STEM = 4


class ToolIndex:
    """Ranks tools by BM25 over their names, descriptions and parameters.

    Args:
        tools: definitions, each with its group.
    """

    def __init__(self, tools: Iterable[tuple[ToolDefinition, str]]) -> None:
        self.tools = {definition.name: (definition, group) for definition, group in tools}
        self._counts = {name: _counts(*found) for name, found in self.tools.items()}
        self._lengths = {name: counts.total() for name, counts in self._counts.items()}
        self._average = sum(self._lengths.values()) / max(len(self._lengths), 1)
        self._places: dict[str, list[str]] = {}
        for name, counts in self._counts.items():
            for word in counts:
                self._places.setdefault(word, []).append(name)

    def find(self, query: str, group: str | None, limit: int) -> list[str]:
        """Return the names of the tools that fit best, the best first.

        Args:
            query: words in any order.
            group: the only group to look in, ``None`` for all.
            limit: how many at most.
        """
        words = list(dict.fromkeys(_words(query)))
        places = [self._places.get(word, []) for word in words]
        weights = [math.log(1 + (len(self.tools) - len(found) + 0.5) / (len(found) + 0.5)) for found in places]
        scores = {}
        for name in dict.fromkeys(name for found in places for name in found):
            if group is None or self.tools[name][1] == group:
                counts = [self._counts[name][word] for word in words]
                scores[name] = bm25(counts, weights, self._lengths[name] / self._average)
        return sorted(scores, key=lambda name: (-scores[name], name))[:limit]


def _counts(definition: ToolDefinition, group: str) -> Counter[str]:
    counts = Counter(_words(definition.description))
    properties = definition.parameters.get("properties")
    for name, parameter in properties.items() if isinstance(properties, dict) else ():
        counts.update(_words(name))
        if isinstance(parameter, dict) and isinstance(parameter.get("description"), str):
            counts.update(_words(parameter["description"]))
    for word in _words(f"{definition.name} {group}"):
        counts[word] += _NAME_WEIGHT
    return counts


def _words(text: str) -> list[str]:
    """Return the words of a text; those of names are taken apart, and the commonest endings are left out."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    return [_stem(word) for word in re.findall(r"[^\W_]+", folded(spaced))]


def _stem(word: str) -> str:
    for ending in ("ing", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM - 1:
            return word.removesuffix(ending).removesuffix("e")
    return word.removesuffix("e") if len(word) >= _SHORTEST_STEM else word
