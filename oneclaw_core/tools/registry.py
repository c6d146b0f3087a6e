"""The tools and groups that exist, and the toolsets of agents."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from oneclaw_core.errors import DuplicateToolError, ToolDefinitionError
from oneclaw_core.types.permissions import KNOWN_PERMISSIONS, PermissionMeaning
from oneclaw_core.types.tool_groups import (
    FIND_TOOL_GROUPS,
    LISTED_DESCRIPTION_CHARACTERS,
    LOAD_TOOL_GROUP,
    ActiveTools,
    LoadedGroup,
    ToolGroupDefinition,
    one_line,
)
from oneclaw_core.types.tools import ALL_TOOLS, Tool, ToolDefinition, ToolSelection, ToolSourceInfo, check_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, KeysView, Mapping, Sequence

    from oneclaw_core.search.names import ToolSearch
    from oneclaw_core.types.provenance import Mark

    HowToGet = Callable[[str, str], str | None]

_ATTRIBUTES = {"asks_itself": True, "checks_own_arguments": True, "is_poll": True, "isolation": "process"}


def earlier_behaviour(tool: object, definition: ToolDefinition) -> dict[str, Any]:
    """Return the behaviour that a tool declares by its attributes, and not in its definition.

    Args:
        tool: the tool, whose class may be from another package.
        definition: its definition.

    Returns:
        The attributes that 0.2 read, with their values; other values of them had no effect.
    """
    # A tool that answers for any attribute, such as a mock, declares nothing.
    places = [vars(each) for each in (*type(tool).__mro__[:-1], tool) if hasattr(each, "__dict__")]
    there = set[str]().union(*(_ATTRIBUTES.keys() & each.keys() for each in places))
    found = {name: getattr(tool, name) for name in _ATTRIBUTES if name in there}
    behaviour = definition.behaviour
    return {
        name: value
        for name, value in found.items()
        if (value is True or value == "process") and value == _ATTRIBUTES[name] != getattr(behaviour, name)
    }


def behaviour_advice(name: str, attributes: Iterable[str]) -> str:
    """Return the text of a warning about a tool that declares its behaviour by attributes."""
    new = ", ".join(f"{each}={_ATTRIBUTES[each]!r}" for each in attributes)
    return (
        f"the tool {name!r} says {new} by attributes of the tool; version 0.4 does not read them: "
        f"give its ToolDefinition behaviour=ToolBehaviour({new}), of oneclaw_core.tools"
    )


def with_earlier_behaviour(tool: object, definition: ToolDefinition) -> ToolDefinition:
    """Return a tool's definition with the behaviour that the tool declares by attributes.

    A ``DeprecationWarning`` names the tool and the new way.
    """
    earlier = earlier_behaviour(tool, definition)
    if not earlier:
        return definition
    warnings.warn(behaviour_advice(definition.name, earlier), DeprecationWarning, stacklevel=3)
    return replace(definition, behaviour=replace(definition.behaviour, **earlier))


_MAX_TOOLSETS = 256


class RegisteredTool(NamedTuple):
    """A tool in a registry.

    Attributes:
        tool: the tool.
        definition: the tool's definition when it was registered; a tool may make it anew whenever it is asked.
        source: where it comes from.
    """

    tool: Tool
    definition: ToolDefinition
    source: ToolSourceInfo


class UnreadGroup(NamedTuple):
    """A tool group whose tools are registered by their names alone.

    Attributes:
        names: of its tools.
        source: where they come from.
        read: returns the tools by their names, which were registered; called when one of them is first needed.
    """

    names: tuple[str, ...]
    source: ToolSourceInfo
    read: Callable[[], Mapping[str, RegisteredTool]]


class _UnreadTool:
    """Holds the place of a tool until its group is read."""

    definition = ToolDefinition("unread", "It is read when it is needed.")

    def execute(self, arguments: dict[str, Any], context: Any) -> NoReturn:
        raise AssertionError("a tool is read before it is called")


_UNREAD: Tool = _UnreadTool()


def definition_of(tool: object) -> ToolDefinition:
    """Return the definition of a tool, with the behaviour that it declares as tools of version 0.2 did.

    Raises:
        ToolDefinitionError: the object is not a tool: it has no definition or no ``execute``.
    """
    definition = getattr(tool, "definition", None)
    if not isinstance(definition, ToolDefinition) or not callable(getattr(tool, "execute", None)):
        raise ToolDefinitionError(
            f"{tool!r} is not a tool: it needs a 'definition' (ToolDefinition) and an 'execute'; "
            "decorate a function with @tool to make one"
        )
    return with_earlier_behaviour(tool, definition)


class ToolRegistry:
    """All tools and tool groups of one program, in the order of their registration (RFC-040, step 2).

    A disabled tool, or a tool of a disabled group, stays registered but is in no list of definitions.

    Attributes:
        version: grows with every change, so that what is computed from the registry can be kept until then.
        absent_plugins: installed plugins that are not loaded, and why, by name.
        how_to_get: says how to get what is not installed, given what it is and its name; ``None`` if that is not known.
        foreign_core_tools: core tools that a server or the like supplies, with a mark for their descriptions.
    """

    def __init__(self) -> None:
        self.absent_plugins: Mapping[str, str] = {}
        self.how_to_get: HowToGet = lambda kind, name: None
        self._tools: dict[str, RegisteredTool] = {}
        self._names_by_group: dict[str | None, dict[str, Any]] = {}  # the keys are the names, in their order
        self._groups: dict[str, ToolGroupDefinition] = {}
        self._group_openers: dict[str, Callable[[], Awaitable[None]]] = {}
        self._unread: dict[str, UnreadGroup] = {}
        # By permission and the plugin that says it, with the name of its group.
        self._meanings: dict[str, dict[str | None, tuple[PermissionMeaning, str]]] = {}
        self._disabled_tools: frozenset[str] = frozenset()
        self._disabled_groups: frozenset[str] = frozenset()
        self._disabled_plugins: frozenset[str] = frozenset()
        # Caches, cleared by every change.
        self._owners: dict[tuple[str, str], set[str | None]] | None = None
        self._toolsets: dict[ToolSelection, Toolset] = {}
        self.foreign_core_tools: dict[str, Mark] = {}
        self.version = 0

    def register(self, tool: Tool, source_info: ToolSourceInfo = ToolSourceInfo.BUILTIN) -> None:
        """Add a tool.

        Args:
            tool: the tool.
            source_info: where it comes from. Without a group there, the tool joins the one that ``@tool(group=...)``
                names.

        Raises:
            ToolDefinitionError: the object has no definition or no ``execute``, or its group cannot have that name.
            DuplicateToolError: the name is taken; the first registration stays.
        """
        definition = definition_of(tool)
        name = definition.name
        if name in self._tools:
            source = self._tools[name].source
            holder = source.distribution or source.type
            raise DuplicateToolError(
                f"a tool named {name!r} is registered already, by {holder}; the first one stays: rename the other"
            )
        group_name = getattr(tool, "group", None)
        if source_info.group_name is None and group_name is not None:
            check_name(group_name, "tool group")
            source_info = replace(source_info, group_name=group_name)
        self._tools[name] = RegisteredTool(tool, definition, source_info)
        if source_info.group_name is None and source_info.is_foreign:
            from oneclaw_core.types.provenance import Mark, MarkKind  # not for each listing of tools

            self.foreign_core_tools[name] = Mark.of(MarkKind.OUTSIDE, f"the description of the tool {name}")
        self._names_by_group.setdefault(source_info.group_name, {})[name] = None
        self._changed()

    def register_unread(self, groups: Mapping[str, UnreadGroup]) -> dict[str, list[str]]:
        """Add the tools of groups by their names; they are read when one is first needed.

        Args:
            groups: their tools, by the names of the groups.

        Returns:
            By group, the names that were taken already, and were left out; nothing of a group without any.
        """
        taken: dict[str, list[str]] = {}
        tools, definition = self._tools, _UNREAD.definition
        for name, group in groups.items():
            added = dict.fromkeys(group.names, RegisteredTool(_UNREAD, definition, group.source))
            if not tools.keys().isdisjoint(added):
                taken[name] = [each for each in group.names if each in tools]
                for each in taken[name]:
                    added.pop(each, None)
            tools.update(added)
            self._names_by_group[name] = {**self._names_by_group.get(name, {}), **added}
        self._unread.update(groups)
        self._changed()
        return taken

    def unregister_unread(self, name: str) -> None:
        """Take out the tools of a group that was never read."""
        group = self._unread.pop(name, None)
        for each in group.names if group is not None else ():
            if self.is_unread(each, name):
                self.unregister(each)

    def unread_groups(self) -> KeysView[str]:
        """Return the names of the groups whose tools were not needed so far."""
        return self._unread.keys()

    def read_group(self, name: str) -> None:
        """Read the tools of a group, unless that was done; it takes the place of their names."""
        group = self._unread.pop(name, None)
        if group is None:
            return
        found = group.read()
        self._tools.update(found)
        gone = [each for each in group.names if self.is_unread(each, name)]
        for each in gone:
            self.unregister(each)
        # The registry has the same tools as before: nothing that was computed from their names is out of date.
        self._owners = None

    def is_unread(self, tool: str, group: str) -> bool:
        """Return True if a name holds the place of a tool of this group, which was not read so far."""
        found = self._tools.get(tool)
        return found is not None and found.tool is _UNREAD and found.source.group_name == group

    def _read_all(self) -> None:
        for name in list(self._unread):
            self.read_group(name)

    def move_to_front(self, names: Iterable[str]) -> None:
        """Put core tools before all other tools, in this order; names that are not registered are skipped."""
        core = self._names_by_group.get(None, {})
        first = [name for name in names if name in core]
        if not first:
            return
        self._names_by_group[None] = dict.fromkeys([*first, *core])
        self._tools = {name: self._tools[name] for name in dict.fromkeys([*first, *self._tools])}
        self._changed()

    def unregister(self, name: str) -> bool:
        """Take a tool out.

        Returns:
            Whether there was one of that name.
        """
        removed = self._tools.pop(name, None)
        if removed is None:
            return False
        self.foreign_core_tools.pop(name, None)
        group_name = removed.source.group_name
        names = self._names_by_group[group_name]
        del names[name]
        if not names:
            del self._names_by_group[group_name]
        self._changed()
        return True

    def register_group(self, group: ToolGroupDefinition, plugin: str | None = None) -> bool:
        """Add a group's metadata; of two for one name the first stays.

        What permissions mean is taken from both of two for one name, since tools of both can belong to the group. Of
        one plugin's meanings of a permission the first stays.

        Args:
            group: the metadata.
            plugin: the plugin that registers it, ``None`` for a program that embeds OneClaw.

        Returns:
            Whether it was added.
        """
        self.explain_permissions(group.permissions, group.name, plugin)
        if group.name in self._groups:
            return False
        self._groups[group.name] = group
        self._changed()
        return True

    def explain_permissions(self, meanings: Mapping[str, str], group: str, plugin: str | None = None) -> None:
        """Add what permissions mean; of one plugin's meanings of a permission the first stays.

        Args:
            meanings: one line of text each, by the permission.
            group: the tool group that says so.
            plugin: as for :meth:`register_group`.
        """
        for permission, text in meanings.items():
            if permission not in KNOWN_PERMISSIONS:
                said = self._meanings.setdefault(permission, {})
                said.setdefault(plugin, (PermissionMeaning(text, plugin), group))

    def unregister_group(self, name: str) -> bool:
        """Take a group's metadata out, and what it says about permissions; its tools stay.

        Returns:
            Whether there were any.
        """
        if self._groups.pop(name, None) is None:
            return False
        self._group_openers.pop(name, None)
        for permission, said in list(self._meanings.items()):
            kept = {plugin: each for plugin, each in said.items() if each[1] != name}
            if kept:
                self._meanings[permission] = kept
            else:
                del self._meanings[permission]
        self._changed()
        return True

    def set_group_opener(self, name: str, open_group: Callable[[], Awaitable[None]] | None) -> None:
        """Say how the tools of a registered group are found when a model loads it; ``None`` if they are known."""
        self._group_openers.pop(name, None)
        if open_group is not None:
            self._group_openers[name] = open_group
        self._changed()

    def get_group_opener(self, name: str) -> Callable[[], Awaitable[None]] | None:
        """Return what finds the tools of a group that is listed before they are known."""
        return self._group_openers.get(name)

    def set_disabled(self, tools: Iterable[str], groups: Iterable[str]) -> None:
        """Replace what is disabled; names that are not registered are kept for when they are."""
        disabled_tools, disabled_groups = frozenset(tools), frozenset(groups)
        if (disabled_tools, disabled_groups) != (self._disabled_tools, self._disabled_groups):
            self._disabled_tools, self._disabled_groups = disabled_tools, disabled_groups
            self._changed()

    def set_disabled_plugins(self, plugins: Iterable[str]) -> None:
        """Replace the disabled plugins; those that were disabled before the program started have no tools here."""
        disabled = frozenset(plugins)
        if disabled != self._disabled_plugins:
            self._disabled_plugins = disabled
            self._changed()

    def is_enabled(self, name: str) -> bool:
        """Return True if a registered tool, its group and its plugin are enabled."""
        found = self._tools.get(name)
        return (
            found is not None
            and name not in self._disabled_tools
            and found.source.group_name not in self._disabled_groups
            and found.source.plugin not in self._disabled_plugins
        )

    def is_tool_disabled(self, name: str) -> bool:
        """Return True if a tool is disabled by itself, whatever its group is."""
        return name in self._disabled_tools

    def is_group_disabled(self, name: str) -> bool:
        """Return True if a group is disabled as a whole."""
        return name in self._disabled_groups

    def is_plugin_disabled(self, name: str) -> bool:
        """Return True if a plugin was disabled while the program runs."""
        return name in self._disabled_plugins

    def find(self, name: str, *, reads: bool = True) -> RegisteredTool | None:
        """Return the tool of that name with its definition and source, also when it is disabled.

        Args:
            name: of the tool.
            reads: False if its source is enough, so that its group need not be read.
        """
        found = self._tools.get(name)
        if reads and found is not None and found.tool is _UNREAD:
            self.read_group(found.source.group_name or "")
            found = self._tools.get(name)
        return found

    def get_tool(self, name: str) -> Tool | None:
        """Return the tool of that name, also when it is disabled."""
        found = self.find(name)
        return found.tool if found is not None else None

    def get_definition(self, name: str) -> ToolDefinition | None:
        """Return the definition with which the tool of that name was registered, also when it is disabled."""
        found = self.find(name)
        return found.definition if found is not None else None

    def get_source_info(self, name: str) -> ToolSourceInfo | None:
        """Return where the tool of that name comes from."""
        found = self._tools.get(name)
        return found.source if found is not None else None

    def get_group_definition(self, name: str) -> ToolGroupDefinition | None:
        """The metadata of a group."""
        return self._groups.get(name)

    def get_all_group_definitions(self) -> list[ToolGroupDefinition]:
        """The metadata of all groups, in the order of their registration."""
        return list(self._groups.values())

    def get_available_group_definitions(self) -> list[ToolGroupDefinition]:
        """The groups that a model can load now: enabled, with at least one enabled tool, or with tools yet to find."""
        return [
            group
            for name, group in self._groups.items()
            if self._has_enabled_tool(name) or (name in self._group_openers and name not in self._disabled_groups)
        ]

    def _has_enabled_tool(self, group: str) -> bool:
        names = self._names_by_group.get(group, {})
        if not (self._disabled_tools or self._disabled_groups or self._disabled_plugins):
            return bool(names)
        return any(map(self.is_enabled, names))

    def get_permission_meaning(self, permission: str, plugin: str | None = None) -> PermissionMeaning | None:
        """Return the meaning of a permission for users; ``None`` if no permitted source states one.

        OneClaw's own permissions have its own words. Of others, a plugin says it for its own tools; for those of
        others, only if the permission is its own: see :meth:`get_ignored_meanings`.

        Args:
            permission: its name.
            plugin: whose tool needs it, ``None`` for any.
        """
        if permission in KNOWN_PERMISSIONS:
            return PermissionMeaning(KNOWN_PERMISSIONS[permission])
        said = self._meanings.get(permission)
        if not said:
            return None
        if plugin in said:
            return said[plugin][0]
        return next(iter(self._credible(permission)), None)

    def get_permission_meanings(self) -> dict[str, PermissionMeaning]:
        """Return the meanings of permissions by name: OneClaw's first, then those that groups explain."""
        self._read_all()
        meanings = {name: PermissionMeaning(text) for name, text in KNOWN_PERMISSIONS.items()}
        return meanings | {name: credible[0] for name in self._meanings if (credible := self._credible(name))}

    def get_ignored_meanings(self, plugin: str) -> list[str]:
        """The permissions that a plugin explains, and that are not its own.

        Its own are those that one of its tools declares, and those that begin with the name of a group in which it has
        a tool: ``acme.tables.delete`` with that of ``acme_tables``.
        """
        return [
            permission
            for permission, said in self._meanings.items()
            if plugin in said and all(each.plugin != plugin for each in self._credible(permission))
        ]

    def _credible(self, permission: str) -> tuple[PermissionMeaning, ...]:
        """Return the meaning of a permission by its owner and by the embedding program."""
        owners_of = self._owners_now()
        words = permission.replace(".", "_").split("_")
        groups = ("_".join(words[:count]) for count in range(1, len(words)))
        owners: set[str | None] = {None}
        for each in (("permission", permission), *(("group", group) for group in groups)):
            owners |= owners_of.get(each, set())
        said = self._meanings.get(permission, {})
        return tuple(meaning for plugin, (meaning, _) in said.items() if plugin in owners)

    def _owners_now(self) -> dict[tuple[str, str], set[str | None]]:
        """Return the plugins whose tools need each permission, and those with tools in each group."""
        if self._owners is None:
            # The tools of a group that was not read need no permissions so far.
            self._owners = {}
            for _, definition, source in self._tools.values():
                keys = [("permission", each) for each in definition.required_permissions]
                keys += [("group", source.group_name)] if source.group_name is not None else []
                for key in keys:
                    self._owners.setdefault(key, set()).add(source.plugin)
        return self._owners

    def get_all_tool_definitions(self) -> list[ToolDefinition]:
        """The definitions of all enabled tools."""
        self._read_all()
        return [self._tools[name].definition for name in self.get_all_tool_names() if self.is_enabled(name)]

    @cached_property
    def search(self) -> ToolSearch:
        """The search for tools, whose index is kept until the registry changes."""
        from oneclaw_core.search.names import ToolSearch

        return ToolSearch(self)

    def all_tools(self) -> list[tuple[ToolDefinition, str | None]]:
        """Return the definitions of all tools, disabled ones included, each with its group."""
        self._read_all()
        return [(each.definition, each.source.group_name) for each in self._tools.values()]

    def get_core_tool_definitions(self, *, finds_groups: bool | None = None) -> list[ToolDefinition]:
        """The definitions of the tools in no group.

        Args:
            finds_groups: True for ``find_tool_groups`` too; ``None`` for what holds for an agent with all tools.
        """
        finds = self.toolset().finds_groups if finds_groups is None else finds_groups
        return [each for each in self._enabled_definitions(None) if finds or each.name != FIND_TOOL_GROUPS]

    def get_group_tool_definitions(self, name: str) -> list[ToolDefinition]:
        """The definitions of a group's tools; none for an unknown group."""
        return self._enabled_definitions(name)

    def get_tool_groups(self) -> dict[str, list[str]]:
        """The names of the tools of every group that has any, whatever the type of their source."""
        return {group: list(names) for group, names in self._names_by_group.items() if group is not None}

    def get_all_tool_names(self) -> list[str]:
        """The names of all tools, disabled ones included; ``find_tool_groups`` only if the list of groups is long."""
        finds = FIND_TOOL_GROUPS in self._tools and self.toolset().finds_groups
        return [name for name in self._tools if finds or name != FIND_TOOL_GROUPS]

    def toolset(self, selection: ToolSelection = ALL_TOOLS) -> Toolset:
        """Return the toolset of an agent, the same object until the registry changes.

        Args:
            selection: the tools that the agent may have.
        """
        toolset = self._toolsets.get(selection)
        if toolset is None:
            if len(self._toolsets) >= _MAX_TOOLSETS:
                self._toolsets.clear()
            toolset = self._toolsets[selection] = Toolset(self, selection)
        return toolset

    def _enabled_definitions(self, group_name: str | None) -> list[ToolDefinition]:
        if group_name in self._unread:
            self.read_group(group_name)
        names = self._names_by_group.get(group_name, ())
        return [self._tools[name].definition for name in names if self.is_enabled(name)]

    def _changed(self) -> None:
        self._owners = None
        self._toolsets.clear()
        self.version += 1


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
    return f"- {group.name}: {one_line(group.description, LISTED_DESCRIPTION_CHARACTERS)}"


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
