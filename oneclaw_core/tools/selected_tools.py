"""The tools of a registry that one agent may have, found once for as long as the registry does not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.tools.groups import LOAD_TOOL_GROUP, ActiveTools
from oneclaw_core.types.tools import ALL_TOOLS, ToolSelection

if TYPE_CHECKING:
    from oneclaw_core.tools.definition import ToolDefinition
    from oneclaw_core.tools.groups import ToolGroupDefinition
    from oneclaw_core.tools.registry import ToolRegistry


class SelectedTools:
    """What an agent sees of a registry: enabled tools of its selection only.

    ``load_tool_group`` is in every selection for which there is a group to load, and in no other but everything.

    Args:
        registry: all tools there are.
        selection: those that the agent may have.
    """

    def __init__(self, registry: ToolRegistry, selection: ToolSelection = ALL_TOOLS) -> None:
        self._registry = registry
        self._selection = selection
        self._version = registry.version
        self._core: tuple[ToolDefinition, ...] | None = None
        self._groups: tuple[ToolGroupDefinition, ...] | None = None
        self._tools_of_groups: dict[str, tuple[ToolDefinition, ...]] = {}
        self._all_active: ActiveTools | None = None

    @property
    def core_tools(self) -> tuple[ToolDefinition, ...]:
        """The definitions of its core tools."""
        self._follow_registry()
        if self._core is None:
            everything = self._registry.get_core_tool_definitions()
            self._core = tuple(each for each in everything if self._allows_core(each.name))
        return self._core

    @property
    def groups(self) -> tuple[ToolGroupDefinition, ...]:
        """The groups that it can load now: those with at least one tool for it."""
        self._follow_registry()
        if self._groups is None:
            available = self._registry.get_available_group_definitions()
            if not self._selection.is_everything:
                available = [each for each in available if self.has_group(each.name)]
            self._groups = tuple(available)
        return self._groups

    @property
    def all_active(self) -> ActiveTools:
        """All its tools, those of groups too, as if every group were loaded."""
        self._follow_registry()
        if self._all_active is None:
            everything = self._registry.get_all_tool_definitions()
            self._all_active = ActiveTools(tuple(each for each in everything if self.allows(each.name)))
        return self._all_active

    def tools_of(self, group: str) -> tuple[ToolDefinition, ...]:
        """The definitions of its tools of a group; none for an unknown group."""
        self._follow_registry()
        found = self._tools_of_groups.get(group)
        if found is None:
            everything = self._registry.get_group_tool_definitions(group)
            found = tuple(each for each in everything if self._selection.allows(each.name, group))
            self._tools_of_groups[group] = found
        return found

    def allows(self, tool_name: str) -> bool:
        """Whether a registered tool is in the selection, enabled or not."""
        source = self._registry.get_source_info(tool_name)
        if source is None:
            return False
        if source.group_name is None:
            return self._allows_core(tool_name)
        return self._selection.allows(tool_name, source.group_name)

    def has_group(self, name: str) -> bool:
        """Whether a registered group is in the selection, as a whole or in part; as a whole, it may be disabled."""
        if self._registry.get_group_definition(name) is None:
            return False
        # A group of thousands of tools that is in it as a whole need not be gone through.
        return self._selection.allows_whole_group(name) or bool(self.tools_of(name))

    def _allows_core(self, name: str) -> bool:
        if name == LOAD_TOOL_GROUP:
            return self._selection.is_everything or bool(self.groups)
        return self._selection.allows(name, None)

    def _follow_registry(self) -> None:
        if self._version != self._registry.version:
            self._version = self._registry.version
            self._core = None
            self._groups = None
            self._tools_of_groups.clear()
            self._all_active = None
