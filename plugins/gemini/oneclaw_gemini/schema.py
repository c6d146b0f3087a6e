"""From the JSON Schema of a tool's parameters to the part of JSON Schema that Gemini reads. No I/O.

What can be said in keywords that Gemini reads is; what cannot is said in the description, for the model to keep to. The
arguments are checked against the tool's own schema anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_gemini.keywords import kept_keywords, one_type_each

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DEFINITIONS = ("$defs", "definitions")
# More schemas than any tool's has, and a fraction of a second.
_MOST_STEPS = 20_000
_ANNOTATIONS = frozenset({"title", "description", "default", "examples", *_DEFINITIONS})
_LOWER_BOUNDS = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_UPPER_BOUNDS = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


def gemini_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Convert the schema of a tool's parameters.

    Args:
        schema: JSON Schema, draft 2020-12, that the tool's definition has been checked with; not changed. Of one that
            has no end, only that it is an object is told.

    Returns:
        What goes into ``parametersJsonSchema``; ``None`` for a tool without parameters, which takes no such field.
    """
    try:
        converted = _Conversion(schema).whole()
    except (RecursionError, _TooLargeError):  # what it is made of has no end, or none that anybody waits for
        return {"type": "object"}
    says_something = any(converted.get(key) for key in converted.keys() - {"type", "description", "$defs"})
    return converted if says_something else None


class _TooLargeError(Exception):
    """A schema becomes too large where its references are replaced: a few lines can double it at each step."""


class _Conversion:
    """Converts one schema; references are looked up in it."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._definitions: dict[str, Any] = {}
        for key in _DEFINITIONS:
            self._definitions |= root.get(key, {})
        # The references that are being replaced by what they refer to; there, they are not replaced again.
        self._replacing: list[str] = []
        self._steps = 0

    def whole(self) -> dict[str, Any]:
        converted = self._schema(self._root)
        if self._definitions:
            converted["$defs"] = {name: self._schema(each) for name, each in self._definitions.items()}
        return converted

    def _take_step(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _TooLargeError

    def _schema(self, schema: object) -> dict[str, Any]:
        self._take_step()
        if not isinstance(schema, dict):  # true: anything goes
            return {}
        if "allOf" in schema:
            rest = _without(schema, "allOf")
            if len(schema["allOf"]) == 1 and isinstance(schema["allOf"][0], dict) and rest.keys() <= _ANNOTATIONS:
                return self._schema(schema["allOf"][0] | rest)
            return self._schema(self._merged([*schema["allOf"], rest]))
        if "$ref" in schema:
            return self._reference(schema)
        return self._plain(one_type_each(schema))

    def _reference(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Keep a reference to a definition, alone as it has to stand; replace others by what they refer to."""
        reference, beside = schema["$ref"], _without(schema, "$ref")
        name = _definition_name(reference)
        if name in self._definitions and beside.keys() <= _ANNOTATIONS:
            kept = {"$ref": f"#/$defs/{_escaped(name)}"}
            annotations = kept_keywords(beside)
            return annotations | {"anyOf": [kept]} if annotations else kept
        return self._schema(self._merged([schema]))

    def _merged(self, members: Iterable[Any]) -> dict[str, Any]:
        """Make one schema of several that must all hold, as far as their keywords can stand side by side."""
        merged: dict[str, Any] = {}
        self._take_step()
        for member in members:
            each = member if isinstance(member, dict) else {}
            reference = each.get("$ref")
            if reference is not None:
                each = _without(each, "$ref")
                if reference not in self._replacing:
                    self._replacing.append(reference)
                    each = self._merged([self._target(reference), each])
                    self._replacing.pop()
            if "allOf" in each:
                each = self._merged([*each["allOf"], _without(each, "allOf")])
            for key, value in each.items():
                merged[key] = _both(key, merged[key], value) if key in merged else value
        return merged

    def _target(self, reference: str) -> Any:
        """Find what a JSON Pointer within the schema refers to; what is elsewhere may be anything."""
        if not reference.startswith("#"):
            return {}
        found: Any = self._root
        for step in reference[1:].split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                return {}
        return found

    def _plain(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        kept = kept_keywords(schema)
        variants = schema.get("anyOf", schema.get("oneOf"))
        if variants is not None:
            kept["anyOf"] = [self._schema(each) for each in variants if each is not False]
        properties = {
            name: self._schema(each) for name, each in schema.get("properties", {}).items() if each is not False
        }
        required = list(schema.get("required", ()))
        properties |= {name: {} for name in required if name not in properties}
        if "properties" in schema or properties:
            kept["properties"] = properties
        if required:
            kept["required"] = required
        if "prefixItems" in schema:
            kept["prefixItems"] = [self._schema(each) for each in schema["prefixItems"]]
        if schema.get("items") is False:
            kept["maxItems"] = len(schema.get("prefixItems", ()))
        elif isinstance(schema.get("items"), dict):
            kept["items"] = self._schema(schema["items"])
        additional = schema.get("additionalProperties")
        if additional is not None:
            kept["additionalProperties"] = self._schema(additional) if isinstance(additional, dict) else additional
        return kept


def _both(key: str, first: Any, second: Any) -> Any:
    """Give the value of a keyword that two schemas have, both of which must hold."""
    if key == "properties":
        shared = {name: {"allOf": [first[name], second[name]]} for name in first if name in second}
        return first | second | shared
    if key == "required":
        return list(dict.fromkeys([*first, *second]))
    if key in _LOWER_BOUNDS:
        return max(first, second)
    if key in _UPPER_BOUNDS:
        return min(first, second)
    return second


def _definition_name(reference: str) -> str:
    for key in _DEFINITIONS:
        name = reference.removeprefix(f"#/{key}/")
        if name != reference and "/" not in name:
            return name.replace("~1", "/").replace("~0", "~")
    return ""


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _without(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != key}
