"""Texts of ours at the terminal, broken between words."""

from __future__ import annotations

import shutil
import sys
import textwrap

from oneclaw_core.cli import is_terminal, print_text


def print_wrapped(text: str, indent: str = "    ") -> None:
    """Print a text of ours on stdout; on a terminal, long lines are broken between words.

    Args:
        text: of one line or more.
        indent: of the rows that a line goes on in.
    """
    if is_terminal(sys.stdout):
        columns = shutil.get_terminal_size().columns - 1
        text = "\n".join(row for line in text.split("\n") for row in _rows(line, columns, indent))
    print_text(text)


def _rows(line: str, columns: int, indent: str) -> list[str]:
    if len(line) <= columns:
        return [line]
    return textwrap.wrap(line, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
