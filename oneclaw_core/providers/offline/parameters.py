"""What a tool's parameters take, as far as their schemas, names and descriptions tell."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from oneclaw_core.providers.offline.literals import Kind
from oneclaw_core.providers.offline.terms import normal_words, word_set
from oneclaw_core.providers.offline.words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

_PATH_WORDS = word_set("path paths file files filename folder directory dir")
_URL_WORDS = word_set("url urls uri link href endpoint")
_EMAIL_WORDS = word_set("email mail cc bcc recipient recipients")
_QUERY_WORDS = word_set("query q search keyword keywords term terms pattern")
# The kinds of literals that a parameter of a kind takes, the best first.
ACCEPTED: dict[Kind, tuple[Kind, ...]] = {
    Kind.PATH: (Kind.PATH,),
    Kind.URL: (Kind.URL,),
    Kind.EMAIL: (Kind.EMAIL,),
    Kind.DATE: (Kind.DATE,),
    Kind.DATE_TIME: (Kind.DATE_TIME,),
    Kind.TIME: (Kind.TIME, Kind.DATE_TIME),
    Kind.ZONE: (Kind.ZONE,),
}
_NUMBERS_EXAMPLE = re.compile(r"\d\s?[-–]\s?\d|\d,\s?\d")  # noqa: RUF001  # an en dash in a range
_DATE_EXAMPLE = re.compile(r"YYYY|\d{4}-\d\d")


@dataclass(frozen=True, slots=True)
class Parameter:
    """What the rules know of a tool's parameter.

    Attributes:
        name: as in the schema.
        description: as in the schema, may be empty.
        kind: what it takes; of an array, what its items are.
        is_array: whether it takes a list of them.
        is_whole: whether only whole numbers fit.
        is_required: whether the tool cannot do without it.
        choices: the values of an enumeration.
        schema: the schema with a local reference and an optional null resolved.
    """

    name: str
    description: str
    kind: Kind
    is_array: bool
    is_whole: bool
    is_required: bool
    choices: tuple[Any, ...]
    schema: Mapping[str, Any]


def read_parameters(schema: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Read the parameters of a tool, required ones first, else in the order of the schema."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return ()
    listed = schema.get("required")
    required = listed if isinstance(listed, list) else []
    definitions = schema.get("$defs")
    found = [
        _parameter(name, part, name in required, definitions if isinstance(definitions, dict) else {})
        for name, part in properties.items()
    ]
    return tuple(sorted(found, key=lambda parameter: not parameter.is_required))


def _parameter(name: str, part: Any, is_required: bool, definitions: Mapping[str, Any]) -> Parameter:
    schema = _resolved(part, definitions)
    is_array = schema.get("type") == "array"
    item = _resolved(schema.get("items"), definitions) if is_array else schema
    choices = item.get("enum")
    if not isinstance(choices, list):
        choices = [item["const"]] if "const" in item else []
    description = schema.get("description")
    description = description if isinstance(description, str) else ""
    return Parameter(
        name=name,
        description=description,
        kind=Kind.CHOICE if choices else _kind(name, description, item),
        is_array=is_array,
        is_whole=item.get("type") == "integer",
        is_required=is_required,
        choices=tuple(choices),
        schema=schema,
    )


def _resolved(part: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Follow ``$ref`` into the schema's own definitions, and take the branch of an optional that is not null."""
    schema = dict(part) if isinstance(part, dict) else {}
    for _ in range(4):
        reference = schema.pop("$ref", None)
        branches = schema.pop("anyOf", None) or schema.pop("oneOf", None) or schema.pop("allOf", None)
        if isinstance(reference, str):
            target = definitions.get(reference.rpartition("/")[2])
        elif isinstance(branches, list):
            target = next((each for each in branches if isinstance(each, dict) and each.get("type") != "null"), None)
        else:
            break
        schema = {**(target if isinstance(target, dict) else {}), **schema}
    kinds = schema.get("type")
    if isinstance(kinds, list):
        schema["type"] = next((each for each in kinds if each != "null"), None)
    return schema


def _kind(name: str, description: str, schema: Mapping[str, Any]) -> Kind:
    data_type = schema.get("type")
    if data_type == "boolean":
        return Kind.FLAG
    if data_type in {"integer", "number"}:
        return Kind.NUMBER
    if data_type != "string":
        return Kind.OBJECT
    return _kind_of_text(normal_words(name), description, schema.get("format"))


def _kind_of_text(words: list[str], description: str, text_format: object) -> Kind:
    names = set(words)
    last = words[-1] if words else ""
    by_format = {
        "uri": Kind.URL,
        "email": Kind.EMAIL,
        "date": Kind.DATE,
        "time": Kind.TIME,
        "date-time": Kind.DATE_TIME,
    }
    if isinstance(text_format, str) and text_format in by_format:
        return by_format[text_format]
    if names & {"timezone", "zone", "tz"}:
        return Kind.ZONE
    if last in {"id", "ids", "token", "key"}:
        return Kind.IDENTIFIER
    if last in _PATH_WORDS or names & {"path", "filename"}:
        return Kind.PATH
    if names & _URL_WORDS:
        return Kind.URL
    if names & _EMAIL_WORDS or (words == ["to"] and "address" in description.lower()):
        return Kind.EMAIL
    if names & _QUERY_WORDS:
        return Kind.QUERY
    if "date" in names or (
        _DATE_EXAMPLE.search(description) and last in {"due", "day", "since", "until", "after", "before"}
    ):
        return Kind.DATE
    if last in {"time", "start", "end"} and not names & {"zone"}:
        return Kind.TIME
    if names & {"page", "pages"} and (last in {"page", "pages"} or _NUMBERS_EXAMPLE.search(description)):
        return Kind.NUMBER_LIST
    return Kind.TEXT


@lru_cache(maxsize=4096)
def name_pattern(name: str) -> re.Pattern[str] | None:
    """A pattern for a parameter's name in running text; limits such as ``max_results`` go by what they limit."""
    words = [word for word in normal_words(name) if word not in {"max", "min", "limit", "number", "num", "id", "ids"}]
    words = words or normal_words(name)
    if words[1:] and words[-1] in {"seconds", "minutes", "ms"}:
        words = words[-1:]
    if not words or (len(words) == 1 and (words[0] in STOP_WORDS or len(words[0]) < 2)):
        return None
    parts = [re.escape(word) for word in words]
    gap = r"[\s_-]+"
    last = words[-1]
    parts[-1] = f"{re.escape(last[:-1])}s?" if last.endswith("s") and len(last) > 3 else f"{re.escape(last)}s?"
    return re.compile(rf"(?<![^\W_]){gap.join(parts)}(?![^\W_])", re.IGNORECASE)
