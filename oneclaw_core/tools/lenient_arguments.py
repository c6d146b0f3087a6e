"""Arguments that a model wrote almost right: ``"2"`` for an integer, JSON within a string or a Markdown fence.

Small models do so often. Such arguments are read where the schema leaves one reading, and validated again afterwards.
A place whose schema takes a string is left alone, and so is one that could be read in two ways.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools.arguments import ArgumentsError, finite_float, parse_arguments, parse_json, without_absent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FENCE = "```"
_LANGUAGES = ("json", "JSON")
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,30})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?")
_TYPES = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})
_CONSTANTS: dict[str, tuple[str, Any]] = {
    "true": ("boolean", True),
    "false": ("boolean", False),
    "null": ("null", None),
}
# A schema of a few lines can have more ways through it than anybody can go.
_MOST_STEPS = 20_000
_MOST_LEVELS = 60


def lenient_arguments(text: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read arguments that are not valid as they are; whether they are now is for the caller to find out.

    Returns:
        The arguments, the values of some places changed; ``None`` if the text has no reading as an object.
    """
    arguments = whole_object(text)
    if arguments is None:
        return None
    arguments = without_absent(arguments, schema)
    try:
        read = _Reader(schema).value(arguments, schema, 0)
    except (_TooMuchError, RecursionError):
        return arguments
    return read if isinstance(read, dict) else None


def whole_object(text: str) -> dict[str, Any] | None:
    """Read a JSON object, also within a Markdown fence or a JSON string, as all of a text; ``None`` if it is none."""
    for _ in range(2):  # a fence in a string, or a string in a fence
        text = _without_fence(text)
        try:
            return parse_arguments(text)
        except ArgumentsError:
            value = _json(text)
        if not isinstance(value, str):
            return None
        text = value
    try:
        return parse_arguments(text) if text.strip() else None
    except ArgumentsError:
        return None


class _TooMuchError(Exception):
    """The schema asks for more steps than are taken."""


class _Reader:
    """Goes through a value and its schema together.

    Args:
        root: the schema that references are about.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._steps = 0

    def value(self, value: Any, schema: Any, level: int) -> Any:
        """Read a value as its schema wants it; what has no reading, or several, stays as it is."""
        self._step(level)
        schema = self._resolved(schema)
        if not isinstance(schema, dict):
            return value
        if isinstance(value, str):
            types = self._types(schema, 0)
            if "string" in types:
                return value
            readings = list(_readings(value, types))
            if len(readings) != 1:
                return value
            value = readings[0]
        for part in self._parts(schema, value):
            value = self._inside(value, part, level)
        return value

    def _inside(self, value: Any, schema: Mapping[str, Any], level: int) -> Any:
        if isinstance(value, dict):
            properties = schema.get("properties")
            known = properties if isinstance(properties, dict) else {}
            others = None if "patternProperties" in schema else schema.get("additionalProperties")
            return {name: self.value(each, known.get(name, others), level + 1) for name, each in value.items()}
        if isinstance(value, list):
            first = schema.get("prefixItems")
            first = first if isinstance(first, list) else []
            schemas = [*first[: len(value)], *([schema.get("items")] * max(0, len(value) - len(first)))]
            return [self.value(each, of, level + 1) for each, of in zip(value, schemas, strict=True)]
        return value

    def _parts(self, schema: Mapping[str, Any], value: Any) -> Iterator[Mapping[str, Any]]:
        """Yield the schemas that hold for what is inside a value: of alternatives, the only one of its type."""
        if not isinstance(value, dict | list):
            return
        wanted = "object" if isinstance(value, dict) else "array"
        waiting: list[Any] = [schema]
        while waiting:
            self._step(0)
            part = self._resolved(waiting.pop())
            if not isinstance(part, dict):
                continue
            yield part
            together = part.get("allOf")
            waiting += together if isinstance(together, list) else []
            for keyword in ("anyOf", "oneOf"):
                branches = part.get(keyword)
                fitting = [each for each in _list(branches) if wanted in self._types(each, 0)]
                waiting += fitting if len(fitting) == 1 else []

    def _types(self, schema: Any, level: int) -> frozenset[str]:
        """Find the types that a schema may take."""
        self._step(level)
        schema = self._resolved(schema)
        if not isinstance(schema, dict):
            return frozenset() if schema is False else _TYPES
        given = schema.get("type")
        types = _TYPES
        if isinstance(given, str | list):
            types = frozenset([given] if isinstance(given, str) else [each for each in given if isinstance(each, str)])
        for keyword in ("enum", "const"):
            if keyword in schema:
                values = _list(schema[keyword]) if keyword == "enum" else [schema[keyword]]
                types &= frozenset().union(*(_types_of(each) for each in values))
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list):
                types &= frozenset().union(*(self._types(each, level + 1) for each in schema[keyword]))
        for each in _list(schema.get("allOf")):
            types &= self._types(each, level + 1)
        return types

    def _resolved(self, schema: Any) -> Any:
        """Follow references within the same schema; ``None`` for one that leads elsewhere."""
        while isinstance(schema, dict) and "$ref" in schema:
            self._step(0)
            reference = schema["$ref"]
            if not isinstance(reference, str) or not reference.startswith("#") or reference[1:2] not in ("", "/"):
                return None
            schema = self._root
            for name in reference[2:].split("/") if len(reference) > 1 else ():
                schema = schema.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(schema, dict) else None
        return schema

    def _step(self, level: int) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS or level > _MOST_LEVELS:
            raise _TooMuchError


def _readings(text: str, types: frozenset[str]) -> Iterator[Any]:
    """Yield what a text can mean that no string is wanted for; each only once."""
    text = text.strip()
    if text.lower() in _CONSTANTS:
        name, value = _CONSTANTS[text.lower()]
        if name in types:
            yield value
    elif not types.isdisjoint({"integer", "number"}) and _INTEGER.fullmatch(text):
        yield int(text)
    elif "number" in types and _NUMBER.fullmatch(text):
        try:
            yield finite_float(text)
        except ValueError:
            return
    elif not types.isdisjoint({"object", "array"}):
        value = _json(_without_fence(text))
        if isinstance(value, dict | list) and ("object" if isinstance(value, dict) else "array") in types:
            yield value


def _without_fence(text: str) -> str:
    """Take a Markdown fence away that is around all of a text."""
    inner = text.strip()
    if len(inner) < 2 * len(_FENCE) or not (inner.startswith(_FENCE) and inner.endswith(_FENCE)):
        return text
    inner = inner[len(_FENCE) : -len(_FENCE)]
    return next((inner.removeprefix(each) for each in _LANGUAGES if inner.startswith(each)), inner)


def _json(text: str) -> Any:
    """Read JSON; ``None`` if it is none."""
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return None


def _types_of(value: Any) -> frozenset[str]:
    if isinstance(value, bool):
        return frozenset({"boolean"})
    if isinstance(value, int | float):
        return frozenset({"integer", "number"})
    kinds = ((str, "string"), (dict, "object"), (list, "array"), (type(None), "null"))
    return frozenset(name for kind, name in kinds if isinstance(value, kind))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
