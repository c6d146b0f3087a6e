"""Gmail's search, as the stand-in knows it: operators, quotes, groups, ``OR`` and ``-``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_TOKEN = re.compile(r'-?(?:[a-z0-9_]+:)?[({]|-?(?:[a-z0-9_]+:)?(?:"[^"]*"|[^\s(){}"]+)|[)}]', re.IGNORECASE)
_AGE = {"d": 1, "m": 30, "y": 365}
_SIZES = {"": 1, "k": 1024, "m": 1024 * 1024}
_PACIFIC = ZoneInfo("America/Los_Angeles")
_PLACES = {"spam": "SPAM", "trash": "TRASH", "inbox": "INBOX", "sent": "SENT", "drafts": "DRAFT", "draft": "DRAFT"}
_STATES = {"unread": "UNREAD", "starred": "STARRED", "important": "IMPORTANT"}


@dataclass(frozen=True)
class Searched:
    """What a search looks at of a message; texts in lower case, ``when`` in seconds since 1970."""

    headers: dict[str, str]
    text: str
    labels: frozenset[str]
    label_names: frozenset[str]
    file_names: tuple[str, ...]
    when: float
    size: int


Test = Callable[[Searched], bool]


def looks_everywhere(query: str) -> bool:
    """Whether a search looks into Spam and Trash, too."""
    return re.search(r"(?<!-)\b(?:in|label):(?:spam|trash|anywhere)\b", query, re.IGNORECASE) is not None


def search(query: str, now: float) -> Test:
    """Read a search."""
    tokens = _TOKEN.findall(query)
    position = 0

    def group(closing: str) -> Test:
        nonlocal position
        found: list[Test] = []
        is_or = closing == "}"
        pending_or = False
        while position < len(tokens) and tokens[position] != closing:
            token = tokens[position]
            position += 1
            if token == "OR":
                pending_or = True
                continue
            test = _negated(token, read(token.removeprefix("-")))
            if pending_or and found:
                found.append(_any([found.pop(), test]))
                pending_or = False
            else:
                found.append(test)
        position += 1
        return _any(found) if is_or else _all(found)

    def read(token: str) -> Test:
        operator, colon, rest = token.partition(":")
        if token.endswith(("(", "{")):
            closing = ")" if token.endswith("(") else "}"
            return operands(operator, closing) if colon else group(closing)
        if colon and operator.lower() in _OPERATORS:
            return _OPERATORS[operator.lower()](rest.strip('"').lower(), now)
        return _words(token.strip('"').lower())

    def operands(operator: str, closing: str) -> Test:
        nonlocal position
        found = []
        is_or = False
        while position < len(tokens) and tokens[position] != closing:
            is_or = is_or or tokens[position] == "OR"
            if tokens[position] != "OR":
                found.append(read(f"{operator}:{tokens[position]}"))
            position += 1
        position += 1
        return _any(found) if closing == "}" or is_or else _all(found)

    return group("")


def _negated(token: str, test: Test) -> Test:
    return (lambda message: not test(message)) if token.startswith("-") else test


def _all(tests: list[Test]) -> Test:
    return lambda message: all(test(message) for test in tests)


def _any(tests: list[Test]) -> Test:
    return lambda message: any(test(message) for test in tests)


def _words(wanted: str) -> Test:
    return lambda message: wanted in message.text or any(wanted in value for value in message.headers.values())


def _header(*names: str) -> Callable[[str, float], Test]:
    return lambda wanted, _: lambda message: any(wanted in message.headers.get(name, "") for name in names)


def _place(wanted: str, _: float) -> Test:
    if wanted == "anywhere":
        return lambda message: True
    return lambda message: _PLACES.get(wanted, wanted.upper()) in message.labels


def _label(wanted: str, _: float) -> Test:
    flat = re.sub(r"[ /]", "-", wanted)
    return lambda message: wanted.upper() in message.labels or flat in message.label_names


def _state(wanted: str, _: float) -> Test:
    if wanted == "read":
        return lambda message: "UNREAD" not in message.labels
    return lambda message: _STATES.get(wanted, wanted.upper()) in message.labels


def _has(wanted: str, _: float) -> Test:
    if wanted == "attachment":
        return lambda message: bool(message.file_names)
    return lambda message: wanted == "userlabels" and bool(message.label_names)


def _age(is_newer: bool) -> Callable[[str, float], Test]:
    def test(wanted: str, now: float) -> Test:
        match = re.fullmatch(r"(\d+)([dmy])", wanted)
        if match is None:
            return lambda message: False
        limit = now - timedelta(days=int(match[1]) * _AGE[match[2]]).total_seconds()
        return lambda message: (message.when >= limit) is is_newer

    return test


def _day(is_after: bool) -> Callable[[str, float], Test]:
    def test(wanted: str, _: float) -> Test:
        if wanted.isdigit():
            limit = float(wanted)
        else:
            year, month, day = map(int, re.split(r"[/-]", wanted))
            limit = datetime(year, month, day, tzinfo=_PACIFIC).timestamp()
        return lambda message: (message.when >= limit) is is_after

    return test


def _size(is_larger: bool) -> Callable[[str, float], Test]:
    def test(wanted: str, _: float) -> Test:
        match = re.fullmatch(r"(\d+)([km]?)b?", wanted)
        if match is None:
            return lambda message: False
        limit = int(match[1]) * _SIZES[match[2]]
        return lambda message: (message.size > limit) is is_larger

    return test


_OPERATORS: dict[str, Callable[[str, float], Test]] = {
    "from": _header("from"),
    "to": _header("to", "cc", "bcc"),
    "cc": _header("cc"),
    "bcc": _header("bcc"),
    "subject": _header("subject"),
    "rfc822msgid": _header("message-id"),
    "label": _label,
    "category": lambda wanted, _: lambda message: f"CATEGORY_{wanted.upper()}" in message.labels,
    "in": _place,
    "is": _state,
    "has": _has,
    "filename": lambda wanted, _: lambda message: any(wanted in name for name in message.file_names),
    "older_than": _age(is_newer=False),
    "newer_than": _age(is_newer=True),
    "after": _day(is_after=True),
    "newer": _day(is_after=True),
    "before": _day(is_after=False),
    "older": _day(is_after=False),
    "larger": _size(is_larger=True),
    "size": _size(is_larger=True),
    "smaller": _size(is_larger=False),
}
