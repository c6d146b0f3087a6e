"""Toolsets of agents, and the list of tool groups in the system prompt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from oneclaw_core.types.tool_groups import (
    FIND_TOOL_GROUPS,
    LISTED_DESCRIPTION_CHARACTERS,
    LOAD_TOOL_GROUP,
    ActiveTools,
    LoadedGroup,
    ToolGroupDefinition,
    one_line,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.tool_definition import ToolDefinition
    from oneclaw_core.types.tools import ToolSelection


MAX_LISTED_GROUPS = 40
"""The number of groups above which those that may be unlisted are found with ``find_tool_groups``."""
MAX_UNLISTABLE_BYTES = 2_400
"""The length of their lines, in UTF-8, above which they are found so too; 600 tokens or fewer."""


@dataclass(frozen=True, kw_only=True)
class EveryTool(ActiveTools):
    """All tools of a toolset, as if every group were loaded; definitions are read when they are gone through.

    Attributes:
        toolset: whose tools.
    """

    toolset: Toolset

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all tools."""
        return self.toolset.all_names()

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(self.toolset.all_definitions())


def build_system_prompt_with_tool_groups(
    base_prompt: str, groups: Sequence[ToolGroupDefinition], *, finds_groups: bool = False
) -> str:
    """Append the list of tool groups to a system prompt (RFC-040, step 4d and "System Prompt Format").

    Args:
        base_prompt: what comes before, may be blank.
        groups: the groups to list; with none the prompt stays as it is.
        finds_groups: True to leave out the groups that may be unlisted, and name ``find_tool_groups`` instead.
    """
    if not groups:
        return base_prompt
    if finds_groups:
        groups = [each for each in groups if not each.may_be_unlisted]
    lines = [
        "## Available Tool Groups",
        "",
        f"Use `{LOAD_TOOL_GROUP}` to load tools from a group before using them.",
        "",
        *map(_listed_line, groups),
    ]
    if finds_groups:
        lines += ["", f"There are more groups, which are not listed. Find them with `{FIND_TOOL_GROUPS}`."]
    listing = "\n".join(lines)
    return f"{base_prompt}\n\n---\n\n{listing}" if base_prompt.strip() else listing


def _listed_line(group: ToolGroupDefinition) -> str:
    return f"- {group.name}: {_listed_description(group.description)}"


@lru_cache(maxsize=4096)  # the same descriptions are listed in every request
def _listed_description(description: str) -> str:
    return one_line(description, LISTED_DESCRIPTION_CHARACTERS)


