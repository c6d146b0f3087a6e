"""Output of commands: JSON documents, tables, and text from elsewhere, each safe for its destination.

Results go to stdout, everything else to stderr. Both are looked up when they are written to, never kept. While the
program runs, it writes to a duplicate of stdout: what a subprocess writes to descriptor 1 goes to stderr.
"""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import re
import sys
from contextlib import contextmanager, redirect_stdout
from datetime import datetime
from typing import TYPE_CHECKING, Any, TextIO

import click

from oneclaw_core.secrets.redaction import redact
from oneclaw_core.types.text import INVISIBLE_CHARACTERS
from oneclaw_core.types.text import printable as printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.text import Text

# Outside ASCII, JSON leaves these as they are. They occur in texts only, where an escape means the same.
_CONTROL_IN_JSON = f"[\x7f-\x9f{INVISIBLE_CHARACTERS}\ud800-\udfff]"

# The disk is full, the user's share of it is used up, or the file may grow no more.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

RAW_VARIABLE = "ONECLAW_RAW_OUTPUT"
_STDOUT = 1
_STDERR = 2

_GAP_CHARACTERS = 3
_INDENT_CHARACTERS = 4
_LEAST_FOR_SENTENCES = 30

_OF_CHANGES = {"+": "green", "-": "red", "@": "cyan"}

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
"""Gives a command the parameter ``as_json``."""


def shown_on(stream: TextIO, text: str) -> str:
    """Return a text as it is written to a stream: printable, for a file or a pipe may reach a terminal later.

    Args:
        stream: where it is written.
        text: from a model, a tool or a plugin; to the letter if the user set ``ONECLAW_RAW_OUTPUT``, which counts
            where no terminal is.
    """
    is_raw = os.environ.get(RAW_VARIABLE) and not is_terminal(stream)
    return text if is_raw else printable(text)


def printable_line(text: str, limit: int | None = None) -> str:
    """The same on one line, cut if it is longer than the limit in characters."""
    line = " ".join(printable(text).split())
    return line if limit is None or len(line) <= limit else line[: max(limit - 1, 0)].rstrip() + "…"


