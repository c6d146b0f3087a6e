"""Tool groups, toolsets of agents and the tools that are active in a conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Self

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.tools.definition import ToolDefinition, check_name
from oneclaw_core.types.permission_meanings import meaning_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.messages import Message
    from oneclaw_core.types.tools import ToolSelection


LOAD_TOOL_GROUP = "load_tool_group"
FIND_TOOL_GROUPS = "find_tool_groups"
MAX_LISTED_GROUPS = 40
"""The number of groups above which those that may be unlisted are found with ``find_tool_groups``."""
MAX_UNLISTABLE_BYTES = 2_400
"""The length of their lines, in UTF-8, above which they are found so too; 600 tokens or fewer."""
LISTED_DESCRIPTION_CHARACTERS = 240


@dataclass(frozen=True, slots=True)
class ToolGroupDefinition:
    """A named set of tools that is loaded as a whole (RFC-040, step 1).

    Attributes:
        name: unique, such as ``google_gmail``; what ``load_tool_group`` takes.
        display_name: what people read, such as ``Google Gmail``.
        description: one line that says what the group can do; how a model decides to load it.
        permissions: what permissions of the plugin's own mean, by their names: one line of plain text each, at most 120
            characters, which users are shown and models are not. Of OneClaw's own it counts for nothing.
        may_be_unlisted: True to leave the group out of long lists of groups; models find it with ``find_tool_groups``.
            Its tools are never declared before it is loaded.

    Raises:
        ToolDefinitionError: a value is not acceptable.
    """

    name: str
    display_name: str
    description: str
    permissions: Mapping[str, str] = field(default_factory=dict, hash=False)
    may_be_unlisted: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "tool group")
        self._check_text("display_name", self.display_name)
        self._check_text("description", self.description)
        if type(self.permissions) is not dict and not isinstance(self.permissions, Mapping):
            raise ToolDefinitionError(
                f"tool group {self.name!r}: permissions must be a mapping of names to what they mean", "/permissions"
            )
        # A copy: what was checked is what is shown.
        object.__setattr__(self, "permissions", dict(self.permissions))
        for permission, meaning in self.permissions.items():
            if fault := meaning_fault(permission, meaning):
                raise ToolDefinitionError(f"tool group {self.name!r}: {fault}", "/permissions")

    @classmethod
    def stored(
        cls,
        name: str,
        display_name: str,
        description: str,
        permissions: Mapping[str, str] | None = None,
        may_be_unlisted: bool = False,
    ) -> Self:
        """Make the metadata of a group from stored data that was checked before."""
        made = object.__new__(cls)
        put = object.__setattr__
        put(made, "name", name)
        put(made, "display_name", display_name)
        put(made, "description", description)
        put(made, "permissions", {} if permissions is None else permissions)
        put(made, "may_be_unlisted", may_be_unlisted)
        return made

    def _check_text(self, attribute: str, value: object) -> None:
        if not isinstance(value, str) or not value or value.isspace():
            raise ToolDefinitionError(
                f"tool group {self.name!r}: {attribute} must be a text that is not empty", f"/{attribute}"
            )


def generated_group_definition(name: str, tool_names: Iterable[str]) -> ToolGroupDefinition:
    """Make the metadata of a group that declares none (FEAT-040, TEST-040-11)."""
    listed = ", ".join(tool_names)
    return ToolGroupDefinition(
        name=name,
        display_name=" ".join(word[:1].upper() + word[1:] for word in name.replace("_", " ").split()) or name,
        description=f"Tools from {name} group" + (f": {listed}" if listed else ""),
    )


@dataclass(frozen=True)
class LoadedGroup:
    """A group that the conversation has loaded, with its tools as they are now."""

    name: str
    tools: tuple[ToolDefinition, ...]


@dataclass(frozen=True)
class ActiveTools:
    """The active tools: the core tools, then each loaded group's tools in the order of loading.

    Iterating gives the definitions in exactly the order in which they are sent.

    Attributes:
        core: the core tools.
        groups: the loaded groups in the order of loading.
        find_loadable: finds all groups that can be loaded, for wire formats that declare them from the start.
    """

    core: tuple[ToolDefinition, ...]
    groups: tuple[LoadedGroup, ...] = ()
    find_loadable: Callable[[], tuple[LoadedGroup, ...]] = field(default=tuple, repr=False, compare=False)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all active tools."""
        return frozenset(definition.name for definition in self)

    def __iter__(self) -> Iterator[ToolDefinition]:
        yield from self.core
        for group in self.groups:
            yield from group.tools


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


def restore_loaded_groups(messages: Iterable[Message]) -> list[str]:
    """Find the groups that a conversation has loaded, from its history alone (RFC-044).

    Args:
        messages: the history, or at least its calls of ``load_tool_group``.

    Returns:
        The names in the order of first loading; a failed or malformed call counts for nothing.
    """
    # Not with the module, which a listing of tools imports: no turn is run there.
    from oneclaw_core.types.messages import MessageType, ToolCallStatus

    names: dict[str, None] = {}
    for message in messages:
        if (
            str(message.type).casefold() == MessageType.TOOL_CALL
            and message.tool_name == LOAD_TOOL_GROUP
            and str(message.tool_status).casefold() == ToolCallStatus.SUCCESS
        ):
            name = requested_group(message.tool_input)
            if name is not None:
                names[name] = None
    return list(names)


def requested_group(tool_input: str | None) -> str | None:
    """Read the group's name from the arguments of a call of ``load_tool_group``; ``None`` if there is none."""
    try:
        arguments = json.loads(tool_input or "")
    except (ValueError, TypeError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        from oneclaw_core.tools.lenient_arguments import whole_object

        arguments = whole_object(tool_input) if isinstance(tool_input, str) else None
    name = arguments.get("group_name") if isinstance(arguments, dict) else None
    return name if isinstance(name, str) else None


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


def one_line(text: str, limit: int | None = None) -> str:
    """Put a text on one line, and cut it at a word if it is longer than the limit in characters."""
    line = " ".join(text.split())
    if limit is None or len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"


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
