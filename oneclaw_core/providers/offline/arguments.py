"""Filling a tool's parameters from what the user wrote."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from oneclaw_core.providers.offline import values
from oneclaw_core.providers.offline.literals import Kind, Literal, find_literals, without_literals
from oneclaw_core.providers.offline.remainder import remaining_text
from oneclaw_core.providers.offline.terms import normal_words
from oneclaw_core.providers.offline.words import STOP_WORDS, Action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.providers.offline.catalogue import PreparedTool
    from oneclaw_core.providers.offline.conversation import AskedFor
    from oneclaw_core.providers.offline.parameters import Parameter

PARALLEL_CALLS_LIMIT = 8
_MENTIONS_LIMIT = 20

# The kinds of literals that a parameter of a kind takes, the best first.
_ACCEPTED: dict[Kind, tuple[Kind, ...]] = {
    Kind.PATH: (Kind.PATH,),
    Kind.URL: (Kind.URL,),
    Kind.EMAIL: (Kind.EMAIL,),
    Kind.DATE: (Kind.DATE,),
    Kind.DATE_TIME: (Kind.DATE_TIME,),
    Kind.TIME: (Kind.TIME, Kind.DATE_TIME),
    Kind.ZONE: (Kind.ZONE,),
}
_TITLED = re.compile(r"\b(?:named|called|titled|entitled)\s+([^\s\"“”'`,;]+)", re.IGNORECASE)


@dataclass(slots=True)
class Filling:
    """What a message gives a tool.

    Attributes:
        calls: the arguments, one object for each call; several where one parameter has several values.
        missing: the required parameters that nothing in the message fits.
    """

    calls: list[dict[str, Any]] = field(default_factory=list)
    missing: list[Parameter] = field(default_factory=list)


def fill(tool: PreparedTool, message: str, answers: Sequence[AskedFor] = ()) -> Filling:
    """Fill a tool's parameters.

    Args:
        tool: the tool.
        message: what the user wrote.
        answers: what the user answered when asked for some of the parameters.
    """
    return _Filler(tool, message).run(answers)


class _Filler:
    """One attempt; a literal that has found its parameter is not used again."""

    def __init__(self, tool: PreparedTool, message: str) -> None:
        self._tool = tool
        self._message = message
        self._plain = without_literals(message)
        self._literals = list(find_literals(message))
        self._used: set[Literal] = set()
        # Several values for a parameter that takes one mean several calls.
        self._values: dict[str, list[Any]] = {}

    def run(self, answers: Sequence[AskedFor]) -> Filling:
        parameters = self._tool.parameters
        for answer in answers:
            parameter = next((each for each in parameters if each.name == answer.parameter), None)
            if parameter is not None:
                value = answered(parameter, answer.answer)
                self._set(parameter, [] if value is None else [value])
        for step in (self._named, self._by_kind, self._lone_number, self._quoted):
            for parameter in parameters:
                if parameter.name not in self._values:
                    step(parameter)
        self._rest_of_the_message()
        return self._result()

    def _set(self, parameter: Parameter, found: Sequence[Any]) -> None:
        fitting = [value for value in found if values.fits(value, parameter.schema)]
        if fitting:
            self._values[parameter.name] = fitting

    def _result(self) -> Filling:
        for parameter in self._tool.parameters:
            if parameter.is_required and parameter.name not in self._values and "default" in parameter.schema:
                self._set(parameter, [parameter.schema["default"]])
        missing = [each for each in self._tool.parameters if each.is_required and each.name not in self._values]
        if missing:
            return Filling(missing=missing)
        several = next((name for name, found in self._values.items() if len(found) > 1), None)
        single = {name: found[0] for name, found in self._values.items()}
        if several is None:
            return Filling(calls=[single])
        return Filling(calls=[{**single, several: value} for value in self._values[several][:PARALLEL_CALLS_LIMIT]])

    def _unused(self, *kinds: Kind) -> list[Literal]:
        return [each for kind in kinds for each in self._literals if each.kind is kind and each not in self._used]

    def _take(self, parameter: Parameter, literals: Sequence[Literal]) -> None:
        found: list[Any] = [values.convert(literal.value, parameter) for literal in literals]
        found = [value for value in dict.fromkeys(found) if value is not None]
        self._used.update(literals)
        self._set(parameter, [found] if parameter.is_array and found else found)

    def _named(self, parameter: Parameter) -> None:
        """A value beside the parameter's own name: ``page 3``, ``300 dpi``, ``title: "Plan"``, ``encoding=latin-1``."""
        pattern = _name_pattern(parameter.name)
        if pattern is None or parameter.kind in {Kind.FLAG, Kind.CHOICE, Kind.OBJECT}:
            return
        for match in islice(pattern.finditer(self._plain), _MENTIONS_LIMIT):
            if parameter.kind is Kind.NUMBER:
                if self._numbers_beside(parameter, match):
                    return
            elif parameter.kind is Kind.NUMBER_LIST and not parameter.is_array:
                numbers = values.number_list_after(self._plain[match.end() :])
                if numbers is not None:
                    self._mark_numbers(match.end(), match.end() + numbers[1])
                    self._set(parameter, [numbers[0]])
                    return
            else:
                literal = self._literal_after(parameter, match)
                if literal is not None:
                    self._take(parameter, [literal])
                    return

    def _numbers_beside(self, parameter: Parameter, match: re.Match[str]) -> bool:
        found = values.numbers_after(self._plain[match.end() :])
        if found is not None and not parameter.is_array:
            numbers = [values.convert(number, parameter) for number in found[0]]
            self._mark_numbers(match.end(), match.end() + found[1])
            self._set(parameter, [number for number in numbers if number is not None])
            return True
        before = [each for each in self._unused(Kind.NUMBER) if not self._message[each.end : match.start()].strip(" -")]
        before = [each for each in before if each.end <= match.start()][-1:]
        if before:
            self._take(parameter, before)
        return bool(before)

    def _mark_numbers(self, start: int, end: int) -> None:
        self._used.update(each for each in self._unused(Kind.NUMBER) if start <= each.start < end)

    def _literal_after(self, parameter: Parameter, match: re.Match[str]) -> Literal | None:
        separator = re.match(r"\s*(?:[:=]|is|as|to|of)?\s*", self._message[match.end() :], re.IGNORECASE)
        at = match.end() + (separator.end() if separator else 0)
        accepted = _ACCEPTED.get(parameter.kind)
        literal = next((each for each in self._literals if each.start == at and each not in self._used), None)
        if literal is not None:
            return literal if literal.is_quoted or accepted is None or literal.kind in accepted else None
        is_explicit = self._message[match.end() :].lstrip()[:1] in {":", "="}
        if not is_explicit or accepted is not None:
            return None
        word = re.compile(r"[^\s,;]+").match(self._message, at)
        return Literal(Kind.TEXT, word.group(), word.start(), word.end()) if word else None

    def _by_kind(self, parameter: Parameter) -> None:
        """A value that can be nothing else: a path for a path, a word of an enumeration."""
        if parameter.kind is Kind.CHOICE:
            found = values.choices_in(self._plain, parameter.choices)
            self._set(parameter, [found] if parameter.is_array and found else found[:1])
        elif parameter.kind is Kind.FLAG:
            flag = values.flag_in(self._plain, parameter.name)
            self._set(parameter, [] if flag is None else [flag])
        elif parameter.kind is Kind.ZONE and not self._unused(Kind.ZONE):
            zone = values.zone_in(self._message)
            self._set(parameter, [] if zone is None else [zone])
        elif parameter.kind in _ACCEPTED:
            rivals = [each for each in self._tool.parameters if each.kind is parameter.kind]
            # A path inside a command is part of the command, not of what surrounds it.
            is_alone = not any(each.is_required for each in rivals) and self._tool.action is not Action.RUN
            if parameter.is_required or is_alone:
                self._take_by_kind(parameter, rivals)
        elif parameter.kind is Kind.OBJECT and parameter.is_required:
            self._json_object(parameter)

    def _take_by_kind(self, parameter: Parameter, rivals: Sequence[Parameter]) -> None:
        found = self._unused(*_ACCEPTED[parameter.kind])
        wanting = [
            each for each in rivals if each.is_required == parameter.is_required and each.name not in self._values
        ]
        if len(wanting) > 1 or not parameter.is_required:
            found = found[: None if parameter.is_array else 1]
        if found:
            self._take(parameter, found)

    def _json_object(self, parameter: Parameter) -> None:
        start = min((at for at in map(self._message.find, "{[") if at >= 0), default=-1)
        if start < 0:
            return
        try:
            value, _ = json.JSONDecoder().raw_decode(self._message, start)
        except (ValueError, RecursionError):
            return
        self._set(parameter, [value])

    def _lone_number(self, parameter: Parameter) -> None:
        """The only number left belongs to the only number that is wanted."""
        wanting = [
            each
            for each in self._tool.parameters
            if each.is_required and each.kind in {Kind.NUMBER, Kind.NUMBER_LIST} and each.name not in self._values
        ]
        numbers = self._unused(Kind.NUMBER)
        if wanting == [parameter] and (len(numbers) == 1 or (numbers and parameter.is_array)):
            self._take(parameter, numbers)

    def _quoted(self, parameter: Parameter) -> None:
        """Quoted text goes to the texts that are wanted, in their order."""
        if parameter.kind not in {Kind.TEXT, Kind.QUERY, Kind.IDENTIFIER, Kind.PATH}:
            return
        if not parameter.is_required and parameter.kind is not Kind.QUERY:
            return
        titled = _TITLED.search(self._plain)
        if titled is not None and set(normal_words(parameter.name)) & {"name", "title"}:
            self._take(parameter, [Literal(Kind.TEXT, titled.group(1), titled.start(), titled.end())])
            return
        found = [each for each in self._literals if each.is_quoted and each not in self._used]
        if found:
            self._take(parameter, found if parameter.is_array else found[:1])

    def _rest_of_the_message(self) -> None:
        """The only required text gets what the message says beyond the request itself."""
        missing = [each for each in self._tool.parameters if each.is_required and each.name not in self._values]
        wanted = missing or [
            each for each in self._tool.parameters if each.kind is Kind.QUERY and each.name not in self._values
        ]
        if len(wanted) != 1 or wanted[0].kind not in {Kind.TEXT, Kind.QUERY} or wanted[0].is_array:
            return
        if self._tool.action in {Action.SEND, Action.REMOVE}:
            return  # what leaves the machine or is lost must have been said in so many words
        text = remaining_text(self._message, self._used, self._tool, only_if_marked=not wanted[0].is_required)
        if text:
            self._set(wanted[0], [text])


