"""Filling a tool's parameters from what the user wrote."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from oneclaw_core.providers.offline import values
from oneclaw_core.providers.offline.commands import command_in
from oneclaw_core.providers.offline.filling import Filling, filled
from oneclaw_core.providers.offline.literals import Kind, Literal, find_literals, without_literals
from oneclaw_core.providers.offline.parameters import ACCEPTED, name_pattern
from oneclaw_core.providers.offline.programs import code_in
from oneclaw_core.providers.offline.quantities import described_in, find_quantities, is_unit, match_quantities
from oneclaw_core.providers.offline.remainder import is_instruction, remaining_text
from oneclaw_core.providers.offline.terms import normal_words
from oneclaw_core.providers.offline.words import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oneclaw_core.providers.offline.catalogue import PreparedTool
    from oneclaw_core.providers.offline.conversation import AskedFor
    from oneclaw_core.providers.offline.parameters import Parameter

_MENTIONS_LIMIT = 20
_TITLE_REACH = 20

_BEFORE_TITLE = re.compile(r"\b(?:named|called|titled|entitled)\s*[\"“'`«]?\Z", re.IGNORECASE)
_TITLED = re.compile(r"\b(?:named|called|titled|entitled)\s+([^\s\"“”'`,;]+)", re.IGNORECASE)


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
        self._is_guess = False

    def run(self, answers: Sequence[AskedFor]) -> Filling:
        parameters = self._tool.parameters
        for answer in answers:
            parameter = next((each for each in parameters if each.name == answer.parameter), None)
            if parameter is not None:
                value = values.answered(parameter, answer.answer)
                self._set(parameter, [] if value is None else [value])
        self._each_wanting(self._command)
        self._each_wanting(self._code)
        self._each_wanting(self._named)
        self._each_wanting(self._by_kind)
        self._nearest_numbers()
        self._each_wanting(self._lone_number)
        self._each_wanting(self._quoted)
        self._rest_of_the_message()
        return self._result()

    def _each_wanting(self, step: Callable[[Parameter], None]) -> None:
        for parameter in self._tool.parameters:
            if parameter.name not in self._values:
                step(parameter)

    def _set(self, parameter: Parameter, found: Sequence[Any]) -> None:
        fitting = [value for value in found if values.fits(value, parameter.schema)]
        if fitting:
            self._values[parameter.name] = fitting

    def _result(self) -> Filling:
        for parameter in self._missing():
            self._set(parameter, [parameter.schema["default"]] if "default" in parameter.schema else [])
        missing = self._missing()
        if missing:
            return Filling(missing=missing)
        return filled(self._values, is_guess=self._is_guess)

    def _unused(self, *kinds: Kind) -> list[Literal]:
        return [each for kind in kinds for each in self._literals if each.kind is kind and each not in self._used]

    def _take(self, parameter: Parameter, literals: Sequence[Literal]) -> None:
        found: list[Any] = [values.convert(literal.value, parameter) for literal in literals]
        found = [value for value in dict.fromkeys(found) if value is not None]
        self._used.update(literals)
        self._set(parameter, [found] if parameter.is_array and found else found)

    def _command(self, parameter: Parameter) -> None:
        """A command is taken to the letter, with the quotes and paths in it."""
        if self._tool.action is not Action.RUN or parameter.name != "command" or not parameter.is_required:
            return
        command = command_in(self._message)
        if command is not None:
            start = self._message.index(command.text)
            self._used.update(each for each in self._literals if each.start >= start)
            self._set(parameter, [command.text])
            self._is_guess = not command.is_named

    def _code(self, parameter: Parameter) -> None:
        """A program is taken to the letter, too."""
        code = code_in(self._message) if parameter.name == "code" and parameter.is_required else None
        if code is not None:
            start = self._message.index(code)
            self._used.update(each for each in self._literals if start <= each.start < start + len(code))
            self._set(parameter, [code])

    def _named(self, parameter: Parameter) -> None:
        """A value beside the parameter's own name: ``page 3``, ``300 dpi``, ``title: "Plan"``, ``encoding=latin-1``."""
        pattern = name_pattern(parameter.name)
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
        before = [each for each in self._unused(Kind.NUMBER) if each.end <= match.start()][-1:]
        if before and self._message[before[0].end : match.start()].strip(" -"):
            before = []
        found = values.numbers_after(self._plain[match.end() :])
        is_unit_of_first = bool(before) and is_unit(self._plain, before[0], match, self._tool.parameters)
        if found is not None and not parameter.is_array and not is_unit_of_first:
            numbers = [values.convert(number, parameter) for number in found[0]]
            self._mark_numbers(match.end(), match.end() + found[1])
            self._set(parameter, [number for number in numbers if number is not None])
            return True
        if before:
            self._take(parameter, before)
        return bool(before)

    def _mark_numbers(self, start: int, end: int) -> None:
        self._used.update(each for each in self._unused(Kind.NUMBER) if start <= each.start < end)

    def _literal_after(self, parameter: Parameter, match: re.Match[str]) -> Literal | None:
        separator = re.match(r"\s*(?:[:=]|is|as|to|of)?\s*", self._message[match.end() :], re.IGNORECASE)
        at = match.end() + (separator.end() if separator else 0)
        accepted = ACCEPTED.get(parameter.kind)
        literal = next((each for each in self._literals if each.start == at and each not in self._used), None)
        if literal is not None:
            if accepted is None and self._is_only_value_of_another(literal):
                return None  # the "column of sales.csv" has no name yet
            return literal if literal.is_quoted or accepted is None or literal.kind in accepted else None
        is_explicit = self._message[match.end() :].lstrip()[:1] in {":", "="}
        if not is_explicit or accepted is not None:
            return None
        value = r"\S.*\S" if is_instruction(parameter) else r"[^\s,;]+"
        word = re.compile(value, re.DOTALL).match(self._message, at)
        return Literal(Kind.TEXT, word.group(), word.start(), word.end()) if word else None

    def _is_only_value_of_another(self, literal: Literal) -> bool:
        wanting = any(literal.kind in ACCEPTED.get(each.kind, ()) for each in self._missing())
        return wanting and self._unused(literal.kind) == [literal]

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
        elif parameter.kind in ACCEPTED:
            rivals = [each for each in self._tool.parameters if each.kind is parameter.kind]
            # A path inside a command is part of the command, not of what surrounds it.
            is_alone = not any(each.is_required for each in rivals) and self._tool.action is not Action.RUN
            if parameter.is_required or is_alone:
                self._take_by_kind(parameter, rivals)
        elif parameter.kind is Kind.OBJECT and parameter.is_required:
            self._json_object(parameter)

    def _take_by_kind(self, parameter: Parameter, rivals: Sequence[Parameter]) -> None:
        found = self._unused(*ACCEPTED[parameter.kind])
        wanting = [
            each for each in rivals if each.is_required == parameter.is_required and each.name not in self._values
        ]
        if len(wanting) > 1 or not parameter.is_required:
            found = found[: None if parameter.is_array else 1]
        if found:
            self._take(parameter, found)

    def _json_object(self, parameter: Parameter) -> None:
        value = values.json_in(self._message)
        self._set(parameter, [] if value is None else [value])

    def _nearest_numbers(self) -> None:
        wanting = [each for each in self._wanting(Kind.NUMBER) if not each.is_array]
        if not wanting:
            return
        quantities = find_quantities(self._message, self._plain)
        for parameter, literal in match_quantities(self._tool, wanting, quantities, self._used):
            self._take(parameter, [literal])

    def _wanting(self, *kinds: Kind) -> list[Parameter]:
        return [each for each in self._tool.parameters if each.kind in kinds and each.name not in self._values]

    def _missing(self) -> list[Parameter]:
        return [each for each in self._tool.parameters if each.is_required and each.name not in self._values]

    def _lone_number(self, parameter: Parameter) -> None:
        """As many numbers as are required go to them in order; one that none requires, to the one spoken of."""
        numbers = self._unused(Kind.NUMBER)
        if not numbers:
            return
        wanting = [each for each in self._wanting(Kind.NUMBER, Kind.NUMBER_LIST) if each.is_required]
        if not wanting and len(numbers) == 1 and self._tool.action not in {Action.SEND, Action.REMOVE, Action.RUN}:
            wanting = described_in(self._plain, self._tool, self._wanting(Kind.NUMBER))
        if wanting == [parameter] and parameter.is_array:
            self._take(parameter, numbers)
        elif wanting[:1] == [parameter] and len(numbers) == len(wanting):
            self._take(parameter, numbers[:1])

    def _quoted(self, parameter: Parameter) -> None:
        """Quoted text goes to the texts that are wanted, in their order."""
        if parameter.kind not in {Kind.TEXT, Kind.QUERY, Kind.IDENTIFIER, Kind.PATH}:
            return
        if not parameter.is_required and parameter.kind is not Kind.QUERY:
            return
        is_name = not {"name", "title"}.isdisjoint(normal_words(parameter.name))
        titled = _TITLED.search(self._plain) if is_name and not any(map(self._is_title, self._literals)) else None
        if titled is not None:
            self._take(parameter, [Literal(Kind.TEXT, titled.group(1), titled.start(), titled.end())])
            return
        found = [each for each in self._literals if each.is_quoted and each not in self._used]
        if is_name:
            found.sort(key=lambda each: not self._is_title(each))
        if found:
            self._take(parameter, found if parameter.is_array else found[:1])

    def _is_title(self, literal: Literal) -> bool:
        """Whether a quoted text stands behind "named", "called" and the like."""
        before = self._message[max(0, literal.start - _TITLE_REACH) : literal.start]
        return literal.is_quoted and _BEFORE_TITLE.search(before) is not None

    def _rest_of_the_message(self) -> None:
        """The only required text gets what the message says beyond the request itself."""
        wanted = self._missing() or self._wanting(Kind.QUERY)
        if len(wanted) != 1 or wanted[0].kind not in {Kind.TEXT, Kind.QUERY} or wanted[0].is_array:
            return
        if self._tool.action in {Action.SEND, Action.REMOVE}:
            return  # what leaves the machine or is lost must have been said in so many words
        text = remaining_text(self._message, self._used, self._tool, wanted[0])
        if text:
            self._set(wanted[0], [text])
            self._is_guess = wanted[0].is_required
