"""A question that a tool asks the user as data, the same for a terminal, a web page and a messenger.

It gives no permission: see :mod:`oneclaw_core.permissions.approval`. All texts in it are as others wrote them;
:func:`oneclaw_core.permissions.approval.user_question_text` shows them so that none can be taken for a question of
ours.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oneclaw_core.errors import UsageError
from oneclaw_core.types.text import visible_lines

MAX_QUESTION_CHARACTERS = 2_000
MAX_CHOICES = 10
MAX_CHOICE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class UserQuestion:
    """A question for the user.

    Attributes:
        question: of the model.
        choices: answers that it suggests.
        allows_text: True if the user may answer in other words; always where there are no choices.
        tool: the tool that asks.
        agent: on whose behalf.
        sub_agent: the name of the sub-agent that asks, ``None`` for the agent that the user talks with.
        session_id: the conversation with the user, ``None`` outside one.
        form: JSON Schema of the values that are asked for, whose answer is their JSON text; ``None`` for one text.
        form_name: by which a program that answers knows the form.
        call_id: the id of the tool call that asks, which its events have too; ``None`` outside one.

    Raises:
        UsageError: a text is empty or too long, or there are too many choices.
    """

    question: str
    choices: tuple[str, ...] = ()
    allows_text: bool = True
    tool: str = ""
    agent: str | None = None
    sub_agent: str | None = None
    session_id: str | None = None
    form: Mapping[str, Any] | None = None
    form_name: str = "answer"
    call_id: str | None = None

    def __post_init__(self) -> None:
        if not self.question.strip() or len(self.question) > MAX_QUESTION_CHARACTERS:
            raise UsageError(f"a question has 1 to {MAX_QUESTION_CHARACTERS:,} characters, not {len(self.question):,}")
        if len(self.choices) > MAX_CHOICES:
            raise UsageError(f"a question has at most {MAX_CHOICES} choices, not {len(self.choices)}")
        for each in self.choices:
            if not each.strip() or len(each) > MAX_CHOICE_CHARACTERS:
                raise UsageError(f"a choice has 1 to {MAX_CHOICE_CHARACTERS} characters, not {len(each):,}")

    def answer_to(self, typed: str) -> str | None:
        """Read what a person typed.

        Args:
            typed: the number of a choice, its text, or other words.

        Returns:
            The answer; ``None`` if this is none.
        """
        text = typed.strip()
        if text.isascii() and text.isdigit() and self.choices:
            number = int(text[:4])
            return self.choices[number - 1] if 1 <= number <= len(self.choices) else None
        wanted = (text.casefold(), visible_lines(text).casefold())
        found = next((each for each in self.choices if _is_one_of(each.strip(), wanted)), None)
        if found is not None:
            return found
        return text if text and (self.allows_text or not self.choices) else None

    def to_dict(self) -> dict[str, Any]:
        """Return the question as JSON data, with everything in its texts visible."""
        return {
            "question": visible_lines(self.question),
            "choices": [visible_lines(each) for each in self.choices],
            "allows_text": self.allows_text or not self.choices,
            "tool": self.tool,
            "agent": self.agent,
            "sub_agent": self.sub_agent and visible_lines(self.sub_agent),
        }


def _is_one_of(choice: str, wanted: tuple[str, ...]) -> bool:
    """Return True if a person typed a choice, or a page sent it as it was shown."""
    return choice.casefold() in wanted or visible_lines(choice).casefold() in wanted


UserAsker = Callable[[UserQuestion], Awaitable[str | None]]
"""Asks a person a question; returns the answer, ``None`` if the person gives none."""
