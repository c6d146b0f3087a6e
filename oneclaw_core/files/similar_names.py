"""Find a file whose name looks like the one asked for, but is written with other characters.

macOS puts a narrow no-break space into the names of screenshots, and decomposes accents; models write an ordinary
space and composed letters.
"""

from __future__ import annotations

import os
import unicodedata
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_MOST_ENTRIES = 20_000
_NAMED = 3
# Dashes, quotes and dots that fonts hardly tell apart.
_LIKE = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02b9\u02bc\uff07`\u00b4", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\uff02", '"'),
        **dict.fromkeys("\u2024\uff0e", "."),
    }
)


def same_when_shown(name: str) -> str:
    """Return a form that is equal for names that look exactly alike: one Unicode form, one kind of space."""
    composed = unicodedata.normalize("NFC", name)
    visible = (each for each in composed if unicodedata.category(each) != "Cf")
    return "".join(" " if unicodedata.category(each) == "Zs" else each for each in visible)


def alike_when_shown(name: str) -> str:
    """Return a form that is equal for names that look alike: with similar quotes, dashes and widths too."""
    return unicodedata.normalize("NFKC", same_when_shown(name)).translate(_LIKE)


def existing_alike(base: Path, path: Path, *, is_to_write: bool = False) -> Path | None:
    """Find the one path that is there and looks like a path that is not.

    Args:
        base: a directory that is there.
        path: relative to it.
        is_to_write: True to accept names that look exactly alike only.

    Returns:
        The path; ``None`` if there is none, or more than one.
    """
    if ".." in path.parts:
        return None
    forms = (same_when_shown,) if is_to_write else (same_when_shown, alike_when_shown)
    found = base
    for part in path.parts:
        if os.path.lexists(found / part):
            found /= part
            continue
        names = _names(found)
        for form in forms:
            alike = [each for each in names if form(each) == form(part)]
            if alike:
                break
        if len(alike) != 1:
            return None
        found /= alike[0]
    return found if found != base / path else None


def similar_in(directory: Path, name: str) -> list[str]:
    """List a few names of a directory that are similar to one that is not there, so that differences can be seen."""
    by_form: dict[str, list[str]] = {}
    for each in _names(directory):
        by_form.setdefault(alike_when_shown(each).casefold(), []).append(each)
    wanted = alike_when_shown(name).casefold()
    close = get_close_matches(wanted, by_form, n=_NAMED, cutoff=0.8) if len(name) < 300 else []
    return [escaped(name) for form in close for name in sorted(by_form[form])][:_NAMED]


def escaped(name: str) -> str:
    """Write a name in quotes, with escapes for all characters that could be taken for others."""
    shown = (each if each.isascii() or _is_plain_letter(each) else ascii(each)[1:-1] for each in name)
    return '"' + "".join(shown).replace('"', '\\"') + '"'


def _is_plain_letter(character: str) -> bool:
    """Return True for a letter of a script in which no letter looks like a Latin one."""
    name = unicodedata.name(character, "")
    return character.isalpha() and not name.startswith(("GREEK", "CYRILLIC", "FULLWIDTH", "MATHEMATICAL", "CHEROKEE"))


def _names(directory: Path) -> Iterable[str]:
    try:
        with os.scandir(directory) as entries:
            return [each.name for each in islice(entries, _MOST_ENTRIES)]
    except OSError:
        return []
