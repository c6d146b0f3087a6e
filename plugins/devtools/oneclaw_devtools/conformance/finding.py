"""Checks, findings, and the report of all findings."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins import CONTRACT_VERSION
from oneclaw_core.tools import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from oneclaw_devtools.conformance.grades import Grade

MAX_CAUSE_CHARACTERS = 600
_MOST_NAMES = 12


class Severity(StrEnum):
    """Severity of a finding."""

    ERROR = "error"
    """Something does not work, or harms."""
    WARNING = "warning"
    """Something works, but not for everybody, or badly."""
    NOTE = "note"
    """Something to know."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of a check.

    Attributes:
        check: which check, such as ``names.taken``.
        severity: how bad it is.
        where: what it is about, such as ``tool pdf_info, parameter path``.
        cause: what is wrong, on one line.
        remedy: what to do about it.
    """

    check: str
    severity: Severity
    where: str
    cause: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Check:
    """Something that is looked at.

    Attributes:
        name: the family and what is wrong, such as ``names.taken``.
        severity: of its findings.
        about: what it finds, for the documentation.
        remedy: what to do, where the finding knows nothing better.
    """

    name: str
    severity: Severity
    about: str
    remedy: str

    def found(self, where: str, cause: str, remedy: str | None = None) -> Finding:
        """Make a finding.

        Args:
            where: what it is about.
            cause: what is wrong; put on one line and cut.
            remedy: what to do about it; by default the check's own.
        """
        return Finding(self.name, self.severity, where, one_line(cause, MAX_CAUSE_CHARACTERS), remedy or self.remedy)


@dataclass(frozen=True, slots=True)
class ToolCost:
    """Cost of a tool in each request that carries it.

    Attributes:
        name: of the tool.
        group: the tool group it belongs to, ``None`` for a core tool.
        tokens: of its definition, estimated.
    """

    name: str
    group: str | None
    tokens: int


@dataclass(frozen=True, slots=True)
class CheckedPlugin:
    """A plugin that was looked at.

    Attributes:
        name: of its entry point.
        target: what that names.
        import_ms: how long importing it and calling its hooks took, in milliseconds; ``None`` if it came to no end.
        tools: what it registered, with what each costs.
        calls: how many calls of its tools were tried.
        declares: True if it has a ``capabilities.json``.
    """

    name: str
    target: str
    import_ms: float | None = None
    tools: tuple[ToolCost, ...] = ()
    calls: int = 0
    declares: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """All that was found.

    Attributes:
        subject: what was checked, such as ``oneclaw-pdf 0.1.0``.
        plugins: the plugins of the package.
        findings: the worst first.
        grade: of the package; ``None`` if it was not graded.
    """

    subject: str
    plugins: tuple[CheckedPlugin, ...]
    findings: tuple[Finding, ...]
    grade: Grade | None = None

    def count(self, severity: Severity) -> int:
        """Count the findings of one severity."""
        return sum(each.severity is severity for each in self.findings)

    def is_passed(self, *, strict: bool = False) -> bool:
        """Return True if there is no error; if strict, no warning either."""
        return not (self.count(Severity.ERROR) or (strict and self.count(Severity.WARNING)))

    def document(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "subject": self.subject,
            "contract": CONTRACT_VERSION,
            "plugins": [
                {**asdict(each), "tools": [asdict(tool) for tool in each.tools], "groups": _group_tokens(each.tools)}
                for each in self.plugins
            ],
            "counts": {str(severity): self.count(severity) for severity in Severity},
            "grade": asdict(self.grade) if self.grade is not None else None,
            "findings": [asdict(each) for each in self.findings],
        }


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Put findings into the order of a report: the worst first, each only once."""
    rank = list(Severity).index
    return tuple(sorted(dict.fromkeys(findings), key=lambda each: rank(each.severity)))


def shortened(names: Collection[str]) -> str:
    """Write names with commas between them, of many the first ones."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(list(names)[:_MOST_NAMES]) + more


def summarised(check: Check, tools: Sequence[str], what: str, remedy: str | None = None) -> Iterator[Finding]:
    """Make one finding of what holds for several tools; none if there are none.

    Args:
        check: what was looked at.
        tools: their names.
        what: holds for them, in words for one and for many.
        remedy: what to do about it; by default the check's own.
    """
    if tools:
        if len(tools) == 1:
            yield check.found(f"tool {tools[0]}", what, remedy)
        else:
            yield check.found(f"{len(tools)} tools", f"{shortened(tools)}: {what}", remedy)


def _group_tokens(tools: Iterable[ToolCost]) -> list[dict[str, Any]]:
    tokens: dict[str | None, list[int]] = {}
    for tool in tools:
        tokens.setdefault(tool.group, []).append(tool.tokens)
    return [{"name": name, "tools": len(each), "tokens": sum(each)} for name, each in tokens.items()]
