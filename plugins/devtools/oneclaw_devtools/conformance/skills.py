"""Checks: the skills that a plugin brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_devtools.conformance.finding import Check, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_devtools.conformance.facts import PluginFacts

_E, _W = Severity.ERROR, Severity.WARNING

MISSING = Check(
    "skills.missing", _E, "a skill without a folder or `SKILL.md`", "write SKILL.md, and include it in the package"
)
TWICE = Check("skills.twice", _W, "a skill that is registered twice", "register it once")
FORMAT = Check("skills.format", _E, "a `SKILL.md` that cannot be used", "mend SKILL.md")
ADVICE = Check("skills.advice", _W, "a `SKILL.md` that can be used but has a fault", "mend SKILL.md")
NEEDS = Check(
    "skills.needs", _W, "a skill that names groups or tools that are not there", "correct the names in its metadata"
)


def skill_findings(facts: PluginFacts) -> Iterator[Finding]:
    """Look at the skills."""
    own = {each.name: each for each in (MISSING, TWICE, FORMAT, ADVICE, NEEDS)}
    for problem in facts.problems:
        if problem.check in own:
            yield own[problem.check].found(problem.where, problem.cause, problem.remedy)
