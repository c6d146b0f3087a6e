"""Numbers in running text and what they count: in "Roll 3 dice with 20 sides", 3 are the dice and 20 the sides."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from oneclaw_core.providers.offline.literals import Kind, Literal, find_literals
from oneclaw_core.providers.offline.parameters import name_pattern
from oneclaw_core.providers.offline.terms import normal_words, stem, stem_set, word_set
from oneclaw_core.providers.offline.words import STOP_WORDS, SYNONYMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core.providers.offline.catalogue import PreparedTool
    from oneclaw_core.providers.offline.parameters import Parameter

_NUMBERS_LIMIT = 20
_READ_CHARACTERS = 8_000
_WINDOW_CHARACTERS = 80
_WINDOW_WORDS = 3
_DESCRIBED_WORDS = 12
# What a word must be worth: the third word behind a number still is, the second before it hardly.
_WEAKEST = 0.45
_NAME_WORTH = 1.5
_ABOUT_WORTH = 1.4
_COUNTING = stem_set(
    "count number num n amount quantity limit max min maximum minimum many how most least results items"
)
_PREPOSITIONS = word_set("with for in at from to by on and or")
_NAME_CHARACTERS = 70
_PIECE = re.compile(r"\d+-[A-Za-z]{2,}|[^\W_]+(?:['’][^\W_]+)?|[,;.:!?()\n]")  # noqa: RUF001  # an apostrophe
_COMPOUND = re.compile(r"(?<![\w.,/-])(\d{1,6})-(?=[A-Za-z]{2})")
_CARDINALS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_CARDINAL = re.compile(rf"(?<![\w-])(?:{'|'.join(_CARDINALS)})(?![\w-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its neighbours.

    Attributes:
        literal: the number.
        units: the words behind it, nearest first, up to the end of their phrase; each in its possible stems.
        leads: the words before it, likewise.
    """

    literal: Literal
    units: tuple[frozenset[str], ...]
    leads: tuple[frozenset[str], ...]


@lru_cache(maxsize=64)
def find_quantities(message: str, plain: str) -> tuple[Quantity, ...]:
    """Find the numbers of a message, also those in "three dice" and "20-sided".

    Args:
        message: what the user wrote.
        plain: the same with all other literals blanked out.
    """
    text = plain[:_READ_CHARACTERS]
    found = [each for each in find_literals(message) if each.kind is Kind.NUMBER and each.end <= len(text)]
    for match in islice(_COMPOUND.finditer(text), _NUMBERS_LIMIT):
        found.append(Literal(Kind.NUMBER, match.group(1), match.start(), match.end(1)))
    for match in islice(_CARDINAL.finditer(text), _NUMBERS_LIMIT):
        value = str(_CARDINALS.index(match.group().lower()) + 2)
        found.append(Literal(Kind.NUMBER, value, match.start(), match.end()))
    found.sort(key=lambda each: each.start)
    return tuple(
        Quantity(
            literal,
            _phrase(_PIECE.findall(text[literal.end : literal.end + _WINDOW_CHARACTERS])),
            _phrase(reversed(_PIECE.findall(text[max(0, literal.start - _WINDOW_CHARACTERS) : literal.start]))),
        )
        for literal in found[:_NUMBERS_LIMIT]
    )


def match_quantities(
    tool: PreparedTool, parameters: Sequence[Parameter], quantities: Sequence[Quantity], used: Iterable[Literal]
) -> list[tuple[Parameter, Literal]]:
    """Give each number to the parameter whose words stand nearest to it, the clearest pair first.

    Args:
        tool: the tool.
        parameters: those of its parameters that want a number, the most wanted first.
        quantities: the numbers.
        used: what has found its parameter already.
    """
    spans = [(each.start, each.end) for each in used]
    vocabularies = [_vocabulary(each.name, each.description) for each in parameters]
    terms = Counter(term for vocabulary in vocabularies for term in vocabulary)
    # Of "How many dice" and "Sides of the dice", dice are the first; "Width in pixels" is not all pixels.
    telling = [
        {term: worth for term, worth in vocabulary.items() if worth >= 1 or terms[term] == 1}
        for vocabulary in vocabularies
    ]
    pairs = [
        (_worth(quantity, parameter, telling[place], tool), -at, -place, quantity.literal, parameter)
        for at, quantity in enumerate(quantities)
        if not any(quantity.literal.start < end and start < quantity.literal.end for start, end in spans)
        for place, parameter in enumerate(parameters)
    ]
    pairs.sort(key=lambda pair: pair[:3], reverse=True)
    matched: dict[str, tuple[Parameter, Literal]] = {}
    taken: set[Literal] = set()
    for worth, _, _, literal, parameter in pairs:
        if worth >= _WEAKEST and literal not in taken and parameter.name not in matched:
            matched[parameter.name] = (parameter, literal)
            taken.add(literal)
    return list(matched.values())


