"""Tool groups, and the tools that are active in a session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Self

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.types.permissions import meaning_fault
from oneclaw_core.types.tools import ToolDefinition, check_name

if TYPE_CHECKING:
    from oneclaw_core.types.messages import Message

LOAD_TOOL_GROUP = "load_tool_group"
FIND_TOOL_GROUPS = "find_tool_groups"
SCRIPT_TOOL = "js_eval"
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
        """Make the metadata of a group from stored data."""
        return cls(name, display_name, description, permissions or {}, may_be_unlisted)

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
    """The active tools: the core tools, each loaded group's tools in the order of loading, and those of the turn.

    Iterating gives the definitions in exactly the order in which they are sent.

    Attributes:
        core: the core tools.
        groups: the loaded groups in the order of loading.
        find_loadable: finds all groups that can be loaded, for wire formats that declare them from the start.
        of_turn: tools that are there for this turn alone; behind all others, which stay as they were.
    """

    core: tuple[ToolDefinition, ...]
    groups: tuple[LoadedGroup, ...] = ()
    find_loadable: Callable[[], tuple[LoadedGroup, ...]] = field(default=tuple, repr=False, compare=False)
    of_turn: tuple[ToolDefinition, ...] = ()

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all active tools."""
        return frozenset(definition.name for definition in self)

    def __iter__(self) -> Iterator[ToolDefinition]:
        yield from self.core
        for group in self.groups:
            yield from group.tools
        yield from self.of_turn


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
        from oneclaw_core.types.arguments import whole_object

        arguments = whole_object(tool_input) if isinstance(tool_input, str) else None
    name = arguments.get("group_name") if isinstance(arguments, dict) else None
    return name if isinstance(name, str) else None


def one_line(text: str, limit: int | None = None) -> str:
    """Put a text on one line, and cut it at a word if it is longer than the limit in characters."""
    line = " ".join(text.split())
    if limit is None or len(line) <= limit:
        return line
    return line[: limit - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