class Toolset:
    """The tools of a registry that an agent may use, until the registry changes.

    ``load_tool_group`` is in every selection for which there is a group to load, and in no other but everything. So is
    ``find_tool_groups`` if the list of groups is long, and groups may be left out of it.

    Args:
        registry: all tools there are.
        selection: those that the agent may have.
    """

    def __init__(self, registry: ToolRegistry, selection: ToolSelection) -> None:
        self._registry = registry
        self._selection = selection
        self._tools_of_groups: dict[str, tuple[ToolDefinition, ...]] = {}

    @cached_property
    def core_tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions of its enabled core tools."""
        core = self._registry.get_core_tool_definitions(finds_groups=self.finds_groups)
        return tuple(each for each in core if self._allows_core(each.name))

    @cached_property
    def finds_groups(self) -> bool:
        """True if a new conversation lists only a part of the groups, and finds the others."""
        if not self._registry.is_enabled(FIND_TOOL_GROUPS):
            return False
        unlistable = [each for each in self.groups if each.may_be_unlisted]
        if len(self.groups) > MAX_LISTED_GROUPS:
            return bool(unlistable)
        return sum(len(_listed_line(each).encode()) + 1 for each in unlistable) > MAX_UNLISTABLE_BYTES

    def keeps_finding(self, core_names: Container[str]) -> bool:
        """Return True if a conversation that began with these core tools finds the groups that are not listed."""
        return FIND_TOOL_GROUPS in core_names and self._registry.is_enabled(FIND_TOOL_GROUPS)

    @cached_property
    def groups(self) -> tuple[ToolGroupDefinition, ...]:
        """The groups that it can load now: those with at least one enabled tool for it."""
        available = self._registry.get_available_group_definitions()
        if self._selection.is_everything:
            return tuple(available)
        return tuple(each for each in available if self.has_group(each.name))

    @cached_property
    def all_active(self) -> ActiveTools:
        """All its enabled tools, those of groups too, as if every group were loaded."""
        return EveryTool((), toolset=self)

    def all_definitions(self) -> list[ToolDefinition]:
        """Return the definitions of all its enabled tools, those of groups too."""
        return [each for each in self._registry.get_all_tool_definitions() if self.allows(each.name)]

    def all_names(self) -> frozenset[str]:
        """Return the names of all its enabled tools, those of groups too, whose definitions need not be read."""
        names = self._registry.get_all_tool_names()
        return frozenset(each for each in names if self._registry.is_enabled(each) and self.allows(each))

    def active(self, group_names: Iterable[str], began_with: Container[str] | None = None) -> ActiveTools:
        """Return the active tools of a conversation.

        Args:
            group_names: the loaded groups in the order of loading; one that is gone, or has no tools, is left out.
            began_with: the core tools that the conversation began with, ``None`` for all. One that came later and was
                loaded by its own name is a group of one tool, so that the core tools stay as they were.
        """
        groups = {name: self.tools_of(name) for name in group_names}
        core = self.core_tools
        if began_with is not None and self.finds_groups != (FIND_TOOL_GROUPS in began_with):
            core = tuple(each for each in core if each.name != FIND_TOOL_GROUPS)
            found = self._registry.get_definition(FIND_TOOL_GROUPS)
            if found is not None and self.keeps_finding(began_with):
                # Where it stands among the core tools while the list is long.
                place = next((at for at, each in enumerate(core) if each.name == LOAD_TOOL_GROUP), -1) + 1
                core = (*core[:place], found, *core[place:])
        if began_with is not None and groups:
            late = {each.name: (each,) for each in core if each.name not in began_with and groups.get(each.name) == ()}
            if late:
                groups |= late
                core = tuple(each for each in core if each.name not in late)
        loaded = tuple(LoadedGroup(name, tools) for name, tools in groups.items() if tools)
        return ActiveTools(core, loaded, self._loadable)

    def tools_of(self, group: str) -> tuple[ToolDefinition, ...]:
        """Return the definitions of its enabled tools of a group; none for an unknown group."""
        found = self._tools_of_groups.get(group)
        if found is None:
            everything = self._registry.get_group_tool_definitions(group)
            found = tuple(each for each in everything if self._selection.allows(each.name, group))
            self._tools_of_groups[group] = found
        return found

    def allows(self, tool_name: str) -> bool:
        """Return True if a registered tool is in the selection, enabled or not."""
        found = self._registry.find(tool_name, reads=False)
        if found is None:
            return False
        if found.source.group_name is None:
            return self._allows_core(tool_name)
        return self._selection.allows(tool_name, found.source.group_name)

    def has_group(self, name: str) -> bool:
        """Return True if a registered group is in the selection, as a whole or in part; a whole one may be disabled."""
        if self._registry.get_group_definition(name) is None:
            return False
        # A group of thousands of tools that is in it as a whole need not be gone through.
        return self._selection.allows_whole_group(name) or bool(self.tools_of(name))

    def _allows_core(self, name: str) -> bool:
        if name in (LOAD_TOOL_GROUP, FIND_TOOL_GROUPS):
            return self._selection.is_everything or bool(self.groups)
        return self._selection.allows(name, None)

    def _loadable(self) -> tuple[LoadedGroup, ...]:
        return tuple(
            LoadedGroup(each.name, self.tools_of(each.name)) for each in self.groups if not each.may_be_unlisted
        )
