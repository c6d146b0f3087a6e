"""The question for a permission as data, the same for a terminal, a web page and a messenger.

Each text in it that is not ours is as others wrote it. :mod:`oneclaw_core.permissions.approval` shows a question
as text in which nothing of that can be taken for the question; a page escapes it in its own way.
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.permissions.requests import PermissionAnswer, PermissionRequest, grant_in_words
from oneclaw_core.permissions.rules import subject_kind
from oneclaw_core.types.permissions import KNOWN_PERMISSIONS, MAX_MEANING_CHARACTERS, Fact
from oneclaw_core.types.text import visible_line, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.types.user_question import UserQuestion


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer that can be given.

    Attributes:
        answer: to return.
        grants: what it grants beyond this call, in words that quote others; ``None`` for nothing.
    """

    answer: PermissionAnswer
    grants: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """The question to a person before a tool acts.

    Attributes:
        tool: the tool that asks.
        permission: such as ``network.private``.
        meaning: what the permission allows; ``""`` if none says.
        meaning_by: the plugin whose words these are, to be shown with them; ``None`` for OneClaw's own.
        facts: what it is about, in the order of showing.
        choices: the answers that can be given, in the order of showing.
    """

    tool: str
    permission: str
    meaning: str
    meaning_by: str | None
    facts: tuple[Fact, ...]
    choices: tuple[Choice, ...]

    @property
    def answers(self) -> frozenset[PermissionAnswer]:
        """The answers that can be given."""
        return frozenset(each.answer for each in self.choices)

    def to_dict(self) -> dict[str, Any]:
        """Return the question as JSON data, with everything in its texts visible."""
        return {
            "tool": visible_lines(self.tool),
            "permission": visible_lines(self.permission),
            "meaning": visible_lines(self.meaning),
            "meaning_by": self.meaning_by and visible_lines(self.meaning_by),
            "facts": [
                {"kind": each.kind, "label": visible_lines(each.label), "text": visible_lines(each.text)}
                for each in self.facts
            ],
            "choices": [
                {"answer": str(each.answer), "grants": each.grants and visible_lines(each.grants)}
                for each in self.choices
            ],
        }


def approval_question(request: PermissionRequest) -> ApprovalQuestion:
    """Put what a tool asks for into the form that every channel shows.

    Args:
        request: what is asked.
    """
    own = KNOWN_PERMISSIONS.get(request.permission)
    return ApprovalQuestion(
        tool=request.tool_name,
        permission=request.permission,
        meaning=own or request.meaning,
        meaning_by=None if own else request.meaning_by,
        facts=tuple(_facts(request)),
        choices=tuple(_choices(request)),
    )


def _facts(request: PermissionRequest) -> Iterator[Fact]:
    if request.sub_agent is not None:
        yield Fact("agent", "for the sub-agent", request.sub_agent)
    arguments = dict(request.arguments)
    if request.subject is not None:
        kind = subject_kind(request.permission)
        yield Fact("subject", kind.noun, request.subject)
        if kind.argument is not None and arguments.get(kind.argument) == request.subject:
            del arguments[kind.argument]
    arguments = {name: value for name, value in arguments.items() if not _is_in(value, request.detail)}
    if arguments or request.subject is None:
        yield Fact("arguments", "arguments", json.dumps(arguments, ensure_ascii=False))
    if request.detail:
        yield Fact("consequence", "it will", request.detail)
    if request.script:
        yield Fact("script", "this is", request.script)
    if request.is_counted:
        yield Fact("script", "again", "this script has done it many times; agreeing lets it go on for a while")
    if request.holds:
        yield Fact("origin", "this conversation holds", request.holds)
    if request.task is not None:
        yield Fact("task", "in the task", request.task)


def _is_in(value: object, detail: str) -> bool:
    """Return True if an argument of several lines need not be shown, since the detail has it, and with its lines."""
    return isinstance(value, str) and "\n" in value and value in detail


def _choices(request: PermissionRequest) -> Iterator[Choice]:
    yield Choice(PermissionAnswer.ONCE)
    if request.grant_for_script is not None:
        yield Choice(PermissionAnswer.SCRIPT, grant_in_words(request.grant_for_script))
    if request.grant_for_session is not None:
        yield Choice(PermissionAnswer.SESSION, grant_in_words(request.grant_for_session))
    if request.grant_for_good is not None:
        yield Choice(PermissionAnswer.ALWAYS, grant_in_words(request.grant_for_good))
    yield Choice(PermissionAnswer.NO)
    yield Choice(PermissionAnswer.NEVER)


_BAR = "    │ "
_COMMAND = "command"
_MAX_NAME_CHARACTERS = 100


