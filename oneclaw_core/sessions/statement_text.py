"""Parse the text of SQL statements: placeholders and literals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# The first alternative wins: literals, quoted names, comments and casts hold no placeholders.
_PART = re.compile(
    r"""
    '(?:[^']|'')*'
    | "(?:[^"]|"")*"
    | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$
    | --[^\n]*
    | /\*.*?\*/
    | ::
    | :(?P<name>[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)


def rewrite_placeholders(sql: str, placeholder: Callable[[str], str], text: Callable[[str], str] = str) -> str:
    """Rewrite the ``:name`` placeholders of a statement for a driver.

    Args:
        sql: the statement; literals, quoted names, comments and casts hold no placeholders.
        placeholder: returns the placeholder of a name.
        text: escapes the other parts.
    """
    pieces, end = [], 0
    for part in _PART.finditer(sql):
        name = part["name"]
        pieces += [text(sql[end : part.start()]), text(part[0]) if name is None else placeholder(name)]
        end = part.end()
    return "".join([*pieces, text(sql[end:])])


def without_literals(sql: str) -> str:
    """Remove literals and comments from a statement, and the quotes of names."""
    return _PART.sub(lambda part: part[0].strip('"') if part[0][0] in '":' else " ", sql)
