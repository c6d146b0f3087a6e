"""The tools of a request as the Messages API wants them: how each is written, and which are declared how. No I/O.

A tool declared with ``defer_loading`` is no part of the prompt until a ``tool_reference`` in the conversation names
it, so that the list of tools, which stands at the front of the prompt cache, never changes when a group is loaded.

Source: Anthropic's "Tool search tool" and "Tool use with prompt caching".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.providers.base import ToolLoading
from oneclaw_core.providers.loading import loading_calls
from oneclaw_core.providers.wire_text import compact_json
from oneclaw_core.tools.groups import LOAD_TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core.providers.base import ModelRequest
    from oneclaw_core.tools.definition import ToolDefinition
    from oneclaw_core.tools.groups import LoadedGroup

# Beyond, the groups that nobody has loaded yet are not declared: each request would carry them over the wire. The API
# itself takes 10,000.
MAX_DEFERRED_TOOLS = 1_000
MAX_DEFERRED_CHARACTERS = 2_000_000
# Refused at the root of ``input_schema``; the engine checks arguments against the whole schema anyway.
_REFUSED_KEYWORDS = frozenset({"oneOf", "anyOf", "allOf"})
_PARAMETER_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_REFUSED_IN_PARAMETER_NAMES = re.compile(r"[^a-zA-Z0-9_.-]")


def renamed_parameters(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Find the parameters whose names the API refuses, as it refuses every request with such a tool.

    Args:
        parameters: the JSON Schema of a tool's arguments.

    Returns:
        By the real name the one that the model is shown; usually nothing.
    """
    names = parameters.get("properties") or {}
    refused = [name for name in names if not _PARAMETER_NAME.fullmatch(name)]
    if not refused:
        return {}
    taken = set(names).difference(refused)
    renamed: dict[str, str] = {}
    for name in refused:
        base = _REFUSED_IN_PARAMETER_NAMES.sub("_", name)[:60] or "_"
        shown = next(each for each in (base, *(f"{base}_{n}" for n in range(2, len(names) + 2))) if each not in taken)
        taken.add(shown)
        renamed[name] = shown
    return renamed


def tool_param(definition: ToolDefinition) -> dict[str, Any]:
    """Convert a tool's definition."""
    schema = {name: value for name, value in definition.parameters.items() if name not in _REFUSED_KEYWORDS}
    renamed = renamed_parameters(schema)
    if renamed:
        schema["properties"] = {renamed.get(name, name): value for name, value in schema["properties"].items()}
        if "required" in schema:
            schema["required"] = [renamed.get(name, name) for name in schema["required"]]
    return {"name": definition.name, "description": definition.description, "input_schema": schema}


def _with_key(text: str, key: str, value: object) -> str:
    return f"{text[:-1]},{compact_json(key)}:{compact_json(value)}}}"


@dataclass(frozen=True, slots=True)
class WrittenTool:
    """A tool as it is sent.

    Attributes:
        definition: what it was written from.
        text: its JSON.
        deferred_text: its JSON as a tool that is not told from the start.
        renamed: the parameters that are sent under another name, by their real one.
    """

    definition: ToolDefinition
    text: str
    deferred_text: str
    renamed: Mapping[str, str]


class ToolWriter:
    """Writes tools, and keeps the text of each for the next request."""

    def __init__(self) -> None:
        # By identity; the definition is in the value, so that no other can take over its identity.
        self._written: dict[int, WrittenTool] = {}

    def write(self, definition: ToolDefinition) -> WrittenTool:
        """Write a tool."""
        kept = self._written.get(id(definition))
        if kept is None:
            text = compact_json(tool_param(definition))
            kept = self._written[id(definition)] = WrittenTool(
                definition, text, _with_key(text, "defer_loading", True), renamed_parameters(definition.parameters)
            )
        return kept


@dataclass(frozen=True, slots=True)
class DeclaredTools:
    """The tools of a request, in the order in which they are sent.

    Attributes:
        eager: what the model is told from the start.
        deferred: what it is told where the conversation refers to it.
        restored: what it is told from the start because the place where it was loaded has left the conversation.
        references: the names that the result of a call refers to, by the call's id.
    """

    eager: tuple[WrittenTool, ...]
    deferred: tuple[WrittenTool, ...] = ()
    restored: tuple[WrittenTool, ...] = ()
    references: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)

    @property
    def renamed(self) -> dict[str, Mapping[str, str]]:
        """The parameters that are sent under another name, by the tool's name."""
        tools = (*self.eager, *self.deferred, *self.restored)
        return {tool.definition.name: tool.renamed for tool in tools if tool.renamed}

    def text(self, cache_control: Mapping[str, Any]) -> str:
        """The JSON of the list of tools.

        Args:
            cache_control: stands on the last tool that is not deferred; deferred ones do not take it.
        """
        eager = [tool.text for tool in self.eager]
        restored = [tool.text for tool in self.restored]
        last = restored or eager
        if last:
            last[-1] = _with_key(last[-1], "cache_control", cache_control)
        deferred = [tool.deferred_text for tool in self.deferred]
        return f"[{','.join([*eager, *deferred, *restored])}]"


def declare_tools(request: ModelRequest, writer: ToolWriter) -> DeclaredTools:
    """Decide which tools are declared how.

    Every group that can be loaded is declared from the first request on, in the order of registration, so that the
    list is the same all along; groups beyond the bounds are added at its end as they are loaded.

    Args:
        request: with its active tools and messages.
        writer: writes the tools.
    """
    # The API wants at least one tool that is not deferred.
    if request.tool_loading is not ToolLoading.NATIVE or not request.tools.core:
        return DeclaredTools(tuple(map(writer.write, request.tools)))
    loadable = _loadable_groups(request)
    declared = _declare(request, loadable, writer)
    if loadable and sum(len(tool.text) for tool in declared.deferred) > MAX_DEFERRED_CHARACTERS:
        return _declare(request, (), writer)
    return declared


def _loadable_groups(request: ModelRequest) -> tuple[LoadedGroup, ...]:
    if all(definition.name != LOAD_TOOL_GROUP for definition in request.tools.core):
        return ()
    groups = request.tools.find_loadable()
    return groups if sum(len(group.tools) for group in groups) <= MAX_DEFERRED_TOOLS else ()


def _declare(request: ModelRequest, loadable: tuple[LoadedGroup, ...], writer: ToolWriter) -> DeclaredTools:
    calls = loading_calls(request)
    restored = calls.pop(None, [])
    groups = {group.name: group for group in (*loadable, *request.tools.groups)}
    for group in restored:
        del groups[group.name]
    eager = tuple(map(writer.write, request.tools.core))
    eager_names = frozenset(definition.name for definition in request.tools.core)
    names = set(eager_names)
    after = tuple(map(writer.write, _new_tools(restored, names)))
    deferred = tuple(map(writer.write, _new_tools(groups.values(), names)))
    references = {
        call_id: tuple(tool.name for group in loaded for tool in group.tools if tool.name not in eager_names)
        for call_id, loaded in calls.items()
    }
    return DeclaredTools(eager, deferred, after, references)


def _new_tools(groups: Iterable[LoadedGroup], names: set[str]) -> list[ToolDefinition]:
    """The tools of groups, without those that are named already: the API refuses a name that stands there twice."""
    found = []
    for group in groups:
        for definition in group.tools:
            if definition.name not in names:
                names.add(definition.name)
                found.append(definition)
    return found
