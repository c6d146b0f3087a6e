"""What a message holds word for word: paths, URLs, addresses, dates, times, numbers and quoted text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache


class Kind(Enum):
    """What a literal is, and what a parameter takes."""

    TEXT = "text"
    QUERY = "query"
    PATH = "path"
    URL = "url"
    EMAIL = "email"
    DATE = "date"
    DATE_TIME = "date-time"
    TIME = "time"
    ZONE = "zone"
    NUMBER = "number"
    NUMBER_LIST = "number list"
    IDENTIFIER = "identifier"
    CHOICE = "choice"
    FLAG = "flag"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Literal:
    """A piece of a message that is a value in itself.

    Attributes:
        kind: what it looks like; ``TEXT`` for quoted text that looks like nothing else.
        value: without quotes and surrounding punctuation.
        start: where it begins in the message, quotes included.
        end: where it ends.
        is_quoted: whether the user put it in quotes.
    """

    kind: Kind
    value: str
    start: int
    end: int
    is_quoted: bool = False


_LITERALS_LIMIT = 300

# Every alternative stops at its own opening quote too, which keeps the search linear on hostile text.
_QUOTED = (
    r'"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|「([^「」]+)」|`([^`]+)`|‘([^‘’\n]+)’'  # noqa: RUF001  # the quotes meant
    r"|(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))+)'(?!\w)"
)
_WORD = r"[^\s\"“”„«»「」`<>，。？！、；：（）【】]+"  # noqa: RUF001  # full-width punctuation ends a word
_TOKEN = re.compile(f"{_QUOTED}|{_WORD}")
_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_BARE_HOST = re.compile(
    r"(?:www\.[\w-]+(?:\.[\w-]+)+|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net))(?:[/?#:]\S*)?", re.IGNORECASE
)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?"
_TIME = re.compile(_CLOCK)
_DATE_TIME = re.compile(rf"{_DATE.pattern}T{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?")
_NUMBER = re.compile(r"[-+]?\d{1,15}(?:\.\d{1,15})?|[-+]?\d{1,3}(?:,\d{3}){1,5}")
_ORDINAL = re.compile(r"(\d{1,6})(?:st|nd|rd|th)", re.IGNORECASE)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINAL_WORDS = {word: str(number) for number, word in enumerate(_ORDINALS, start=1)}
_ZONE = re.compile(
    r"(?:Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)(?:/[A-Za-z_+\-0-9]+){1,2}|UTC"
)
_EXTENSION = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,9})(?![A-Za-z0-9_.])")
_ABBREVIATION = re.compile(r"(?:[A-Za-z]\.)+[A-Za-z]")
_ONLY_ASCII_TAIL = re.compile(r"[!-~]+$")


@lru_cache(maxsize=64)
def find_literals(message: str) -> tuple[Literal, ...]:
    """Find the values in a message, in their order, up to a few hundred."""
    found: list[Literal] = []
    for match in _TOKEN.finditer(message):
        if match.lastindex is not None:
            found.append(_quoted(match.group(match.lastindex), match.start(), match.end()))
        else:
            literal = _plain(match.group(), match.start())
            if literal is not None:
                found.append(literal)
        if len(found) >= _LITERALS_LIMIT:
            break
    return tuple(found)


def without_literals(message: str) -> str:
    """Blank the values out of a message, all but numbers; every other character keeps its place."""
    pieces, at = [], 0
    for literal in find_literals(message):
        if literal.kind is not Kind.NUMBER:
            pieces += [message[at : literal.start], " " * (literal.end - literal.start)]
            at = literal.end
    return "".join([*pieces, message[at:]])


def file_extension(value: str) -> str | None:
    """The extension of a path or URL in lower case, without its dot."""
    matches = _EXTENSION.findall(value.split("?")[0][-40:])
    return matches[-1].lower() if matches else None


def _quoted(text: str, start: int, end: int) -> Literal:
    literal = None if "\n" in text else _plain(text, start) if " " not in text else _path_with_spaces(text, start)
    if literal is not None and literal.value == text:
        return Literal(literal.kind, text, start, end, is_quoted=True)
    return Literal(Kind.TEXT, text, start, end, is_quoted=True)


def _path_with_spaces(text: str, start: int) -> Literal | None:
    extension = _EXTENSION.search(text)
    is_path = len(text) < 260 and extension is not None and extension.end() == len(text) and text[0] not in " .{[("
    return Literal(Kind.PATH, text, start, start + len(text)) if is_path else None


def _plain(word: str, start: int) -> Literal | None:
    url = _URL.search(word)
    if url is not None:
        value = url.group().rstrip(".,;:!?)]}'*")
        return Literal(Kind.URL, value, start + url.start(), start + url.start() + len(value))
    stripped = word.lstrip("([{'*")
    start += len(word) - len(stripped)
    value = stripped.rstrip(".,;:!?)]}'*")
    kind: Kind | None = None
    end = start + len(value)
    if _EMAIL.fullmatch(value):
        kind = Kind.EMAIL
    elif _DATE_TIME.fullmatch(value):
        kind = Kind.DATE_TIME
    elif _DATE.fullmatch(value):
        kind = Kind.DATE
    elif _TIME.fullmatch(value):
        kind = Kind.TIME
    elif _ZONE.fullmatch(value):
        kind = Kind.ZONE
    elif _NUMBER.fullmatch(value):
        kind, value = Kind.NUMBER, value.replace(",", "")
    elif (ordinal := _ORDINAL.fullmatch(value)) is not None:
        kind, value = Kind.NUMBER, ordinal.group(1)
    elif value.lower() in _ORDINAL_WORDS:
        kind, value = Kind.NUMBER, _ORDINAL_WORDS[value.lower()]
    elif _BARE_HOST.fullmatch(value):
        kind, value = Kind.URL, f"https://{value}"
    else:
        return _path(value, start)
    return Literal(kind, value, start, end)


def _path(value: str, start: int) -> Literal | None:
    if len(value) > 1000 or _ABBREVIATION.fullmatch(value):
        return None
    extension = None
    for extension in _EXTENSION.finditer(value):  # noqa: B007  # the last one is wanted
        pass
    if extension is not None and extension.start() > 0:
        # Text without spaces may run on after the extension, and before a plain file name: 读取notes.txt文件
        value = value[: extension.end()]
        tail = _ONLY_ASCII_TAIL.search(value)
        if tail is not None and len(tail.group()) > len(extension.group()) and not value[: tail.start()].isascii():
            start += tail.start()
            value = tail.group()
        return Literal(Kind.PATH, value, start, start + len(value))
    is_path = value.startswith(("/", "./", "../", "~/")) and len(value) > 1
    if is_path or value.count("/") > 1 or (value.endswith("/") and len(value) > 1):
        return Literal(Kind.PATH, value, start, start + len(value))
    return None
