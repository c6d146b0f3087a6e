"""Docstrings of functions: the description of a tool and of its parameters.

docstring_parser tries four styles on every text. Docstrings without sections, and ordinary ones in Google style, are
parsed here to the same outcome; the library has the last word on everything else.
"""

from __future__ import annotations

import inspect
import re
from itertools import pairwise

_TITLES = "Arguments|Args|Parameters|Params|Raises|Exceptions|Except|Attributes|Examples?|Returns|Yields"
_TITLE = re.compile(rf"^({_TITLES}):[ \t\r\f\v]*$", re.MULTILINE)
_MARKUP_OF_OTHER_STYLES = re.compile(r"^\s*(?:[:@]|--|\.\.)", re.MULTILINE)
_ENTRY = re.compile(r"(\w+)(?: \([^():\s][^():\n]*\))?:(.*)")
_OUTSIDE_A_SECTION = re.compile(r"^\S", re.MULTILINE)


def parse_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Parse a docstring in Google, NumPy, Sphinx or Epydoc style.

    Returns:
        The text without its sections, and the descriptions of parameters by name, each on one line.
    """
    return _parse_ordinary(text) or _parse_any(text)


def _parse_ordinary(text: str) -> tuple[str, dict[str, str]] | None:
    """Parse text without sections, or with some of ``Args``, ``Returns`` and ``Raises``; ``None`` for other text."""
    text = inspect.cleandoc(text)
    if _MARKUP_OF_OTHER_STYLES.search(text):
        return None
    description, *pieces = _TITLE.split(text)
    sections = dict(zip(pieces[::2], pieces[1::2], strict=True))
    if 2 * len(sections) != len(pieces) or not sections.keys() <= {"Args", "Returns", "Raises"}:
        return None
    if any(map(_OUTSIDE_A_SECTION.search, sections.values())):
        return None
    entries = {title: _parse_entries(section) for title, section in sections.items() if title != "Returns"}
    if None in entries.values():
        return None
    summary, _, rest = description.partition("\n")
    separator = "\n\n" if rest.startswith("\n") else "\n"
    return separator.join(filter(None, (summary, rest.strip()))).strip(), entries.get("Args") or {}


def _parse_entries(section: str) -> dict[str, str] | None:
    section = section.strip("\n")
    lines = section.split("\n")
    indent = section[: len(section) - len(section.lstrip())]
    width = len(indent)
    starts = [i for i, line in enumerate(lines) if line.startswith(indent) and line[width : width + 1].strip()]
    descriptions: dict[str, str] = {}
    for start, end in pairwise([*starts, len(lines)]):
        matched = _ENTRY.fullmatch(lines[start], width)
        if matched is None:
            return None
        descriptions[matched[1]] = " ".join(" ".join([matched[2], *lines[start + 1 : end]]).split())
    return descriptions or None


def _parse_any(text: str) -> tuple[str, dict[str, str]]:
    import docstring_parser

    try:
        parsed = docstring_parser.parse(text)
    except docstring_parser.ParseError:  # then it is a description without sections
        return inspect.cleandoc(text).strip(), {}
    descriptions = {
        name.strip(): " ".join((each.description or "").split())
        for each in parsed.params
        for name in each.arg_name.split(",")
    }
    return (parsed.description or "").strip(), descriptions
