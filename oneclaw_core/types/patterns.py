"""Regular expressions of foreign schemas: find those that may search without end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

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
