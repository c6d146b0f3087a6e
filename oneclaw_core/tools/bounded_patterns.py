"""Search with regular expressions from outside in bounded time.

Python's engine backtracks through a text in as many ways as the expression allows and cannot be stopped. Searches
that may take long use the library ``regex``, which takes a timeout.
"""

from __future__ import annotations

import re

SEARCH_SECONDS = 1.0
# Ways to match a text, at most, that Python's engine tries: a fraction of a second, if it tries them all.
_MOST_WAYS = 2_000_000
_ESCAPE_OR_SET = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{)")
_BEGINNING_OF_GROUP = re.compile(r"\(\?")
_REPETITION = re.compile(r"[*+]|\{\d*,\d*\}")
# It lets blanks and comments stand between a group and its repetition.
_VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")
# Python's own expressions have no fuzzy matches such as "a{e}" and no classes such as "[[:alpha:]]".
_ESCAPE_SET_OR_BRACE = re.compile(
    r"\\.|\[(?P<negation>\^?)(?P<members>\]?(?:\\.|[^\]\\])*)\]|(?P<brace>\{(?!\d+(?:,\d*)?\}|,\d*\}))", re.DOTALL
)
_MEMBER_WITH_A_MEANING = re.compile(r"\\.|[\[\]&|~]", re.DOTALL)


class SearchTakesTooLongError(Exception):
    """A search was not finished in time."""


def is_found(pattern: str, text: str) -> bool:
    """Return True if an expression is found in a text.

    Args:
        pattern: an expression that Python's ``re`` compiles.
        text: the text to search.

    Raises:
        SearchTakesTooLongError: the search was not finished after ``SEARCH_SECONDS``.
    """
    if is_quick(pattern, len(text)):
        return re.search(pattern, text) is not None
    import regex

    translated = _ESCAPE_SET_OR_BRACE.sub(_escaped, pattern)
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
    members = _MEMBER_WITH_A_MEANING.sub(
        lambda member: member[0] if member[0].startswith("\\") else f"\\{member[0]}", match["members"]
    )
    return f"[{match['negation']}{members}]"


def is_quick(pattern: str, length: int) -> bool:
    """Return True if a search cannot take long, by a bound that most expressions stay far below.

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
