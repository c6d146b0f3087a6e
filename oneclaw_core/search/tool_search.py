"""Search for tools and tool groups by names, descriptions and parameters."""

from __future__ import annotations

import asyncio
import heapq
import re
from typing import TYPE_CHECKING, Protocol

from oneclaw_core.search.names import NameIndex
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from oneclaw_core.types.tool_definition import ToolDefinition
    from oneclaw_core.types.tool_groups import ToolGroupDefinition

# A short description of a group weighs much, and says less than a tool that fits.
_DESCRIPTION_SHARE = 0.25
# Such as the origin of a tool: the same for many, and about none.
_NOTE = re.compile(r"\n\[[^\]\n]*\]\s*$")


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
        tools = len(self._names)
        scores = self._index.scores(query)
        ranked = ((-score, self._names[at]) for at, score in scores.items() if at < tools)
        # Few are looked at beyond those that are returned, so each is asked about once it is its turn.
        best = heapq.nsmallest(4 * limit, ranked)
        names = [name for _, name in best if accepts(name)]
        if len(names) < limit and len(best) == 4 * limit:
            ranked = ((-score, self._names[at]) for at, score in scores.items() if at < tools)
            names = [name for _, name in sorted(ranked) if accepts(name)]
        return names[:limit]

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


class SearchedTools(Protocol):
    """The tools to find; see :class:`oneclaw_core.ToolRegistry`."""

    version: int

    def unread_groups(self) -> Iterable[str]:
        """Return the names of the groups whose tools were not needed so far."""
        ...

    def read_group(self, name: str) -> None:
        """Read the tools of a group."""
        ...

    def all_tools(self) -> list[tuple[ToolDefinition, str | None]]:
        """Return the definitions of all tools, each with its group."""
        ...

    def get_all_group_definitions(self) -> list[ToolGroupDefinition]:
        """Return the metadata of all groups."""
        ...


class ToolSearch:
    """Keeps the index of a registry until its tools change.

    Args:
        registry: whose tools are found, disabled ones too.
    """

    def __init__(self, registry: SearchedTools) -> None:
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
