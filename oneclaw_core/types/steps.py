"""Chains of steps: each step answers, or passes what it was given to the rest of the chain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

_Given = TypeVar("_Given")
_Answer = TypeVar("_Answer")

Handler = Callable[[_Given], Awaitable[_Answer]]
"""Answers what it is given; the rest of a chain."""

Step = Callable[[_Given, Handler[_Given, _Answer]], Awaitable[_Answer]]
"""Answers what it is given, or passes it to the rest of the chain, once at most."""


def chain(steps: Iterable[Step[_Given, _Answer]], end: Handler[_Given, _Answer]) -> Handler[_Given, _Answer]:
    """Return a handler that passes what it is given through steps.

    Args:
        steps: the outermost first.
        end: answers what all steps pass on.
    """
    for step in reversed(tuple(steps)):
        end = _before(step, end)
    return end


def _before(step: Step[_Given, _Answer], rest: Handler[_Given, _Answer]) -> Handler[_Given, _Answer]:
    return lambda given: step(given, rest)
