"""jsonschema's validator, made to come to an end whatever schema and arguments are meant to do to it.

A schema of a few lines can ask for more checks than there are atoms (``$ref`` that doubles at each step), compare every
element of an array with every other one (``uniqueItems``), or search with an expression that never ends (``pattern``).
Arguments come from a model, and schemas from manifests that a model may have written.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools.bounded_patterns import SearchTakesTooLongError, is_found, is_quick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jsonschema.protocols import Validator

CHECK_SECONDS = 3.0
# Among names of properties jsonschema itself searches, which knows of no bound.
LONGEST_MATCHED_NAME = 100
_MATCHING = frozenset({"patternProperties", "unevaluatedProperties"})
# What stands there is data, whatever it looks like.
_DATA = frozenset({"const", "enum", "default", "examples"})

_deadline: ContextVar[float] = ContextVar("deadline")


class CheckTakesTooLongError(Exception):
    """Whether arguments fit a schema could not be found out in time."""


@contextmanager
def limited_time() -> Iterator[None]:
    """Give what is checked in the block ``CHECK_SECONDS``."""
    token = _deadline.set(time.monotonic() + CHECK_SECONDS)
    try:
        yield
    finally:
        _deadline.reset(token)


def make_validator(schema: Mapping[str, Any]) -> Validator:
    """Make a validator that never fetches a remote reference, and keeps to the time of :func:`limited_time`.

    Args:
        schema: of arguments.
    """
    from referencing import Registry

    made: Validator = _validator_class()(dict(schema), registry=Registry())
    return made


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


@cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator, validators

    own: dict[str, Callable[..., Any]] = {"pattern": _pattern, "uniqueItems": _unique_items}
    known: Mapping[str, Any] = Draft202012Validator.VALIDATORS
    extend: Any = validators.extend  # it has no types
    bounded = extend(
        Draft202012Validator, {name: _in_time(name, own.get(name, check)) for name, check in known.items()}
    )
    evolve = bounded.evolve

    def keep_class(self: Any, **changes: Any) -> Any:
        # A part of the schema that names another dialect would be checked by that one's own, boundless validator.
        schema = changes.get("schema", self.schema)
        if isinstance(schema, dict) and "$schema" in schema:
            changes["schema"] = {name: value for name, value in schema.items() if name != "$schema"}
        return evolve(self, **changes)

    bounded.evolve = keep_class
    return bounded


def _in_time(keyword: str, check: Callable[..., Any]) -> Callable[..., Any]:
    def checked(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        if time.monotonic() > _deadline.get():
            raise CheckTakesTooLongError
        return check(validator, value, instance, schema)

    def checked_with_names(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        is_searched = keyword in _MATCHING or "patternProperties" in schema
        if is_searched and isinstance(instance, dict) and any(len(name) > LONGEST_MATCHED_NAME for name in instance):
            raise CheckTakesTooLongError
        return checked(validator, value, instance, schema)

    return checked_with_names if keyword in _MATCHING or keyword == "additionalProperties" else checked


def _pattern(validator: Any, pattern: str, instance: Any, schema: object) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not validator.is_type(instance, "string"):
        return
    try:
        if not is_found(pattern, instance):
            yield ValidationError(f"{instance!r} does not match {pattern!r}")
    except SearchTakesTooLongError:
        yield ValidationError(f"whether it matches {pattern!r} could not be found out in time")


def _unique_items(validator: Any, is_wanted: bool, instance: Any, schema: object) -> Iterator[Any]:
    from jsonschema import ValidationError

    if not is_wanted or not validator.is_type(instance, "array"):
        return
    if len({_comparable(each) for each in instance}) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _comparable(value: Any) -> Any:
    """Something that is equal for values that JSON Schema takes for equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return frozenset((name, _comparable(each)) for name, each in value.items())
    if isinstance(value, list):
        return ("list", *(_comparable(each) for each in value))
    return ("flag", value) if isinstance(value, bool) else value
