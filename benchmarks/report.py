"""The table of what was measured, as text for people, as JSON, and as pictures."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from html import escape

from benchmarks.running import Measured

SUBJECT = "oneclaw"
_BAR_WIDTH = 420
_ROW_HEIGHT = 26


@dataclass
class Row:
    """One work at one size, by all contestants.

    Attributes:
        title: for people.
        unit: ``s``, ``MB`` or ``1/s``.
        is_more_better: whether the larger figure is the better one.
        rounds: what each contestant measured in each round, or why it could not.
    """

    title: str
    unit: str
    is_more_better: bool = False
    rounds: dict[str, list[Measured | str]] = field(default_factory=dict)

    def add(self, contestant: str, found: Measured | str) -> None:
        """Note what came of a round."""
        self.rounds.setdefault(contestant, []).append(found)

    def medians(self) -> dict[str, float]:
        """The median of the rounds, by contestant."""
        values = {
            name: [found.value for found in all_found if isinstance(found, Measured)]
            for name, all_found in self.rounds.items()
        }
        return {name: statistics.median(each) for name, each in values.items() if each}

    def peaks(self) -> dict[str, float]:
        """The most memory of the rounds in MB, by contestant."""
        values = {
            name: [found.peak_mb for found in all_found if isinstance(found, Measured) and found.peak_mb is not None]
            for name, all_found in self.rounds.items()
        }
        return {name: max(each) for name, each in values.items() if each}

    def failures(self) -> dict[str, str]:
        """Why a contestant has no figure, where it should have one."""
        missing = {name: all_found[-1] for name, all_found in self.rounds.items() if name not in self.medians()}
        return {name: str(why) for name, why in missing.items() if why != "does no such work"}


def figure(value: float, unit: str) -> str:
    """A value with its unit, in three digits."""
    if unit == "s":
        for factor, name in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
            if value * factor >= 1 or name == "µs":
                return f"{value * factor:,.3g} {name}" if value * factor < 1_000 else f"{value * factor:,.0f} {name}"
    return f"{value:,.3g} {unit}" if value < 1_000 else f"{value:,.0f} {unit}"


def ratio_of(row: Row, name: str) -> float | None:
    """How many times better OneClaw is than a contestant; below 1 it is worse."""
    medians = row.medians()
    if SUBJECT not in medians or name not in medians or not medians[name] or not medians[SUBJECT]:
        return None
    ratio = medians[name] / medians[SUBJECT]
    return 1 / ratio if row.is_more_better else ratio


def markdown(rows: list[Row], contestants: tuple[str, ...]) -> str:
    """A table with OneClaw's figure, then of each contestant how many times OneClaw's, and the figure itself."""
    shown = [name for name in contestants if any(name in row.medians() for row in rows)]
    others = [name for name in shown if name != SUBJECT]
    lines = [
        "| what | " + " | ".join([SUBJECT, *others]) + " |",
        "|---" * (len(shown) + 1) + "|",
    ]
    for row in rows:
        medians = row.medians()
        cells = [row.title, f"**{figure(medians[SUBJECT], row.unit)}**" if SUBJECT in medians else "failed"]
        for name in others:
            ratio = ratio_of(row, name)
            if name not in medians:
                cells.append("failed" if name in row.failures() else "")
            elif ratio is None:
                cells.append(figure(medians[name], row.unit))
            else:
                digits = ".2g" if ratio < 10 else ",.0f"
                cells.append(f"{ratio:{digits}}x ({figure(medians[name], row.unit)})")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def bars(title: str, row: Row) -> str:
    """One row as horizontal bars, the best first, as SVG."""
    medians = sorted(row.medians().items(), key=lambda each: each[1], reverse=row.is_more_better)
    largest = max((value for _, value in medians), default=1) or 1
    height = 44 + _ROW_HEIGHT * len(medians)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13"><title>{escape(title)}</title>',
        f'<rect width="720" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-weight="600" fill="#1f2328">{escape(title)}</text>',
    ]
    for place, (name, value) in enumerate(medians):
        top = 36 + place * _ROW_HEIGHT
        width = max(2.0, _BAR_WIDTH * value / largest)
        colour = "#0969da" if name == SUBJECT else "#afb8c1"
        parts.append(
            f'<text x="150" y="{top + 14}" text-anchor="end" fill="#1f2328">{escape(name)}</text>'
            f'<rect x="160" y="{top}" width="{width:.1f}" height="18" rx="3" fill="{colour}"/>'
            f'<text x="{166 + width:.1f}" y="{top + 14}" fill="#59636e">{escape(figure(value, row.unit))}</text>'
        )
    return "".join([*parts, "</svg>"]) + "\n"
