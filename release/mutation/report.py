"""Count what became of the mutants, and list those that survived."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from killing import KILLED, SURVIVED, TIMEOUT, UNCOVERED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

EQUIVALENT = "equivalent"
_JUDGED = Path(__file__).parent / "equivalent.toml"
# Of the normal distribution, for 95 %.
_Z = 1.96


def equivalents() -> dict[tuple[str, str, str, str], str]:
    """Return the mutants that were found to change nothing that can be observed, each with the reason."""
    found = tomllib.loads(_JUDGED.read_text()).get("mutant", []) if _JUDGED.exists() else []
    return {(each["path"], each["function"], each["before"], each["after"]): each["reason"] for each in found}


def interval(killed: int, tried: int) -> tuple[float, float]:
    """Return the bounds of the share that is killed in the whole population, in percent (Wilson, 95 %)."""
    if not tried:
        return 0.0, 100.0
    share, square = killed / tried, _Z * _Z / tried
    middle = (share + square / 2) / (1 + square)
    half = _Z * math.sqrt(share * (1 - share) / tried + square / (4 * tried)) / (1 + square)
    return 100 * (middle - half), 100 * (middle + half)


def judged(results: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Mark the survivors that are known to be equivalent."""
    known = equivalents()
    found = []
    for result in results:
        reason = known.get((result["path"], result["function"], result["before"], result["after"]))
        is_left = result["status"] in (SURVIVED, UNCOVERED) and reason is not None
        found.append({**result, "status": EQUIVALENT, "test": reason} if is_left else dict(result))
    return found


def table(results: Iterable[Mapping[str, Any]], populations: Mapping[str, int]) -> str:
    """Return a table with a row for each package; equivalent mutants do not count in its percentages."""
    by_package: dict[str, Counter[str]] = {package: Counter() for package in populations}
    for result in results:
        by_package[result["package"]][result["status"]] += 1
    lines = [
        "| package | mutants | tried | killed | by time limit | survived | no test | equivalent | share killed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for package, counts in by_package.items():
        killed = counts[KILLED] + counts[TIMEOUT]
        counted = counts.total() - counts[EQUIVALENT]
        low, high = interval(killed, counted)
        share = 100 * killed / counted if counted else 0
        lines.append(
            f"| {package} | {populations[package]:,} | {counts.total()} | {killed} | {counts[TIMEOUT]} "
            f"| {counts[SURVIVED]} | {counts[UNCOVERED]} | {counts[EQUIVALENT]} "
            f"| {share:.1f} % ({low:.1f} to {high:.1f}) |"
        )
    return "\n".join(lines)


def survivors(results: Iterable[Mapping[str, Any]]) -> str:
    """Return what survived, with the change of each."""
    return "\n".join(
        f"{result['name']} {result['function']} ({result['operator']}, {result['status']})\n"
        f"  - {result['before']}\n  + {result['after']}"
        for result in results
        if result["status"] in (SURVIVED, UNCOVERED)
    )
