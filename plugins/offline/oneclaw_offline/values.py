"""Literal values in a message, and the kinds of values that a tool's parameters take."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_offline.words import stem, stems

if TYPE_CHECKING:
    from collections.abc import Mapping


class Literal(NamedTuple):
    """A value that stands in a message word for word, from ``start`` to ``end``, quotes included."""

    kind: str
    value: str
    start: int
    end: int
    is_quoted: bool = False


_MOST_LITERALS = 200
_LONGEST_WORD = 500
# Each alternative excludes its opening quote, which keeps the search linear.
_QUOTED = (
    r"```[ \t]{0,4}[A-Za-z+#-]{0,20}[ \t]{0,4}\r?\n([^`]+?)\n?```|"
    r'"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|「([^「」]+)」|`([^`]+)`|‘([^‘’\n]+)’'  # noqa: RUF001  # quotes
    r"|(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))+)'(?!\w)"
)
_TOKEN = re.compile(rf"{_QUOTED}|[^\s\"“”„«»「」`<>，。？！、；：（）【】]+")  # noqa: RUF001  # full-width punctuation
_DATE = r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?"
_AREAS = "Africa|America|Antarctica|Arctic|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc"
_SPELLED = ("two second", "three third", "four fourth", "five fifth", "six sixth", "seven", "eight", "nine", "ten")
_NUMBERS = {word: str(at) for at, words in enumerate(_SPELLED, start=2) for word in words.split()} | {"first": "1"}
_LITERAL = re.compile(
    r"(?P<url>https?://\S+)"
    r"|(?P<email>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})"
    rf"|(?P<datetime>{_DATE}T{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?)|(?P<date>{_DATE})|(?P<time>{_CLOCK})"
    rf"|(?P<zone>(?:{_AREAS})(?:/[A-Za-z_+\-0-9]+){{1,2}}|UTC)"
    rf"|(?P<number>[-+]?\d{{1,15}}(?:\.\d{{1,15}})?|[-+]?\d{{1,3}}(?:,\d{{3}}){{1,5}}|{'|'.join(_NUMBERS)})"
    r"|(?P<sided>\d{1,6})(?:-[a-z]{2,}|st|nd|rd|th)"
    r"|(?P<path>(?:\.{0,2}|~)/[^/].*|[^/]*/.*/.*|.*[^/]/|.*[^.\s].?\.[a-z][a-z0-9]{0,9})",
    re.IGNORECASE,
)
_EXTENSION = re.compile(r"\.([a-z][a-z0-9]{0,9})$", re.IGNORECASE)


@lru_cache(maxsize=8)
def find_literals(message: str) -> tuple[Literal, ...]:
    """Find the literal values of a message in their order, a few hundred at most."""
    found: list[Literal] = []
    for match in _TOKEN.finditer(message):
        if len(found) == _MOST_LITERALS:
            break
        if match.lastindex is not None:
            text = match[match.lastindex]
            kind = _LITERAL.fullmatch(text) if len(text) < _LONGEST_WORD else None
            is_path = _EXTENSION.search(text[-12:]) is not None and "\n" not in text
            name = kind.lastgroup if kind is not None and " " not in text else "path" if is_path else "text"
            found.append(Literal(name or "text", text, match.start(), match.end(), is_quoted=True))
            continue
        value = match[0].lstrip("([{'*").rstrip(".,;:!?)]}'*")
        kind = _LITERAL.fullmatch(value) if len(value) < _LONGEST_WORD else None
        if kind is not None and kind.lastgroup is not None:
            start = match.start() + match[0].index(value)
            name, value = kind.lastgroup, kind[kind.lastgroup]
            if name in {"number", "sided"}:
                name, value = "number", _NUMBERS.get(value.lower(), value.replace(",", ""))
            found.append(Literal(name, value, start, start + kind.end(kind.lastgroup)))
    return tuple(found)


def blanked(message: str, *kept: str) -> str:
    """Replace the literals of a message by spaces, but for those of the kinds to keep; places stay the same."""
    for each in find_literals(message):
        if each.kind not in kept or each.is_quoted:
            message = f"{message[: each.start]}{' ' * (each.end - each.start)}{message[each.end :]}"
    return message


def file_extension(value: str) -> str | None:
    """Return the extension of a path or URL in lower case, without its dot."""
    found = _EXTENSION.search(value.partition("?")[0][-12:])
    return found[1].lower() if found else None


_FORMATS = {"uri": "url", "email": "email", "date": "date", "time": "time", "date-time": "datetime"}
# The last word of a name decides first.
_KINDS = {
    "path": stems("path file filename folder directory dir"),
    "id": stems("id token key"),
    "pages": stems("page"),
    "zone": stems("timezone zone tz"),
    "url": stems("url uri link href endpoint"),
    "email": stems("email mail cc bcc recipient"),
    "query": stems("query search keyword term pattern"),
    "date": stems("date since until"),
    "time": stems("time start end"),
}
_MOST_PARAMETERS = 100
_INDIRECTIONS = frozenset({"$ref", "anyOf", "oneOf", "allOf"})


class Parameter(NamedTuple):
    """A parameter of a tool; of a list, the kind and the choices are those of its items."""

    name: str
    description: str
    kind: str
    choices: tuple[str, ...]
    default: Any
    is_list: bool
    is_required: bool
    is_title: bool


def read_parameters(schema: Mapping[str, Any]) -> list[Parameter]:
    """Read the parameters of a tool, required ones first, else in the order of the schema; at most a hundred."""
    properties, required = schema.get("properties"), schema.get("required")
    names = required if isinstance(required, list) else []
    parts = properties if isinstance(properties, dict) else {}
    names = names or [
        name for name in parts if name == "code"
    ]  # a tool that can go on with earlier code needs some first
    found = [_parameter(name, _resolved(part, schema), schema, name in names) for name, part in parts.items()]
    return sorted(found, key=lambda each: not each.is_required)[:_MOST_PARAMETERS]


def _parameter(name: str, part: Mapping[str, Any], schema: Mapping[str, Any], is_required: bool) -> Parameter:
    is_list = part.get("type") == "array"
    item = _resolved(part.get("items"), schema) if is_list else part
    choices = tuple(each for each in item.get("enum", [item.get("const")]) if isinstance(each, str))
    description = part.get("description", "")
    kind = "choice" if choices else _kind(name, description, item)
    is_title = not stems(name).isdisjoint(stems("name title"))
    return Parameter(name, description, kind, choices, part.get("default"), is_list, is_required, is_title)


def _resolved(part: object, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Follow references into the schema's own definitions, and take the first branch that is not null."""
    found = part if isinstance(part, dict) else {}
    for _ in range(4):
        if not _INDIRECTIONS & found.keys():
            break
        branches: list[Any] = next((found[key] for key in ("anyOf", "oneOf", "allOf") if key in found), [])
        if "$ref" in found:
            branches = [schema.get("$defs", {}).get(found["$ref"].rpartition("/")[2])]
        branch = next((each for each in branches if isinstance(each, dict) and each.get("type") != "null"), {})
        found = branch | {key: value for key, value in found.items() if key not in _INDIRECTIONS}
    return found


def _kind(name: str, description: str, schema: Mapping[str, Any]) -> str:
    types = schema.get("type")
    kind = next((each for each in types if each != "null"), None) if isinstance(types, list) else types
    if kind != "string":
        return {"boolean": "flag", "integer": "number", "number": "number"}.get(str(kind), "other")
    if schema.get("format") in _FORMATS:
        return _FORMATS[schema["format"]]
    if name == "to" and "address" in description.lower():
        return "email"
    words = [stem(word) for word in reversed(name.split("_"))]
    return next((kind for word in words for kind, known in _KINDS.items() if word in known), "text")
