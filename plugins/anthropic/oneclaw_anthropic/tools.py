"""The tools of a request as the Messages API wants them: how each is written, and which are declared how. No I/O.

A tool declared with ``defer_loading`` is not a part of the prompt until a ``tool_reference`` in the conversation names
it, so that the list of tools, which stands at the front of the prompt cache, never changes when a group is loaded.
Newer models take the definition itself in the conversation, so that nothing has to be declared before.

Source: Anthropic's "Tool search tool", "Tool use with prompt caching" and "Mid-conversation system messages and tool
changes".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from oneclaw_core.providers import ToolLoading, compact_json, loading_calls
from oneclaw_core.tools import LOAD_TOOL_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_http_providers import ToolTexts

    from oneclaw_core import ToolDefinition
    from oneclaw_core.providers import ModelRequest
    from oneclaw_core.tools import LoadedGroup

# Beyond, the groups that no one has loaded yet are not declared: each request would carry them over the wire. The API
# itself takes 10,000.
MAX_DEFERRED_TOOLS = 1_000
MAX_DEFERRED_CHARACTERS = 2_000_000
# Refused at the root of ``input_schema``; the executor checks arguments against the whole schema anyway.
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
    numbers: dict[str, int] = {}
    for name in refused:
        base = shown = _REFUSED_IN_PARAMETER_NAMES.sub("_", name)[:60] or "_"
        number = numbers.get(base, 1)
        while shown in taken:
            number += 1
            shown = f"{base}_{number}"
        numbers[base] = number
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
        name: of the tool.
        param: what the API takes as its definition.
        text: the JSON of that.
        deferred_text: its JSON as a tool that is not told from the start.
        renamed: the parameters that are sent under another name, by their real one.
    """

    name: str
    param: Mapping[str, Any]
    text: str
    deferred_text: str
    renamed: Mapping[str, str]


def write_tool(definition: ToolDefinition) -> WrittenTool:
    """Write a tool."""
    param = tool_param(definition)
    text = compact_json(param)
    renamed = renamed_parameters(definition.parameters)
    return WrittenTool(definition.name, param, text, _with_key(text, "defer_loading", True), renamed)


@dataclass(frozen=True, slots=True)
class DeclaredTools:
    """The tools of a request, in the order in which they are sent.

    Attributes:
        eager: what the model is told from the start.
        deferred: what it is told where the conversation refers to it.
        restored: what it is told from the start because the place where it was loaded has left the conversation, and
            what is there for this turn alone.
        references: the names that the result of a call refers to, by the call's id.
        additions: what the model is told after the result of a call, by the call's id; under ``None`` what it is told
            first because the place where it was loaded has left the conversation.
        of_turn: what it is told after the message of the user that begins the turn.
    """

    eager: tuple[WrittenTool, ...]
    deferred: tuple[WrittenTool, ...] = ()
    restored: tuple[WrittenTool, ...] = ()
    references: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)
    additions: Mapping[str | None, tuple[WrittenTool, ...]] = field(default_factory=dict)
    of_turn: tuple[WrittenTool, ...] = ()

    @property
    def renamed(self) -> dict[str, Mapping[str, str]]:
        """The parameters that are sent under another name, by the tool's name."""
        told = chain.from_iterable(self.additions.values())
        tools = (*self.eager, *self.deferred, *self.restored, *told, *self.of_turn)
        return {tool.name: tool.renamed for tool in tools if tool.renamed}

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


def tells_inline(request: ModelRequest) -> bool:
    """Return True if loaded tools are, or would be, defined in the conversation."""
    # The API wants at least one tool in the list. Else the first one that a message defines changes the front.
    return request.tool_loading is ToolLoading.INLINE and bool(request.tools.core) and _can_load(request)


def declare_tools(request: ModelRequest, written: ToolTexts[WrittenTool]) -> DeclaredTools:
    """Decide which tools are declared how.

    Natively, every group that can be loaded is declared from the first request on, in the order of registration, so
    that the list is the same all along; groups beyond the bounds are added at its end as they are loaded. Inline, the
    list holds the core tools alone.

    Args:
        request: with its active tools and messages.
        written: writes the tools.
    """
    if tells_inline(request):
        return _tell_inline(request, written)
    # The API wants at least one tool that is not deferred.
    if request.tool_loading is not ToolLoading.NATIVE or not request.tools.core:
        return DeclaredTools(tuple(map(written.of, request.tools)))
    loadable = _loadable_groups(request)
    declared = _declare(request, loadable, written)
    if loadable and sum(len(tool.text) for tool in declared.deferred) > MAX_DEFERRED_CHARACTERS:
        return _declare(request, (), written)
    return declared


def _can_load(request: ModelRequest) -> bool:
    return bool(request.tools.groups) or any(each.name == LOAD_TOOL_GROUP for each in request.tools.core)


def _tell_inline(request: ModelRequest, written: ToolTexts[WrittenTool]) -> DeclaredTools:
    calls = loading_calls(request)
    in_order = {None: calls.pop(None, []), **calls}
    names = {definition.name for definition in request.tools.core}
    return DeclaredTools(
        tuple(map(written.of, request.tools.core)),
        additions={call_id: tuple(map(written.of, _new_tools(groups, names))) for call_id, groups in in_order.items()},
        of_turn=tuple(map(written.of, request.tools.of_turn)),
    )


def _loadable_groups(request: ModelRequest) -> tuple[LoadedGroup, ...]:
    if all(definition.name != LOAD_TOOL_GROUP for definition in request.tools.core):
        return ()
    groups = request.tools.find_loadable()
    return groups if sum(len(group.tools) for group in groups) <= MAX_DEFERRED_TOOLS else ()


def _declare(
    request: ModelRequest, loadable: tuple[LoadedGroup, ...], written: ToolTexts[WrittenTool]
) -> DeclaredTools:
    calls = loading_calls(request)
    restored = calls.pop(None, [])
    groups = {group.name: group for group in (*loadable, *request.tools.groups)}
    for group in restored:
        del groups[group.name]
    eager = tuple(map(written.of, request.tools.core))
    eager_names = frozenset(definition.name for definition in request.tools.core)
    names = set(eager_names)
    after = tuple(map(written.of, (*_new_tools(restored, names), *request.tools.of_turn)))
    deferred = tuple(map(written.of, _new_tools(groups.values(), names)))
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
