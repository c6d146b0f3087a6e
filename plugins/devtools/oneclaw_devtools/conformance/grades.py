"""Grades of plugins: bronze, silver and gold, with what is missing for the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_devtools.conformance import descriptions
from oneclaw_devtools.conformance.finding import Severity, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from oneclaw_devtools.conformance.finding import CheckedPlugin, Finding

BRONZE, SILVER, GOLD = "bronze", "silver", "gold"
_MOST_TEST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of a package.

    Attributes:
        name: ``bronze``, ``silver`` or ``gold``; ``""`` for none.
        next: the next one; ``""`` behind gold.
        missing: what is missing for that.
    """

    name: str
    next: str
    missing: tuple[str, ...] = ()


def grade_of(
    findings: Sequence[Finding], plugins: Sequence[CheckedPlugin], project: Path | None, *, are_tools_called: bool
) -> Grade:
    """Grade a package.

    Args:
        findings: of all its plugins.
        plugins: its plugins, with their tools.
        project: its directory, with its tests; ``None`` for a wheel and an installed package.
        are_tools_called: False if the tools were not tried.
    """
    name = ""
    for grade, missing in (
        (BRONZE, list(_for_bronze(findings))),
        (SILVER, list(_for_silver(findings, are_tools_called=are_tools_called))),
        (GOLD, list(_for_gold(plugins, project))),
    ):
        if missing:
            return Grade(name, grade, tuple(missing))
        name = grade
    return Grade(name, "")


def _for_bronze(findings: Sequence[Finding]) -> Iterator[str]:
    yield from _checks(findings, Severity.ERROR, "no error")


def _for_silver(findings: Sequence[Finding], *, are_tools_called: bool) -> Iterator[str]:
    yield from _checks(findings, Severity.WARNING, "no warning")
    if any(each.check == descriptions.WHEN.name for each in findings):
        yield f"each tool says when to use it ({descriptions.WHEN.name})"
    if not are_tools_called:
        yield "the tools are tried: check it without --no-calls"


def _for_gold(plugins: Sequence[CheckedPlugin], project: Path | None) -> Iterator[str]:
    if undeclared := [each.name for each in plugins if not each.declares]:
        yield f"capabilities.json says what it uses: {shortened(undeclared)}"
    core = [tool.name for plugin in plugins for tool in plugin.tools if tool.group is None]
    if core:
        yield f"each tool is in a group, not in every request: {shortened(core)}"
    tools = [tool.name for plugin in plugins for tool in plugin.tools]
    if project is None:
        if tools:
            yield "a test calls each tool, which only its project shows: check its directory"
        return
    tests = "\n".join(_texts(project))
    untested = [each for each in tools if each not in tests]
    if untested:
        yield f"a test calls each tool: {shortened(untested)}"


def _checks(findings: Sequence[Finding], severity: Severity, words: str) -> Iterator[str]:
    names = list(dict.fromkeys(each.check for each in findings if each.severity is severity))
    if names:
        yield f"{words}: {shortened(names)}"


def _texts(project: Path) -> Iterator[str]:
    remaining = _MOST_TEST_BYTES
    for path in sorted(project.glob("tests/**/*.py")):
        text = path.read_text("utf-8", "replace")
        remaining -= len(text)
        if remaining < 0:
            return
        yield text
