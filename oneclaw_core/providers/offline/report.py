"""Telling the user what came of a turn's tool calls."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from oneclaw_core.providers.offline.catalogue import content_terms
from oneclaw_core.providers.offline.literals import Kind, find_literals, without_literals
from oneclaw_core.providers.offline.ranking import Corpus, Document, QueryTerm, rank
from oneclaw_core.providers.offline.terms import normal_words, stem
from oneclaw_core.providers.offline.words import QUESTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.providers.offline.conversation import Outcome

SHORT_CHARACTERS = 600
_SEARCHED_CHARACTERS = 50_000
_SEARCHED_LINES = 1_000
_PARSED_CHARACTERS = 2_000_000
_BEST_LINES = 5
_HOW_MANY = re.compile(r"\b(?:how many|number of|count (?:of )?(?:the )?)\s*([^\W\d_]+(?:\s[^\W\d_]+)?)", re.IGNORECASE)
_PAIR = re.compile(r"^\s*(?:[-*] )?([^\W_][\w ()/-]{0,40}?)\s*:\s+(\S.*)$")
_NUMBER = re.compile(r"^(\d[\d,]*)\b")


def report(message: str, outcomes: Sequence[Outcome], spent_terms: frozenset[str]) -> str:
    """Say what came of the calls.

    Args:
        message: what the user asked.
        outcomes: the results, oldest first.
        spent_terms: the words that led to the tool, which say nothing about where in its result to look.
    """
    return "\n\n".join(_one(message, outcome, spent_terms) for outcome in outcomes)


def report_error(outcome: Outcome) -> str:
    """Say in a sentence that a tool failed, and why."""
    kind = f" ({outcome.error_type})" if outcome.error_type else ""
    why = outcome.text.strip() or "it gave no reason"
    return f"`{outcome.tool_name}` failed{kind}: {_cut(why)}"


def _one(message: str, outcome: Outcome, spent_terms: frozenset[str]) -> str:
    if not outcome.is_success:
        return report_error(outcome)
    text = _readable(outcome.text).strip()
    if not text:
        return f"`{outcome.tool_name}` is done; it returned nothing."
    lines = text[:_SEARCHED_CHARACTERS].splitlines()[:_SEARCHED_LINES]
    sentence = _count_sentence(message, outcome, lines) or _value_sentence(message, outcome, lines)
    if sentence:
        return sentence
    if len(text) <= SHORT_CHARACTERS:
        return f"`{outcome.tool_name}` answers:{_separator(text)}{text}"
    best = _best_lines(message, lines, spent_terms)
    if best:
        return f"The lines of the result of `{outcome.tool_name}` that fit your question best:\n\n{_cut(best)}"
    return f"`{outcome.tool_name}` answers:\n\n{_cut(text)}"


def _separator(text: str) -> str:
    return "\n\n" if "\n" in text else " "


def _cut(text: str) -> str:
    if len(text) <= SHORT_CHARACTERS:
        return text
    head = text[:SHORT_CHARACTERS]
    kept = head.rsplit(None, 1)[0] if " " in head else head
    return f"{kept} …\n\n(This is the beginning of {len(text):,} characters.)"


def _readable(text: str) -> str:
    """Write a result that is a JSON object as ``key: value`` lines; other text stays as it is."""
    if len(text) > _PARSED_CHARACTERS or not text[:1000].lstrip().startswith("{"):
        return text
    try:
        value = json.loads(text)
        if not isinstance(value, dict):
            return text
        readable = "\n".join(f"{key}: {_flat(part)}" for key, part in value.items())
        readable.encode()  # JSON can escape half a character, which nothing could print
    except (ValueError, RecursionError):
        return text
    return readable


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _pairs(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        match = _PAIR.match(line[:400])
        if match is not None:
            yield match.group(1).strip(), match.group(2).strip()


def _subject(outcome: Outcome) -> str | None:
    """What the call was about: its path or URL, else its only text."""
    texts = [value for value in outcome.arguments.values() if isinstance(value, str) and 0 < len(value) <= 200]
    telling = [text for text in texts if any(each.kind in {Kind.PATH, Kind.URL} for each in find_literals(f'"{text}"'))]
    return next(iter(telling or (texts if len(texts) == 1 else [])), None)


def _count_sentence(message: str, outcome: Outcome, lines: Sequence[str]) -> str | None:
    asked = _HOW_MANY.search(message[:2000])
    if asked is None:
        return None
    words = asked.group(1).split()
    for noun in (asked.group(1), words[0]):
        wanted = {stem(word) for word in normal_words(noun)}
        for key, value in _pairs(lines):
            number = _NUMBER.match(value)
            keys = {stem(word) for word in normal_words(key)} - {
                stem(word) for word in ("number", "count", "total", "of")
            }
            if number is not None and keys == wanted:
                return f"{_subject(outcome) or 'The result'} has {number.group(1)} {_counted(noun, number.group(1))}."
    return None


def _counted(noun: str, number: str) -> str:
    noun = noun.lower()
    return noun[:-1] if number == "1" and noun.endswith("s") and not noun.endswith("ss") else noun


def _value_sentence(message: str, outcome: Outcome, lines: Sequence[str]) -> str | None:
    """Answer "Who is the author of a.pdf?" from a line ``Author: Jane``, if one line alone fits."""
    words = normal_words(without_literals(message[:2000]))
    if not set(words[:4]) & QUESTION_WORDS:
        return None
    asked = {stem(word) for word in words}
    fitting = [
        (key, value)
        for key, value in _pairs(lines)
        if (keys := set(content_terms(key))) and keys <= asked and len(value) <= 300
    ]
    if len(fitting) != 1 or len(lines) < 2:
        return None
    key, value = fitting[0]
    subject = _subject(outcome)
    return f"The {key.lower()}{f' of {subject}' if subject else ''} is {value.rstrip('.')}."


def _best_lines(message: str, lines: Sequence[str], spent_terms: frozenset[str]) -> str:
    query = [
        QueryTerm(term)
        for term in dict.fromkeys(content_terms(without_literals(message[:2000])))
        if term not in spent_terms and not term.isdigit()
    ]
    if not query:
        return ""
    documents = (Document(str(at), dict.fromkeys(content_terms(line[:1000]), 1.0)) for at, line in enumerate(lines))
    scores = rank(query, [Corpus(documents)])
    best = sorted(scores, key=lambda key: (-scores[key].total, int(key)))[:_BEST_LINES]
    return "\n".join(lines[int(key)].strip() for key in sorted(best, key=int))
