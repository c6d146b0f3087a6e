"""Draw the pictures of the documentation: `python docs/pictures.py` writes them to `docs/pictures/`.

The same input gives the same bytes. The architecture is drawn from the imports, the bars from the first table of
`docs/tokens.md`, so that a picture never says anything else than its source; `tests/docs` finds out if one is stale.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from import_graph import CORE, ROOT, import_graph, packages_of, without_detours

DOCS = Path(__file__).parent
FOLDER = DOCS / "pictures"

INK, FAINT, PAPER, LINE = "#1f2933", "#616e7c", "#ffffff", "#9aa5b1"
BLUE, GREEN, YELLOW, RED, GREY = "#d9e8fb", "#dcf2e3", "#fdf0cd", "#fbdcd9", "#eef1f4"
DARK_BLUE, DARK_GREEN, DARK_RED = "#2f6fbf", "#2e8b57", "#c25b4e"
FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


@dataclass
class Drawing:
    """An SVG on a sheet of its own colour, so that it can be read on a dark page as well.

    Attributes:
        width: in pixels.
        height: in pixels.
        title: what it shows, for those who cannot see it.
    """

    width: int
    height: int
    title: str
    _parts: list[str] = field(default_factory=list)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: int = 14,
        colour: str = INK,
        anchor: str = "middle",
        bold: bool = False,
    ) -> None:
        """Write words; `x` and `y` are the place of their baseline."""
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>'
            f"{escape(words, quote=False)}</text>"
        )

    def rectangle(self, x: float, y: float, width: float, height: float, fill: str, *, stroke: str = LINE) -> None:
        """Draw a box with round corners."""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" stroke="{stroke}"/>'
        )

    def box(self, x: float, y: float, width: float, height: float, fill: str, title: str, *lines: str) -> None:
        """Draw a box with a title and lines in its middle."""
        self.rectangle(x, y, width, height, fill)
        middle, top = x + width / 2, y + height / 2 - 9 * len(lines) + 5
        self.text(middle, top, title, bold=True)
        for number, line in enumerate(lines, 1):
            self.text(middle, top + 18 * number, line, size=12, colour=FAINT)

    def line(self, x1: float, y1: float, x2: float, y2: float, *, arrow: bool = True, dashed: bool = False) -> None:
        """Draw a line, with an arrow at its end."""
        marks = f' stroke="{FAINT}" stroke-width="1.4"' + (' marker-end="url(#arrow)"' if arrow else "")
        dashes = ' stroke-dasharray="4 4"' if dashed else ""
        self._parts.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"{marks}{dashes}/>')

    def dot(self, x: float, y: float, fill: str) -> None:
        """Draw a dot."""
        self._parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="5" fill="{fill}"/>')

    def svg(self) -> str:
        """The picture as a file."""
        body = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img" font-family="{FONT}">\n'
            f"<title>{escape(self.title, quote=False)}</title>\n"
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto-start-reverse"><path d="M0,0 L8,4 L0,8 z" fill="{FAINT}"/></marker></defs>\n'
            f'<rect width="{self.width}" height="{self.height}" rx="8" fill="{PAPER}"/>\n{body}\n</svg>\n'
        )


PACKAGES = {
    "__main__": "python -m oneclaw_core",
    "cli": "the command line",
    "testing": "scripted models",
    "services": "long-running tasks",
    "channels": "ways to talk to people",
    "app": "the class OneClaw",
    "json_schema": "of arguments",
    "project": "trust, instructions",
    "shipped": "how to get what is missing",
    "manifests": "tools in JSON files",
    "loops": "event loops of plugins",
    "wiring": "puts the parts together",
    "builtin": "tools of the core",
    "turn": "beginning, loop, steps",
    "agents": "personas",
    "tool_functions": "@tool",
    "provenance": "marks of a session",
    "hookspecs": "a function for each hook",
    "contract": "what hooks get and return",
    "permissions": "what tools may do",
    "config": "settings, keys, models",
    "plugins": "loading, calling hooks",
    "providers": "protocol, pool",
    "tools": "registry, groups, executor",
    "sessions": "the store",
    "http": "clients, guard, OAuth",
    "process": "programs, sandbox",
    "search": "ranking",
    "secrets": "the store of keys",
    "files": "where tools read and write",
    "system": "directories, threads",
    "types": "messages, agents, events",
}


def layers() -> list[list[str]]:
    """Return the packages of the core in the layers that `pyproject.toml` fixes, from above."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    [contract] = [each for each in contracts if each.get("containers") == [CORE]]
    packages = packages_of(import_graph())
    rows = [re.findall(r"\w+", row) for row in contract["layers"]]
    return [here for row in rows if (here := [name for name in row if name in packages])]


