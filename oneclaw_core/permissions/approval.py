"""The question for a permission as data, the same for a terminal, a web page and a messenger.

Each text in it that is not ours is as others wrote it. :mod:`oneclaw_core.permissions.approval_text` shows a question
as text in which nothing of that can be taken for the question; a page escapes it in its own way.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.permissions.requests import PermissionAnswer, grant_in_words
from oneclaw_core.permissions.rules import subject_kind
from oneclaw_core.types.permission_meanings import KNOWN_PERMISSIONS
from oneclaw_core.types.permissions import Fact
from oneclaw_core.types.visible_text import visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.permissions.requests import PermissionRequest


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
