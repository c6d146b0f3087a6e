"""The tools that a client is offered: by the options of the command, an agent, and the scopes of a token."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oneclaw_core import ToolSelection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core import Agent, OneClaw, ToolDefinition, ToolRegistry
    from oneclaw_core.http import ServerToken

CORE_GROUP = "core"
READ, CALL, APPROVE = "mcp.read", "mcp.call", "mcp.approve"
# They belong to a conversation of OneClaw, and mean nothing outside one.
_OF_CONVERSATIONS = frozenset({"load_tool_group", "find_tool_groups", "ask_user", "update_todos"})


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that clients may see and call.

    Attributes:
        groups: the only groups, ``core`` for the tools in none; empty for all.
        is_read_only: True to leave out each tool that may change something.
        agent: whose tools they are; ``None`` for all tools.
        token: the token of the client over HTTP; ``None`` for the user's own client.
        single_tools: single tools beside these groups.
    """

    groups: frozenset[str] = field(default_factory=frozenset)
    is_read_only: bool = False
    agent: Agent | None = None
    token: ServerToken | None = None
    single_tools: frozenset[str] = field(default_factory=frozenset)

    @property
    def can_approve(self) -> bool:
        """True if questions for permissions go to the client."""
        return self.token is None or self.token.allows(APPROVE)

    @property
    def calls_anything(self) -> bool:
        """True if a tool that changes something may be offered."""
        if self.is_read_only:
            return False
        return self.token is None or any(each.partition(":")[0] == CALL for each in self.token.scopes)

    @property
    def selection(self) -> ToolSelection:
        """The tools of it, whether they change something or not."""
        chosen = _selection(self.groups, self.single_tools)
        if self.token is not None:
            scopes = [each.partition(":") for each in self.token.scopes if each.partition(":")[0] in (READ, CALL)]
            if all(of for _, _, of in scopes):
                chosen = chosen.narrowed_to(_selection(frozenset(of for _, _, of in scopes), is_open=False))
        return chosen if self.agent is None else chosen.narrowed_to(self.agent.selection)

    def calls(self, group: str) -> bool:
        """Return True if tools of a group may be called whatever they change."""
        return not self.is_read_only and (self.token is None or self.token.allows(f"{CALL}:{group}"))

    def selection_of_call(self, name: str, group: str) -> ToolSelection:
        """Return the tools that a called tool can use in turn, as for an agent: none that the client only reads with.

        Args:
            name: of the called tool.
            group: the group it is in, ``core`` for none.
        """
        if not self.calls(group):
            return self.selection.narrowed_to(ToolSelection.naming(tools=[name]))
        called = [each.partition(":") for each in self.token.scopes] if self.token is not None else []
        groups = frozenset(of for action, _, of in called if action == CALL)
        if self.token is None or "" in groups:
            return self.selection
        return self.selection.narrowed_to(_selection(groups, is_open=False))

    def allows(self, definition: ToolDefinition, group: str) -> bool:
        """Return True if a tool is offered.

        Args:
            definition: of the tool.
            group: the group it is in, ``core`` for none.
        """
        if definition.name in _OF_CONVERSATIONS or (self.is_read_only and not definition.read_only):
            return False
        if self.calls(group):
            return True
        return definition.read_only and (self.token is None or self.token.allows(f"{READ}:{group}"))

    def shows(self, registry: ToolRegistry, name: str) -> bool:
        """Return True if the tool of a name is offered now; its definition is read only if that depends on it."""
        if not registry.is_enabled(name) or not registry.toolset(self.selection).allows(name):
            return False
        group = group_of(registry, name)
        if self.calls(group):
            return name not in _OF_CONVERSATIONS
        definition = registry.get_definition(name)
        return definition is not None and self.allows(definition, group)

    def names(self, registry: ToolRegistry) -> list[str]:
        """Return the names of the tools that are offered now."""
        return [name for name in registry.get_all_tool_names() if self.shows(registry, name)]

    def tools(self, claw: OneClaw) -> Iterator[tuple[ToolDefinition, str]]:
        """Return the tools that are offered now, each with its group."""
        registry = claw.services.registry
        for definition in registry.toolset(self.selection).all_active:
            group = group_of(registry, definition.name)
            if self.allows(definition, group):
                yield definition, group


def group_of(registry: ToolRegistry, name: str) -> str:
    """Return the group of a registered tool, ``core`` for none."""
    source = registry.get_source_info(name)
    return (source.group_name if source is not None else None) or CORE_GROUP


def _selection(groups: frozenset[str], tools: frozenset[str] = frozenset(), *, is_open: bool = True) -> ToolSelection:
    if not groups and not tools and is_open:
        return ToolSelection()
    return ToolSelection(None if CORE_GROUP in groups else tools, groups - {CORE_GROUP})
