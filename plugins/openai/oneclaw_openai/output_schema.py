"""The JSON Schema of an output as OpenAI takes it, in its strict subset where that can be. No I/O.

Source: OpenAI's guide to structured outputs. In strict mode the service generates nothing that does not fit, and
refuses a schema with keywords of which it knows nothing. Else the schema is advice, and the answer is checked anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.providers import OutputSchema

_KEYWORDS = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "$ref", "$defs"),
        *("title", "description", "format", "pattern", "minItems", "maxItems"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
)
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)  # fmt: skip


def output_format(output: OutputSchema) -> dict[str, Any]:
    """Write the members of a format that both APIs have: its name, description, schema, and whether it is strict."""
    strict = strict_schema(output.schema)
    members: dict[str, Any] = {"name": output.name}
    if output.description:
        members["description"] = output.description
    return members | {"schema": dict(output.schema) if strict is None else strict, "strict": strict is not None}


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Write a schema in the strict subset, in which every property is required and no other is allowed.

    Returns:
        The schema; ``None`` if it says what the subset cannot, or the change would take values away.
    """
    try:
        return _strict(schema)
    except (_NotStrictError, RecursionError):
        return None


class _NotStrictError(Exception):
    """A schema is outside the subset."""


def _strict(schema: object) -> dict[str, Any]:
    if not isinstance(schema, dict) or not schema.keys() <= _KEYWORDS:
        raise _NotStrictError
    if "$ref" in schema:
        if not str(schema["$ref"]).startswith("#") or schema.keys() & {"type", "anyOf", "properties"}:
            raise _NotStrictError
    elif schema.keys().isdisjoint({"type", "anyOf", "enum", "const"}):  # anything goes
        raise _NotStrictError
    made = {key: value for key, value in schema.items() if key != "title"}
    if made.get("format") not in (None, *_FORMATS) or "(?" in str(made.get("pattern", "")):
        raise _NotStrictError
    for key in ("$defs", "properties"):
        if key in made:
            made[key] = {name: _strict(each) for name, each in made[key].items()}
    if "anyOf" in made:
        made["anyOf"] = [_strict(each) for each in made["anyOf"]]
    if "items" in made:
        made["items"] = _strict(made["items"])
    elif made.get("type") == "array":
        raise _NotStrictError
    if made.get("type") == "object":
        names = list(made.get("properties", {}))
        if made.get("additionalProperties", False) is not False or not names:
            raise _NotStrictError  # any keys
        if set(made.get("required", ())) != set(names):
            raise _NotStrictError  # a property that may be left out, which the model would have to give
        made |= {"required": names, "additionalProperties": False}
    return made
