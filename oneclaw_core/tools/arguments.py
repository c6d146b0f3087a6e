"""From the text that a model wrote to arguments that fit a tool."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

QUOTED_CHARACTERS = 200


class ArgumentsError(Exception):
    """The text is no JSON object; the message quotes the fault."""


def parse_arguments(text: str) -> dict[str, Any]:
    """Read the JSON object that a model wrote as arguments; nothing at all counts as no arguments.

    Raises:
        ArgumentsError: it is something else, with the place and the text around it.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=finite_float)
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


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _quote(text: str) -> str:
    return repr(text if len(text) <= QUOTED_CHARACTERS else text[:QUOTED_CHARACTERS] + "…")
