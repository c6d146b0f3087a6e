"""Kinds of values that a tool's parameters take, by their schemas, names and descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_offline.words import stem, stems

if TYPE_CHECKING:
    from collections.abc import Mapping

_FORMATS = {"uri": "url", "email": "email", "date": "date", "time": "time", "date-time": "datetime"}
# The last word of a name decides first.
_KINDS = {
    "path": stems("path file filename folder directory dir"),
    "id": stems("id token key"),
    "pages": stems("page"),
    "zone": stems("timezone zone tz"),
    "url": stems("url uri link href endpoint"),
    "email": stems("email mail cc bcc recipient"),
    "query": stems("query search keyword term pattern"),
    "date": stems("date since until"),
    "time": stems("time start end"),
}
_MOST_PARAMETERS = 100
_INDIRECTIONS = frozenset({"$ref", "anyOf", "oneOf", "allOf"})


class Parameter(NamedTuple):
    """A parameter of a tool; of a list, the kind and the choices are those of its items."""

    name: str
    description: str
    kind: str
    choices: tuple[str, ...]
    default: Any
    is_list: bool
    is_required: bool
    is_title: bool


def read_parameters(schema: Mapping[str, Any]) -> list[Parameter]:
    """Read the parameters of a tool, required ones first, else in the order of the schema; at most a hundred."""
    properties, required = schema.get("properties"), schema.get("required")
    names = required if isinstance(required, list) else []
    parts = properties if isinstance(properties, dict) else {}
    found = [_parameter(name, _resolved(part, schema), schema, name in names) for name, part in parts.items()]
    return sorted(found, key=lambda each: not each.is_required)[:_MOST_PARAMETERS]


def _parameter(name: str, part: Mapping[str, Any], schema: Mapping[str, Any], is_required: bool) -> Parameter:
    is_list = part.get("type") == "array"
    item = _resolved(part.get("items"), schema) if is_list else part
    choices = tuple(each for each in item.get("enum", [item.get("const")]) if isinstance(each, str))
    description = part.get("description", "")
    kind = "choice" if choices else _kind(name, description, item)
    is_title = not stems(name).isdisjoint(stems("name title"))
    return Parameter(name, description, kind, choices, part.get("default"), is_list, is_required, is_title)


def _resolved(part: object, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Follow references into the schema's own definitions, and take the first branch that is not null."""
    found = part if isinstance(part, dict) else {}
    for _ in range(4):
        if not _INDIRECTIONS & found.keys():
            break
        branches: list[Any] = next((found[key] for key in ("anyOf", "oneOf", "allOf") if key in found), [])
        if "$ref" in found:
            branches = [schema.get("$defs", {}).get(found["$ref"].rpartition("/")[2])]
        branch = next((each for each in branches if isinstance(each, dict) and each.get("type") != "null"), {})
        found = branch | {key: value for key, value in found.items() if key not in _INDIRECTIONS}
    return found


def _kind(name: str, description: str, schema: Mapping[str, Any]) -> str:
    types = schema.get("type")
    kind = next((each for each in types if each != "null"), None) if isinstance(types, list) else types
    if kind != "string":
        return {"boolean": "flag", "integer": "number", "number": "number"}.get(str(kind), "other")
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    if name == "to" and "address" in description.lower():
        return "email"
    words = [stem(word) for word in reversed(name.split("_"))]
    return next((kind for word in words for kind, known in _KINDS.items() if word in known), "text")
