"""The shell command in a message that asks to run one."""

from __future__ import annotations

import re
from dataclasses import dataclass

_INTRODUCTION = re.compile(
    r"\s*(?:(?:please|kindly|now|can|could|would|will|you)\b[\s,]*){0,4}(?:run|execute|exec)\b\s*"
    r"(?P<noun>(?:(?:the|this|a|following)\b\s*){0,2}(?:(?:shell|bash|terminal)\s+)?command(?:\s+line)?\b\s*)?:?\s*",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\s(?:in|on|with|using)\s+(?:(?:the|a|my)\s+)?(?:shell|bash|terminal|console)$", re.IGNORECASE)
_TIME_LIMIT = re.compile(r"\b(?:within|timeout|at most|no longer than)\b", re.IGNORECASE)
_QUOTES = "\"'`“„«‘「"  # noqa: RUF001  # the quotes meant


@dataclass(frozen=True, slots=True)
class AskedCommand:
    """A command in a message.

    Attributes:
        text: for the shell, quotes and all.
        is_named: whether the message calls it a command.
    """

    text: str
    is_named: bool


def command_in(message: str) -> AskedCommand | None:
    """Find the command that a message such as "Run the command ls -la" asks to run.

    Returns:
        ``None`` if there is none, or if it stands in quotes, between which it is found like any other text.
    """
    introduction = _INTRODUCTION.match(message)
    if introduction is None:
        return None
    text = re.sub(r"(?<=\w)[.?!]$", "", message[introduction.end() :].strip())
    text = _PLACE.sub("", text).rstrip()
    # What limits the command is no part of it; where one ends and the other begins is not for these rules to say.
    if not text or text[0] in _QUOTES or _TIME_LIMIT.search(text):
        return None
    return AskedCommand(text, introduction["noun"] is not None)
