"""All checks by their names, and the problems that the loader reports for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_devtools.conformance import (
    behaviour,
    declared,
    descriptions,
    imports,
    limits,
    loading,
    manifests,
    names,
    package,
    schemas,
)
from oneclaw_devtools.conformance.finding import Check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oneclaw_devtools.conformance.facts import ProblemFacts
    from oneclaw_devtools.conformance.finding import Finding

_FAMILIES = (package, loading, imports, names, manifests, schemas, descriptions, limits, behaviour, declared)

CHECKS: dict[str, Check] = {
    each.name: each for family in _FAMILIES for each in vars(family).values() if isinstance(each, Check)
}

# Their problems are told apart by where in a definition they are.
_DEFINING = ("manifest", "register_tools", "register_groups")
# What to do about exceptions that an import or a hook may not be to blame for, by their class.
_REMEDIES = {
    "ModuleNotFoundError": "install it, and name its package among the dependencies in pyproject.toml; or correct the "
    "module's name",
    "SyntaxError": "fix the line that it names, or the one before",
    "IndentationError": "fix the line that it names",
    "ToolDefinitionError": "correct what the tool is made of: its name, and what else is given to @tool",
}


def problem_findings(problems: Iterable[ProblemFacts]) -> Iterator[Finding]:
    """Turn the problems that the loader reported into findings."""
    for problem in problems:
        check = CHECKS.get(problem.check)
        if check is not None:
            # The loader's other advice is meant for the plugin's users.
            is_for_authors = check.name.startswith("skills.")
            remedy = problem.remedy if is_for_authors else _REMEDIES.get(problem.cause.partition(":")[0])
            yield check.found(problem.where, problem.cause, remedy)
        elif not problem.check and problem.where in _DEFINING:
            yield manifests.definition_check(problem).found(problem.where, problem.cause)
        elif not problem.check:
            check = loading.OTHER if problem.is_error else loading.NOTED
            yield check.found(problem.where, problem.cause, problem.remedy)
