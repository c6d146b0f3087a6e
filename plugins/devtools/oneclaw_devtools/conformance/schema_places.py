"""Going through a JSON Schema: every schema in it, with where it stands. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MAX_PLACES = 5_000
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")


@dataclass(frozen=True, slots=True)
class Place:
    """A schema within a schema.

    Attributes:
        schema: what stands there.
        path: the parameter, such as ``filter.name`` or ``rows[]``; ``""`` for the whole.
        depth: how many objects and arrays it stands within.
        is_parameter: whether it is a property, and not an alternative or a part of one.
        is_top: whether it is a parameter of the tool itself.
        is_part: whether it adds to a schema that stands around it.
        is_recursive: whether it refers to a schema that it stands in.
    """

    schema: Mapping[str, Any]
    path: str = ""
    depth: int = 0
    is_parameter: bool = False
    is_top: bool = False
    is_part: bool = False
    is_recursive: bool = False


def places(root: Mapping[str, Any]) -> Iterator[Place]:
    """Find every schema within a tool's parameters, the whole first; references are followed once each.

    Args:
        root: JSON Schema of an object.
    """
    remaining = [(Place(root), frozenset[str]())]
    followed: set[str] = set()
    count = 0
    while remaining and count < _MAX_PLACES:
        place, within = remaining.pop(0)
        count += 1
        reference = place.schema.get("$ref")
        if isinstance(reference, str):
            is_recursive = reference in within or reference in ("#", "#/")
            place = replace(place, is_recursive=is_recursive)
            target = referred(reference, root)
            if isinstance(target, dict) and not is_recursive and reference not in followed:
                followed.add(reference)
                inner = Place(target, place.path, place.depth, is_part=True)
                remaining.append((inner, within | {reference}))
        yield place
        remaining.extend((each, within) for each in _within(place))


def referred(reference: object, root: Mapping[str, Any]) -> Any:
    """Find what a reference leads to within the schema; ``None`` if it leads nowhere, or elsewhere."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference[1:].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def _within(place: Place) -> Iterator[Place]:
    schema, path, depth = place.schema, place.path, place.depth
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, each in properties.items():
            inner = f"{path}.{name}" if path else str(name)
            # true, or {}: anything goes
            found = each if isinstance(each, dict) else {}
            yield Place(found, inner, depth + 1, is_parameter=True, is_top=not path)
    for key in _SINGLE:
        if isinstance(schema.get(key), dict):
            is_within = key in ("items", "additionalProperties", "contains")
            suffix = "[]" if key == "items" else ""
            yield Place(schema[key], path + suffix, depth + 1 if is_within else depth, is_part=not is_within)
    for key in _LISTS:
        members = schema.get(key)
        for each in members if isinstance(members, list) else ():
            if isinstance(each, dict):
                yield Place(each, path, depth, is_part=True)