def architecture() -> Drawing:
    """Draw the layers of the core with its packages, and their imports without those that follow from others."""
    rows, width, height, gap = layers()[:-1], 150, 46, 34
    sheet = 20 + 5 * (width + 18)
    drawing = Drawing(sheet, 30 + len(rows) * (height + gap), "The packages of the core; each imports what is below it")
    places = {
        name: (sheet / 2 + (column - (len(row) - 1) / 2) * (width + 18), 20 + number * (height + gap), number)
        for number, row in enumerate(rows)
        for column, name in enumerate(row)
    }
    colours = (GREY, BLUE, GREEN, YELLOW)
    for name, imported in without_detours(packages_of(import_graph())).items():
        for other in sorted(imported):
            if name in places and other in places and places[name][2] < places[other][2]:
                (x1, y1, _), (x2, y2, _) = places[name], places[other]
                drawing.line(x1, y1 + height, x2, y2 - 2)
    for number, row in enumerate(rows):
        if len(row) > 2 and "plugins" in row:
            first, last = places[row[0]], places[row[-1]]
            drawing.rectangle(
                first[0] - width / 2 - 6, first[1] - 6, last[0] - first[0] + width + 12, height + 12, PAPER
            )
        for name in row:
            x, y, _ = places[name]
            drawing.box(x - width / 2, y, width, height, colours[number * 4 // len(rows)], name, PACKAGES.get(name, ""))
    return drawing


def turn() -> Drawing:
    """A turn in which a group is loaded and one of its tools is called."""
    lanes = {"You": 90, "OneClaw": 340, "Model": 600, "Tool": 790}
    steps = [
        ("You", "OneClaw", "How many pages does report.pdf have?"),
        ("OneClaw", "Model", "13 core tools, a line for each group"),
        ("Model", "OneClaw", "load_tool_group: pdf"),
        ("OneClaw", "Model", "the same, and the 3 tools of pdf"),
        ("Model", "OneClaw", "pdf_info: report.pdf"),
        ("OneClaw", "Tool", "checked, permitted, run"),
        ("Tool", "OneClaw", "Pages: 6"),
        ("OneClaw", "Model", "the same, and the result"),
        ("Model", "OneClaw", "It has 6 pages."),
        ("OneClaw", "You", "It has 6 pages."),
    ]
    # What is written down before the next thing happens.
    stored = {0, 2, 4, 6, 8}
    top, distance = 110, 44
    bottom = top + distance * (len(steps) - 1) + 30
    drawing = Drawing(860, bottom + 50, "A turn: the model loads the group pdf, calls one of its tools, and answers")
    for name, x in lanes.items():
        drawing.box(x - 65, 24, 130, 36, {"You": GREY, "OneClaw": BLUE, "Model": RED, "Tool": YELLOW}[name], name)
        drawing.line(x, 60, x, bottom, arrow=False, dashed=True)
    for number, (source, target, words) in enumerate(steps):
        y = top + distance * number
        x1, x2 = lanes[source], lanes[target]
        gap = 8 if x2 > x1 else -8
        drawing.line(x1 + gap, y, x2 - gap, y)
        middle = (x1 + min(x2, lanes["Model"])) / 2 if source == "OneClaw" else (min(x1, lanes["Model"]) + x2) / 2
        drawing.text(middle, y - 8, words, size=13)
        if number in stored:
            drawing.dot(lanes["OneClaw"], y, DARK_GREEN)
    drawing.dot(40, bottom + 24, DARK_GREEN)
    drawing.text(
        54,
        bottom + 29,
        "stored before anything else happens: the history is the only state",
        size=13,
        colour=FAINT,
        anchor="start",
    )
    return drawing


@dataclass(frozen=True)
class Strategy:
    """A row of the measured table.

    Attributes:
        service: the wire format.
        tools: how tools are sent.
        billed: tokens at the plain rate that would cost as much.
        less: in comparison with all tools always sent, as the page writes it; empty for that itself.
    """

    service: str
    tools: str
    billed: int
    less: str


def measured(page: str) -> list[Strategy]:
    """Read the first measured table of the page about tokens.

    Args:
        page: in Markdown.
    """
    table = page.partition("| service | tools | requests |")[2].partition("\n\n")[0]
    found: list[Strategy] = []
    for line in table.splitlines()[2:]:
        service, tools, _requests, _sent, billed, less = (cell.strip() for cell in line.split("|")[1:7])
        found.append(Strategy(service or found[-1].service, tools, int(billed.replace(",", "")), less))
    return found


def token_bars(strategies: list[Strategy]) -> Drawing:
    """Return the cost of a session of ten turns, by service and by the way in which tools are sent."""
    services = list(dict.fromkeys(each.service for each in strategies))
    row, gap, left, most = 24, 34, 250, max(each.billed for each in strategies)
    height = 70 + row * len(strategies) + gap * len(services)
    drawing = Drawing(
        860, height, "Tokens billed for the same session of ten turns, by service and by how tools are sent"
    )
    drawing.text(
        20,
        32,
        "Billed tokens of a session of ten turns, with the tools of all plugins, of which 3 groups are loaded",
        size=15,
        anchor="start",
        bold=True,
    )
    y = 48.0
    for service in services:
        y += gap
        drawing.text(20, y - 8, service, size=13, anchor="start", bold=True)
        for each in (one for one in strategies if one.service == service):
            length = (860 - left - 140) * each.billed / most
            colour = DARK_GREEN if each.less else DARK_RED
            drawing.text(left - 10, y + 13, each.tools, size=12, colour=FAINT, anchor="end")
            drawing.rectangle(left, y, length, row - 7, colour, stroke=colour)
            label = f"{each.billed:,}" + (f", {each.less} less" if each.less else "")
            drawing.text(left + length + 8, y + 13, label, size=12, anchor="start")
            y += row
    return drawing


def bars() -> Drawing:
    """Draw the bars of the measured table of the page about tokens."""
    return token_bars(measured((DOCS / "tokens.md").read_text(encoding="utf-8")))


PICTURES = {"architecture.svg": architecture, "turn.svg": turn, "token-bars.svg": bars}


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
