"""English words for ranking. Other languages match by the words that they share with names and descriptions."""

from __future__ import annotations

import re
from functools import lru_cache

from oneclaw_core.search import folded, is_unspaced, pairs, parts

_ENDING = re.compile(r"(?<=[a-z]{3})(?:ly|ing|ed)$")
_LONGEST_NAME = 100
_E_MAIL = re.compile(r"\be-mail", re.IGNORECASE)


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Strip the most common English endings, so that the forms of a word are equal."""
    word = folded(word)
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    word = f"{word[:-3]}y" if word.endswith("ily") else _ENDING.sub("", word)
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        return word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def stems(text: str) -> frozenset[str]:
    """Return the stems of all words of a text."""
    return frozenset(map(stem, parts(text)))


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as they are."""
    return frozenset(words.split())


STOP_WORDS = word_set(
    """
    a about after all also an and any anything are as at be been but by can could did do does doing don for from further
    get give had has have he hello help her here hey hi him his how i if in into is it its just kindly know let ll many
    may me more most must my myself no not now of off oh ok okay on one ones or other our out over own per please really
    s same shall she should so some something still t tell than thank thanks that the their them then there these they
    thing this those through to too until up us use used using ve very via want was we well were what when where which
    while who whom whose why will with without would yes yet you your
    """
)
QUESTION_WORDS = word_set("what whats who whom whose when where which how why is are was were does do did has")
# Terms that help to decide between tools, but do not select one alone.
GENERIC_TERMS = stems(
    "add build change check count create display edit explain find first generate info insert last latest list look "
    "make manage modify new next open query read search see set show store update view work write delete remove"
)
READING_TERMS = stems("check extract find get info inspect list load look read search show summarize tell view")
CHANGING_TERMS = stems(
    "add append change create edit enable make modify remind reminder save schedule set update write"
)
RUNNING_TERMS = stems("run execute evaluate start")
# A tool with such a verb in its name is called only for an order with that verb or a synonym of it.
HARMFUL_TERMS = stems("send forward share delete remove trash clear archive erase uninstall")
_SYNONYMS = """
    add: create; append: write; appointment: event calendar; build: create; calculate: evaluate run; change: update set;
    check: search list read info; count: info number; delete: remove trash clear; edit: update; email: mail gmail;
    eval: evaluate execute; evaluate: eval execute run; execute: exec run; fetch: webfetch request download;
    find: search list; javascript: js; js: javascript; look: search read; mail: email gmail; make: create;
    meeting: event calendar; new: create add; open: read; picture: image; print: read; remember: save memory;
    remind: schedule; reminder: schedule; remove: delete trash clear; run: execute exec; say: text content read;
    sheet: spreadsheet; shell: command; show: get list read; slide: presentation; summarise: text read;
    summarize: text read; view: read; write: create
"""
SYNONYMS = {
    stem(word.strip()): tuple(map(stem, others.split()))
    for word, _, others in (entry.partition(":") for entry in _SYNONYMS.split(";"))
}


def terms(text: str) -> tuple[str, ...]:
    """Return the stems of the words that say something; of scripts without spaces, the pairs of characters."""
    return _terms_of_name(text) if len(text) <= _LONGEST_NAME else _terms(text)


def _terms(text: str) -> tuple[str, ...]:
    found: list[str] = []
    for part in parts(_E_MAIL.sub("email", text)):
        if is_unspaced(part) and len(part) > 1:
            found += pairs(folded(part))
        elif part.lower() not in STOP_WORDS and folded(part) not in STOP_WORDS:
            found.append(stem(part))
    return tuple(found)


_terms_of_name = lru_cache(maxsize=1024)(_terms)


def is_question(message: str) -> bool:
    """Return True if a message begins with a word that asks, or ends with a question mark; "can you" is an order."""
    words = re.findall(r"[^\W_]+", message[:200].lower())
    first = next((word for word in words if word not in {"and", "so", "then", "now", "but"}), "")
    is_marked = message.rstrip().endswith(("?", "？", "؟")) and ":" not in message  # noqa: RUF001  # Chinese, Arabic
    return first in QUESTION_WORDS or (is_marked and first not in {"can", "could", "would", "will", "please"})
