"""Arguments of tool calls: parse and validate them in bounded time.

A schema of a few lines can ask for more checks than there are atoms (``$ref`` that doubles at each step), compare every
element of an array with every other one (``uniqueItems``), or search with an expression that never ends (``pattern``).
Arguments come from a model, and schemas from manifests that a model may have written.
"""

from __future__ import annotations

import json
import math
import re
import time
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from oneclaw_core.json_schema.nearest import faults_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

    from oneclaw_core.json_schema.nearest import Fault

QUOTED_CHARACTERS = 200
# A list can have one for each of its elements; no one reads so many, and finding them takes time.
MOST_FAULTS = 50


class ArgumentsError(Exception):
    """The text is not a JSON object; the message quotes the fault."""


def parse_arguments(text: str) -> dict[str, Any]:
    """Read the JSON object that a model wrote as arguments; nothing at all counts as no arguments.

    Raises:
        ArgumentsError: it is something else, with the place and the text around it.
    """
    if not text.strip():
        return {}
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        around = text[max(0, error.pos - 40) : error.pos + 40]
        raise ArgumentsError(
            f"the arguments are not valid JSON: {error.msg} at character {error.pos + 1}, near {around!r}"
        ) from None
    except RecursionError:
        raise ArgumentsError("the arguments are nested too deeply") from None
    except ValueError as error:  # NaN, Infinity, or a number that is too large
        raise ArgumentsError(f"the arguments are not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ArgumentsError(f"the arguments must be a JSON object, not {_quote(text)}")
    return value


def parse_json(text: str) -> Any:
    """Read JSON that can be written again.

    Raises:
        ValueError: it is none, or has a number that JSON cannot hold.
        RecursionError: it is nested too deeply.
    """
    return _DECODER.decode(text)


def finite_float(text: str) -> float:
    """Read a number with a fraction or an exponent: JSON has 1e999, and nothing that it could be written as again.

    Raises:
        ValueError: it is larger than any number of a computer's.
    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


def without_absent(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out nulls that stand for an absent value: those of a parameter whose schema does not take null."""
    properties = schema.get("properties", {})
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name not in properties or _takes_null(properties[name])
    }


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return schema is True
    if "type" in schema:
        return schema["type"] == "null" or (isinstance(schema["type"], list) and "null" in schema["type"])
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return any(_takes_null(each) for each in schema[keyword])
    if "enum" in schema:
        return None in schema["enum"]
    return "$ref" not in schema


def refuse_constant(name: str) -> None:
    """Refuse ``NaN`` and ``Infinity``, which Python reads and JSON does not have."""
    raise ValueError(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=refuse_constant, parse_float=finite_float)


def _quote(text: str) -> str:
    return repr(text if len(text) <= QUOTED_CHARACTERS else text[:QUOTED_CHARACTERS] + "…")


@dataclass(frozen=True, eq=False)
class ArgumentsValidator:
    """A schema of arguments, ready to check them; see :func:`argument_faults`."""

    schema: Mapping[str, Any]

    @cached_property
    def full(self) -> Validator:
        """The validator of jsonschema, which is slow to import. It fetches no remote reference and always ends."""
        from referencing import Registry

        made: Validator = _validator_class()(dict(self.schema), registry=Registry())
        return made


def compile_schema(schema: Mapping[str, Any]) -> ArgumentsValidator:
    """Make a validator of arguments that never fetches a remote reference, and always ends.

    Args:
        schema: a schema that :func:`~oneclaw_core.json_schema.schema.check_parameters_schema` has passed.
    """
    return ArgumentsValidator(schema)


def argument_faults(validator: ArgumentsValidator, arguments: Any) -> list[str]:
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
    validator: ArgumentsValidator, arguments: Mapping[str, Any], most: int | None = None, seconds: float | None = None
) -> list[ValidationError]:
    """List the errors that jsonschema finds in arguments.

    Raises:
        CheckTakesTooLongError: they were not found in time.
    """
    token = _deadline.set(time.monotonic() + (CHECK_SECONDS if seconds is None else seconds))
    try:
        return list(islice(validator.full.iter_errors(arguments), most))
    finally:
        _deadline.reset(token)


CHECK_SECONDS = 3.0
# Among names of properties jsonschema itself searches, which knows of no bound.
LONGEST_MATCHED_NAME = 100
_MATCHING = frozenset({"patternProperties", "unevaluatedProperties"})
# What stands there is data, whatever it looks like.
_DATA = frozenset({"const", "enum", "default", "examples"})

_deadline: ContextVar[float] = ContextVar("deadline")


class CheckTakesTooLongError(Exception):
    """True if the schema could not be checked in time."""


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


SEARCH_SECONDS = 1.0
# Ways to match a text, at most, that Python's engine tries: a fraction of a second, if it tries them all.
_MOST_WAYS = 2_000_000
# Not compiled here: listings import this module, and few schemas have patterns.
_ESCAPE_OR_SET = r"(?s)\\.|\[\^?\]?(?:\\.|[^\]\\])*\]"
_REPEATED_GROUP = r"\)(?:[*+]|\{)"
_BEGINNING_OF_GROUP = r"\(\?"
_REPETITION = r"[*+]|\{\d*,\d*\}"
# It lets blanks and comments stand between a group and its repetition.
_VERBOSE = r"\(\?[a-zA-Z]*x"
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


def json_pointer(path: Iterable[str | int]) -> str:
    """Write a path as an RFC 6901 JSON Pointer, ``""`` for the whole document."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def shortened(text: str, limit: int = 300) -> str:
    """Cut a text that is longer than the limit, in characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
