"""Arguments for a tool from the words of a message, by the kinds of its parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from oneclaw_offline.values import Literal, Parameter, blanked, find_literals, read_parameters
from oneclaw_offline.words import (
    GENERIC_TERMS,
    HARMFUL_TERMS,
    STOP_WORDS,
    SYNONYMS,
    is_question,
    stem,
    stems,
    terms,
    word_set,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core import ToolDefinition

_MOST_CALLS = 8
_TITLE_CHARACTERS = 60
_NEAR_CHARACTERS = 40
_READ_CHARACTERS = 2_000
_TEXT_KINDS = ("text", "query", "id")
_LITERAL_KINDS = ("path", "url", "email", "date", "datetime", "time", "zone")
_FLAGS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_LIMIT_TERMS = stems("count number max min limit id")
_PHRASE_END = re.compile(r"[,;.:!?()\n]|\b(?:with|for|in|at|from|to|by|on|and|or)\b", re.IGNORECASE)
_PAGES = re.compile(r"\bpages?\s+(\d{1,9}(?:(?:\s{0,3}(?:-|–|,|&|to|and)\s{0,3}){1,2}\d{1,9}){0,50})", re.IGNORECASE)  # noqa: RUF001
_RANGE = re.compile(r"\s*(?:–|-|to)\s*", re.IGNORECASE)  # noqa: RUF001
_CLOCK = re.compile(r"\bat\s+(\d{1,2})(?:[:.](\d\d))?\b(?:\s*([ap])\.?m\b\.?)?", re.IGNORECASE)
_TITLED = re.compile(r"\b(?:named|called|titled)\s+(?:[\"“'`«]([^\"”'`»]+)[\"”'`»]|([^\s\"“”'`,;]+))", re.IGNORECASE)
_PLACE = re.compile(r"\bin\s+([^\W\d_]+)(?:[\s-]([^\W\d_]+))?(?:[\s-]([^\W\d_]+))?", re.IGNORECASE)
_FILLERS = word_set("please can could would will you help me my use the a an for to about of with in on this and")
_CLAUSES = word_set("that which who")
_SILENT_WORDS = STOP_WORDS - word_set("hello hi hey thanks yes no ok okay") | word_set("today tomorrow")
_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_LEAD = re.compile(
    r"\s*\b(?:to|in|into|from|of|at|on|as)(?:\s+(?:the|a|my))?(?:\s+(?:file|page|url))?\s*$", re.IGNORECASE
)
_BEFORE_COLON = re.compile(r"[^:\n]{1,80}:\s+")
_BY_MEANS = re.compile(r"\s(?:in|with|using|by)\s+(?:the\s+)?(\w+)$", re.IGNORECASE)
_TOPIC = re.compile(r"\b(?:for|about|on|regarding)\s+(.+)", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True)
class Filling:
    """The arguments that a message gives a tool.

    Attributes:
        calls: Arguments of each call; several if a parameter that takes one value has several.
        missing: Required parameters without a value.
    """

    calls: list[dict[str, Any]] = field(default_factory=list)
    missing: list[Parameter] = field(default_factory=list)


def fill(tool: ToolDefinition, message: str, answers: Sequence[tuple[str, str]] = ()) -> Filling:
    """Fill the parameters of a tool.

    Args:
        tool: Tool to call.
        message: Message of the user.
        answers: Names of parameters that the user was asked for, each with the answer.
    """
    filler = _Filler(tool, read_parameters(tool.parameters), message)
    for name, answer in answers:
        asked = _Filler(tool, [each for each in filler.wanting() if each.name == name], answer)
        asked.fill(is_answer=True)
        filler.values |= asked.values
    filler.fill()
    missing = [each for each in filler.wanting() if each.is_required]
    if missing:
        return Filling([], missing)
    single = {name: values[0] for name, values in filler.values.items()}
    several = next((name for name, values in filler.values.items() if len(values) > 1), None)
    return Filling([single | {several: each} for each in filler.values[several][:_MOST_CALLS]] if several else [single])


class _Filler:
    """The values that one message gives to parameters; each literal of the message is used once."""

    def __init__(self, tool: ToolDefinition, parameters: Sequence[Parameter], message: str) -> None:
        self.values: dict[str, list[Any]] = {}
        self._tool = tool
        self._parameters = parameters
        self._message = message
        self._plain = blanked(message, "number")
        self._unused = list(find_literals(message))
        self._spans: list[tuple[int, int]] = []

    def wanting(self, *kinds: str) -> list[Parameter]:
        return [each for each in self._parameters if each.name not in self.values and (not kinds or each.kind in kinds)]

    def fill(self, *, is_answer: bool = False) -> None:
        for parameter in self.wanting():
            self._take_pattern(parameter)
        self._take_nearest()
        text = self._message.strip()
        if is_answer and text:
            for parameter in self.wanting("flag"):
                self._set(parameter, [flag for word, flag in _FLAGS.items() if text.lower().startswith(word)][:1])
            for parameter in self.wanting(*_TEXT_KINDS, "pages", *(() if " " in text else _LITERAL_KINDS)):
                self._set(parameter, [text])
        else:
            self._take_remainder()
        for parameter in self.wanting():
            if parameter.is_required and parameter.default is not None:
                self.values[parameter.name] = [parameter.default]

    def _set(self, parameter: Parameter, found: Sequence[Any]) -> None:
        if found:
            self.values[parameter.name] = [list(found)] if parameter.is_list else list(found)

    def _take(self, parameter: Parameter, literals: Sequence[Literal]) -> None:
        spans = [(each.start, each.end) for each in literals]
        self._spans += spans
        self._unused = [each for each in self._unused if not any(start <= each.start < end for start, end in spans)]
        is_number = parameter.kind == "number"
        self._set(parameter, list(dict.fromkeys(_number(each.value) if is_number else each.value for each in literals)))

    def _take_pattern(self, parameter: Parameter) -> None:
        """Take a value that has its own form, such as ``pages 1, 3 to 5``, ``title: Plan``, ``at 9`` or a choice."""
        name = re.escape(parameter.name).replace("_", r"[\s_-]")
        clock = _CLOCK.search(self._message) if parameter.name in {"hour", "minute"} else None
        titled = _TITLED.search(self._message) if parameter.is_title and parameter.is_required else None
        said = re.search(rf"\b{name}\s*[:=]\s*([^\s\"'`“„«‘「,;]+)", self._message, re.IGNORECASE)  # noqa: RUF001
        pages = _PAGES.search(self._plain) if parameter.kind == "pages" else None
        if clock is not None:
            half = {"p": 12, "a": 0}.get((clock[3] or "").lower())
            hour = int(clock[1]) if half is None else int(clock[1]) % 12 + half
            value = str(hour if parameter.name == "hour" else clock[2] or 0)
            self._take(parameter, [Literal("number", value, *clock.span())])
        elif titled is not None:
            self._take(parameter, [Literal("text", titled[1] or titled[2].rstrip(".?!"), *titled.span())])
        elif pages is not None:
            listed = re.sub(r"[^\d-]+", ",", _RANGE.sub("-", pages[1]))
            self._take(parameter, [Literal("pages", listed, *pages.span(1))])
        elif said is not None and parameter.kind in _TEXT_KINDS:
            end = len(self._message) if parameter.is_required else said.end()
            self._take(parameter, [Literal("text", self._message[said.start(1) : end].strip(), said.start(), end)])
        elif parameter.kind == "choice":
            found = _choices_in(self._plain, parameter.choices)
            self._take(parameter, found if parameter.is_list else found[:1])
        elif parameter.kind == "flag":
            flag = re.search(rf"\b(?:(no|not|without)\s+)?{name}\b", self._plain, re.IGNORECASE)
            self._set(parameter, [flag[1] is None] if flag else [])

    def _take_nearest(self) -> None:
        """Give each literal to the parameter whose name stands nearest to it, or else to the first that needs one."""
        wanting = self.wanting(*_TEXT_KINDS, "number", *_LITERAL_KINDS)
        # A bare count counts what its tool is about.
        named = {each.name: stems(each.name) - _LIMIT_TERMS or stems(self._tool.name) for each in wanting}
        pairs = []
        for literal in self._unused:
            behind = self._plain[literal.end : literal.end + _NEAR_CHARACTERS]
            before = self._plain[max(0, literal.start - _NEAR_CHARACTERS) : literal.start].rstrip(":= ")
            near = frozenset((*terms(_PHRASE_END.split(behind)[0]), *terms(_PHRASE_END.split(before)[-1])[-1:]))
            for parameter in wanting:
                is_text = literal.is_quoted and parameter.kind in {*_TEXT_KINDS, "path"}
                is_near = bool(near & named[parameter.name])
                is_wanted = is_near or parameter.is_required or self._is_clear(parameter)
                if is_wanted and (is_text or literal.kind == parameter.kind):
                    pairs.append((not is_near, literal.kind != parameter.kind, parameter, literal))
        taken: dict[str, Literal] = {}
        for _, _, parameter, literal in sorted(pairs, key=lambda pair: pair[:2]):
            if literal in self._unused and parameter.name not in taken:
                self._take(parameter, [literal])
                taken[parameter.name] = literal
        for parameter in wanting:
            more = [each for each in self._unused if each.kind == parameter.kind]
            is_repeated = parameter.is_list or (parameter.is_required and parameter.kind in _LITERAL_KINDS)
            if is_repeated and more and parameter.name in taken:
                self._take(parameter, [taken[parameter.name], *more])
        for parameter in self.wanting("zone"):
            self._set(parameter, _zones_in(self._message))

    def _is_clear(self, parameter: Parameter) -> bool:
        """Return True if an optional parameter takes a value that is not beside its name."""
        if parameter.kind in {"path", "url"}:  # in a command, it is a part of the command
            return not any(each.is_required for each in self._parameters)
        return parameter.kind in {"query", *_LITERAL_KINDS}

    def _take_remainder(self) -> None:
        """Give a text that is wanted what the message says beyond the request; a name is the beginning of it."""
        texts = [each for each in self.wanting("text", "query") if not each.is_list]
        wanted = [each for each in texts if each.is_required] or [each for each in texts if each.kind == "query"][:1]
        bodies = [each for each in wanted if not each.is_title] or wanted
        # What leaves the machine or is lost must be said in so many words.
        if len(bodies) != 1 or stems(self._tool.name) & HARMFUL_TERMS:
            return
        text = _remaining_text(self._message, self._spans, self._tool, bodies[0])
        for parameter in wanted if text else ():
            title = text[:1].upper() + text[1:_TITLE_CHARACTERS].rstrip()
            self._set(parameter, [text if parameter in bodies else title])


def _remaining_text(message: str, spans: Iterable[tuple[int, int]], tool: ToolDefinition, parameter: Parameter) -> str:
    """Cut from a message the request and the values of other parameters, which stand at the spans."""
    text, at = "", 0
    for start, end in sorted(spans):
        first = max(at, start - _NEAR_CHARACTERS)
        text += f"{message[at:first]}{_LEAD.sub('', message[first:start])} " if start >= at else ""
        at = max(at, end)
    text = re.sub(r"(?<=\w)[.?!]+$", "", (text + message[at:]).strip())
    introduction = _BEFORE_COLON.match(text)
    if introduction is not None:
        return text[introduction.end() :].strip()
    is_query = parameter.kind == "query"
    if is_question(message) or not parameter.is_required:
        topic = _TOPIC.search(text) if is_query else None
        return topic[1].strip() if topic else text if is_query and parameter.is_required else ""
    first_sentence = tool.description[:_READ_CHARACTERS].partition(". ")[0]
    own = stems(" ".join((tool.name, first_sentence, *tool.parameters["properties"])))
    text = text[_request_end(text[:_READ_CHARACTERS], stems(f"{tool.name} {parameter.name}"), own) :].strip(" ,;\n\t")
    means = _BY_MEANS.search(text[-_NEAR_CHARACTERS:])
    text = text.removesuffix(means[0]) if means is not None and stem(means[1]) in own else text
    words = [word.lower() for word in _WORD.findall(text[:_READ_CHARACTERS])]
    is_silent = all(word in _SILENT_WORDS or (stem(word) in own and not is_query) for word in words)
    return "" if words and is_silent else text


def _request_end(text: str, named: frozenset[str], own: frozenset[str]) -> int:
    """Find the end of the words that only ask for the tool."""
    end = 0
    words = list(_WORD.finditer(text))
    for match, follower in zip(words, [*words[1:], None], strict=False):
        word, term = match[0].lower(), stem(match[0])
        if word in _CLAUSES:
            return match.end()
        is_request = not named.isdisjoint((term, *SYNONYMS.get(term, ()))) or term in GENERIC_TERMS or term in SYNONYMS
        is_told = term in own and (follower is None or end == 0 or follower[0].lower() in _FILLERS | _CLAUSES)
        if not (word in _FILLERS or is_request or is_told):
            break
        end = match.end()
    return end


def _number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _choices_in(text: str, choices: Sequence[str]) -> list[Literal]:
    """Find the choices whose words all stand in a text, those of most words first."""
    words = re.finditer(r"(?:\b(?:every|each)\s+)?([^\W_]+)", text, re.IGNORECASE)
    places = {stem(match[1]): match.span() for match in words}
    fitting = [choice for choice in choices if stems(choice) and stems(choice) <= places.keys()]
    fitting.sort(key=lambda choice: -len(stems(choice)))
    return [Literal("choice", choice, *min(places[word] for word in stems(choice))) for choice in fitting]


def _zones_in(text: str) -> list[str]:
    """Find the time zone of a city that a text names as ``in New York``."""
    for match in _PLACE.finditer(text[:2000]):
        words = [word.casefold() for word in match.groups() if word is not None]
        names = (" ".join(words[:length]) for length in range(len(words), 0, -1))
        if zone := next((_zones_by_city()[name] for name in names if name in _zones_by_city()), None):
            return [zone]
    return []


@lru_cache(maxsize=1)
def _zones_by_city() -> dict[str, str]:
    from zoneinfo import available_timezones

    zones = sorted(zone for zone in available_timezones() if "/" in zone and not zone.startswith(("Etc/", "US/")))
    return {re.sub(r"[_-]", " ", zone.rpartition("/")[2]).casefold(): zone for zone in zones}
