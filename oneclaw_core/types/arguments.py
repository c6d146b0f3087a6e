"""Arguments of tool calls as a model writes them: read the JSON object in a text."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

QUOTED_CHARACTERS = 200


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


def json_pointer(path: Iterable[str | int]) -> str:
    """Write a path as an RFC 6901 JSON Pointer, ``""`` for the whole document."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def shortened(text: str, limit: int = 300) -> str:
    """Cut a text that is longer than the limit, in characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


_FENCE = "```"
_LANGUAGES = ("json", "JSON")


def whole_object(text: str) -> dict[str, Any] | None:
    """Read a JSON object, also within a Markdown fence or a JSON string, as all of a text; ``None`` if it is none."""
    for _ in range(2):  # a fence in a string, or a string in a fence
        text = without_fence(text)
        try:
            return parse_arguments(text)
        except ArgumentsError:
            value = json_or_none(text)
        if not isinstance(value, str):
            return None
        text = value
    try:
        return parse_arguments(text) if text.strip() else None
    except ArgumentsError:
        return None


def without_fence(text: str) -> str:
    """Take a Markdown fence away that is around all of a text."""
    inner = text.strip()
    if len(inner) < 2 * len(_FENCE) or not (inner.startswith(_FENCE) and inner.endswith(_FENCE)):
        return text
    inner = inner[len(_FENCE) : -len(_FENCE)]
    return next((inner.removeprefix(each) for each in _LANGUAGES if inner.startswith(each)), inner)


def json_or_none(text: str) -> Any:
    """Read JSON; ``None`` if it is none."""
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return None
