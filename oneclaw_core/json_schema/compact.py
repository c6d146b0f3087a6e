"""Schemas as models are shown them: without what they do not need, and as short types for scripts."""

from __future__ import annotations

import re
from collections import Counter
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from oneclaw_core.types.tools import ToolDefinition

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


MAX_TYPE_CHARACTERS = 600
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,39}")
_MOST_MEMBERS = 40
_MOST_VALUES = 12
_LEVELS = 6
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def plain_types(schema: Mapping[str, Any], levels: int = _LEVELS) -> dict[str, Any]:
    """Return the types in a schema and nothing else: no descriptions, no references, no names that are not identifiers.

    Args:
        schema: JSON Schema, also of a server; with references within it.
        levels: how deep objects and lists are described; what is deeper may be anything.
    """
    return _Plain(schema).of(schema, levels)


class _Plain:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def of(self, schema: Any, levels: int, within: tuple[str, ...] = ()) -> dict[str, Any]:
        """Return the types in a schema; a reference to what it stands in may be anything."""
        schema, within = self._resolved(schema, within)
        if not isinstance(schema, dict) or levels < 0:
            return {}
        for keyword in ("anyOf", "oneOf"):
            choices = schema.get(keyword)
            if isinstance(choices, list) and choices:
                return {"anyOf": [self.of(each, levels, within) for each in choices[:_MOST_VALUES]]}
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(values, list) and 0 < len(values) <= _MOST_VALUES and all(map(_is_plain_value, values)):
            return {"enum": values}
        kind = schema.get("type")
        if isinstance(kind, list) and kind:
            return {"anyOf": [self.of({**schema, "type": each}, levels, within) for each in kind[:_MOST_VALUES]]}
        if kind == "array":
            return {"type": "array", "items": self.of(schema.get("items"), levels - 1, within)}
        if kind == "object" or "properties" in schema:
            return self._object(schema, levels, within)
        return {"type": kind} if isinstance(kind, str) and kind in _PLAIN else {}

    def _object(self, schema: dict[str, Any], levels: int, within: tuple[str, ...]) -> dict[str, Any]:
        given = schema.get("properties")
        members = given if isinstance(given, dict) else {}
        names = [name for name in members if isinstance(name, str) and _IDENTIFIER.fullmatch(name)][:_MOST_MEMBERS]
        required = schema.get("required")
        wanted = required if isinstance(required, list) else []
        plain: dict[str, Any] = {"type": "object"}
        if names and levels:
            plain["properties"] = {name: self.of(members[name], levels - 1, within) for name in names}
            plain["required"] = [name for name in names if name in wanted]
        others = schema.get("additionalProperties")
        if isinstance(others, dict) and not names:
            plain["additionalProperties"] = self.of(others, levels - 1, within)
        return plain

    def _resolved(self, schema: Any, within: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
        while isinstance(schema, dict) and isinstance(target := schema.get("$ref"), str):
            if target in within or not target.startswith("#"):
                return None, within
            within = (*within, target)
            schema = self._root
            for part in filter(None, target[1:].split("/")):
                schema = schema.get(part) if isinstance(schema, dict) else None
        return schema, within


def _is_plain_value(value: object) -> bool:
    if isinstance(value, str):
        return _IDENTIFIER.fullmatch(value) is not None
    return value is None or isinstance(value, bool | int)


def short_type(schema: Mapping[str, Any], room: int = MAX_TYPE_CHARACTERS) -> str:
    """Write a schema as a TypeScript type; what does not fit is described less deep.

    Args:
        schema: of a value.
        room: the longest type, in characters; ``unknown`` always fits.
    """
    for levels in range(_LEVELS, -1, -1):
        written = _written(plain_types(schema, levels))
        if len(written) <= room:
            return written
    return "unknown"


def _written(plain: Mapping[str, Any]) -> str:
    if "anyOf" in plain:
        return " | ".join(dict.fromkeys(map(_written, plain["anyOf"])))
    if "enum" in plain:
        return " | ".join(f'"{each}"' if isinstance(each, str) else _literal(each) for each in plain["enum"])
    kind = plain.get("type")
    if kind == "array":
        item = _written(plain["items"])
        return f"({item})[]" if " | " in item else f"{item}[]"
    if kind == "object" and "properties" in plain:
        optional = {name: "" if name in plain["required"] else "?" for name in plain["properties"]}
        return (
            "{" + "; ".join(f"{name}{optional[name]}: {_written(it)}" for name, it in plain["properties"].items()) + "}"
        )
    if kind == "object":
        return f"Record<string, {_written(plain.get('additionalProperties', {}))}>"
    return _PLAIN.get(str(kind), "unknown")


def _literal(value: object) -> str:
    return (
        {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)
    )


_MAX_TYPES_CHARACTERS = 6_000  # of all the tools of a group


def types_of_results(definitions: Sequence[ToolDefinition]) -> str:
    """Write what tools give to scripts, as short types; empty if no tool says what it gives.

    It stands in the result of loading a group, and so stays as it is in a conversation.
    """
    schemas = {each.name: each.output_schema for each in definitions if each.output_schema is not None}
    if not schemas:
        return ""
    room = min(MAX_TYPE_CHARACTERS, _MAX_TYPES_CHARACTERS // len(schemas))
    by_type: dict[str, list[str]] = {}
    for name, schema in schemas.items():
        by_type.setdefault(short_type(schema, room), []).append(name)
    if len(by_type) == 1 and len(schemas) == len(definitions) > 1:
        return f"Results in scripts: {next(iter(by_type))}"
    lines = (f"{', '.join(names)} -> {written}" for written, names in by_type.items())
    return "\n".join(["Results in scripts:", *lines])
