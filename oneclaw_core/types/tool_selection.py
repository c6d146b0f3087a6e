"""Which of the tools an agent may have (FEAT-004: tools are selectable per agent)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

EVERYTHING = "*"

# What OpenAI (Chat and Responses), Anthropic and Gemini all accept, one character to spare.
NAME_PATTERN = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class ToolSelection:
    """Which tools an agent may have, by their names; they need not be installed.

    Attributes:
        tools: core tools, and single tools of groups; ``None`` for all core tools.
        groups: tool groups, each with all its tools; ``None`` for all groups.
        within: a selection that has to allow a tool as well, ``None`` for no such.
    """

    tools: frozenset[str] | None = None
    groups: frozenset[str] | None = None
    within: ToolSelection | None = None

    @classmethod
    def naming(cls, tools: Iterable[str] | None = None, groups: Iterable[str] | None = None) -> ToolSelection:
        """Make a selection of what somebody names: what is not named is not in it.

        Args:
            tools: names of tools, or ``*`` for all core tools.
            groups: names of tool groups, or ``*`` for all.

        Returns:
            Everything, if neither is given; if one is given, nothing of the other.
        """
        if tools is None and groups is None:
            return cls()
        return cls(_named(tools), _named(groups))

    @property
    def is_everything(self) -> bool:
        """Whether every tool is in it, also those that are not installed yet."""
        return self.tools is None and self.groups is None and (self.within is None or self.within.is_everything)

    def allows(self, tool_name: str, group_name: str | None) -> bool:
        """Whether a tool is in it.

        Args:
            tool_name: the tool.
            group_name: the tool group it belongs to, ``None`` for a core tool.
        """
        wholes = self.tools if group_name is None else self.groups
        is_in = wholes is None or (group_name is not None and group_name in wholes)
        if not is_in:
            is_in = self.tools is not None and tool_name in self.tools
        return is_in and (self.within is None or self.within.allows(tool_name, group_name))

    def allows_whole_group(self, name: str) -> bool:
        """Whether all tools of a group are in it, whichever these are."""
        is_in = self.groups is None or name in self.groups
        return is_in and (self.within is None or self.within.allows_whole_group(name))

    def narrowed_to(self, outer: ToolSelection) -> ToolSelection:
        """The tools that are both in this selection and in another."""
        if outer.is_everything or outer == self:
            return self
        if self.is_everything:
            return outer
        return replace(self, within=outer if self.within is None else self.within.narrowed_to(outer))


ALL_TOOLS = ToolSelection()


def _named(names: Iterable[str] | None) -> frozenset[str] | None:
    named = frozenset(names or ())
    return None if EVERYTHING in named else named
