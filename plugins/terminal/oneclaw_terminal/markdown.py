"""Markdown of a model on a terminal, rendered block by block while it arrives."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.segment import Segment, Segments
from rich.syntax import Syntax
from rich.text import Text

from oneclaw_core.cli import fitting_widths, longest_words, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it.token import Token
    from rich.markdown import MarkdownElement

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(?P<info>.*)")
_LIST_ITEM = re.compile(r" {0,1}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
# Of an open block, no more than its end is shown.
_SHOWN_CHARACTERS = 2_000
_SHOWN_LINES = 40
# Code that goes on is shown in parts.
_CODE_LINES = 100
# From here on, an open block is parsed again only when it has grown by its own length.
_SMALL_CHARACTERS = 8_000
# A longer block, such as an endless table, would hold up the program; it is shown as it is.
_MOST_CHARACTERS = 30_000
_GAP = 3

# HTML and images stay text, so that nothing is hidden; so do definitions of links, which other blocks may use.
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable(["image", "reference"])
_LISTS = ("bullet_list_open", "ordered_list_open")
# A blank line may stand in the middle of these.
_LASTING = (*_LISTS, "code_block", "fence")


@dataclass(frozen=True, slots=True)
class Block:
    """A finished block.

    Attributes:
        source: its Markdown.
        has_gap: True if it stands apart from the block before it.
    """

    source: str
    has_gap: bool = True


class MarkdownBlocks:
    """Cuts a text that arrives in pieces into the blocks that are finished and the one that is open."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rest = ""
        self._fence: str | None = None
        self._is_going_on = False
        self._characters = 0
        self._parsed_characters = 0

    def add(self, text: str) -> list[Block]:
        """Add a piece; return the blocks that are finished by it."""
        if "\n" not in text:
            self._rest += text
            return []
        *lines, self._rest = (self._rest + text).split("\n")
        return [block for line in lines for block in self._add_line(line + "\n")]

    def finish(self) -> Block | None:
        """Return what is open, ``None`` for nothing, and begin anew."""
        source = "".join(self._lines) + self._rest
        block = self._block(source) if source.strip() else None
        self._begin([])
        self._rest, self._is_going_on = "", False
        return block

    def open_block(self) -> Block:
        """Return the open block, or its end if it is long."""
        end: list[str] = []
        room = _SHOWN_CHARACTERS - len(self._rest)
        for line in reversed(self._lines):
            room -= len(line)
            if room < 0 or len(end) == _SHOWN_LINES:
                break
            end.insert(0, line)
        head = self._lines[:1] if self._fence is not None and len(end) < len(self._lines) else []
        return self._block("".join([*head, *end, self._rest[-_SHOWN_CHARACTERS:]]))

    def _block(self, source: str) -> Block:
        is_item = _LIST_ITEM.match(source) is not None
        return Block(source, has_gap=not (self._is_going_on and (is_item or self._fence is not None)))

    def _finished(self, source: str) -> Block:
        block = self._block(source)
        # An item follows on an item without a gap.
        self._is_going_on = _LIST_ITEM.match(source) is not None
        return block

    def _begin(self, lines: list[str]) -> None:
        self._lines = lines
        self._characters = sum(map(len, lines))
        self._parsed_characters = 0
        self._fence = None

    def _add_line(self, line: str) -> Iterator[Block]:
        fence = _FENCE.match(line)
        if self._fence is not None:
            yield from self._add_code(line, fence)
        elif fence is not None and not ("`" in fence["info"] and fence[1][0] == "`"):
            if any(each.strip() for each in self._lines):
                yield self._finished("".join(self._lines))
            self._is_going_on = False
            self._begin([line])
            self._fence = fence[1]
        else:
            is_blank = not line.strip()
            if is_blank and not self._lines:
                return
            self._append(line)
            if (is_blank or _LIST_ITEM.match(line)) and self._is_time_to_parse():
                yield from self._take_finished(is_blank=is_blank)

    def _add_code(self, line: str, fence: re.Match[str] | None) -> Iterator[Block]:
        assert self._fence is not None
        is_end = fence is not None and fence[1].startswith(self._fence) and not fence["info"].strip()
        self._append(line)
        if is_end or len(self._lines) > _CODE_LINES:
            yield self._block("".join(self._lines))
            head, marker = self._lines[0], self._fence
            self._begin([] if is_end else [head])
            self._is_going_on = not is_end
            self._fence = None if is_end else marker

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._characters += len(line)

    def _is_time_to_parse(self) -> bool:
        return self._characters <= _SMALL_CHARACTERS or self._characters >= self._parsed_characters * 2

    def _take_finished(self, *, is_blank: bool) -> Iterator[Block]:
        self._parsed_characters = self._characters
        tokens = _PARSER.parse("".join(self._lines))
        starts = [(each.map[0], each.type) for each in tokens if each.level == 0 and each.nesting >= 0 and each.map]
        if not starts:
            return
        last, kind = starts[-1]
        ends = [start for start, _ in starts[1:]]
        if kind in _LISTS:
            items = [each.map[0] for each in tokens if each.level == 1 and each.type == "list_item_open" and each.map]
            ends += [start for start in items if start > last]
        elif is_blank and kind not in _LASTING:
            ends.append(len(self._lines))
        begin = 0
        for end in ends:
            yield self._finished("".join(self._lines[begin:end]))
            begin = end
        if begin:
            self._begin(self._lines[begin:])


