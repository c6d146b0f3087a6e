"""What finding messages by their words asks of a database, in its own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Of a message that is longer, the beginning is found.
INDEXED_CHARACTERS = 100_000
# Of what is found, no more is read; a statement of PostgreSQL's repeats it.
CHARACTERS_READ = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStatements:
    """Statements for the driver, with what they take and give.

    Attributes:
        newest: gives a number that no message in the index exceeds.
        nth_newest: of the messages that fit an expression, skips a number of the newest and gives the next one's.
        count: counts the messages that fit an expression.
        find_messages: takes the most characters of each, an expression, the first and the last number, the first
            moment and the one after the last, the most messages; gives the newest first.
        find_sessions: takes an expression, the first moment and the one after the last, the most sessions.
        turn_start: gives the number of the message that began a session's last turn.
        moment_at: gives the number and the moment of the first message from a number on.
        all_of: makes the expression for what has all of some terms.
        any_of: makes the expression for what has one of some terms.
        settings: run first, for how the others are run; ``None`` for nothing.
    """

    newest: str
    nth_newest: str
    count: str
    find_messages: str
    find_sessions: str
    turn_start: str
    moment_at: str
    all_of: Callable[[Iterable[str]], str]
    any_of: Callable[[Iterable[str]], str]
    settings: str | None = None
