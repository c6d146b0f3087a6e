"""Searching with regular expressions that nobody has checked, in bounded time.

Python's engine goes back over a text in as many ways as the expression allows, which may take longer than anybody
lives, and nothing can stop it within its process. So what may take long is searched for in a process of its own.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

SEARCH_SECONDS = 1.0
# Ways to go through a text, at most, that are gone here: a fraction of a second, were they all gone.
_MOST_WAYS = 2_000_000
_ESCAPE_OR_SET = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{)")
_BEGINNING_OF_GROUP = re.compile(r"\(\?")
_REPETITION = re.compile(r"[*+]|\{\d*,\d*\}")
# It lets blanks and comments stand between a group and what repeats it.
_VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")
_PROGRAM = (
    "import json, re, sys; pattern, text = json.load(sys.stdin); print(int(re.search(pattern, text) is not None))"
)


class SearchTakesTooLongError(Exception):
    """Whether the expression matches could not be found out in time."""


def is_found(pattern: str, text: str) -> bool:
    """Whether an expression is found in a text.

    Args:
        pattern: one that can be compiled.
        text: where it is looked for.

    Raises:
        SearchTakesTooLongError: it was not known after ``SEARCH_SECONDS``.
    """
    if is_quick(pattern, len(text)):
        return re.search(pattern, text) is not None
    try:
        done = subprocess.run(  # noqa: S603  # the program is the one above; pattern and text are its input
            [sys.executable, "-I", "-S", "-W", "ignore", "-c", _PROGRAM],
            input=json.dumps([pattern, text]),
            capture_output=True,
            text=True,
            encoding="ascii",
            timeout=SEARCH_SECONDS,
            check=True,
        )
    except (subprocess.SubprocessError, OSError):
        raise SearchTakesTooLongError from None
    return done.stdout.strip() == "1"


def is_quick(pattern: str, length: int) -> bool:
    """Whether a search cannot take long, going by a bound that most expressions stay far below.

    Every repetition can begin at, or go on to, any place of the text; every option and alternative doubles the ways.
    A repeated group multiplies them by itself, so there is no such bound.

    Args:
        pattern: a regular expression.
        length: of the text, in characters.
    """
    plain = _BEGINNING_OF_GROUP.sub("(", _ESCAPE_OR_SET.sub("x", pattern))
    if _REPEATED_GROUP.search(plain) or _VERBOSE.search(pattern):
        return False
    repetitions = len(_REPETITION.findall(plain))
    choices = plain.count("?") + plain.count("|")
    if repetitions > 20 or choices > 20:
        return False
    is_anchored = plain.startswith("^") and "|" not in plain
    ways: int = (length + 1) ** (repetitions + (not is_anchored)) * 2**choices
    return ways <= _MOST_WAYS
