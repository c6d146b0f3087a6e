"""Checks: names of tools, groups and parameters, as every provider and every neighbour can live with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_devtools.conformance.finding import Check, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oneclaw_devtools.conformance.facts import NeighbourFacts, PluginFacts, ToolFacts

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

TAKEN = Check(
    "names.taken",
    _E,
    "a tool's name that a core tool, or an installed plugin, has",
    "rename the tool: begin it with a word for your plugin",
)
SNAKE_CASE = Check("names.not-snake-case", _W, "a tool's name that is not in snake_case", "rename the tool")
GENERIC = Check(
    "names.generic",
    _N,
    "a tool's name of one common word, which another plugin may take as well",
    "add a word for what it is about, such as table_search",
)
ALIKE = Check(
    "names.alike", _W, "two tools whose names differ in case and hyphens only", "give them names that tell them apart"
)
PARAMETER = Check(
    "names.parameter",
    _W,
    "a parameter's name that Anthropic or Gemini refuses; OneClaw sends another one",
    "use 1 to 64 letters, digits and '_', beginning with a letter or '_'",
)
PROVIDER = Check("names.provider-taken", _E, "a provider type that is taken", "use another name")
COMMAND = Check("names.command-taken", _E, "a command that is taken", "use another name")
PLUGIN = Check(
    "package.name-taken", _W, "another installed package has a plugin of the same name", "rename the entry point"
)
GROUP = Check(
    "groups.taken",
    _W,
    "a group that another plugin declares with other texts",
    "use another group name, or the same display name and description",
)
JOINED = Check(
    "groups.joined",
    _N,
    "tools in a group that another plugin declares",
    "use a group of your own, unless both belong together",
)
NOT_A_GROUP = Check(
    "groups.not-a-group", _E, "`register_groups` registers something else", "make a ToolGroupDefinition"
)
MEANING = Check(
    "permissions.meaning-taken",
    _W,
    "a permission that another group or plugin explains otherwise",
    "begin it with a word for your plugin, or use the same words",
)
NOT_OWN = Check(
    "permissions.not-own",
    _E,
    "a group that says what one of OneClaw's permissions means",
    "leave it out, or explain a permission of your own",
)
NOT_DECLARED = Check(
    "permissions.not-declared",
    _W,
    "a group that says what a permission means that no tool declares and no group of the plugin's is named after",
    "declare it in required_permissions of the tool that needs it, or begin it with the name of a group",
)
NEIGHBOURS = Check(
    "names.neighbours", _N, "an installed plugin could not be loaded to compare names with", "check that plugin itself"
)

# Gemini is the strictest; Anthropic also takes '.' and '-', and refuses what has neither.
_PARAMETER_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")
_GENERIC = re.compile(
    r"add|call|check|convert|create|delete|do|download|edit|execute|export|fetch|find|get|import|info|list|"
    r"load|lookup|open|process|query|read|remove|run|save|search|send|set|show|start|stop|test|update|"
    r"upload|write"
)


def name_findings(facts: PluginFacts) -> Iterator[Finding]:
    """Look at the names of tools and parameters by themselves."""
    seen: dict[str, str] = {}
    for tool in facts.tools:
        other = seen.setdefault(_form(tool.name), tool.name)
        if other != tool.name:
            yield ALIKE.found(tool.where, f"it differs from {other!r} in case and hyphens only")
        if _GENERIC.fullmatch(tool.name):
            yield GENERIC.found(tool.where, f"{tool.name!r} says nothing of what it is about")
        yield from _parameter_names(tool)


def _form(name: str) -> str:
    return name.lower().replace("-", "_")


def _parameter_names(tool: ToolFacts) -> Iterator[Finding]:
    for name in tool.properties:
        if not _PARAMETER_NAME.fullmatch(name):
            yield PARAMETER.found(tool.where, f"the parameter {name[:80]!r} cannot be sent under its name everywhere")


def collision_findings(facts: PluginFacts, neighbours: Sequence[NeighbourFacts]) -> Iterator[Finding]:
    """Compare with what the other installed plugins have."""
    tools = {_form(tool.name): tool.name for tool in facts.tools}
    descriptions = {group.name: group.description for group in facts.groups if group.is_declared}
    for neighbour in neighbours:
        whose = f"the plugin {neighbour.plugin} ({neighbour.package or '?'})"
        if neighbour.plugin == facts.name:
            yield PLUGIN.found(f"plugin {facts.name}", f"the package {neighbour.package or '?'} has one of that name")
        for name in neighbour.tools:
            if _form(name) in tools:
                differs = "" if name in tools.values() else f", {name!r}: case, and '-' or '_', make no difference"
                yield TAKEN.found(f"tool {tools[_form(name)]}", f"{whose} has a tool of that name{differs}")
        for name, description in neighbour.groups.items():
            if descriptions.get(name, description) != description:
                yield GROUP.found(f"group {name}", f"{whose} describes it differently")
        for name, meaning in neighbour.meanings.items():
            if facts.meanings.get(name, meaning) != meaning:
                yield MEANING.found(f"permission {name}", f"{whose} says that it means something else")
        for name in neighbour.providers:
            if name in facts.others:
                yield PROVIDER.found(f"provider type {name}", f"{whose} has it, too")
