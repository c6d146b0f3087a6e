"""Faults of arguments in words for a model; of a union, those of its nearest alternative.

A union is ``anyOf`` or ``oneOf`` of a schema, or ``A | B`` of type hints. Without this, a model reads that its value
fits none of them, or the errors of all of them. The best match of jsonschema is not used, because it prefers the
deepest error: of tagged objects, that of the wrong tag.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from oneclaw_core.types.arguments import json_pointer

if TYPE_CHECKING:
    import pydantic
    from jsonschema import ValidationError
    from pydantic_core import ErrorDetails

Path = tuple[str | int, ...]
_MOST_ALTERNATIVES = 3
_MOST_VALUES = 20


class FaultKind(IntEnum):
    """The degree to which a fault rules an alternative out."""

    DETAIL = 0
    VALUE = 1
    TYPE = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong with arguments.

    Attributes:
        path: of the value.
        message: what was expected.
        kind: ``VALUE`` if it is none of the values that are listed, ``TYPE`` if it is of another type.
        expected: the values that are listed, or that the tag which is missing could have.
        missing: the property that is missing; ``None`` for another fault.
    """

    path: Path
    message: str
    kind: FaultKind = FaultKind.DETAIL
    expected: tuple[Any, ...] = ()
    missing: str | None = None


def faults_of(errors: Iterable[ValidationError]) -> list[Fault]:
    """Return what is wrong by errors of jsonschema, of a union only what is wrong by its nearest alternative."""
    return [fault for error in errors for fault in _faults_of(error)]


def errors_by_alternative(error: ValidationError) -> list[list[ValidationError]]:
    """Group the errors of ``anyOf`` and ``oneOf`` by the alternative; ``false``, which nothing fits, is none."""
    alternatives: dict[int | str, list[ValidationError]] = {}
    for each in (error.context or ()) if error.validator in ("anyOf", "oneOf") else ():
        if each.schema_path:
            alternatives.setdefault(each.schema_path[0], []).append(each)
    return list(alternatives.values())


def _faults_of(error: ValidationError) -> list[Fault]:
    path, value = tuple(error.absolute_path), error.validator_value
    if alternatives := errors_by_alternative(error):
        return nearest(path, [faults_of(each) for each in alternatives], error.instance)
    if error.validator == "enum" and isinstance(value, list):
        return [Fault(path, error.message, FaultKind.VALUE, tuple(value))]
    if error.validator == "const":
        return [Fault(path, error.message, FaultKind.VALUE, (value,))]
    if error.validator == "type":
        return [Fault(path, error.message, FaultKind.TYPE)]
    if error.validator == "required" and isinstance(error.instance, dict) and isinstance(value, list):
        name = next((each for each in value if each not in error.instance and repr(each) in error.message), None)
        return [Fault(path, error.message, expected=_values_of(error.schema, name), missing=name)]
    return [Fault(path, error.message)]


def _values_of(schema: Any, name: str | None) -> tuple[Any, ...]:
    """Return the only values that a property may have; none if it may have any."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    found = properties.get(name) if isinstance(properties, dict) else None
    if not isinstance(found, dict):
        return ()
    return (found["const"],) if "const" in found else tuple(found.get("enum", ()))


def nearest(path: Path, alternatives: Sequence[list[Fault]], value: Any) -> list[Fault]:
    """Return the faults of the alternatives that are the nearest to a value; of several, as one fault.

    Args:
        path: of the value.
        alternatives: the faults of each.
        value: which fits into none of them.
    """
    tag = _wrong_tag(path, alternatives, value)
    if tag is not None:
        return [tag]
    ranks = [_rank(path, each) for each in alternatives]
    best = [each for each, rank in zip(alternatives, ranks, strict=True) if rank == min(ranks)]
    if len(best) == 1:
        return best[0]
    return [_joined(path, best)]


def _rank(path: Path, faults: list[Fault]) -> tuple[int, int]:
    """Rank an alternative: one for values of another type is the farthest, one with another tag is far."""
    depths = [(each.kind, len(each.path) - len(path)) for each in faults]
    if any(kind is FaultKind.TYPE and not depth for kind, depth in depths):
        return 2, 0
    return int(any(kind is FaultKind.VALUE and depth <= 1 for kind, depth in depths)), len(faults)


def _wrong_tag(path: Path, alternatives: Sequence[list[Fault]], value: Any) -> Fault | None:
    """Return one fault for the tag of all objects of a union, or for the one of all values that are listed."""
    objects = [each for each in alternatives if _rank(path, each)[0] < FaultKind.TYPE]
    if len(objects) < 2:
        return None
    for first in objects[0]:
        same = [[each for each in faults if _is_same_place(each, first)] for faults in objects]
        if not first.expected or not all(same):
            continue
        values = list(dict.fromkeys(map(shown, (value for faults in same for value in faults[0].expected))))
        listed = ", ".join(values[:_MOST_VALUES]) + (", …" if len(values) > _MOST_VALUES else "")
        if first.missing is not None:
            return replace(first, message=f"{first.missing!r} is a required property: one of {listed}")
        return replace(first, message=f"{shown(_value_at(value, first.path[len(path) :]))} is not one of {listed}")
    return None


def _is_same_place(one: Fault, other: Fault) -> bool:
    is_tag = one.kind is FaultKind.VALUE or one.missing is not None
    return is_tag and (one.path, one.kind, one.missing) == (other.path, other.kind, other.missing)


def _value_at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _joined(path: Path, alternatives: Sequence[list[Fault]]) -> Fault:
    """Make one fault of what is wrong by several alternatives."""
    texts = dict.fromkeys("; ".join(_relative(path, fault) for fault in faults) for faults in alternatives)
    shown_texts = list(texts)[:_MOST_ALTERNATIVES]
    kinds = {fault.kind for faults in alternatives for fault in faults}
    begin, is_type, _ = shown_texts[0].partition(" is not of type ")
    if is_type and all(each.startswith(begin + is_type) for each in shown_texts):
        shown_texts[1:] = [each.removeprefix(begin + is_type) for each in shown_texts[1:]]
        message = " or ".join(shown_texts)
    else:
        message = ", or ".join(shown_texts)
    message += ", or …" if len(texts) > len(shown_texts) else ""
    return Fault(path, message, kinds.pop() if len(kinds) == 1 else FaultKind.DETAIL)


def _relative(path: Path, fault: Fault) -> str:
    place = json_pointer(fault.path[len(path) :])
    return f"{place.removeprefix('/')}: {fault.message}" if place else fault.message


def shown(value: Any) -> str:
    """Write a value as Python writes texts and JSON the rest, cut if it is long."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 80 else f"{text[:79]}…"


_VALUE_TYPES = frozenset({"literal_error", "enum"})
_TYPE_ENDINGS = ("_type", "_parsing")


TagsOf = Callable[[str], Sequence[Any]]
_Located = tuple[tuple[int | str, ...], "ErrorDetails"]


def argument_faults_of(error: pydantic.ValidationError, arguments: Mapping[str, Any], tags_of: TagsOf) -> list[Fault]:
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
