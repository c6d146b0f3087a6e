"""The JSON Schema of an output as Anthropic takes it. No I/O.

Source: Anthropic's page on structured outputs. Objects have the listed properties alone; bounds of numbers, texts and
lists are not known, and go into the description, for the answer is checked by us anyway. Recursion, and objects of any
keys, cannot be said: the model would have to answer ``{}``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.providers import compact_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEPT = frozenset({"type", "enum", "const", "title", "description"})
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)  # fmt: skip
_STRUCTURE = frozenset({"properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "allOf", "$defs"})
_DEFINITION = "#/$defs/"


def output_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Write a schema as the API takes it; ``None`` if it cannot be said so that the model can answer by it."""
    try:
        _check_references(schema)
        return _converted(schema)
    except (_NotSaidError, RecursionError):
        return None


class _NotSaidError(Exception):
    """A schema says what the API has no words for."""


def _check_references(schema: Mapping[str, Any]) -> None:
    """Refuse recursion, and references that lead elsewhere.

    Raises:
        _NotSaidError: there is one.
    """
    definitions = schema.get("$defs", {})

    def follow(value: object, within: tuple[str, ...]) -> None:
        if isinstance(value, list):
            for each in value:
                follow(each, within)
        if not isinstance(value, dict):
            return
        reference = value.get("$ref")
        if isinstance(reference, str):
            name = reference.removeprefix(_DEFINITION)
            if name in within or name == reference or name not in definitions:
                raise _NotSaidError
            follow(definitions[name], (*within, name))
        for key, each in value.items():
            if key != "$defs":
                follow(each, within)

    follow(schema, ())


def _converted(schema: object) -> dict[str, Any]:
    if not isinstance(schema, dict) or not schema or "prefixItems" in schema:
        raise _NotSaidError  # anything goes
    if "$ref" in schema and "$defs" not in schema:
        return {"$ref": schema["$ref"]}
    made = {key: value for key, value in schema.items() if key in _KEPT}
    notes = {key: value for key, value in schema.items() if key not in _KEPT | _STRUCTURE}
    if notes.get("format") in _FORMATS:
        made["format"] = notes.pop("format")
    notes.pop("discriminator", None)
    if notes.get("minItems") in (0, 1):
        made["minItems"] = notes.pop("minItems")
    for key in ("$defs", "properties"):
        if key in schema:
            made[key] = {name: _converted(each) for name, each in schema[key].items()}
    variants = schema.get("anyOf", schema.get("oneOf"))
    if variants is not None:
        made["anyOf"] = [_converted(each) for each in variants]
    if "allOf" in schema:
        made["allOf"] = [_converted(each) for each in schema["allOf"]]
    if "items" in schema:
        made["items"] = _converted(schema["items"])
    elif made.get("type") == "array":
        raise _NotSaidError
    if made.get("type") == "object":
        if schema.get("additionalProperties", False) is not False or not schema.get("properties"):
            raise _NotSaidError  # any keys
        made |= {"additionalProperties": False, "required": list(schema.get("required", ()))}
    if made.keys().isdisjoint({"type", "enum", "const", "anyOf", "allOf"}):
        raise _NotSaidError
    if notes:
        about = [made["description"]] if isinstance(made.get("description"), str) else []
        made["description"] = " ".join([*about, compact_json(notes)])
    return made