def render_markdown(source: str, width: int, *, has_colour: bool) -> str:
    """Render Markdown as rows for a terminal, with escape sequences for styles alone.

    Args:
        source: of a model, or of anybody.
        width: of the terminal.
        has_colour: False for bold and italics only.
    """
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        width=max(width, 10),
        color_system="standard",
        no_color=not has_colour,
        highlight=False,
    )
    rows = console.render(_Blocks(source) if len(source) <= _MOST_CHARACTERS else Text(source.strip("\n")))
    shown = [_stripped(row) for row in Segment.split_lines(rows)]
    while shown and not shown[-1]:
        shown.pop()
    begin = next((number for number, row in enumerate(shown) if row), 0)
    lines = (segment for row in shown[begin:] for segment in (*row, Segment.line()))
    console.print(Segments(lines), end="")
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def _stripped(row: Iterable[Segment]) -> list[Segment]:
    """End a row at its last word."""
    segments = [each for each in row if not each.is_control]
    while segments and not segments[-1].text.strip():
        segments.pop()
    if segments:
        segments[-1] = Segment(segments[-1].text.rstrip(), segments[-1].style)
    return segments


class _PlainHeading(Heading):
    """A heading at the left, which is seen without colours too."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text.copy()
        text.stylize("bold underline" if self.tag in ("h1", "h2") else "bold")
        yield text


class _Code(CodeBlock):
    """Code in the colours of the terminal, on its background."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Syntax(str(self.text).rstrip("\n"), self.lexer_name, theme="ansi_dark", word_wrap=True, padding=(0, 2))
        yield code


class _Table(TableElement):
    """A table, or if it has no room its rows as entries, one cell a line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        header = self.header.row.cells if self.header is not None and self.header.row is not None else []
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body is not None else []
        columns = list(zip(*([cell.content for cell in header], *rows), strict=False))
        widths = [max(cell.cell_len for cell in column) for column in columns]
        least = [longest_words(column) for column in columns]
        if fitting_widths(widths, least, options.max_width - _GAP) is not None:
            yield from super().__rich_console__(console, options)
            return
        for row in rows:
            for number, (name, cell) in enumerate(zip(header, row, strict=False)):
                if cell.plain:
                    label = Text("- " if number == 0 else "  ") + Text(f"{name.content.plain}: ", "bold")
                    yield label + cell


class _Blocks(Markdown):
    """Markdown of which nothing is hidden: links show where they lead, and HTML is text."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _PlainHeading,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, source: str) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = _PARSER.parse(source)
        for token in self.parsed:
            if token.children:
                token.children = list(_plain_links(token.children))


def _plain_links(tokens: list[Token]) -> Iterator[Token]:
    """Keep the breaks of lines, and show an address that is its own text once.

    What entities such as ``&#x202e;`` stand for is made harmless.
    """
    for number, token in enumerate(tokens):
        token.content = printable(token.content)
        if token.type == "softbreak":
            token.type = "hardbreak"
        is_open, is_close = token.type == "link_open", token.type == "link_close"
        if is_open or is_close:
            at = number if is_open else number - 2
            inner = tokens[at : at + 3]
            if len(inner) == 3 and inner[2].type == "link_close" and inner[1].content == inner[0].attrGet("href"):
                continue
        yield token
