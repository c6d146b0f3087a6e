"""The measurements as JSON, from which tables, pictures and the page are made."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SUBJECT = "oneclaw"


@dataclass
class Row:
    """One work at one size, by all contestants.

    Attributes:
        title: for people.
        unit: ``s``, ``MB``, ``tokens`` or ``1/s``.
        size: how much of the work; ``None`` where it is no number.
        measure: the title of what is measured; empty for the main figure.
        is_more_better: whether the larger figure is the better one.
        is_best: whether the figure is the best of the rounds, and not their median.
        rounds: what each contestant measured in each round.
        reasons: why a contestant has no figure.
        peaks: the most memory that a contestant's process had, in MB.
    """

    title: str
    unit: str
    size: int | None = None
    measure: str = ""
    is_more_better: bool = False
    is_best: bool = False
    rounds: dict[str, list[float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)

    def add(self, contestant: str, value: float, peak_mb: float | None = None) -> None:
        """Note what a round measured."""
        self.rounds.setdefault(contestant, []).append(value)
        if peak_mb is not None:
            self.peaks[contestant] = max(peak_mb, self.peaks.get(contestant, 0))

    def figures(self) -> dict[str, float]:
        """Return the figures of the rounds that count, by contestant."""
        best = max if self.is_more_better else min
        return {
            name: best(values) if self.is_best else statistics.median(values) for name, values in self.rounds.items()
        }

    def ratio(self, contestant: str) -> float | None:
        """Return the ratio by which OneClaw is better than a contestant; below 1 it is worse, ``None`` if unknown."""
        figures = self.figures()
        subject, other = figures.get(SUBJECT), figures.get(contestant)
        if not subject or not other:
            return None
        return subject / other if self.is_more_better else other / subject


@dataclass
class Table:
    """One kind of work.

    Attributes:
        work: its name.
        title: for people.
        note: what a reader must know.
        rows: one for each size.
        seconds: how long measuring it took.
        measured: when, if not with the rest of the report.
    """

    work: str
    title: str
    note: str
    rows: list[Row] = field(default_factory=list)
    seconds: float = 0.0
    measured: str = ""


@dataclass
class Report:
    """A run of the benchmarks.

    Attributes:
        machine: what it ran on.
        versions: of the contestants and of what they stand on, by name.
        day: when, as an ISO date.
        rounds: how often each was measured, but for what takes too long.
        minutes: how long the run took.
        missing: contestants that are not installed.
        tables: what was measured.
    """

    machine: str
    versions: dict[str, str]
    day: str
    rounds: int = 0
    minutes: float = 0.0
    missing: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    def table(self, work: str) -> Table | None:
        """The table of a work, ``None`` if it was not measured."""
        return next((table for table in self.tables if table.work == work), None)

    def rows(self, work: str, measure: str = "") -> list[Row]:
        """The rows of a measure of a work in which OneClaw has a figure."""
        table = self.table(work)
        return [row for row in table.rows if row.measure == measure and SUBJECT in row.rounds] if table else []

    def figures(self, work: str, measure: str = "") -> list[float]:
        """Return the figures that OneClaw measured in each of these rows."""
        return [row.figures()[SUBJECT] for row in self.rows(work, measure)]

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(_rounded(asdict(self)), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Report:
        """Read what :meth:`save` has written."""
        data = json.loads(path.read_text(encoding="utf-8"))
        tables = [Table(**{**table, "rows": [Row(**row) for row in table["rows"]]}) for table in data.pop("tables")]
        return cls(**data, tables=tables)


def merged(earlier: Report, newer: Report, order: Iterable[str]) -> Report:
    """Put the tables of a run of some works beside those of an earlier run.

    Args:
        earlier: a whole run.
        newer: a run of some works; its tables say when they were measured.
        order: the names of all works.
    """
    for table in newer.tables:
        table.measured = f"{newer.day}, {newer.rounds} {'round' if newer.rounds == 1 else 'rounds'}"
    places = {name: place for place, name in enumerate(order)}
    tables = {table.work: table for table in (*earlier.tables, *newer.tables) if table.work in places}
    others = [table for table in earlier.tables if table.work not in places]
    ordered = sorted(tables.values(), key=lambda table: places[table.work])
    return replace(earlier, versions=earlier.versions | newer.versions, tables=[*ordered, *others])


def contestants_of(rows: Iterable[Row], order: Iterable[str]) -> list[str]:
    """Return the contestants with a figure, or with a reason why not, in this order."""
    known = {name for row in rows for name in (*row.rounds, *row.reasons)}
    return [name for name in order if name in known]


def _rounded(value: Any) -> Any:
    """The same with numbers of five digits: more of them would be noise."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value
