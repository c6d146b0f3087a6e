"""Translate ``:name`` placeholders, which SQLite reads itself, to the form of psycopg."""

from __future__ import annotations

import re
from functools import lru_cache

# Earlier alternatives win: literals, quoted names, comments and casts hold no placeholders.
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


@lru_cache(maxsize=512)
def for_psycopg(sql: str) -> tuple[bytes, bool]:
    """Translate a statement for psycopg.

    Returns:
        The statement, and True if it has placeholders. Without any, psycopg takes the text as it is.
    """
    pieces, end, has_placeholders = [], 0, False
    for part in _PART.finditer(sql):
        pieces.append(_escaped(sql[end : part.start()]))
        name = part["name"]
        has_placeholders = has_placeholders or name is not None
        pieces.append(f"%({name})s" if name is not None else _escaped(part[0]))
        end = part.end()
    if not has_placeholders:
        return sql.encode(), False
    pieces.append(_escaped(sql[end:]))
    return "".join(pieces).encode(), True


def without_literals(sql: str) -> str:
    """Leave literals and comments out of a statement, and the quotes of names."""
    return _PART.sub(lambda part: part[0].strip('"') if part[0][0] in '":' else " ", sql)


def _escaped(text: str) -> str:
    return text.replace("%", "%%")
