"""Faults that pydantic finds in arguments, in words for a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from oneclaw_core.json_schema.nearest import Fault, FaultKind, nearest, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from oneclaw_core.json_schema.nearest import Path

_VALUE_TYPES = frozenset({"literal_error", "enum"})
_TYPE_ENDINGS = ("_type", "_parsing")


TagsOf = Callable[[str], Sequence[Any]]
_Located = tuple[tuple[int | str, ...], "ErrorDetails"]


def argument_faults_of(error: ValidationError, arguments: Mapping[str, Any], tags_of: TagsOf) -> list[Fault]:
    """Return what is wrong; of a union of types only what is wrong by the nearest of them.

    Args:
        error: of pydantic.
        arguments: that it is about.
        tags_of: returns the values that a discriminator may have; none if they are not known.
    """
    errors = error.errors(include_url=False, include_input=False)
    return _faults([(each["loc"], each) for each in errors], arguments, (), tags_of)


def _faults(errors: Sequence[_Located], value: Any, path: Path, tags_of: TagsOf) -> list[Fault]:
    """Go down from a value; what of a location is no place in it names a type that pydantic tried.

    Args:
        errors: each with the rest of its location.
        value: at the path.
        path: of the value.
        tags_of: as in :func:`argument_faults_of`.
    """
    found: list[Fault] = []
    places: dict[int | str, list[_Located]] = {}
    types: dict[int | str, list[_Located]] = {}
    for location, error in errors:
        if not location or (error["type"] == "missing" and len(location) == 1):
            found.append(_fault(error, value, path, location, tags_of))
        else:
            into = places if _is_place(value, location[0]) else types
            into.setdefault(location[0], []).append((location[1:], error))
    for part, inner in places.items():
        found += _faults(inner, value[part], (*path, part), tags_of)
    alternatives = [_faults(inner, value, path, tags_of) for inner in types.values()]
    if len(alternatives) == 1:
        found += alternatives[0]
    elif alternatives:
        found += nearest(path, alternatives, value)
    return found


def _is_place(value: Any, part: int | str) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(value)


def _fault(error: ErrorDetails, value: Any, path: Path, location: Path, tags_of: TagsOf) -> Fault:
    kind, message, context = error["type"], error["msg"], error.get("ctx", {})
    if location:
        return Fault((*path, *location), message)
    name = str(context.get("discriminator", "")).strip("'")
    if kind == "union_tag_not_found":
        tags = ", ".join(map(shown, tags_of(name)))
        return Fault((*path, name), f"Field required: one of {tags}") if tags else Fault(path, message)
    if kind == "union_tag_invalid":
        place = (*path, name) if isinstance(value, dict) and name in value else path
        text = f"{shown(context.get('tag'))} is not one of the expected tags {context.get('expected_tags')}"
        return Fault(place, text, FaultKind.VALUE)
    if kind in _VALUE_TYPES:
        return Fault(path, message, FaultKind.VALUE)
    return Fault(path, message, FaultKind.TYPE if kind.endswith(_TYPE_ENDINGS) else FaultKind.DETAIL)
