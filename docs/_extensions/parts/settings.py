"""All settings, from the model that checks them."""

from __future__ import annotations

import json
from typing import Any

from oneclaw_core.config.core_settings import Settings
from parts._markdown import code, table, text

_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
_LIMITS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


def markdown(arguments: list[str], lines: list[str]) -> str:
    """A row for each setting."""
    properties: dict[str, Any] = Settings.model_json_schema()["properties"]
    return table(
        ["setting", "value", "default", "meaning"],
        [
            (
                code(name),
                _value(schema),
                _default(schema.get("default")),
                text(schema["description"]),
            )
            for name, schema in properties.items()
        ],
    )


def _value(schema: dict[str, Any]) -> str:
    for branch in schema.get("anyOf", ()):
        if branch.get("type") != "null":
            return _value(branch)
    if schema.get("type") == "object":
        return "NAME=NUMBER with commas between them"
    if schema.get("type") == "array":
        return "names with commas between them"
    limits = [f"{words} {schema[key]:,}" for key, words in _LIMITS.items() if key in schema]
    return ", ".join([_TYPES[schema["type"]], *limits])


def _default(value: object) -> str:
    return code(json.dumps(value)) if value not in (None, [], ()) else "none"
