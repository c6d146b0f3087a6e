"""The keys of manifests, from the JSON Schema that checks them, and that schema."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from parts._markdown import code, table, text


def markdown(arguments: list[str], lines: list[str]) -> str:
    """``tool`` and ``metadata`` give a row for each key, ``schema`` the schema as a whole."""
    source = (files("oneclaw_core.manifests") / "manifest.schema.json").read_text(encoding="utf-8")
    if arguments == ["schema"]:
        return f"```json\n{source}```\n"
    definitions = json.loads(source)["$defs"]
    (name,) = arguments
    required = definitions["group_tool" if name == "tool" else name]["required"]
    rows = []
    for key, given in definitions[name]["properties"].items():
        schema = _resolved(given, definitions)
        is_required = "yes" if key in required else ""
        rows.append((code(key), _type(schema), is_required, _default(schema), text(schema.get("description", ""))))
    return table(["key", "type", "required", "default", "meaning"], rows)


def _resolved(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref", "")
    return {**definitions.get(reference.removeprefix("#/$defs/"), {}), **schema} if reference else schema


def _type(schema: dict[str, Any]) -> str:
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    items = schema.get("items", {}).get("type")
    return f"{schema['type']} of {items}s" if items else str(schema["type"])


def _default(schema: dict[str, Any]) -> str:
    return code(json.dumps(schema["default"])) if "default" in schema else ""
