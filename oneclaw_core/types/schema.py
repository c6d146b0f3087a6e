"""JSON Schemas of tools: check that they are well-formed, and that no expression in them searches without end.

The full check of a schema takes 1.5 ms and the import of jsonschema 160 ms. A program that lists a hundred tools
would spend most of its time on that, so schemas that use common keywords in the plain way are passed by a table;
jsonschema has the last word on everything else.
"""

from __future__ import annotations

import re
from itertools import repeat
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import ToolDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Of schemas within schemas that are looked at here; jsonschema refuses what goes much deeper, on every Python.
_MOST_LEVELS = 50
_TYPE_NAMES = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})


def check_parameters_schema(tool_name: str, schema: object) -> None:
    """Refuse a schema that is not the JSON Schema of an object.

    Raises:
        ToolDefinitionError: with the JSON Pointer of the fault.
    """
    if not isinstance(schema, dict):
        raise ToolDefinitionError(f"tool {tool_name!r}: parameters must be a JSON Schema object", "/parameters")
    if schema.get("type") != "object":
        raise ToolDefinitionError(
            f"tool {tool_name!r}: the type of parameters must be 'object', not {schema.get('type')!r}",
            "/parameters/type",
        )
    _check(tool_name, schema, "parameters", "the schema of its parameters is")


def check_output_schema(tool_name: str, schema: object) -> None:
    """Refuse a schema of results that is no JSON Schema.

    Raises:
        ToolDefinitionError: with the JSON Pointer of the fault.
    """
    if not isinstance(schema, dict):
        raise ToolDefinitionError(f"tool {tool_name!r}: output_schema must be a JSON Schema object", "/output_schema")
    _check(tool_name, schema, "output_schema", "output_schema is")


def _check(tool_name: str, schema: dict[str, Any], where: str, noun: str) -> None:
    try:
        if not _is_plainly_valid(schema):
            _check_in_full(tool_name, schema, where)
    except RecursionError:
        raise ToolDefinitionError(f"tool {tool_name!r}: {noun} nested too deeply", f"/{where}") from None


def _is(*kinds: type) -> Callable[[object], bool]:
    return lambda value: type(value) in kinds


def _is_anything(value: object) -> bool:
    return True


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_list_of_distinct_names(value: object) -> bool:
    return type(value) is list and all(type(each) is str for each in value) and len(set(value)) == len(value)


def _is_type(value: object) -> bool:
    if isinstance(value, str):
        return value in _TYPE_NAMES
    return isinstance(value, list) and len(value) > 0 and _is_list_of_distinct_names(value) and {*value} <= _TYPE_NAMES


def _is_pattern(value: object) -> bool:
    try:
        re.compile(value)  # type: ignore[call-overload]  # a wrong type is one of the faults looked for
    except (TypeError, re.error, OverflowError):
        return False
    return True


def _is_schema(value: object, levels: int) -> bool:
    return isinstance(value, bool) or (isinstance(value, dict) and _is_plainly_valid(value, levels))


def _is_map_of_schemas(value: object, levels: int) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values(), repeat(levels)))


def _is_list_of_schemas(value: object, levels: int) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value, repeat(levels)))


_PLAIN_KEYWORDS: dict[str, Callable[[object], bool]] = {
    "type": _is_type,
    "required": _is_list_of_distinct_names,
    "pattern": _is_pattern,
    "uniqueItems": _is(bool),
    **dict.fromkeys(("title", "description", "format"), _is(str)),
    **dict.fromkeys(("examples", "enum"), _is(list)),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is(int, float)),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    # The last is of OpenAPI, and no keyword of JSON Schema.
    **dict.fromkeys(("default", "const", "discriminator"), _is_anything),
}
_NESTING_KEYWORDS: dict[str, Callable[[object, int], bool]] = {
    "properties": _is_map_of_schemas,
    **dict.fromkeys(("additionalProperties", "items"), _is_schema),
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), _is_list_of_schemas),
}


