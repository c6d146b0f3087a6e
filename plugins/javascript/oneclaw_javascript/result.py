"""Results of JavaScript programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """Output of one call of ``console.log`` and its like.

    Attributes:
        level: ``log``, ``info``, ``debug``, ``warn`` or ``error``.
        text: the values, with spaces between them.
    """

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class JavaScriptResult:
    """The value of a program, and what it wrote to the console.

    Attributes:
        value: JSON data; ``None`` for ``undefined`` and ``null``.
        text: a string as it is, nothing for ``undefined`` and ``null``, anything else as the JSON that JavaScript
            wrote.
        console: what it wrote, up to ``MAX_CONSOLE_CHARACTERS``.
        is_undefined: True if the value is ``undefined``.
    """

    value: Any
    text: str
    console: tuple[ConsoleLine, ...] = ()
    is_undefined: bool = False


def console_text(lines: tuple[ConsoleLine, ...]) -> str:
    """Write what a program wrote to the console as text, warnings and errors marked as such."""
    return "\n".join(f"{each.level}: {each.text}" if each.level in ("warn", "error") else each.text for each in lines)