def is_unit(plain: str, number: Literal, name: re.Match[str], parameters: Iterable[Parameter]) -> bool:
    """Whether a parameter's name between two numbers belongs to the first: ``20 sides 3``, not ``hour 7 minute 30``.

    Args:
        plain: the message with all other literals blanked out.
        number: the first number.
        name: where the name stands.
        parameters: all of the tool's, as the number may stand behind the name of another.
    """
    before = plain[max(0, number.start - _NAME_CHARACTERS) : number.start].rstrip()
    patterns = (name_pattern(each.name) for each in parameters if each.kind is Kind.NUMBER)
    is_named = any(
        match.end() == len(before) for pattern in patterns if pattern is not None for match in pattern.finditer(before)
    )
    return not is_named and (number.value == "1" or name.group().lower().endswith("s"))


def described_in(message: str, tool: PreparedTool, parameters: Iterable[Parameter]) -> list[Parameter]:
    """The parameters that a message has a word of, other than the words that speak for the tool as a whole."""
    present = frozenset(stem(word) for word in normal_words(message[:_READ_CHARACTERS]))
    spent = tool.name_terms | _told_terms(tool.definition.description)
    return [each for each in parameters if present & (_vocabulary(each.name, each.description).keys() - spent)]


def _phrase(pieces: Iterable[str]) -> tuple[frozenset[str], ...]:
    words: list[frozenset[str]] = []
    for piece in pieces:
        word = piece.lower()
        if "-" in word:
            continue  # "20-sided" between a number and what it counts, as in "3 20-sided dice"
        if not word[0].isalpha() or word in _PREPOSITIONS or len(words) == _WINDOW_WORDS:
            break
        if word not in STOP_WORDS:
            words.append(frozenset((stem(word), stem(word[:-1])) if word.endswith("ed") else (stem(word),)))
    return tuple(words)


def _worth(quantity: Quantity, parameter: Parameter, vocabulary: Mapping[str, float], tool: PreparedTool) -> float:
    told = tool.name_terms | _told_terms(tool.definition.description)
    units = [
        2 * max((vocabulary.get(term, 0.0) for term in terms), default=0.0) / (1 + distance)
        for distance, terms in enumerate(quantity.units)
    ]
    # The words that speak for the tool stand before every number: "Roll dice 3" tells nothing of the dice.
    leads = [
        max((vocabulary.get(term, 0.0) for term in terms - told), default=0.0) / (1 + distance)
        for distance, terms in enumerate(quantity.leads)
    ]
    # What a tool is about is what a bare "count" counts; a number of four digits is rather a year.
    if _is_count(parameter.name) and len(quantity.literal.value) < 4:
        units += [
            _ABOUT_WORTH / (1 + distance)
            for distance, terms in enumerate(quantity.units)
            if told & (terms | {other for term in terms for other in SYNONYMS.get(term, ())})
        ]
    return max([*units, *leads], default=0.0)


@lru_cache(maxsize=4096)
def _vocabulary(name: str, description: str) -> Mapping[str, float]:
    """What each stem of a parameter's name and description is worth, the first words of a description the most."""
    words = [word for word in normal_words(description[:400]) if word not in STOP_WORDS and not word.isdigit()]
    described = [term for term in map(stem, words) if term not in _COUNTING][:_DESCRIBED_WORDS]
    worth = {term: 1 - 0.05 * at for at, term in reversed(list(enumerate(described)))}
    return worth | {term: _NAME_WORTH for term in map(stem, normal_words(name)) if term not in _COUNTING}


@lru_cache(maxsize=4096)
def _told_terms(description: str) -> frozenset[str]:
    first = description.partition(". ")[0][:400]
    return frozenset(stem(word) for word in normal_words(first) if word not in STOP_WORDS)


@lru_cache(maxsize=4096)
def _is_count(name: str) -> bool:
    words = normal_words(name)
    return bool(words) and all(stem(word) in _COUNTING for word in words)
