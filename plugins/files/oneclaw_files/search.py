"""Search the text of many files."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import regex

from oneclaw_core.files import open_for_reading, split_lines
from oneclaw_files.errors import FilesError

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_files.walking import Walk

# Larger files are data or made by programs.
MAX_FILE_BYTES = 5_000_000
_LINE_CHARACTERS = 300
_PROBED_BYTES = 8_192


@dataclass(slots=True)
class Found:
    """The outcome of a search.

    Attributes:
        lines: of the report, in the order of paths.
        match_count: matching lines reported.
        file_count: files with a match.
        searched_count: files that were searched.
        too_large_count: files that were left out for their size.
        is_complete: False if the search ended at its limit of matches or its deadline.
    """

    lines: list[str] = field(default_factory=list)
    match_count: int = 0
    file_count: int = 0
    searched_count: int = 0
    too_large_count: int = 0
    is_complete: bool = True


def compile_pattern(pattern: str, *, is_literal: bool, ignore_case: bool) -> regex.Pattern[str]:
    """Compile the expression that the model gave.

    Raises:
        FilesError: it is none.
    """
    try:
        return regex.compile(regex.escape(pattern) if is_literal else pattern, regex.IGNORECASE if ignore_case else 0)
    except (regex.error, RecursionError, OverflowError, MemoryError) as error:
        raise FilesError(
            f"pattern is not a regular expression: {error}. Set literal to search for the text as it is.",
            "validation_error",
        ) from None


def search(walk: Walk, pattern: regex.Pattern[str], context_lines: int, max_matches: int) -> Found:
    """Search files line by line.

    Args:
        walk: the files; its deadline ends the search too.
        pattern: from :func:`compile_pattern`.
        context_lines: how many lines to report before and after each match.
        max_matches: the search ends after so many matching lines.
    """
    found = Found()
    for path in sorted(walk.files()):
        if found.match_count >= max_matches:
            found.is_complete = False
            break
        try:
            text = _read(path, walk, found)
            if text is None:
                continue
            found.searched_count += 1
            _search_text(text, str(path.relative_to(walk.directory)), pattern, context_lines, max_matches, found, walk)
        except TimeoutError:
            found.is_complete = False
            break
        except OSError:  # it was removed, or may not be read
            continue
    found.is_complete = found.is_complete and walk.is_complete
    return found


def _read(path: Path, walk: Walk, found: Found) -> str | None:
    with open_for_reading(path, walk.paths, "look") as stream:
        if b"\0" in stream.peek(_PROBED_BYTES)[:_PROBED_BYTES]:
            return None
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        found.too_large_count += 1
        return None
    return data.decode("utf-8", "replace")


def _search_text(
    text: str,
    name: str,
    pattern: regex.Pattern[str],
    context_lines: int,
    max_matches: int,
    found: Found,
    walk: Walk,
) -> None:
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    matching: list[int] = []
    for number, line in enumerate(lines):
        if pattern.search(line, timeout=_remaining(walk), concurrent=True):
            if found.match_count == max_matches:
                found.is_complete = False
                break
            matching.append(number)
            found.match_count += 1
    if not matching:
        return
    found.file_count += 1
    last_shown = -1
    for number in matching:
        for each in range(max(number - context_lines, last_shown + 1), min(number + context_lines + 1, len(lines))):
            if context_lines and each > last_shown + 1 and last_shown >= 0:
                found.lines.append("--")
            mark = ":" if each in matching else "-"
            found.lines.append(f"{name}{mark}{each + 1}{mark} {_shortened(lines[each])}")
            last_shown = each


def _remaining(walk: Walk) -> float:
    remaining = walk.deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining


def _shortened(line: str) -> str:
    return line if len(line) <= _LINE_CHARACTERS else line[:_LINE_CHARACTERS] + "…"
