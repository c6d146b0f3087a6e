"""Reading the text of ``MEMORY.md``, which may be any Markdown.

A heading is a line that begins with ``#`` at its very beginning, outside a fenced code block.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NOTES = "notes"
# What a category's entries are saved under, in the order in which a new file has them.
SECTIONS = {
    "profile": "User Profile",
    "preferences": "Preferences",
    "interests": "Interests",
    "habits": "Habits/Routines",
    "projects": "Projects",
    NOTES: "Notes",
}
TITLE = "# Memory"

_ALIASES = {"routines": "habits", "workflow": "habits"} | {
    heading.casefold(): category for category, heading in SECTIONS.items()
}
SECTION_LEVEL = 2
_HEADING = re.compile(r"(#{1,6})(?=[ \t]|$)")
_CLOSING_SIGNS = re.compile(r"(?<=[ \t])#+$")
_FENCE = re.compile(r"(`{3,}|~{3,})")
# What a list item begins with.
MARKER = re.compile(r"[-*+](?:[ \t]+|$)|\d{1,9}[.)][ \t]+")


@dataclass(frozen=True, slots=True)
class Section:
    """The text below one heading, down to the next.

    Attributes:
        heading: its text, empty for what precedes all headings.
        level: of the heading, 0 for none.
        entries: bullets and paragraphs, without their markers.
        text: all of it as it stands in the file, heading included.
    """

    heading: str
    level: int
    entries: tuple[str, ...]
    text: str


def category_of(name: str) -> str:
    """Find the category that a name means, in any case; an unknown one is notes."""
    wanted = " ".join(name.split()).casefold()
    wanted = _ALIASES.get(wanted, wanted)
    return wanted if wanted in SECTIONS else NOTES


def skeleton() -> str:
    """A new file: all sections, nothing in them."""
    return "\n\n".join([TITLE, *(f"## {heading}" for heading in SECTIONS.values())]) + "\n"


def sections(text: str) -> list[Section]:
    """Take a text apart at its headings."""
    lines = text.split("\n")
    starts = headings(lines)
    found = []
    if not starts or starts[0][0] > 0:
        end = starts[0][0] if starts else len(lines)
        found.append(_section("", 0, lines[:end], lines[:end]))
    for number, (start, level, heading) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else len(lines)
        found.append(_section(heading, level, lines[start:end], lines[start + 1 : end]))
    return found


def section_of(text: str, heading: str) -> Section | None:
    """Find the section of a heading, which must be the same but for case and of the second level."""
    return next((each for each in sections(text) if is_section(each.level, each.heading, heading)), None)


def headings(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Find the headings among lines: the number of the line from 0, the level, the text."""
    found = []
    for number in _outside_fences(lines):
        line = lines[number].rstrip()
        match = _HEADING.match(line)
        if match is not None:
            found.append((number, len(match[1]), _CLOSING_SIGNS.sub("", line[match.end() :]).strip()))
    return found


def is_section(level: int, text: str, heading: str) -> bool:
    """Return True if a heading found in a file is that of a section."""
    return level == SECTION_LEVEL and " ".join(text.split()).casefold() == " ".join(heading.split()).casefold()


def _outside_fences(lines: Sequence[str]) -> Iterator[int]:
    """The numbers of the lines that stand in no code block; a fence that nothing closes is none."""
    number = 0
    unclosed: dict[str, int] = {}
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence is not None:
            sign, length = fence[1][0], len(fence[1])
            if length < unclosed.get(sign, length + 1):
                end = _end_of_fence(lines, number, sign, length)
                if end is not None:
                    number = end + 1
                    continue
                unclosed[sign] = length
        yield number
        number += 1


def _end_of_fence(lines: Sequence[str], start: int, sign: str, length: int) -> int | None:
    for number in range(start + 1, len(lines)):
        line = lines[number].rstrip()
        if len(line) >= length and not line.strip(sign):
            return number
    return None


def _section(heading: str, level: int, lines: Sequence[str], body: Sequence[str]) -> Section:
    return Section(heading, level, tuple(_entries(body)), "\n".join(lines).strip())


def _entries(lines: Sequence[str]) -> Iterator[str]:
    entry: list[str] = []
    is_after_blank = False
    for line in lines:
        begins = MARKER.match(line) is not None or (is_after_blank and line[:1] not in (" ", "\t", ""))
        if begins and entry:
            yield "\n".join(entry).strip()
            entry = []
        is_after_blank = not line.strip()
        if entry or not is_after_blank:
            entry.append(MARKER.sub("", line, count=1).strip())
    if entry:
        yield "\n".join(entry).strip()
