"""Arguments to try a tool with: none, fitting ones, and what a confused or hostile model might send. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_devtools.conformance.schema_places import referred

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

LONG_TEXT = "a very long text"
_MAX_DEPTH = 6
_LONG = 100_000
_FORMATS = {
    "date": "2026-10-21",
    "date-time": "2026-10-21T12:00:00Z",
    "time": "12:00:00",
    "email": "somebody@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_WRONG_TYPES: dict[str, Any] = {
    "string": 12,
    "integer": "twelve",
    "number": "twelve",
    "boolean": "maybe",
    "array": {"0": "not a list"},
    "object": ["not an object"],
    "null": "not null",
}


@dataclass(frozen=True, slots=True)
class Case:
    """Arguments to try a tool with.

    Attributes:
        name: what is tried.
        arguments: JSON data.
    """

    name: str
    arguments: dict[str, Any]


def cases(parameters: Mapping[str, Any], secret_file: str) -> Iterator[Case]:
    """Make the arguments to try a tool with.

    Args:
        parameters: the JSON Schema of its parameters.
        secret_file: the path of a file that no tool may read.
    """
    found = parameters.get("properties")
    properties: dict[str, Any] = found if isinstance(found, dict) else {}
    plain = {name: sample(schema, parameters) for name, schema in properties.items()}
    required = {name: value for name, value in plain.items() if name in parameters.get("required", ())}
    yield Case("no arguments", {})
    if not properties:
        yield Case("an unknown argument", {"no_such_argument": 1})
        return
    yield Case("only what is required", required)
    yield Case("plain arguments", plain)
    yield Case("an unknown argument", {**plain, "no_such_argument": 1})
    yield Case("wrong types", {name: _wrong(schema, parameters) for name, schema in properties.items()})
    yield Case("nulls", dict.fromkeys(properties))
    for name, text in hostile_texts(secret_file).items():
        replaced = _replaced(plain, partial(_instead, text, _is_text))
        if replaced != plain:
            yield Case(name, replaced)
    for name, number in {"a negative number": -1, "a huge number": 10**18}.items():
        replaced = _replaced(plain, partial(_instead, number, _is_number))
        if replaced != plain:
            yield Case(name, replaced)
    emptied = _replaced(plain, lambda value: type(value)() if isinstance(value, list | dict) else value)
    if emptied != plain:
        yield Case("empty lists and objects", emptied)


def hostile_texts(secret_file: str) -> dict[str, str]:
    """Texts that programs stumble over, each with its name.

    Args:
        secret_file: the path of a file that no tool may read.
    """
    return {
        "an empty text": "",
        "a NUL": "a\x00b",
        "a path outside": secret_file,
        "a relative path outside": "../outside/secret.txt",
        LONG_TEXT: "x" * _LONG,
        "odd characters": "\u202e\ufeff\U0001f600 e\u0301\r\n\x1b[2J",
        "a command": "'; $(echo hostile) `echo hostile` | rm -rf x; --",
        "a URL": "http://127.0.0.1:9/",
        "a format": "{0.__class__.__mro__} %s%n ${x}",
    }


def sample(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """Make a value that a schema allows, as far as that can be told.

    Args:
        schema: of the value.
        root: the whole, which references refer to.
        depth: how deep it stands.
    """
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return "text"
    if isinstance(schema.get("$ref"), str):
        return sample(referred(schema["$ref"], root), root, depth + 1)
    if "const" in schema:
        return schema["const"]
    for key in ("enum", "examples"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    if schema.get("default") is not None:
        return schema["default"]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list) and schema[key]:
            return sample(schema[key][0], root, depth + 1)
    return _of_type(_type_of(schema), schema, root, depth)


def _of_type(type_name: str, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    match type_name:
        case "integer" | "number":
            return schema.get("minimum", min(1, schema.get("maximum", 1)))
        case "boolean":
            return False
        case "null":
            return None
        case "array":
            count = max(1, min(int(schema.get("minItems", 1)), 10))
            return [sample(schema.get("items"), root, depth + 1)] * count
        case "object":
            properties = schema.get("properties")
            return {
                name: sample(each, root, depth + 1)
                for name, each in (properties if isinstance(properties, dict) else {}).items()
            }
        case _:
            text = _FORMATS.get(str(schema.get("format")), "text")
            # JSON Schema takes 5.0 for a whole number, too.
            longest, shortest = (int(schema.get(key, bound)) for key, bound in (("maxLength", _LONG), ("minLength", 0)))
            return text[:longest].ljust(min(shortest, _LONG), "x")


def _type_of(schema: Mapping[str, Any]) -> str:
    type_name = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(type_name, list):
        return next((str(each) for each in type_name if each != "null"), "null")
    return str(type_name)


def _wrong(schema: Any, root: Mapping[str, Any]) -> Any:
    if isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
        schema = referred(schema["$ref"], root)
    return _WRONG_TYPES.get(_type_of(schema) if isinstance(schema, dict) else "string", 12)


def _replaced(value: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: _deeply(each, change) for name, each in value.items()}


def _deeply(value: Any, change: Callable[[Any], Any]) -> Any:
    changed = change(value)
    if changed is not value:
        return changed
    if isinstance(value, list):
        return [_deeply(each, change) for each in value]
    if isinstance(value, dict):
        return {name: _deeply(each, change) for name, each in value.items()}
    return value


def _instead(replacement: Any, fits: Callable[[Any], bool], value: Any) -> Any:
    return replacement if fits(value) else value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
