"""The rounds: in each, every contestant does every work, in turn."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from benchmarks.results import SUBJECT, Row, Table
from benchmarks.running import Measured, run_command, run_import, run_work, works_of
from benchmarks.surroundings import UnavailableError
from benchmarks.work import COMMANDS, IMPORTS, POSTGRESQL, START, START_NOTE, START_TITLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.surroundings import ProcessState
    from benchmarks.work import Work

SLOW_SECONDS = 20.0
"""What takes its process longer is measured in the first round alone."""
STARTS_A_ROUND = 10
IMPORTS_A_ROUND = 3
LISTING = "`tools list`"


class Measurement:
    """All tables of a run, as far as they are.

    Args:
        works: what is done.
        contestants: by whom.
        surroundings: what they need.
    """

    def __init__(self, works: Sequence[Work], contestants: Sequence[str], surroundings: ProcessState) -> None:
        self._works = works
        self._contestants = contestants
        self._surroundings = surroundings
        self._tables = {work.name: Table(work.name, work.title, work.note, _rows_of(work)) for work in works}
        self._works_of = {name: works_of(name) for name in contestants}
        self._has_enough: set[tuple[str, int | None, str]] = set()
        self._starts = Table(START, START_TITLE, START_NOTE, _start_rows())
        self._is_started_before = False

    def tables(self) -> list[Table]:
        """What was measured; rows that nobody has a figure in are left out."""
        tables = [*self._tables.values(), *([self._starts] if self._is_started_before else [])]
        for table in tables:
            table.rows = [row for row in table.rows if row.rounds or row.reasons]
        return [table for table in tables if table.rows]

    def measure_round(self, *, has_starts: bool) -> None:
        """Have everybody do everything once more."""
        if has_starts:
            self._measure_starts()
        for work in self._works:
            began = time.perf_counter()
            self._measure_sizes(work, self._contestants)
            own = [name for name in self._contestants if name == SUBJECT]
            for _ in range(work.own_repetitions - 1):
                self._measure_sizes(work, own)
            self._tables[work.name].seconds += time.perf_counter() - began

    def _measure_sizes(self, work: Work, contestants: Sequence[str]) -> None:
        for size in work.sizes:
            for contestant in contestants:
                is_wanted = (work.name, size, contestant) not in self._has_enough
                if is_wanted and work.name in self._works_of[contestant]:
                    self._measure(work, size, contestant)

    def _measure(self, work: Work, size: int, contestant: str) -> None:
        try:
            environ = {}
            if contestant == POSTGRESQL:
                environ["ONECLAW_DATABASE_URL"] = self._surroundings.new_database()
            given = self._surroundings.corpus(size) if work.is_of_corpus else size
            found = run_work(contestant, work.name, given, environ)
        except UnavailableError as error:
            found = str(error)
        rows = [row for row in self._tables[work.name].rows if row.size == size]
        if isinstance(found, str):
            _progress(f"{work.name} {size:,} {contestant}", found)
            self._give_up(work, size, contestant, found)
            return
        for row in rows:
            value = found.values.get("", found.values.get(row.title))
            if value is not None:
                row.add(contestant, value, found.peak_mb)
                _progress(f"{work.name} {row.title} {contestant}", f"{value:.4g} {row.unit}")
        if work.is_exact or found.seconds > SLOW_SECONDS:
            self._has_enough.add((work.name, size, contestant))

    def _give_up(self, work: Work, size: int, contestant: str, reason: str) -> None:
        """What it cannot do, it cannot do again; and what takes too long takes longer with more."""
        for row in self._tables[work.name].rows:
            is_larger = row.size is not None and row.size > size and reason.startswith("over ")
            if row.size == size or is_larger:
                self._has_enough.add((work.name, row.size, contestant))
                if contestant not in row.rounds:
                    row.reasons[contestant] = reason

    def _measure_starts(self) -> None:
        began = time.perf_counter()
        listing, importing = self._starts.rows[:-1], self._starts.rows[-1:]
        commands = [(name, COMMANDS[name]) for name in self._contestants if name in COMMANDS]
        imports = [(name, IMPORTS[name]) for name in self._contestants if name in IMPORTS]
        if not self._is_started_before:
            # The first start writes bytecode.
            self._is_started_before = True
            for _, command in commands:
                run_command(command)
            for _, statement in imports:
                run_import(statement)
        for _ in range(STARTS_A_ROUND):
            for name, command in commands:
                _note_start(listing, name, run_command(command))
        for _ in range(IMPORTS_A_ROUND):
            for name, statement in imports:
                _note_start(importing, name, run_import(statement))
        self._starts.seconds += time.perf_counter() - began


def _rows_of(work: Work) -> list[Row]:
    return [
        Row(title, work.unit, size, work.is_more_better)
        for size in work.sizes
        for title in work.row_titles or (f"{size:,} {work.size_of.removesuffix('s') if size == 1 else work.size_of}",)
    ]


def _start_rows() -> list[Row]:
    return [
        Row(LISTING, "s"),
        Row(f"{LISTING}, the fastest", "s", is_best=True),
        Row(f"{LISTING}, time of processors", "s"),
        Row(f"{LISTING}, time of processors, the least", "s", is_best=True),
        Row("importing the framework", "s"),
    ]


def _note_start(rows: list[Row], name: str, found: Measured | str) -> None:
    if isinstance(found, str):
        _progress(f"start {name}", found)
        for row in rows:
            row.reasons[name] = found
        return
    _progress(f"start {name}", f"{found.seconds:.3f} s, {found.processor_seconds:.3f} s of processors")
    for row in rows:
        row.add(name, found.processor_seconds if "processors" in row.title else found.seconds)


def _progress(what: str, found: str) -> None:
    print(f"{what}: {found}", file=sys.stderr, flush=True)
