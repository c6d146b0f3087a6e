"""Arguments that a model wrote almost right: ``"2"`` for an integer, JSON within a string or a Markdown fence.

Small models do so often. Where jsonschema finds a string in the wrong place, the string is read as what the schema
wants, if it has one reading. The caller validates the arguments again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from referencing.exceptions import Unresolvable

from oneclaw_core.json_schema.faults import errors_by_alternative
from oneclaw_core.json_schema.validation import CheckTakesTooLongError, compile_schema, schema_errors
from oneclaw_core.types.arguments import finite_float, json_or_none, whole_object, without_absent, without_fence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jsonschema import ValidationError

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,30})", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?", re.ASCII)
_CONSTANTS: dict[str, tuple[str, Any]] = {
    "true": ("boolean", True),
    "false": ("boolean", False),
    "null": ("null", None),
}
# A string can hold JSON with strings that hold JSON.
_MOST_PASSES = 4
_SECONDS = 1.0


def lenient_reading(text: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read arguments that are not valid as they are; whether they are now is for the caller to find out.

    Returns:
        The arguments, the values of some places changed; ``None`` if the text has no reading as an object.
    """
    arguments = whole_object(text)
    if arguments is None:
        return None
    arguments = without_absent(arguments, schema)
    validator = compile_schema(schema)
    try:
        for _ in range(_MOST_PASSES):
            errors = schema_errors(validator, arguments, seconds=_SECONDS)
            if not sum(_read_at(arguments, place, types) for place, types in _wanted_types(errors).items()):
                break
    except (CheckTakesTooLongError, RecursionError, OverflowError, re.error, Unresolvable):
        pass  # the caller says so when it validates them
    return arguments


def _wanted_types(errors: Iterable[ValidationError]) -> dict[tuple[str | int, ...], frozenset[str]]:
    """Find the types that strings in the wrong place should have; none for a string that is wrong in another way."""
    wanted: dict[tuple[str | int, ...], frozenset[str]] = {}
    for error in errors:
        place = tuple(error.absolute_path)
        if isinstance(error.instance, str):
            types = _types(error)
        elif (branch := _only_branch(error)) is not None:
            for inner, inner_types in _wanted_types(branch).items():
                wanted[inner] = wanted.get(inner, inner_types) & inner_types
            continue
        else:
            continue
        wanted[place] = wanted.get(place, types) & types
    return wanted


def _types(error: ValidationError) -> frozenset[str]:
    value: Any = error.validator_value
    if error.validator == "type":
        return frozenset([value] if isinstance(value, str) else value)
    if error.validator in ("enum", "const"):
        return frozenset().union(*map(_types_of, value if error.validator == "enum" else [value]))
    branches = [frozenset.intersection(*map(_types, branch)) for branch in errors_by_alternative(error)]
    # A branch whose pattern or length is wrong takes a string.
    return frozenset().union(*branches) if all(branches) else frozenset()


def _only_branch(error: ValidationError) -> list[ValidationError] | None:
    """Return the errors of the only alternative that takes a value of its type."""
    fitting = [
        branch
        for branch in errors_by_alternative(error)
        if not any(each.validator == "type" and not each.relative_path for each in branch)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _read_at(arguments: dict[str, Any], place: tuple[str | int, ...], types: frozenset[str]) -> bool:
    """Read the string at a place, if it has one reading; return True if it has."""
    if not types:
        return False
    holder: Any = arguments
    for part in place[:-1]:
        holder = holder[part]
    readings = list(_readings(holder[place[-1]], types))
    if len(readings) == 1:
        holder[place[-1]] = readings[0]
    return len(readings) == 1


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
        value = json_or_none(without_fence(text))
        if isinstance(value, dict | list) and ("object" if isinstance(value, dict) else "array") in types:
            yield value


def _types_of(value: Any) -> frozenset[str]:
    if isinstance(value, bool):
        return frozenset({"boolean"})
    if isinstance(value, int | float):
        return frozenset({"integer", "number"})
    kinds = ((str, "string"), (dict, "object"), (list, "array"), (type(None), "null"))
    return frozenset(name for kind, name in kinds if isinstance(value, kind))
