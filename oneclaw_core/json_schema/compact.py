"""Schemas without what a model does not need."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAPS_OF_SCHEMAS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
_PREFIX = "#/$defs/"


def compact_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a model does not need, and put definitions where they are used.

    Titles repeat the names they stand by. A definition that is used once, or is a mere list of values, moves to the
    place of its use; others, recursive ones among them, stay in ``$defs``. The property that tells the members of a
    union apart is required in each of them, as the union requires it, and has no default.
    """
    schema = _with_required_tags(schema)
    definitions: dict[str, Any] = schema.get("$defs", {})
    uses = Counter(_references(schema))
    moving = {
        name: definition
        for name, definition in definitions.items()
        if uses[name] == 1 or (not any(_references(definition)) and "properties" not in definition)
    }
    compact: dict[str, Any] = _compact(schema, moving)
    staying = {name: each for name, each in compact.pop("$defs", {}).items() if name not in moving}
    return {**compact, "$defs": staying} if staying else compact


def discriminators(schema: Any) -> Iterator[tuple[str, list[Any]]]:
    """Find the properties that tell the members of unions apart, each with the values that it may have."""
    for union in _unions(schema):
        yield union["discriminator"]["propertyName"], list(union["discriminator"].get("mapping", ()))


def _unions(schema: Any) -> Iterator[dict[str, Any]]:
    """Find the unions whose members are told apart by a property."""
    if isinstance(schema, list):
        for each in schema:
            yield from _unions(each)
    elif isinstance(schema, dict):
        if _names_property(schema.get("discriminator")):
            yield schema
        for each in schema.values():
            yield from _unions(each)


def _names_property(discriminator: object) -> bool:
    return isinstance(discriminator, dict) and isinstance(discriminator.get("propertyName"), str)


def _with_required_tags(schema: dict[str, Any]) -> dict[str, Any]:
    if next(_unions(schema), None) is None:
        return schema
    schema = deepcopy(schema)
    definitions = schema.get("$defs", {})
    for union in _unions(schema):
        tag = union["discriminator"]["propertyName"]
        for member in (*union.get("oneOf", ()), *union.get("anyOf", ())):
            target = member.get("$ref") if isinstance(member, dict) else None
            found = definitions.get(target.removeprefix(_PREFIX)) if isinstance(target, str) else member
            if isinstance(found, dict) and isinstance(found.get("properties", {}).get(tag), dict):
                found["properties"][tag].pop("default", None)
                found["required"] = list(dict.fromkeys([tag, *found.get("required", ())]))
    return schema


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for each in schema:
            yield from _references(each)
    elif isinstance(schema, dict):
        target = schema.get("$ref")
        if isinstance(target, str) and target.startswith(_PREFIX):
            yield target.removeprefix(_PREFIX)
        for each in schema.values():
            yield from _references(each)


def _compact(schema: Any, moving: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_compact(each, moving) for each in schema]
    if not isinstance(schema, dict):
        return schema
    target = schema.get("$ref")
    if isinstance(target, str) and target.removeprefix(_PREFIX) in moving:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return {**_compact(moving[target.removeprefix(_PREFIX)], moving), **_compact(beside, moving)}
    return {
        key: _compact_value(key, value, moving)
        for key, value in schema.items()
        if key != "title" and (key != "discriminator" or _names_property(value))
    }


def _compact_value(key: str, value: Any, moving: dict[str, Any]) -> Any:
    if key in _MAPS_OF_SCHEMAS:
        return {name: _compact(each, moving) for name, each in value.items()}
    if key in ("default", "const", "enum", "examples", "required"):
        return value
    if key == "discriminator":
        # Its mapping names definitions, which may move.
        return {"propertyName": value["propertyName"]}
    return _compact(value, moving)
