"""Single values: reading them from words, and whether they fit a schema."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from oneclaw_core.providers.offline.literals import Kind, find_literals
from oneclaw_core.providers.offline.parameters import ACCEPTED
from oneclaw_core.providers.offline.terms import normal_words, stem, word_set

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.providers.offline.parameters import Parameter

_RANGE_LIMIT = 50
_GAP = r"[\s_-]+"
_JOINT = r"\s*(?:-|–|,|;|to|and|through|&|bis|und)\s*"  # noqa: RUF001  # an en dash in a range
_NUMBERS = re.compile(
    rf"\s*(?::|=|is|no\.?|number|numbers|#)?\s*(\d{{1,9}}(?:\.\d{{1,9}})?(?:(?:{_JOINT}){{1,2}}\d{{1,9}})*)(?![^\W_])",
    re.IGNORECASE,
)
_DASH = re.compile(r"\s*(?:–|-|\bto\b|\bthrough\b|\bbis\b)\s*", re.IGNORECASE)  # noqa: RUF001
_COMMA = re.compile(r"\s*(?:,|;|&|\band\b|\bund\b)[\s,;&]*(?:\b(?:and|und)\b)?\s*", re.IGNORECASE)
_PLACE = re.compile(r"\bin\s+([^\W\d_]+(?:[\s-][^\W\d_]+){0,2})", re.IGNORECASE)
_ZONE_AREAS = word_set("Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific")
_YES = word_set("yes y true on sure ok")
_NO = word_set("no n false off")
_DATA_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def convert(text: str, parameter: Parameter) -> Any:
    """Read one value for a parameter; ``None`` if the text is none of its type."""
    if parameter.kind is not Kind.NUMBER:
        return text
    try:
        number = float(text)
    except ValueError:
        return None
    if number == int(number):
        return int(number)
    return None if parameter.is_whole else number


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value keeps the rules of a schema that are cheap to check; the rest is jsonschema's."""
    data_type = schema.get("type")
    if isinstance(data_type, str) and data_type in _DATA_TYPES:
        is_flag = isinstance(value, bool)
        if not isinstance(value, _DATA_TYPES[data_type]) or (is_flag and data_type != "boolean"):
            return False
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return all(fits(each, schema["items"]) for each in value)
    enumeration = schema.get("enum")
    return not isinstance(enumeration, list) or value in enumeration


def answered(parameter: Parameter, answer: str) -> Any:
    """Read the user's answer to a question for one parameter.

    Returns:
        The value, ``None`` if the answer has none that fits.
    """
    literals = find_literals(answer)
    accepted = ACCEPTED.get(parameter.kind, (Kind.NUMBER,) if parameter.kind is Kind.NUMBER else ())
    candidates: list[Any] = [each.value for each in literals if each.kind in accepted]
    if parameter.kind is Kind.CHOICE:
        candidates = choices_in(answer, parameter.choices)
    elif parameter.kind is Kind.FLAG:
        flag = flag_in(answer, parameter.name)
        candidates = [flag if flag is not None else yes_or_no(answer)]
    else:
        candidates += [each.value for each in literals if each.is_quoted]
        if parameter.kind in {Kind.TEXT, Kind.QUERY, Kind.NUMBER_LIST} or len(answer.split()) == 1:
            candidates.append(answer.strip())
        candidates = [convert(value, parameter) for value in candidates]
    candidates = [[value] if parameter.is_array else value for value in candidates if value is not None]
    return next((value for value in candidates if value != "" and fits(value, parameter.schema)), None)


def json_in(text: str) -> Any:
    """Read the JSON object or array that a text has; ``None`` if it has none."""
    start = min((at for at in map(text.find, "{[") if at >= 0), default=-1)
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value


def numbers_after(text: str) -> tuple[list[str], int] | None:
    """Read numbers right behind a parameter's name, ranges written out: ``3``, ``1, 2 and 5-7``.

    Returns:
        The numbers and where they end.
    """
    listed = number_list_after(text)
    if listed is None:
        return None
    numbers: list[str] = []
    for part in listed[0].split(","):
        first, dash, last = part.partition("-")
        if dash and first.isdigit() and last.isdigit():
            numbers += [str(each) for each in range(int(first), min(int(last), int(first) + _RANGE_LIMIT) + 1)]
        else:
            numbers.append(part)
    return numbers[:_RANGE_LIMIT], listed[1]


def number_list_after(text: str) -> tuple[str, int] | None:
    """Read a list of numbers right behind a parameter's name in the form ``1,3,5-7``.

    Returns:
        The list and where it ends.
    """
    match = _NUMBERS.match(text[:500])
    if match is None:
        return None
    compact = _COMMA.sub(",", _DASH.sub("-", match.group(1)))
    return compact.replace(" ", ""), match.end()


def choices_in(text: str, choices: Sequence[Any]) -> list[Any]:
    """Find the values of an enumeration whose words all stand in a text, the most telling first."""
    present = {stem(word) for word in normal_words(text[:20_000])}
    found = []
    for choice in choices:
        words = {stem(word) for word in normal_words(str(choice))} if isinstance(choice, str) else set()
        if words and words <= present:
            found.append((len(words), choice))
    return [choice for _, choice in sorted(found, key=lambda each: -each[0])]


def flag_in(text: str, name: str) -> bool | None:
    """Find out whether a text asks for a flag by its name, or against it; ``None`` if it does not name it."""
    words = [re.escape(word) for word in normal_words(name)]
    if not words:
        return None
    pattern = rf"(?<![^\W_])(?:(no|not|without|non|don't)[\s-]+)?{_GAP.join(words)}(?![^\W_])"
    match = re.search(pattern, text[:20_000], re.IGNORECASE)
    return None if match is None else match.group(1) is None


def yes_or_no(text: str) -> bool | None:
    """Read an answer to a yes-or-no question."""
    words = normal_words(text[:200])
    if not words or words[0] not in _YES | _NO:
        return None
    return words[0] in _YES


def zone_in(text: str) -> str | None:
    """Find the time zone of a city that a text names as ``in New York``."""
    for match in _PLACE.finditer(text[:2000]):
        words = re.split(r"[\s-]+", match.group(1).casefold())
        for length in range(len(words), 0, -1):
            zone = _zones_by_city().get(" ".join(words[:length]))
            if zone is not None:
                return zone
    return None


@lru_cache(maxsize=1)
def _zones_by_city() -> dict[str, str]:
    from zoneinfo import available_timezones

    zones = sorted(zone for zone in available_timezones() if zone.partition("/")[0] in _ZONE_AREAS)
    return {zone.rpartition("/")[2].replace("_", " ").replace("-", " ").casefold(): zone for zone in zones}
