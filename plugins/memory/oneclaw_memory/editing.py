"""Changing the text of ``MEMORY.md``: what was not to be changed stays as it is, to the letter.

Everything that is saved stands behind ``-`` or is indented, so nothing that is saved makes a heading.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_core.tools import clean_text
from oneclaw_memory.document import MARKER, headings, is_section, sections, skeleton

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_BULLET = re.compile(r"[-*+][ \t]+(?=\S)")
_STRUCTURE = re.compile(r"#|`{3}|~{3}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_BLANK_LINES = re.compile(r"\n{3,}")
_INDENT = "  "
# A shorter text may well be part of another one.
_LONGEST_SHORT_TEXT = 20


def normal_text(content: str) -> str:
    """Remove control characters and meaningless white space from a text."""
    text = clean_text(content).replace("\r\n", "\n").replace("\r", "\n")
    lines = (line.rstrip() for line in _CONTROL.sub(" ", text).split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def list_items(content: str) -> list[str]:
    """Make list items of what is to be saved: of a list one for each of its bullets, of any other text one.

    Args:
        content: as :func:`normal_text` gives it.

    Returns:
        The items with their ``-``, further lines indented; none if the content says nothing.
    """
    lines = content.split("\n")
    is_list = all(_BULLET.match(line) or not line.strip() or line[0] in " \t" for line in lines)
    items: list[list[str]] = []
    for line in lines:
        if not items or (is_list and _BULLET.match(line)):
            items.append([_BULLET.sub("", line, count=1).strip()])
        else:
            items[-1].append(line)
    return [f"- {_indented(item)}".rstrip() for item in items if any(line.strip("-*+ \t") for line in item)]


def is_known(text: str, item: str) -> bool:
    """Return True if a text already contains what a list item says."""
    said = _compared(MARKER.sub("", item, count=1))
    if len(said) > _LONGEST_SHORT_TEXT:
        return said in _compared(text)
    return any(said == _compared(entry) for section in sections(text) for entry in section.entries)


def with_items(text: str, heading: str, items: Iterable[str]) -> str:
    """Add list items at the end of a section, which is made at the end of the text if there is none.

    Args:
        text: may be blank.
        heading: of the section.
        items: as :func:`list_items` makes them.
    """
    lines = (text if text.strip() else skeleton()).split("\n")
    new = [line for item in items for line in item.split("\n")]
    starts = headings(lines)
    for number, (start, level, found) in enumerate(starts):
        if is_section(level, found, heading):
            end = starts[number + 1][0] if number + 1 < len(starts) else len(lines)
            return "\n".join(_inserted(lines, new, start, end))
    whole = "\n".join(lines)
    gap = "" if whole.endswith("\n\n") else "\n" if whole.endswith("\n") else "\n\n"
    return "\n".join([f"{whole}{gap}## {heading}", "", *new, ""])


def places_of(text: str, wanted: str) -> list[int]:
    """Find where a text stands, at most two places of it; what touches a heading does not count.

    Args:
        text: of the file.
        wanted: as :func:`normal_text` gives it, not empty.
    """
    found: list[int] = []
    start = text.find(wanted)
    while start >= 0 and len(found) < 2:  # whether it is one is all that matters
        if not _touches_heading(text, start, start + len(wanted)):
            found.append(start)
        start = text.find(wanted, start + 1)
    return found


def as_stored(wanted: str) -> str:
    """A text of several lines as it stands in a list item."""
    return _indented(wanted.split("\n"))


def replaced(text: str, start: int, end: int, content: str) -> str:
    """Put something else in a place.

    Args:
        text: of the file.
        start: where the place begins.
        end: where it ends.
        content: as :func:`normal_text` gives it; empty to delete.
    """
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    before, after = text[line_start:start], text[end:line_end]
    found = MARKER.match(text, line_start)
    marker = found[0] if found is not None and found.end() <= end else ""
    if after.strip() or (before.strip() and line_start + len(marker) < start):
        new = as_stored(content)
    elif not content:
        return _without(text, marker, line_start, line_end)
    elif marker:
        return text[:line_start] + "\n".join(list_items(content)) + after + text[line_end:]
    else:
        new = as_stored(content)
    if not before and _STRUCTURE.match(new):
        new = f"- {new}"
    return text[:start] + new + text[end:]


def _inserted(lines: Sequence[str], new: Sequence[str], start: int, end: int) -> list[str]:
    """Put lines at the end of the section that begins at one number and ends before another."""
    last = max((number for number in range(start, end) if lines[number].strip()), default=start)
    is_list = MARKER.match(lines[last]) is not None or lines[last][:1] in (" ", "\t")
    gap = [] if is_list and last > start else [""]
    rest = list(lines[last + 1 :])
    if not rest:
        rest = [""]
    elif rest[0].strip():
        rest.insert(0, "")
    return [*lines[: last + 1], *gap, *new, *rest]


def _without(text: str, marker: str, start: int, end: int) -> str:
    """Take out whole lines; what a list item goes on with takes the place of what it began with."""
    head, rest = text[:start], text[end + 1 :]
    following = rest.partition("\n")[0]
    if marker and following.strip() and following[0] in " \t":
        return head + marker + rest.lstrip(" \t")
    # Where blank lines would meet, one is left.
    return head + (rest.lstrip("\n") if head.endswith("\n\n") or not head else rest)


def _touches_heading(text: str, start: int, end: int) -> bool:
    lines = text.split("\n")
    first = text.count("\n", 0, start)
    last = text.count("\n", 0, end)
    return any(first <= number <= last for number, _, _ in headings(lines))


def _indented(lines: Sequence[str]) -> str:
    first, *others = lines
    return "\n".join([first, *(f"{_INDENT}{line}".rstrip() if line.strip() else "" for line in others)])


def _compared(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")