def printable_name(name: str) -> str:
    """Show a name as it was chosen, on one line, with every control character in it visible."""
    return printable(name.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t"))


def is_terminal(stream: TextIO | None) -> bool:
    """Return True if the stream is a terminal."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def styled(text: str, stream: TextIO, **style: Any) -> str:
    """Style a text if its stream is a terminal with colours and the user wants them.

    Args:
        text: made printable already.
        stream: where it will be written.
        style: as for :func:`click.style`.
    """
    plain = not is_terminal(stream) or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else click.style(text, **style)


def coloured_changes(text: str, stream: TextIO, **style: Any) -> str:
    """Style a text, and colour what a diff in it adds and removes.

    Args:
        text: made printable already; its lines may stand behind blanks and a bar.
        stream: where it will be written.
        style: of all other lines, as for :func:`click.style`.
    """
    if not re.search(r"^[ │]*@@ -", text, re.MULTILINE):
        return styled(text, stream, **style) if style else text
    lines = []
    for line in text.split("\n"):
        colour = _OF_CHANGES.get(line.lstrip(" │")[:1]) if line[:1] == " " else None
        own = {"fg": colour} if colour is not None else style
        lines.append(styled(line, stream, **own) if own else line)
    return "\n".join(lines)


def print_text(text: str = "", *, stream: TextIO | None = None, is_safe: bool = False) -> None:
    """Print a line, or several, as :func:`shown_on` has it.

    Args:
        text: what to print.
        stream: by default stdout.
        is_safe: True if the text is printable already, and styled.
    """
    stream = stream or sys.stdout
    click.echo(text if is_safe else shown_on(stream, text), file=stream)


def write_stderr(text: str, end: str = "", **style: Any) -> None:
    """Write to standard error at once, styled as :func:`styled` has it."""
    sys.stderr.write((styled(text, sys.stderr, **style) if style else text) + end)
    sys.stderr.flush()


def terminal_size() -> tuple[int, int]:
    """Return columns and rows of the terminal that stderr is, 80 and 24 if that is not known."""
    try:
        columns, rows = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):
        return 80, 24
    return columns or 80, rows or 24


def claim_stdout() -> None:
    """Move stdout to a descriptor that no subprocess inherits, and let descriptor 1 lead to stderr.

    A tool, or a program that it starts, may write to descriptor 1 at any time, and would break a JSON document.
    Terminals stay as they are: editors and pagers draw on them.
    """
    stdout = sys.stdout
    if not isinstance(stdout, io.TextIOWrapper) or is_terminal(stdout) or stdout.fileno() != _STDOUT:
        return
    stdout.flush()
    results = fcntl.fcntl(_STDOUT, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)
    sys.stdout = io.TextIOWrapper(
        open(results, "wb", 0 if stdout.write_through else -1),  # noqa: PTH123, SIM115  # open until the program ends
        encoding=stdout.encoding,
        errors=stdout.errors,
        newline="\n",
        line_buffering=stdout.line_buffering,
        write_through=stdout.write_through,
    )
    try:
        os.dup2(_STDERR, _STDOUT)
    except OSError:  # stderr is closed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, _STDOUT)
        os.close(nowhere)


@contextmanager
def reserved_stdout() -> Iterator[TextIO]:
    """Keep stdout for results, and send to stderr what plugins and tools print while the block runs.

    Yields:
        Standard output.
    """
    stdout = sys.stdout
    with redirect_stdout(sys.stderr):
        yield stdout


def print_json(document: Any, *, indent: int | None = 2, stream: TextIO | None = None) -> None:
    """Print one JSON document, in whatever encoding its stream has.

    Args:
        document: what JSON can hold.
        indent: ``None`` for a document on one line.
        stream: by default stdout.
    """
    stream = stream or sys.stdout
    text = json_text(document, indent=indent)
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json_text(document, indent=indent, ensure_ascii=True)
    click.echo(text, file=stream)


def document_of(record: object, *names: str) -> dict[str, Any]:
    """Describe a record for JSON by the named of its fields, points in time as ISO 8601."""
    values = {name: getattr(record, name) for name in names}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def json_text(document: Any, *, indent: int | None = None, ensure_ascii: bool = False) -> str:
    """Write a document as JSON in which every control character is escaped."""
    text = json.dumps(document, ensure_ascii=ensure_ascii, indent=indent)
    return re.sub(_CONTROL_IN_JSON, _escaped_in_json, text)


def _escaped_in_json(match: re.Match[str]) -> str:
    # The json module writes DEL, which is ASCII, as it is.
    return "\\u007f" if match[0] == "\x7f" else json.dumps(match[0])[1:-1]


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table on stdout: drawn on a terminal, elsewhere plain lines with aligned columns.

    Args:
        columns: their headings.
        rows: as many values each; ``None`` is shown as nothing.
    """
    if is_terminal(sys.stdout):
        _draw_table(columns, _cells(rows))
    else:
        click.echo(shown_on(sys.stdout, table_text(columns, rows)))


def print_listing(
    as_json: bool, documents: Iterable[object], columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """Print a listing, as one JSON array or as a table; only one of the two iterables is read."""
    if as_json:
        print_json(list(documents))
    else:
        print_table(columns, rows)


def table_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table as plain lines with aligned columns.

    Args:
        columns: their headings.
        rows: as many values each; ``None`` is shown as nothing.
    """
    lines = [[" ".join(value.split()) for value in line] for line in _cells(rows)]
    widths = [max(map(len, column)) for column in zip(columns, *lines, strict=True)]
    padded = ([value.ljust(width) for value, width in zip(line, widths, strict=True)] for line in (columns, *lines))
    return "\n".join("  ".join(line).rstrip() for line in padded)


def _cells(rows: Iterable[Sequence[object]]) -> list[list[str]]:
    return [["" if value is None else str(value) for value in row] for row in rows]


def has_no_room(error: BaseException) -> bool:
    """Return True if an error says that there is no room for the output, such as on a full disk."""
    return isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None


def warn(message: str) -> None:
    """Tell the user on one line of stderr about something that does not stop the command."""
    _print_line(f"warning: {message}")


def warn_if_set(variable: str, effect: str) -> None:
    """Warn that a variable of the environment is set, if it is, and what follows from that."""
    if os.environ.get(variable):
        warn(f"the environment variable {variable} is set, {effect}")


def print_error(message: str) -> None:
    """Tell the user on one line of stderr why the command failed."""
    _print_line(message)


def _print_line(message: str) -> None:
    click.echo(f"oneclaw: {printable_line(redact(message))}", err=True)


def _draw_table(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    # As Text, what a plugin wrote is never taken for markup.
    rows = [[Text(printable(value)) for value in line] for line in (columns, *lines)]
    widths = [max(cell_len(each.plain) for each in column) for column in zip(*rows, strict=True)]
    left = sum(widths[:-1]) + _GAP_CHARACTERS * len(widths[:-1])
    if console.width - left < _LEAST_FOR_SENTENCES <= widths[-1] and left <= console.width:
        _draw_sentences_below(console, rows, widths)
        return
    fitting = fitting_widths(widths, [longest_words(each) for each in zip(*rows, strict=True)], console.width)
    if fitting is None:
        _draw_entries(console, rows)
        return
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for position, (column, width) in enumerate(zip(columns, fitting, strict=True)):
        table.add_column(column, overflow="fold", width=width, style="bold" if position == 0 else None)
    for row in rows[1:]:
        table.add_row(*row)
    console.print(table)


def longest_words(column: Iterable[Text]) -> int:
    """Return the cells of the longest word in a column."""
    from rich.cells import cell_len

    return max(cell_len(word) for each in column for word in each.plain.split() or [""])


def fitting_widths(widths: Sequence[int], least: Sequence[int], room: int) -> list[int] | None:
    """Make the widest columns narrower until all have room, without breaking a word: names are there to be copied.

    Args:
        widths: of the columns, in cells.
        least: of their longest words.
        room: of the terminal.

    Returns:
        The widths; ``None`` if words would have to be broken.
    """
    found = list(widths)
    while sum(found) + _GAP_CHARACTERS * (len(found) - 1) > room:
        wider = [position for position in range(len(found)) if found[position] > least[position]]
        if not wider:
            return None
        found[max(wider, key=found.__getitem__)] -= 1
    return found


def _draw_entries(console: Console, rows: Sequence[Sequence[Text]]) -> None:
    """Draw what is too wide for a table: each row as a separate entry, its values below each other."""
    from rich.padding import Padding

    headings, *entries = rows
    for name, *values in entries:
        name.stylize("bold")
        console.print(name)
        for heading, value in zip(headings[1:], values, strict=True):
            if value.plain:
                console.print(Padding(heading + ": " + value, (0, 0, 0, _INDENT_CHARACTERS)))


def _draw_sentences_below(console: Console, rows: Sequence[Sequence[Text]], widths: Sequence[int]) -> None:
    """Draw a table whose last column has too little room beside the others below them."""
    from rich.padding import Padding
    from rich.table import Table

    for number, row in enumerate(rows):
        row[0].stylize("bold")
        line = Table.grid(padding=(0, _GAP_CHARACTERS, 0, 0))
        for width in widths[:-1]:
            line.add_column(width=width)
        line.add_row(*row[:-1])
        console.print(line)
        console.print(Padding(row[-1], (0, 0, 0, _INDENT_CHARACTERS)))
        if number == 0:
            console.rule(style="")
