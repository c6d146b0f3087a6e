"""Validate arguments of tool calls by their schema in bounded time.

A schema of a few lines can ask for more checks than there are atoms (``$ref`` that doubles at each step), compare every
element of an array with every other one (``uniqueItems``), or search with an expression that never ends (``pattern``).
Arguments come from a model, and schemas from manifests that a model may have written.
"""

from __future__ import annotations

import re
import time
from contextvars import ContextVar
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from oneclaw_core.json_schema.faults import Fault, faults_of
from oneclaw_core.types.arguments import json_pointer, shortened
from oneclaw_core.types.schema import LONGEST_MATCHED_NAME, is_quick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jsonschema import ValidationError
    from jsonschema.protocols import Validator


# A list can have one for each of its elements; no one reads so many, and finding them takes time.
MOST_FAULTS = 50


def compile_schema(schema: Mapping[str, Any]) -> Validator:
    """Make a validator of arguments that never fetches a remote reference, and always ends.

    Args:
        schema: a schema that :func:`~oneclaw_core.types.schema.check_parameters_schema` has passed.
    """
    from referencing import Registry

    made: Validator = _validator_class()(dict(schema), registry=Registry())
    return made


def argument_faults(validator: Validator, arguments: Any) -> list[str]:
    """Say everything that is wrong with the arguments, each fault with its JSON Pointer and what was expected.

    Of ``anyOf`` and ``oneOf``, what is wrong by the nearest alternative.

    Returns:
        One text for each fault, none if the arguments fit; of very many, the first ones.
    """
    try:
        found = schema_errors(validator, arguments, MOST_FAULTS + 1)
    except RecursionError:
        return ["/: nested too deeply"]
    except CheckTakesTooLongError:
        return ["/: whether they fit could not be found out in time; give less at once"]
    except OverflowError:
        return ["/: a number is too large"]
    except re.error as error:  # of a foreign schema
        return [f"/: whether they fit could not be found out, because of a pattern: {error}"]
    return fault_texts(sorted(faults_of(found), key=lambda fault: [str(part) for part in fault.path]))


def fault_texts(faults: Iterable[Fault]) -> list[str]:
    """Write faults, each with its JSON Pointer; of very many, the first ones."""
    texts = list(dict.fromkeys(f"{json_pointer(each.path) or '/'}: {shortened(each.message)}" for each in faults))
    return [*texts[:MOST_FAULTS], "/: and more"] if len(texts) > MOST_FAULTS else texts


def schema_errors(
    validator: Validator, arguments: Mapping[str, Any], most: int | None = None, seconds: float | None = None
) -> list[ValidationError]:
    """List the errors that jsonschema finds in arguments.

    Raises:
        CheckTakesTooLongError: they were not found in time.
    """
    token = _deadline.set(time.monotonic() + (CHECK_SECONDS if seconds is None else seconds))
    try:
        return list(islice(validator.iter_errors(arguments), most))
    finally:
        _deadline.reset(token)


CHECK_SECONDS = 3.0
_MATCHING = frozenset({"patternProperties", "unevaluatedProperties"})
_deadline: ContextVar[float] = ContextVar("deadline")


class CheckTakesTooLongError(Exception):
    """True if the schema could not be checked in time."""


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


SEARCH_SECONDS = 1.0
# Python's own expressions have no fuzzy matches such as "a{e}" and no classes such as "[[:alpha:]]".
_ESCAPE_SET_OR_BRACE = (
    r"(?s)\\.|\[(?P<negation>\^?)(?P<members>\]?(?:\\.|[^\]\\])*)\]|(?P<brace>\{(?!\d+(?:,\d*)?\}|,\d*\}))"
)
_MEMBER_WITH_A_MEANING = r"(?s)\\.|[\[\]&|~]"


class SearchTakesTooLongError(Exception):
    """A search was not finished in time."""


def is_found(pattern: str, text: str) -> bool:
    """Return True if an expression is found in a text.

    Raises:
        SearchTakesTooLongError: the search was not finished after ``SEARCH_SECONDS``.
    """
    if is_quick(pattern, len(text)):
        return re.search(pattern, text) is not None
    import regex

    translated = re.sub(_ESCAPE_SET_OR_BRACE, _escaped, pattern)
    try:
        return regex.search(translated, text, timeout=SEARCH_SECONDS, concurrent=True) is not None
    except (TimeoutError, MemoryError, regex.error):
        raise SearchTakesTooLongError from None


def _escaped(match: re.Match[str]) -> str:
    """Escape what ``regex`` reads in another way than ``re``."""
    if match["brace"]:
        return r"\{"
    if match["members"] is None:
        return match[0]

    def escaped(member: re.Match[str]) -> str:
        return member[0] if member[0].startswith("\\") else f"\\{member[0]}"

    members = re.sub(_MEMBER_WITH_A_MEANING, escaped, match["members"])
    return f"[{match['negation']}{members}]"
