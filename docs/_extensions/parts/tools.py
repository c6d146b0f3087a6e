"""Tools and their groups as plugins declare them."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins.loading import Catalog, load_plugins
from parts._markdown import code, table, text

if TYPE_CHECKING:
    from oneclaw_core import ToolDefinition


def markdown(arguments: list[str], lines: list[str]) -> str:
    """``core`` gives the core tools, ``groups PLUGIN`` a heading and a table for each of the plugin's tool groups."""
    registry = _catalog().registry
    if arguments == ["core"]:
        return "\n".join(_tool(each, 3) for each in registry.get_core_tool_definitions())
    _, plugin = arguments
    (record,) = [each for each in _catalog().plugins if each.name == plugin]
    pieces = []
    for group in dict.fromkeys(record.groups):
        definition = registry.get_group_definition(group)
        assert definition is not None, group
        pieces.append(f"### {definition.display_name}\n\nTool group {code(group)}: {text(definition.description)}.\n")
        pieces += [_tool(each, 4) for each in registry.get_group_tool_definitions(group)]
    return "\n".join(pieces)


@cache
def _catalog() -> Catalog:
    return load_plugins(())


def _tool(tool: ToolDefinition, level: int) -> str:
    permissions = ", ".join(map(code, tool.required_permissions))
    needs = f" Permission: {permissions}." if permissions else ""
    properties = tool.parameters.get("properties", {})
    required = tool.parameters.get("required", ())
    rows = [(code(name), _type(each), _rule(name, each, required), _meaning(each)) for name, each in properties.items()]
    parameters = "\n\n" + table(["parameter", "type", "default", "meaning"], rows) if rows else "\n"
    return f"{'#' * level} {tool.name}\n\n{text(tool.description)}{needs}{parameters}"


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(code(str(each)) for each in schema["enum"])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind)
    items = schema.get("items", {})
    return f"array of {items['type']}s" if kind == "array" and isinstance(items.get("type"), str) else str(kind)


def _rule(name: str, schema: dict[str, Any], required: Any) -> str:
    if name in required:
        return "required"
    return code(json.dumps(schema["default"])) if "default" in schema else ""


def _meaning(schema: dict[str, Any]) -> str:
    return text(schema.get("description", ""))
