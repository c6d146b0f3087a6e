"""Docstrings of functions: the description of a tool and of its parameters."""

from __future__ import annotations

import inspect


def parse_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Parse a docstring in Google, NumPy, Sphinx or Epydoc style.

    Returns:
        The text without its sections, and the descriptions of parameters by name, each on one line.
    """
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