def _is_plainly_valid(schema: Mapping[str, Any], levels: int = _MOST_LEVELS) -> bool:
    for name, value in schema.items():
        if (is_plain := _PLAIN_KEYWORDS.get(name)) is not None:
            if not is_plain(value):
                return False
            continue
        is_plain_inside = _NESTING_KEYWORDS.get(name)
        if is_plain_inside is None or not levels or not is_plain_inside(value, levels - 1):
            return False
    return True


_NOUNS = {"parameters": "parameters are", "output_schema": "output_schema is"}


def _check_in_full(tool_name: str, schema: dict[str, Any], where: str) -> None:
    from jsonschema import Draft202012Validator, FormatChecker

    from oneclaw_core.types.arguments import json_pointer, shortened

    # A pattern that cannot be compiled would fail at every call instead of once, here.
    validator = Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=FormatChecker(["regex"]))
    try:
        fault = next(iter(validator.iter_errors(schema)), None)
    except OverflowError as error:
        raise ToolDefinitionError(f"tool {tool_name!r}: a pattern cannot be compiled: {error}", f"/{where}") from None
    if fault is not None:
        pointer = f"/{where}" + json_pointer(fault.absolute_path)
        raise ToolDefinitionError(
            f"tool {tool_name!r}: {_NOUNS[where]} no valid JSON Schema: {shortened(fault.message)}", pointer
        )
    boundless = boundless_property_pattern(schema)
    if boundless is not None:
        raise ToolDefinitionError(
            f"tool {tool_name!r}: in patternProperties {shortened(boundless, 100)!r} can take forever to match: "
            "write it without repeated groups, and with few repetitions",
            f"/{where}",
        )


# Among names of properties jsonschema itself searches, which knows of no bound.
LONGEST_MATCHED_NAME = 100
# What stands there is data, whatever it looks like.
_DATA = frozenset({"const", "enum", "default", "examples"})


def boundless_property_pattern(schema: Mapping[str, Any]) -> str | None:
    """Find an expression in a schema's ``patternProperties`` that may search without end, ``None`` if all are quick."""
    waiting: list[Any] = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, dict):
            waiting += [value for name, value in each.items() if name not in _DATA]
            patterns = each.get("patternProperties")
            for pattern in patterns if isinstance(patterns, dict) else ():
                if not is_quick(pattern, LONGEST_MATCHED_NAME):
                    return str(pattern)
    return None


# Ways to match a text, at most, that Python's engine tries: a fraction of a second, if it tries them all.
_MOST_WAYS = 2_000_000
# Not compiled here: listings import this module, and few schemas have patterns.
_ESCAPE_OR_SET = r"(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"
_REPEATED_GROUP = r"\)(?:[*+]|\{)"
_BEGINNING_OF_GROUP = r"\(\?"
_REPETITION = r"[*+]|\{\d*,\d*\}"
# It lets blanks and comments stand between a group and its repetition.
_VERBOSE = r"\(\?[a-zA-Z]*x"


def is_quick(pattern: str, length: int) -> bool:
    """Return True if a search cannot take long, by a bound that most expressions stay far below.

    Every repetition can begin at, or go on to, any place of the text; every option and alternative doubles the ways.
    A repeated group multiplies them by itself, so there is no such bound.
    """
    plain = re.sub(_BEGINNING_OF_GROUP, "(", re.sub(_ESCAPE_OR_SET, "x", pattern))
    if re.search(_REPEATED_GROUP, plain) or re.search(_VERBOSE, pattern):
        return False
    repetitions = len(re.findall(_REPETITION, plain))
    choices = plain.count("?") + plain.count("|")
    if repetitions > 20 or choices > 20:
        return False
    is_anchored = plain.startswith("^") and "|" not in plain
    ways: int = (length + 1) ** (repetitions + (not is_anchored)) * 2**choices
    return ways <= _MOST_WAYS
