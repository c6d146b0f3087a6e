"""Where the marks are that part what comes from outside from what the program says."""

import re

_MARKED = re.compile(r"<<<([0-9a-f]{8})\n.*?\n\1>>>", re.DOTALL)


def outside_marks(text):
    """What is left of a result without all that is marked."""
    return _MARKED.sub("", text)


def is_marked(text, words):
    """Whether some words stand in a result, and only between marks."""
    return words in text and words not in outside_marks(text)
