"""The rounds: in each, every contestant does every work, in turn."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from benchmarks.programs import PROGRAMS
from benchmarks.results import SUBJECT, Row, Table
from benchmarks.running import NOT_INSTALLED, Done, UnavailableError, run_import, run_program, run_work, works_of
from benchmarks.work import COMMANDS, IMPORTING, IMPORTS, POSTGRESQL, START

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.surroundings import ProcessState
    from benchmarks.work import Work

SLOW_SECONDS = 6.0
"""The limit in seconds above which work is measured in the first round only."""
STARTS_A_ROUND = 5
IMPORTS_A_ROUND = 2


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
        self._works_of = {name: works_of(name) | ({"run"} if name in PROGRAMS else set()) for name in contestants}
        self._has_enough: set[tuple[str, int | None, str]] = set()
        self._is_started_before = False

    def tables(self) -> list[Table]:
        """Return the measurements, without rows that have no figures."""
        tables = list(self._tables.values())
        for table in tables:
            table.rows = [row for row in table.rows if row.rounds or row.reasons]
        return [table for table in tables if table.rows]

    def measure_round(self) -> None:
        """Have everybody do everything once more."""
        for work in self._works:
            began = time.perf_counter()
            if work is START:
                self._measure_starts()
            else:
                self._measure_sizes(work, self._contestants)
                own = [name for name in self._contestants if name == SUBJECT]
                for _ in range(work.own_repetitions - 1):
                    self._measure_sizes(work, own)
            self._tables[work.name].seconds += time.perf_counter() - began

    def _measure_sizes(self, work: Work, contestants: Sequence[str]) -> None:
        for size in work.sizes:
            for contestant in contestants:
                is_wanted = contestant == SUBJECT or work.peers_up_to is None or size <= work.peers_up_to
                has_enough = (work.name, size, contestant) in self._has_enough
                if is_wanted and not has_enough and work.name in self._works_of[contestant]:
                    self._measure(work, size, contestant)

    def _measure(self, work: Work, size: int, contestant: str) -> None:
        try:
            environ = {}
            if contestant == POSTGRESQL:
                environ["ONECLAW_DATABASE_URL"] = self._surroundings.new_database()
            if work.name.startswith("mcp_"):
                environ |= self._surroundings.mcp().environ(work.name, contestant, size)
            if work.name == "run":
                found = self._surroundings.programs().run(contestant)
            else:
                found = run_work(contestant, work.name, size, environ)
        except UnavailableError as error:
            found = str(error)
        if isinstance(found, str):
            _progress(f"{work.name} {size:,} {contestant}", found)
            self._give_up(work, size, contestant, found)
            return
        for row in self._tables[work.name].rows:
            if row.size == size and row.measure in found.values:
                row.add(contestant, found.values[row.measure], found.peak_mb)
                _progress(f"{work.name} {row.title} {contestant}", f"{found.values[row.measure]:.4g} {row.unit}")
        if work.is_exact or found.seconds > SLOW_SECONDS:
            self._has_enough.add((work.name, size, contestant))

    def _give_up(self, work: Work, size: int, contestant: str, reason: str) -> None:
        """Contestants' failures are not tried again, and slow work is not tried with larger sizes."""
        for row in self._tables[work.name].rows:
            is_larger = row.size is not None and row.size > size and reason.startswith("over ")
            if row.size == size or is_larger:
                self._has_enough.add((work.name, row.size, contestant))
                if contestant not in row.rounds and reason != NOT_INSTALLED:
                    row.reasons[contestant] = reason

    def _measure_starts(self) -> None:
        commands = [name for name in self._contestants if name in COMMANDS]
        imports = [name for name in self._contestants if name in IMPORTS]
        if not self._is_started_before:
            # The first start writes bytecode and caches.
            self._is_started_before = True
            for name in commands:
                self._list_tools(name)
            for name in imports:
                run_import(name, IMPORTS[name])
        rows = {row.measure: row for row in self._tables[START.name].rows}
        for _ in range(STARTS_A_ROUND):
            for name in commands:
                _note_start([row for row in rows.values() if row.measure != IMPORTING], name, self._list_tools(name))
        for _ in range(IMPORTS_A_ROUND):
            for name in imports:
                _note_start([rows[IMPORTING]], name, run_import(name, IMPORTS[name]))

    def _list_tools(self, name: str) -> Done | str:
        return run_program(name, [*COMMANDS[name]], home=self._surroundings.programs().home(f"{name}-listing"))


def _rows_of(work: Work) -> list[Row]:
    return [
        Row(
            _row_title(work, size, measure.title),
            measure.unit,
            size,
            measure.title,
            is_more_better=measure.is_more_better,
            is_best=measure.is_best,
        )
        for measure in work.measures
        for size in work.sizes
    ]


def _row_title(work: Work, size: int, measure: str) -> str:
    if not work.size_of:
        return measure
    amount = f"{size:,} {work.size_of.removesuffix('s') if size == 1 else work.size_of}"
    return f"{amount}: {measure}" if measure else amount


def _note_start(rows: list[Row], name: str, found: Done | str) -> None:
    if isinstance(found, str):
        _progress(f"start {name}", found)
        if found != NOT_INSTALLED:
            for row in rows:
                row.reasons[name] = found
        return
    _progress(f"start {name}", f"{found.seconds:.3f} s, {found.processor_seconds:.3f} s of processors")
    for row in rows:
        row.add(name, found.processor_seconds if "processors" in row.measure else found.seconds)


def _progress(what: str, found: str) -> None:
    print(f"{what}: {found}", file=sys.stderr, flush=True)
