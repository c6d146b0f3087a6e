"""The stand-in's search language of Drive.

Google's description: https://developers.google.com/workspace/drive/api/guides/ref-search-terms
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from google_service import ApiError

Test = Callable[[dict[str, Any]], bool]
_TOKEN = re.compile(r"\s*(?:'((?:[^'\\]|\\.)*)'|(\(|\)|!=|<=|>=|=|<|>)|([A-Za-z]+))", re.DOTALL)
_TIMES = {"modifiedTime", "viewedByMeTime", "createdTime"}
_OPERATORS = {
    "name": {"contains", "=", "!="},
    "fullText": {"contains"},
    "mimeType": {"contains", "=", "!="},
    **{key: {"<=", "<", "=", "!=", ">", ">="} for key in _TIMES},
    **{key: {"=", "!="} for key in ("trashed", "starred", "sharedWithMe")},
}
_COLLECTIONS = {"parents", "owners", "writers", "readers"}


def invalid_query() -> ApiError:
    return ApiError(400, "invalid", "Invalid Value")


class QueryReader:
    """Reads an expression from the left; ``and`` binds closer than ``or``, as in Drive."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise invalid_query()
            position = match.end()
            if match[1] is not None:
                self.tokens.append(("value", re.sub(r"\\(.)", r"\1", match[1])))
            else:
                self.tokens.append(("sign", match[2]) if match[2] else ("word", match[3]))

    def read(self) -> Test:
        test = self._either()
        if self.tokens:
            raise invalid_query()
        return test

    def _take(self, *texts: str) -> bool:
        if self.tokens and self.tokens[0][0] != "value" and self.tokens[0][1] in texts:
            self.tokens.pop(0)
            return True
        return False

    def _next(self) -> tuple[str, str]:
        if not self.tokens:
            raise invalid_query()
        return self.tokens.pop(0)

    def _either(self) -> Test:
        tests = [self._both()]
        while self._take("or"):
            tests.append(self._both())
        return lambda file: any(test(file) for test in tests)

    def _both(self) -> Test:
        tests = [self._single()]
        while self._take("and"):
            tests.append(self._single())
        return lambda file: all(test(file) for test in tests)

    def _single(self) -> Test:
        if self._take("not"):
            inner = self._single()
            return lambda file: not inner(file)
        if self._take("("):
            inner = self._either()
            if not self._take(")"):
                raise invalid_query()
            return inner
        kind, text = self._next()
        return self._in_collection(text) if kind == "value" else self._comparison(text)

    def _in_collection(self, value: str) -> Test:
        if not self._take("in"):
            raise invalid_query()
        _, collection = self._next()
        if collection not in _COLLECTIONS:
            raise invalid_query()
        return lambda file: value in file["search"][collection]

    def _comparison(self, field: str) -> Test:
        kind, operator = self._next()
        if kind == "value" or operator not in _OPERATORS.get(field, ()):
            raise invalid_query()
        kind, value = self._next()
        if (kind == "value") == (field in ("trashed", "starred", "sharedWithMe")):
            raise invalid_query()
        if field in _TIMES:
            return _time_test(field, operator, value)
        if operator == "contains":
            return {"name": _name_contains, "fullText": _text_contains, "mimeType": _begins}[field](value)
        wanted: Any = value == "true" if kind == "word" else value
        is_equal = operator == "="
        return lambda file: (file["search"][field] == wanted) is is_equal


def _time_test(field: str, operator: str, value: str) -> Test:
    from datetime import UTC, datetime

    def moment(text: str) -> datetime:
        parsed = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)

    try:
        wanted = moment(value)
    except ValueError:
        raise invalid_query() from None
    compare: dict[str, Callable[[datetime], bool]] = {
        "<": lambda each: each < wanted,
        "<=": lambda each: each <= wanted,
        "=": lambda each: each == wanted,
        "!=": lambda each: each != wanted,
        ">": lambda each: each > wanted,
        ">=": lambda each: each >= wanted,
    }
    return lambda file: bool(file["search"].get(field)) and compare[operator](moment(file["search"][field]))


def _name_contains(value: str) -> Test:
    # Only the beginnings of words are found.
    pattern = re.compile(rf"(?<!\w){re.escape(value)}", re.IGNORECASE)
    return lambda file: pattern.search(file["search"]["name"]) is not None


def _text_contains(value: str) -> Test:
    phrase = re.fullmatch(r'"(.*)"', value, re.DOTALL)
    parts = [phrase[1]] if phrase else value.split()
    patterns = [re.compile(rf"(?<!\w){re.escape(part)}(?!\w)", re.IGNORECASE) for part in parts]
    return lambda file: all(pattern.search(file["search"]["fullText"]) for pattern in patterns)


def _begins(value: str) -> Test:
    return lambda file: file["search"]["mimeType"].startswith(value)
