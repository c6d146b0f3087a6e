"""Pictures of what was measured, as SVG on a coloured sheet, which can be read on a dark page as well."""

from __future__ import annotations

import math
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from benchmarks.report import figure
from benchmarks.results import SUBJECT, contestants_of
from benchmarks.work import CONTESTANTS, TITLES

if TYPE_CHECKING:
    from benchmarks.results import Row, Table

INK, FAINT, PAPER, GRID = "#1f2933", "#616e7c", "#ffffff", "#e4e7eb"
FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
COLOURS = {
    "oneclaw": "#1f5fb4",
    "oneclaw-postgresql": "#5b9bd5",
    "floor": "#7b8794",
    "pydantic-ai": "#c2410c",
    "openai-agents": "#15803d",
    "llm": "#7e22ce",
    "langgraph-bigtool": "#a16207",
    "agno": "#be185d",
    "workspace-mcp": "#0f766e",
    "hermes-agent": "#4d7c0f",
    "nanobot-ai": "#b91c1c",
}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 420, 80, 200, 56, 48
_BAR = 26


def plot(table: Table) -> str:
    """Lines over the sizes where there are three or more, else bars of the last row."""
    # The main figure alone.
    table = replace(table, rows=[row for row in table.rows if not row.measure])
    sizes = [row.size for row in table.rows]
    return _lines(table) if len(sizes) > 2 and None not in sizes else _bars(table)


def _lines(table: Table) -> str:
    values = [value for row in table.rows for value in row.figures().values() if value > 0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    sizes = [row.size or 1 for row in table.rows]
    first, last = math.log10(min(sizes)), math.log10(max(sizes))

    def x(size: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(size) - first) / (last - first)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(value) - low) / max(1, high - low)

    parts: list[str] = []
    for power in range(low, high + 1):
        height = y(10.0**power)
        parts.append(f'<path d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>')
        parts.append(_text(LEFT - 8, height + 4, figure(10.0**power, table.rows[0].unit), FAINT, "end"))
    for row, size in zip(table.rows, sizes, strict=True):
        parts.append(_text(x(size), HEIGHT - BOTTOM + 22, row.title, FAINT, "middle"))
    labels: list[tuple[float, float, str]] = []
    for name in contestants_of(table.rows, CONTESTANTS):
        points = [(x(row.size or 1), y(row.figures()[name])) for row in table.rows if row.figures().get(name, 0) > 0]
        if not points:
            continue
        path = "L".join(f"{across:.1f} {down:.1f}" for across, down in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="{_weight(name)}"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{d:.1f}" r="3.5" fill="{COLOURS[name]}"/>' for a, d in points]
        labels.append((points[-1][1], points[-1][0], name))
    parts += _labels(labels)
    return _svg(table.title, HEIGHT, parts)


def _labels(labels: list[tuple[float, float, str]]) -> list[str]:
    """The names at the ends of lines, moved apart; those of lines that end early have a thread to their end."""
    parts: list[str] = []
    lowest = 0.0
    for height, end, name in sorted(labels):
        lowest = max(height, lowest + 17)
        start = WIDTH - RIGHT + 12
        parts.append(
            f'<path d="M{end + 5:.1f} {height:.1f}L{start - 3} {lowest:.1f}" stroke="{COLOURS[name]}" '
            'stroke-dasharray="1 3" fill="none"/>'
        )
        parts.append(_text(start, lowest + 4, TITLES.get(name, name), COLOURS[name], "start", is_bold=name == SUBJECT))
    return parts


def _bars(table: Table) -> str:
    row = _shown_row(table)
    figures = sorted(row.figures().items(), key=lambda each: each[1], reverse=row.is_more_better)
    largest = max((value for _, value in figures), default=1) or 1
    parts: list[str] = []
    for place, (name, value) in enumerate(figures):
        top = TOP + place * _BAR
        width = max(2.0, 480 * value / largest)
        parts.append(_text(190, top + 14, TITLES.get(name, name), INK, "end", is_bold=name == SUBJECT))
        parts.append(f'<rect x="200" y="{top}" width="{width:.1f}" height="18" rx="3" fill="{COLOURS[name]}"/>')
        parts.append(_text(208 + width, top + 14, figure(value, row.unit), FAINT, "start"))
    return _svg(f"{table.title}: {row.title}", TOP + 16 + _BAR * len(figures), parts)


def _shown_row(table: Table) -> Row:
    """The last of the rows that have the most contestants."""
    return max(reversed(table.rows), key=lambda row: len(row.rounds))


def _weight(name: str) -> str:
    return "3" if name == SUBJECT else "1.8"


def _text(x: float, y: float, words: str, colour: str, anchor: str, *, is_bold: bool = False) -> str:
    weight = ' font-weight="600"' if is_bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}"{weight}>'
        f"{escape(words.replace('`', ''), quote=False)}</text>"
    )


def _svg(title: str, height: float, parts: list[str]) -> str:
    heading = _text(20, 30, title, INK, "start", is_bold=True)
    body = "\n".join([heading, *parts])
    hidden = escape(title.replace("`", ""), quote=False)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" font-family="{FONT}" font-size="13">\n<title>{hidden}</title>\n'
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="{PAPER}"/>\n{body}\n</svg>\n'
    )
