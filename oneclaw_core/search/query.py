"""The words of a query; quotes, operators and wildcards have no meaning."""

from __future__ import annotations

from dataclasses import dataclass

from oneclaw_core.search.words import folded, is_unspaced, pairs, parts
from oneclaw_core.types.text import clean_text

# What is longer was not written as a query; its beginning is enough to search by.
_READ_CHARACTERS = 2_000
_MOST_UNITS = 16


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that a query looks for.

    Attributes:
        text: a word, an emoji, or a stretch of a script without spaces, folded.
        terms: the terms of the index that all texts with the unit have.
    """

    text: str
    terms: tuple[str, ...]

    @property
    def is_stretch(self) -> bool:
        """True if it may stand within a longer stretch of characters."""
        return is_unspaced(self.text)


@dataclass(frozen=True, slots=True)
class Query:
    """The terms to search for; falsy if there are none.

    Attributes:
        units: each once, in their order.
    """

    units: tuple[Unit, ...]

    def __bool__(self) -> bool:
        return bool(self.units)

    def loosened(self) -> Query:
        """The same with stretches taken apart into pairs: no one knows which of them are words."""
        units = []
        for unit in self.units:
            if unit.is_stretch and len(unit.text) > 1:
                units += [Unit(pair, (pair,)) for pair in pairs(unit.text)]
            else:
                units.append(unit)
        return Query(tuple(dict.fromkeys(units))[:_MOST_UNITS])

    def counts(self, text: str) -> list[int]:
        """Count how often a text has each unit."""
        places: dict[str, int] = {}
        stretches: list[tuple[int, str]] = []
        for at, unit in enumerate(self.units):
            if unit.is_stretch:
                stretches.append((at, unit.text))
            else:
                places[unit.text] = at
        found = [0] * len(self.units)
        for part in parts(text):
            if is_unspaced(part):
                if stretches:
                    characters = folded(part)
                    for at, stretch in stretches:
                        found[at] += characters.count(stretch)
            else:
                word = folded(part)
                if word in places:
                    found[places[word]] += 1
                elif stretches and is_unspaced(word):  # a sign such as a character in a square
                    for at, stretch in stretches:
                        found[at] += word.count(stretch)
        return found


def parse_query(text: str) -> Query:
    """Read what somebody wrote as a query; whatever it is, it is one."""
    units: dict[str, Unit] = {}
    for part in parts(clean_text(text)[:_READ_CHARACTERS]):
        unit = folded(part)
        if unit:
            is_long = is_unspaced(unit) and len(unit) > 1
            units.setdefault(unit, Unit(unit, tuple(dict.fromkeys(pairs(unit))) if is_long else (unit,)))
    return Query(tuple(units.values())[:_MOST_UNITS])
