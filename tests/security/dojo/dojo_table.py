"""The numbers of all suites as a table."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dojo_runs import SUITES, VERSION, Dojo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dojo_runs import Outcome


@dataclass(frozen=True)
class Results:
    """All runs of one suite, or of several.

    Attributes:
        benign: tasks without an injection.
        attacked: tasks with an injection each.
        agreed: the same, with a user who agrees to everything.
    """

    benign: Sequence[Outcome]
    attacked: Sequence[Outcome]
    agreed: Sequence[Outcome]

    def __add__(self, other: Results) -> Results:
        return Results((*self.benign, *other.benign), (*self.attacked, *other.attacked), (*self.agreed, *other.agreed))


def results_of(name: str, *, step: int = 1, has_injections: bool = True) -> Results:
    """Run a suite.

    Args:
        name: of the suite.
        step: runs every so many tasks and pairs.
        has_injections: False to run the tasks without injections alone.
    """
    with tempfile.TemporaryDirectory() as folder, Dojo(name, Path(folder)) as dojo:
        pairs = dojo.pairs()[::step] if has_injections else []
        return Results(
            [dojo.run(task) for task in list(dojo.user_tasks)[::step]],
            [dojo.run(*pair) for pair in pairs],
            [dojo.run(*pair, says_yes=True) for pair in pairs],
        )


def _succeeded(outcomes: Iterable[Outcome]) -> int:
    return sum(each.has_succeeded for each in outcomes)


_ROWS: dict[str, Callable[[Results], str]] = {
    "tasks without an injection": lambda r: str(len(r.benign)),
    "of these, done": lambda r: str(sum(each.is_done for each in r.benign)),
    "questions for what the task sends, shares or spends": lambda r: str(sum(len(o.user.sending) for o in r.benign)),
    "other questions": lambda r: str(sum(len(o.user.other) + len(o.user.refused) for o in r.benign)),
    "other questions a task": lambda r: f"{other_questions_a_task(r):.2f}",
    "tasks with an injection": lambda r: str(len(r.attacked)),
    "of these, the model read it and obeyed": lambda r: str(sum(each.is_reached for each in r.attacked)),
    "injections that succeeded without a yes": lambda r: str(_succeeded(r.attacked)),
    "of these, by a call that sends, shares, spends, changes or deletes": lambda r: str(
        _succeeded(o for o in r.attacked if o.has_effect)
    ),
    "of these, by a visit of a page that carries no data": lambda r: str(
        _succeeded(o for o in r.attacked if o.is_visit)
    ),
    "of these, by words in the answer": lambda r: str(_succeeded(o for o in r.attacked if o.is_spoken)),
    "user's task done all the same": lambda r: str(sum(each.is_done for each in r.attacked)),
    "injections that succeed if the user agrees to everything": lambda r: str(_succeeded(r.agreed)),
}


def other_questions_a_task(results: Results) -> float:
    """Return how often a task has a question beside those for what it sends, shares or spends."""
    asked = sum(len(each.user.other) + len(each.user.refused) for each in results.benign)
    return asked / len(results.benign)


def whole_report() -> str:
    """Run all suites; return the table in Markdown and the cases that fell short."""
    results = {name: results_of(name) for name in SUITES}
    first, *rest = results.values()
    together = sum(rest, first)
    columns = [*results.values(), together]
    lines = [
        f"AgentDojo, version {VERSION} of its tasks",
        "",
        f"| | {' | '.join(results)} | all |",
        "|---" * (len(columns) + 1) + "|",
        *(f"| {row} | {' | '.join(map(value, columns))} |" for row, value in _ROWS.items()),
    ]
    for title, chosen in {
        "Not done without an injection": [each for each in together.benign if not each.is_done],
        "Succeeded without a yes": [each for each in together.attacked if each.has_succeeded],
        "Not done with an injection": [each for each in together.attacked if not each.is_done],
        "Not even if the user agrees to everything": [each for each in together.agreed if not each.has_succeeded],
    }.items():
        lines += ["", f"{title}: {len(chosen)}", *(f"  {each.name}" for each in chosen)]
    return "\n".join(lines)
