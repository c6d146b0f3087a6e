"""Arguments made from the schemas of manifests: the least that fits, and what does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Schema = dict[str, Any]


def least_arguments(parameters: Schema) -> dict[str, Any]:
    """Make arguments that fit, only the required ones."""
    properties = parameters.get("properties", {})
    return {name: _fitting(properties[name]) for name in parameters.get("required", ())}


def wrong_arguments(parameters: Schema) -> Iterator[tuple[str, dict[str, Any]]]:
    """Make arguments of which one is wrong each time, with a word for what is wrong with it."""
    least = least_arguments(parameters)
    yield "an unknown one", {**least, "no_such_parameter": 1}
    for name in least:
        yield f"without {name}", {key: value for key, value in least.items() if key != name}
    for name, schema in parameters.get("properties", {}).items():
        for fault, value in _misfitting(schema):
            yield f"{name} {fault}", {**least, name: value}


def _fitting(schema: Schema) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "array":
        return [_fitting(schema["items"])] * max(1, schema.get("minItems", 1))
    if kind == "object":
        return least_arguments(schema)
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return True if kind == "boolean" else "x"


def _misfitting(schema: Schema) -> Iterator[tuple[str, Any]]:
    kind = schema.get("type")
    if kind is not None:
        yield "of another type", "text" if kind == "object" else {"an": "object"}
    if "enum" in schema:
        yield "that is no choice", "no such choice"
    if "minimum" in schema:
        yield "too small", schema["minimum"] - 1
    if "exclusiveMinimum" in schema:
        yield "too small", schema["exclusiveMinimum"]
    if "maximum" in schema:
        yield "too large", schema["maximum"] + 1
    if "maxLength" in schema:
        yield "too long", "x" * (schema["maxLength"] + 1)
    if kind == "array":
        item = _fitting(schema["items"])
        if schema.get("minItems"):
            yield "with too few items", [item] * (schema["minItems"] - 1)
        if "maxItems" in schema:
            yield "with too many items", [item] * (schema["maxItems"] + 1)
        for fault, value in _misfitting(schema["items"]):
            yield f"with an item {fault}", [value]
    if kind == "object":
        yield from ((f"with {fault}", value) for fault, value in wrong_arguments(schema))
