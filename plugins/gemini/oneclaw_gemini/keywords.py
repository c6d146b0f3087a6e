"""One level of a JSON Schema in the keywords that Gemini reads: types, values, bounds, and notes for all the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.providers import compact_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# What google-genai documents at ``response_json_schema``, beside the keywords that hold schemas. A request with others
# may be refused as a whole, with all its tools.
_KEPT = ("type", "enum", "minItems", "maxItems", "minimum", "maximum", "propertyOrdering")
_KEPT_FORMATS = frozenset({"date-time", "date", "time", "int32", "int64", "float", "double"})
_NOTES: dict[str, Callable[[Any], str]] = {
    "minLength": lambda value: f"minimum length {value}",
    "maxLength": lambda value: f"maximum length {value}",
    "pattern": lambda value: f"matches the regular expression {value}",
    "exclusiveMinimum": lambda value: f"above {value}",
    "exclusiveMaximum": lambda value: f"below {value}",
    "multipleOf": lambda value: f"a multiple of {value}",
    "uniqueItems": lambda value: "no duplicates" if value else "",
    "minProperties": lambda value: f"minimum number of entries {value}",
    "maxProperties": lambda value: f"maximum number of entries {value}",
    "default": lambda value: "" if value is None else f"default {compact_json(value)}",
    "examples": lambda value: f"such as {_listed(value)}" if value else "",
}
# Rules that no sentence says better than they do themselves.
_QUOTED = (
    "not", "if", "then", "else", "contains", "propertyNames", "patternProperties", "dependentRequired",
    "dependentSchemas", "unevaluatedProperties", "unevaluatedItems",
)  # fmt: skip
_QUOTED_CHARACTERS = 300
_OF_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"})
# The keywords that say something about values of one type only.
_KEYWORDS_OF_TYPE = {
    "string": frozenset({"format", "pattern", "minLength", "maxLength"}),
    "number": _OF_NUMBERS,
    "integer": _OF_NUMBERS,
    "array": frozenset({"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"}),
    "object": frozenset(
        {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"}
        | {"maxProperties", "dependentRequired", "dependentSchemas", "propertyOrdering"}
    ),
}
_OF_SOME_TYPE = frozenset({"type", "enum"}).union(*_KEYWORDS_OF_TYPE.values())


def one_type_each(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Say with ``anyOf`` what a schema says with several types, or with a list of values of several types.

    Args:
        schema: one level of it; the schemas within are left as they are.

    Returns:
        A schema with one type at most, with ``enum`` in place of ``const``.
    """
    schema = dict(schema)
    if "const" in schema:
        schema["enum"] = [schema.pop("const")]
    types = schema.get("type")
    if types is None and schema.get("enum"):
        types = list(dict.fromkeys(_type_of(value) for value in schema["enum"]))
    if not isinstance(types, list):
        return schema
    if len(types) == 1:
        return schema | {"type": types[0]}
    if "anyOf" in schema or "oneOf" in schema:
        return {key: value for key, value in schema.items() if key != "type"}
    common = {key: value for key, value in schema.items() if key not in _OF_SOME_TYPE}
    return common | {"anyOf": [_variant(schema, each) for each in types]}


def kept_keywords(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Give the description, with notes of what cannot be said otherwise, and what else Gemini reads of one level.

    Args:
        schema: as :func:`one_type_each` makes it; keywords that hold schemas are left to the caller.
    """
    schema, notes = _with_inclusive_bounds(schema), []
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if "enum" in kept:
        values = [each for each in kept["enum"] if "type" not in kept or _fits(each, kept["type"])]
        if values and (all(_fits(each, "string") for each in values) or all(_fits(each, "number") for each in values)):
            kept["enum"] = values
        else:
            del kept["enum"]
            if values and values != [None]:
                notes.append(f"one of {_listed(values)}" if len(values) > 1 else f"always {_listed(values)}")
    if "format" in schema:
        if schema["format"] in _KEPT_FORMATS:
            kept["format"] = schema["format"]
        else:
            notes.append(f"format {schema['format']}")
    description = str(schema.get("description") or schema.get("title") or "").strip()
    said = "; ".join([*notes, *_notes(schema)])
    if said:
        description = f"{description} ({said})" if description else said[0].upper() + said[1:]
    return {"description": description, **kept} if description else kept


def _variant(schema: Mapping[str, Any], type_name: str) -> dict[str, Any]:
    own = _KEYWORDS_OF_TYPE.get(type_name, frozenset())
    return {"type": type_name} | {key: value for key, value in schema.items() if key in own or key == "enum"}


def _with_inclusive_bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(schema)
    if found.get("type") == "integer":
        if isinstance(found.get("exclusiveMinimum"), int):
            bound = found.pop("exclusiveMinimum") + 1
            found["minimum"] = max(bound, found.get("minimum", bound))
        if isinstance(found.get("exclusiveMaximum"), int):
            bound = found.pop("exclusiveMaximum") - 1
            found["maximum"] = min(bound, found.get("maximum", bound))
    return found


def _notes(schema: Mapping[str, Any]) -> Iterator[str]:
    for key, note in _NOTES.items():
        text = note(schema[key]) if key in schema else ""
        if text:
            yield text
    rules = compact_json({key: schema[key] for key in _QUOTED if key in schema})
    if rules != "{}" and len(rules) <= _QUOTED_CHARACTERS:
        yield f"must fit the JSON Schema {rules}"


def _type_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _fits(value: object, type_name: str) -> bool:
    found = _type_of(value)
    return found == type_name or (type_name == "number" and found == "integer")


def _listed(values: list[Any]) -> str:
    return ", ".join(map(compact_json, values))
