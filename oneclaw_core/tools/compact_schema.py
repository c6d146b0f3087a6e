"""Making pydantic's JSON Schemas small: every request to a model carries them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAPS_OF_SCHEMAS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
_PREFIX = "#/$defs/"


def compact_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a model does not need, and put definitions where they are used.

    Titles repeat the names they stand by. A definition that is used once, or is a mere list of values, moves to the
    place of its use; others, recursive ones among them, stay in ``$defs``.

    Args:
        schema: as pydantic makes it; not changed.
    """
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
        if key not in ("title", "discriminator")  # the latter is OpenAPI's and means nothing in JSON Schema
    }


def _compact_value(key: str, value: Any, moving: dict[str, Any]) -> Any:
    if key in _MAPS_OF_SCHEMAS:
        return {name: _compact(each, moving) for name, each in value.items()}
    if key in ("default", "const", "enum", "examples", "required"):
        return value
    return _compact(value, moving)