def answered(parameter: Parameter, answer: str) -> Any:
    """Read the user's answer to a question for one parameter.

    Returns:
        The value, ``None`` if the answer has none that fits.
    """
    literals = find_literals(answer)
    accepted = _ACCEPTED.get(parameter.kind, (Kind.NUMBER,) if parameter.kind is Kind.NUMBER else ())
    candidates: list[Any] = [each.value for each in literals if each.kind in accepted]
    if parameter.kind is Kind.CHOICE:
        candidates = values.choices_in(answer, parameter.choices)
    elif parameter.kind is Kind.FLAG:
        flag = values.flag_in(answer, parameter.name)
        candidates = [flag if flag is not None else values.yes_or_no(answer)]
    else:
        candidates += [each.value for each in literals if each.is_quoted]
        if parameter.kind in {Kind.TEXT, Kind.QUERY, Kind.NUMBER_LIST} or len(answer.split()) == 1:
            candidates.append(answer.strip())
        candidates = [values.convert(value, parameter) for value in candidates]
    candidates = [[value] if parameter.is_array else value for value in candidates if value is not None]
    return next((value for value in candidates if value != "" and values.fits(value, parameter.schema)), None)


@lru_cache(maxsize=4096)
def _name_pattern(name: str) -> re.Pattern[str] | None:
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