def question_text(question: ApprovalQuestion, columns: int, rows: int = 0) -> str:
    """Put a question into words, over several lines.

    Args:
        question: what is asked.
        columns: how wide a line may be, in characters of a fixed width.
        rows: of the screen, on which the whole has to fit with a prompt below it: what has no room is left out,
            counted, and shown by the answer ``details``; 0 for as many rows as it takes.
    """
    head = _sentence_rows(_heading(question), columns)
    foot = [row for choice in question.choices for row in _grant_rows(choice, columns)]
    parts = [_part_rows(each.label, each.text, columns) for each in question.facts]
    return _put_together(head, parts, foot, rows)


def user_question_text(question: UserQuestion, columns: int, rows: int = 0) -> str:
    """Put a question that a tool asks the user into words, over several lines.

    Args:
        question: what is asked.
        columns: as for :func:`question_text`.
        rows: as for :func:`question_text`.
    """
    heading = "The model asks you, and it gives no permission"
    if question.sub_agent is not None:
        heading = (
            f"The sub-agent {_one_line(question.sub_agent, _MAX_NAME_CHARACTERS)} asks you; it gives no permission"
        )
    parts = [_part_rows("question", question.question, columns)]
    parts += [_part_rows(str(number), each, columns) for number, each in enumerate(question.choices, 1)]
    return _put_together(_sentence_rows(heading, columns), parts, [], rows)


def _put_together(head: list[str], parts: list[tuple[str, list[str]]], foot: list[str], rows: int) -> str:
    if rows:
        # The prompt takes a row, and so does what was typed before it.
        _cut_to([text for _, text in parts], rows - 2 - len(head) - len(foot) - len(parts))
    return "\n".join([*head, *(row for label, text in parts for row in (label, *text)), *foot])


def _heading(question: ApprovalQuestion) -> str:
    tool = _one_line(question.tool, _MAX_NAME_CHARACTERS)
    permission = _one_line(question.permission, _MAX_NAME_CHARACTERS)
    return f"Tool {tool} wants permission {permission}{_meaning(question)}"


def _meaning(question: ApprovalQuestion) -> str:
    """Explain the permission; the words of a plugin follow its name, which they cannot change."""
    if not question.meaning:
        return ""
    meaning = _one_line(question.meaning, MAX_MEANING_CHARACTERS)
    if question.meaning_by is None:
        return f": {meaning}"
    return f", which means, says plugin {_one_line(question.meaning_by, _MAX_NAME_CHARACTERS)}: {meaning}"


def _grant_rows(choice: Choice, columns: int) -> list[str]:
    """Put what an answer grants into rows; a long one, which may quote others, stands below its label."""
    if choice.grants is None:
        return []
    label, text = f"{choice.answer} grants", _one_line(choice.grants, 2 * columns)
    rows = _sentence_rows(f"  {label}: {text}", columns)
    if len(rows) == 1:
        return rows
    return [f"  {label}:", *(f"{_BAR}{row.removeprefix(_BAR)}" for row in _sentence_rows(text, columns))]


def _pieces(text: str, columns: int) -> list[str]:
    """Break a text into pieces that fit into a row, with everything in it visible."""
    from rich.cells import chop_cells

    return [piece for line in text.split("\n") for piece in chop_cells(visible_line(line), max(columns, 10)) or [""]]


def _sentence_rows(text: str, columns: int) -> list[str]:
    """Break a sentence of ours between its words; what follows on the first row stands behind a bar."""
    width = max(columns - len(_BAR) - 1, 10)
    first, *others = (piece for line in textwrap.wrap(text, width) for piece in _pieces(line, width))
    return [first, *(f"{_BAR}{piece}" for piece in others)]


def _part_rows(label: str, text: str, columns: int) -> tuple[str, list[str]]:
    """Put a label and its text into rows: a short text behind its label, another one below it."""
    pieces = _pieces(text, columns - len(_BAR) - 1)
    line = f"  {label}: {pieces[0]}"
    if label != _COMMAND and len(pieces) == 1 and len(_pieces(line, columns - 1)) == 1:
        return line, []
    return f"  {label}:", [f"{_BAR}{piece}" for piece in pieces]


def _cut_to(texts: list[list[str]], room: int) -> None:
    """Leave out the middle of texts that have no room; the shorter ones stay whole."""
    for left, text in zip(range(len(texts), 0, -1), sorted(texts, key=len), strict=True):
        text[:] = _without_middle(text, max(room // left, 3))
        room -= len(text)


def _without_middle(rows: list[str], limit: int) -> list[str]:
    if len(rows) <= limit:
        return rows
    begin, end = limit // 2, limit - limit // 2 - 1
    note = f"  [… {len(rows) - begin - end:,} rows: d shows all …]"
    return [*rows[:begin], note, *rows[len(rows) - end :]]


def _one_line(text: str, limit: int) -> str:
    line = visible_line(" ".join(text.replace("\r", "").split()))
    return line if len(line) <= limit else f"{line[:limit]} [… {len(line) - limit:,} more characters are not shown]"
