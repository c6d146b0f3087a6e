"""Checks: what the plugin costs every start of the program, by Python's own measurement (``-X importtime``)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_devtools.conformance.finding import Check, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SLOW_MS = 200.0
NOTED_MS = 50.0
HEAVY_MS = 20.0
_SHOWN = 5

SLOW = Check(
    "import.slow",
    Severity.WARNING,
    f"importing the plugin and calling its hooks takes more than {SLOW_MS:g} ms, which every command pays",
    "import heavy libraries inside functions, and declare tools in a manifest, whose modules load when one first runs",
)
HEAVY = Check(
    "import.heavy",
    Severity.NOTE,
    f"more than {NOTED_MS:g} ms, or a library that takes more than {HEAVY_MS:g} ms",
    "import it inside the functions that use it",
)

_LINE = re.compile(r"^import time:\s+(\d+) \|\s+(\d+) \|( +)(\S+)", re.MULTILINE)
_MARK = re.compile(r"^oneclaw check: (begin|end) (.*)$", re.MULTILINE)
# What the core needs to make tools of functions.
_OF_CORE = frozenset(
    {"pydantic", "pydantic_core", "docstring_parser", "typing_extensions", "annotated_types", "typing_inspection"}
)


@dataclass(frozen=True, slots=True)
class ImportCost:
    """Duration of importing a library.

    Attributes:
        library: its top-level name.
        milliseconds: with all that it imports and that was not imported before.
    """

    library: str
    milliseconds: float


@dataclass(frozen=True, slots=True)
class _Import:
    module: str
    self_ms: float
    cumulative_ms: float
    depth: int


def import_costs(stderr: str, package: str) -> tuple[list[ImportCost], float]:
    """Read what importing took.

    Args:
        stderr: with the lines of ``-X importtime`` and the marks between which the plugin was loaded.
        package: the plugin's own top-level name.

    Returns:
        What each library took, the slowest first, and the milliseconds that the core's own libraries took.
    """
    costs: Counter[str] = Counter()
    of_core = 0.0
    for part in _loading_parts(stderr):
        for root in _trees(part):
            top = root[0].module.partition(".")[0]
            if top in _OF_CORE or top == "oneclaw_core":
                of_core += root[0].cumulative_ms
                continue
            for library, milliseconds in _libraries(root, package):
                costs[library] += milliseconds  # type: ignore[assignment]  # Counter is typed for whole numbers
    return [ImportCost(name, cost) for name, cost in costs.most_common()], of_core


def import_findings(costs: Iterable[ImportCost], total_ms: float) -> Iterator[Finding]:
    """Compare with what a plugin may take.

    Args:
        costs: of libraries.
        total_ms: of the import and the hooks that register, without the core's own libraries.
    """
    heavy = [each for each in costs if each.milliseconds > HEAVY_MS][:_SHOWN]
    named = ", ".join(f"{each.library} {each.milliseconds:.0f} ms" for each in heavy)
    if total_ms > SLOW_MS:
        yield SLOW.found("import", f"it took {total_ms:.0f} ms; the heaviest: {named or 'its own code'}")
    elif total_ms > NOTED_MS or heavy:
        yield HEAVY.found("import", f"it took {total_ms:.0f} ms{f'; the heaviest: {named}' if named else ''}")


def _loading_parts(stderr: str) -> Iterator[str]:
    """The parts of the output in which the plugin was imported and its registering hooks ran."""
    open_at: dict[str, int] = {}
    for mark in _MARK.finditer(stderr):
        step = mark[2]
        if step.startswith("module "):
            continue
        if mark[1] == "begin":
            open_at[step] = mark.end()
        elif step in open_at:
            yield stderr[open_at.pop(step) : mark.start()]


def _trees(text: str) -> Iterator[list[_Import]]:
    """Group imports by the outermost; it stands behind those within it in the text, and first in what is given."""
    pending: list[_Import] = []
    for line in _LINE.finditer(text):
        found = _Import(line[4], int(line[1]) / 1000, int(line[2]) / 1000, (len(line[3]) - 1) // 2)
        pending.append(found)
        if found.depth == 0:
            yield pending[::-1]
            pending = []


def _libraries(tree: list[_Import], package: str) -> Iterator[tuple[str, float]]:
    """Give each library that the plugin's own modules import, with all that comes with it."""
    inside: tuple[str, int] | None = None
    for each in tree:
        top = each.module.partition(".")[0]
        if inside is not None and each.depth > inside[1]:
            continue
        if top == package:
            inside = None
            yield package, each.self_ms
        else:
            inside = (top, each.depth)
            yield top, each.cumulative_ms
