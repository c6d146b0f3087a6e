"""Ranking of what has a name and a description: tools and tool groups of a registry, methods of an API."""

from __future__ import annotations

import asyncio
import heapq
import math
import re
from collections import Counter
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from oneclaw_core.search.ranking import bm25_share
from oneclaw_core.search.words import folded
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.tool_groups import ToolGroupDefinition
    from oneclaw_core.types.tools import ToolDefinition

# A word of a name says more than one of a description.
_NAME_WEIGHT = 3
_SHORTEST_STEM = 4
# Of a query: nothing that is asked for is longer, and what is sent by others may be.
_QUERY_CHARACTERS = 4_000
# Words of questions that say nothing of a tool, unlike "get" and "find".
_STOP_WORDS = frozenset(
    # One word a line would take a page.
    """
    a am an and are as at be but by can could did do does for from had has have how i if in into is it its me my
    of on or our please so that the their them there these this to us was we were what when where which who will
    with would you your
    """.split()  # noqa: SIM905
)
_WORDS = re.compile(r"[^\W_]+")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# A short description of a group weighs much, and says less than a tool that fits.
_DESCRIPTION_SHARE = 0.25
# Such as the origin of a tool: the same for many, and about none.
_NOTE = re.compile(r"\n\[[^\]\n]*\]\s*$")


class NameIndex:
    """Ranks entries by BM25 over the words of their names and descriptions.

    Words of names such as ``find_free_time`` and ``freeBusy`` are found one by one, and weigh more than others.

    Args:
        entries: the names of each, and what describes it.
    """

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        documents = [_counts(text, names) for names, text in entries]
        self._lengths = [sum(each.values()) for each in documents]
        # By term: how often each document has it, by their numbers.
        self._counts: dict[str, dict[int, int]] = {}
        for number, document in enumerate(documents):
            for term, count in document.items():
                self._counts.setdefault(term, {})[number] = count

    def scores(self, query: str) -> dict[int, float]:
        """Return the scores of all entries that have a word of the query, by their numbers.

        Args:
            query: words in any order.
        """
        size = len(self._lengths)
        average = sum(self._lengths) / max(size, 1)
        scores: dict[int, float] = {}
        for counts in (self._counts.get(term, {}) for term in dict.fromkeys(_words_of_query(query))):
            weight = math.log(1 + (size - len(counts) + 0.5) / (len(counts) + 0.5))
            for number, count in counts.items():
                share = bm25_share(count, self._lengths[number] / average)
                scores[number] = scores.get(number, 0.0) + weight * share
        return scores

    def find(self, query: str, limit: int) -> list[int]:
        """Return the numbers of the entries that fit best, the best first.

        Args:
            query: words in any order.
            limit: how many at most.
        """
        ranked = ((-score, number) for number, score in self.scores(query).items())
        return [number for _, number in heapq.nsmallest(limit, ranked)]


def _counts(text: str, names: str) -> Counter[str]:
    counts = Counter(_words(text))
    for word in set(_words(names)):
        counts[word] += _NAME_WEIGHT
    return counts


def _words(text: str) -> list[str]:
    """Return the words of a text; those of names are taken apart, and the commonest endings are left out."""
    return [_term(word) for word in _WORDS.findall(_CAMEL_CASE.sub(" ", text))]


def _words_of_query(query: str) -> list[str]:
    """Return the words of a query without those that say nothing, unless it has no others."""
    words = _WORDS.findall(_CAMEL_CASE.sub(" ", query[:_QUERY_CHARACTERS]))
    return [_term(word) for word in words if word.lower() not in _STOP_WORDS] or [_term(word) for word in words]


@lru_cache(maxsize=4_096)
def _term(word: str) -> str:
    word = folded(word)
    for ending in ("ing", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM - 1:
            return word.removesuffix(ending).removesuffix("e")
    return word.removesuffix("e") if len(word) >= _SHORTEST_STEM else word


class ToolIndex:
    """Ranks tools by BM25 over their names, descriptions and parameters.

    Args:
        tools: definitions, each with its group, ``None`` for a core tool.
        groups: found by their names and descriptions, also those without a tool.

    Attributes:
        groups: of the tools, by their names.
    """

    def __init__(
        self, tools: Iterable[tuple[ToolDefinition, str | None]], groups: Iterable[ToolGroupDefinition] = ()
    ) -> None:
        found = list(tools)
        described = list(groups)
        self.groups = {definition.name: group for definition, group in found}
        self._names = [definition.name for definition, _ in found]
        self._described = [each.name for each in described]
        documents = [_of_tool(*each) for each in found]
        documents += [(each.name, f"{each.display_name} {each.description}") for each in described]
        self._index = NameIndex(documents)

    def find(self, query: str, limit: int, accepts: Callable[[str], bool] = lambda _: True) -> list[str]:
        """Return the names of the tools that fit best, the best first."""
        scores = self._index.scores(query)
        ranked = sorted((-scores[at], name) for at, name in enumerate(self._names) if at in scores)
        # Each is asked about once it is its turn.
        return list(islice((name for _, name in ranked if accepts(name)), limit))

    def find_groups(
        self, query: str, limit: int, accepts: Callable[[str | None, str | None], bool]
    ) -> list[tuple[str, list[str]]]:
        """Return the names of the groups that fit best, the best first, each with its tools that fit.

        A group is as good as its best tool, and by a quarter as its description.

        Args:
            query: words in any order.
            limit: how many at most.
            accepts: returns False for a group and a tool to leave out; the tool is ``None`` for the group as a whole.
        """
        tools = len(self._names)
        best: dict[str, float] = {}
        described: dict[str, float] = {}
        fitting: dict[str, list[tuple[float, str]]] = {}
        for at, score in self._index.scores(query).items():
            if at >= tools:
                described[self._described[at - tools]] = score
                continue
            name = self._names[at]
            group = self.groups[name]
            if group is not None and accepts(group, name):
                best[group] = max(score, best.get(group, 0.0))
                fitting.setdefault(group, []).append((-score, name))
        total = {
            group: best.get(group, 0.0) + _DESCRIPTION_SHARE * described.get(group, 0.0)
            for group in {**best, **described}
            if accepts(group, None)
        }
        names = sorted(total, key=lambda group: (-total[group], group))[:limit]
        return [(name, [tool for _, tool in sorted(fitting.get(name, ()))]) for name in names]


class ToolSearch:
    """Keeps the index of a registry until its tools change.

    Args:
        registry: whose tools are found, disabled ones too.
    """

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._index: tuple[int, ToolIndex] | None = None
        self._building = asyncio.Lock()

    async def index(self) -> ToolIndex:
        """Return the index; groups that were not needed so far are read for it."""
        async with self._building:
            registry = self._registry
            while self._index is None or self._index[0] != registry.version:
                for name in list(registry.unread_groups()):
                    registry.read_group(name)
                    await asyncio.sleep(0)  # reading takes a moment for each group: others go on in between
                version = registry.version
                tools, groups = registry.all_tools(), registry.get_all_group_definitions()
                self._index = version, await run_in_thread(lambda: ToolIndex(tools, groups))  # noqa: B023
            return self._index[1]


def _of_tool(definition: ToolDefinition, group: str | None) -> tuple[str, str]:
    texts = [_NOTE.sub("", definition.description)]
    properties = definition.parameters.get("properties")
    for name, parameter in properties.items() if isinstance(properties, dict) else ():
        texts.append(str(name))
        if isinstance(parameter, dict) and isinstance(parameter.get("description"), str):
            texts.append(parameter["description"])
    return f"{definition.name} {group or ''}", "\n".join(texts)
