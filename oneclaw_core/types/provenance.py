"""Marks: where the text in a conversation comes from, and which private data it holds."""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Literal

    LinkSource = tuple[int, str, str | None]

# Of each kind; what matters is that there is one, and the first ones name it.
MAX_ORIGINS = 20
MAX_ORIGIN_CHARACTERS = 300
_NAMED_ORIGINS = 3


CALL_MARKS: ContextVar[list[Mark] | None] = ContextVar("CALL_MARKS", default=None)
"""The marks of the running tool call; ``None`` outside one."""


class MarkKind(StrEnum):
    """Kind of a mark.

    ``OUTSIDE``: text that somebody else wrote. ``PAGE``: the same, shown as the page at the URL that is its origin, so
    that the links in it may be followed. ``PRIVATE``: data of the user. ``COMPOSED``: a message that a model or a
    server wrote in the user's place. ``USER``: a result in which the user answers in their own words.
    """

    OUTSIDE = "outside"
    PAGE = "page"
    PRIVATE = "private"
    COMPOSED = "composed"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Mark:
    """One origin of what a result or a conversation holds.

    Attributes:
        kind: what it means.
        origin: where it comes from, such as a URL or ``the file notes.md``; one line.
    """

    kind: MarkKind
    origin: str

    @classmethod
    def of(cls, kind: MarkKind, origin: str) -> Mark:
        """Make a mark of an origin in any form."""
        line = " ".join(clean_text(origin).split())
        return cls(kind, line[:MAX_ORIGIN_CHARACTERS])

    @property
    def is_outside(self) -> bool:
        """True if it stands for text that somebody else wrote."""
        return self.kind in (MarkKind.OUTSIDE, MarkKind.PAGE)

    def passed_on(self) -> Mark:
        """Return the mark for what was made of the text: no page any more."""
        return Mark(MarkKind.OUTSIDE, self.origin) if self.kind is MarkKind.PAGE else self


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it is at one moment.

    Attributes:
        path: absolute.
        modified_ns: when its content was changed last.
        changed_ns: when its content or its name was changed last.
    """

    path: str
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path, found: os.stat_result) -> FileState:
        """Return the state of a file from what the system says of it."""
        return cls(str(path), found.st_mtime_ns, found.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class UsedFile:
    """A path that a tool asked for.

    Attributes:
        path: absolute.
        use: ``read`` or ``write``; ``run`` for a directory in which a program may write anything.
        since_ns: when it asked.
        state: of a file that is read, as it was then: the call may move or replace it.
    """

    path: Path
    use: Literal["read", "write", "run"]
    since_ns: int
    state: FileState | None = None

    @property
    def is_directory(self) -> bool:
        """True if it stands for all below."""
        return self.use == "run"


@dataclass(slots=True)
class Provenance:
    """The origin of the text in one conversation; origins are only added.

    Attributes:
        outside: origins of text that others wrote, in their order.
        private: origins of private data.
    """

    outside: list[str] = field(default_factory=list)
    private: list[str] = field(default_factory=list)

    def add(self, marks: Iterable[Mark]) -> None:
        """Take over marks; of many origins of a kind, the first ones are kept."""
        for mark in marks:
            if mark.kind in (MarkKind.COMPOSED, MarkKind.USER):
                continue
            origins = self.outside if mark.is_outside else self.private
            if mark.origin not in origins and len(origins) < MAX_ORIGINS:
                origins.append(mark.origin)

    def marks(self) -> tuple[Mark, ...]:
        """Return the marks for what is made of this conversation, such as a file or the message to another agent."""
        outside = (Mark(MarkKind.OUTSIDE, each) for each in self.outside)
        return (*outside, *(Mark(MarkKind.PRIVATE, each) for each in self.private))

    def in_words(self) -> str:
        """Say what the conversation holds, for a question."""
        parts = []
        if self.outside:
            parts.append(f"text from {_listed(self.outside)}")
        if self.private:
            parts.append(f"private data: {_listed(self.private)}")
        return "; ".join(parts)


def marks_to_text(marks: Iterable[Mark]) -> str | None:
    """Write marks as they are stored; ``None`` for none."""
    rows = [[str(each.kind), each.origin] for each in dict.fromkeys(marks)]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")) if rows else None


def marks_of_text(text: str) -> tuple[Mark, ...]:
    """Read stored marks; kinds of a newer version count as text from outside.

    Raises:
        ValueError, TypeError: these are none.
    """
    kinds = set(MarkKind)
    return tuple(
        Mark(MarkKind(kind) if kind in kinds else MarkKind.OUTSIDE, str(origin)) for kind, origin in json.loads(text)
    )


def _listed(origins: list[str]) -> str:
    named = ", ".join(origins[:_NAMED_ORIGINS])
    more = len(origins) - _NAMED_ORIGINS
    return f"{named} and {more} more" if more > 0 else named
