"""Checks a plugin: runs the child processes, and puts the findings of all families together."""

from __future__ import annotations

import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from oneclaw_core import PluginError
from oneclaw_core.permissions import KNOWN_PERMISSIONS
from oneclaw_core.plugins import discover, load_plugins
from oneclaw_devtools.conformance import (
    behaviour,
    declared,
    descriptions,
    imports,
    limits,
    loading,
    manifests,
    names,
    schemas,
)
from oneclaw_devtools.conformance.catalogue import problem_findings
from oneclaw_devtools.conformance.facts import NeighbourFacts
from oneclaw_devtools.conformance.finding import CheckedPlugin, Report, ordered
from oneclaw_devtools.conformance.grades import grade_of
from oneclaw_devtools.conformance.package import package_findings, wheel_findings
from oneclaw_devtools.conformance.probe import run_probe
from oneclaw_devtools.conformance.target import PluginPoint, Subject, find_subject
from oneclaw_devtools.conformance.transcript import called_from, facts_of, open_step, steps_of
from oneclaw_devtools.fixed_names import BUILTIN_PLUGIN
from oneclaw_devtools.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from oneclaw_devtools.conformance.facts import CallFacts, PluginFacts, StepFacts, ToolFacts
    from oneclaw_devtools.conformance.finding import Finding
    from oneclaw_devtools.conformance.probe import ProbeOutcome

MAX_RESTARTS = 20


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits of a plugin.

    Attributes:
        load_seconds: its import, or one hook.
        call_seconds: one call of a tool.
    """

    load_seconds: float = 30.0
    call_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a check.

    Attributes:
        allow: the permissions that tools get while they are tried; all others are denied.
        are_tools_called: whether they are tried.
        patience: how long everything may take.
        neighbours: the other installed plugins; ``None`` to look at them.
    """

    allow: tuple[str, ...] = ()
    are_tools_called: bool = True
    patience: Patience = field(default_factory=Patience)
    neighbours: Sequence[NeighbourFacts] | None = None


def check_plugin(target: str | None, options: Options | None = None) -> Report:
    """Check a plugin; its code runs in child processes only.

    Args:
        target: the name of an installed plugin or package, or the path of a project or wheel; ``None`` for the project
            in the current directory.
        options: how thoroughly.

    Raises:
        UsageError: there is no such plugin.
        PluginError: the check itself did not work.
    """
    options = options or Options()
    with tempfile.TemporaryDirectory(prefix="oneclaw-check-", ignore_cleanup_errors=True) as directory:
        scratch = Scratch(Path(directory).resolve())
        scratch.make()
        unpacked = scratch.root / "wheel"
        subject = find_subject(target, unpacked)
        checks = [_PluginCheck(subject, point, scratch, options) for point in subject.points]
        findings: list[Finding] = [*subject.findings, *package_findings(subject)]
        plugins = [check.run(findings) for check in checks]
        files = [path for check in checks if check.facts is not None for path in check.facts.files]
        findings += wheel_findings(subject, files, scratch)
        if any(check.facts is not None and not check.facts.is_empty for check in checks):
            neighbours = options.neighbours
            if neighbours is None:
                neighbours, missed = look_at_neighbours(subject)
                findings += missed
            for check in checks:
                if check.facts is not None:
                    findings += names.collision_findings(check.facts, neighbours)
        for check in checks:
            findings += declared.declaration_findings(check.point, subject.import_paths, check.called)
    found = ordered(findings)
    grade = grade_of(found, plugins, subject.project, are_tools_called=options.are_tools_called)
    return Report(subject.title, tuple(plugins), found, grade)


def look_at_neighbours(subject: Subject) -> tuple[list[NeighbourFacts], list[Finding]]:
    """Find out which names the other installed plugins take, by their entries in the catalogue.

    Args:
        subject: whose plugins are left out.

    Returns:
        The plugins, and those that could not be described.
    """
    own = canonicalize_name(subject.package.name or "")
    values = [point.value for point in subject.points]
    facts: list[NeighbourFacts] = []
    findings: list[Finding] = []
    for point in discover():
        if point.target in values or (own and canonicalize_name(point.distribution or "") == own):
            continue
        catalog = load_plugins(entry_points=[point])
        (record,) = catalog.plugins
        if record.status in ("failed", "left alone"):
            cause = f"it cannot be loaded ({record.problems[0].cause}): names were not compared with its"
            findings.append(names.NEIGHBOURS.found(f"plugin {point.name}", cause))
            continue
        registry = catalog.registry
        meanings = registry.get_permission_meanings()
        facts.append(
            NeighbourFacts(
                point.name,
                point.distribution,
                tuple(registry.get_all_tool_names()),
                {each.name: each.description for each in registry.get_all_group_definitions()},
                tuple(catalog.provider_types),
                {name: each.text for name, each in meanings.items() if name not in KNOWN_PERMISSIONS},
            )
        )
    return facts, findings


class _PluginCheck:
    """Checks one plugin of a package."""

    def __init__(self, subject: Subject, point: PluginPoint, scratch: Scratch, options: Options) -> None:
        self._subject = subject
        self._point = self.point = point
        self._scratch = scratch
        self._options = options
        self.facts: PluginFacts | None = None
        self._calls = 0
        self.called: list[CallFacts] = []

    def run(self, findings: list[Finding]) -> CheckedPlugin:
        """Look at it, and add what is found."""
        outcome = self._look()
        steps = steps_of(outcome)
        findings += loading.step_findings(steps)
        if not outcome.end.is_complete:
            step = open_step(outcome)
            if step is None:
                why = outcome.end.failure or outcome.end.how
                raise PluginError(f"plugin {self._point.name} could not be looked at: the process {why}")
            findings.append(loading.end_finding(step, outcome.end))
            return CheckedPlugin(self._point.name, self._point.value)
        facts = self.facts = facts_of(outcome, self._point.name)
        if outcome.end.has_left_processes:
            findings.append(loading.left_finding(self._point.name))
        costs = limits.tool_costs(facts.tools)
        findings += _static_findings(facts)
        findings += limits.cost_findings(costs, is_builtin=self._point.name == BUILTIN_PLUGIN)
        import_ms = self._import_costs(outcome, steps, findings)
        if self._options.are_tools_called and facts.tools:
            findings += self._call(facts)
        declares = declared.has_declaration(self._point, self._subject.import_paths)
        return CheckedPlugin(self._point.name, self._point.value, import_ms, costs, self._calls, declares)

    def _look(self) -> ProbeOutcome:
        return run_probe(
            self._request("oneclaw_devtools.conformance.inspect:look"),
            self._scratch,
            self._options.patience.load_seconds,
            import_paths=self._subject.import_paths,
            options=("-X", "importtime"),
        )

    def _import_costs(self, outcome: ProbeOutcome, steps: Sequence[StepFacts], findings: list[Finding]) -> float:
        total, costs = self._import_cost(outcome, steps)
        if total > imports.NOTED_MS:
            # A busy machine, or a cold disk, is no fault of the plugin's.
            again = self._look()
            if again.end.is_complete:
                total, costs = min((total, costs), self._import_cost(again, steps_of(again)), key=lambda each: each[0])
        findings += imports.import_findings(costs, total)
        return round(total, 1)

    def _import_cost(self, outcome: ProbeOutcome, steps: Sequence[StepFacts]) -> tuple[float, list[imports.ImportCost]]:
        costs, of_core = imports.import_costs(outcome.stderr, self._point.package)
        loaded = [each for each in steps if not each.name.startswith("module ")]
        return max(0.0, sum(each.milliseconds for each in loaded) - of_core), costs

    def _call(self, facts: PluginFacts) -> Iterator[Finding]:
        """Call the tools; after one that hangs or kills the process, go on behind it with a new one."""
        remaining = [
            tool.name
            for tool in facts.tools
            if tool.parameters is not None and (tool.target is None or tool.target.fault is None)
        ]
        by_name = {tool.name: tool for tool in facts.tools}
        called: list[CallFacts] = []
        for _ in range(MAX_RESTARTS):
            if not remaining:
                break
            outcome = self._try(facts.tools, remaining)
            called += [called_from(each["called"]) for each in outcome.messages if "called" in each]
            calling = [each["calling"] for each in outcome.messages if "calling" in each]
            if not calling:
                raise PluginError(
                    f"the tools of {self._point.name} could not be called: {outcome.end.failure or outcome.end.how}"
                )
            late = next((each["late"] for each in outcome.messages if "late" in each), None)
            if late is not None:
                yield behaviour.late_finding(late, self._options.patience.call_seconds)
            elif not outcome.end.is_complete:
                found = behaviour.end_finding(calling[-1], outcome.end, by_name.get(calling[-1]["tool"]))
                if found is not None:
                    yield found
            else:
                break
            remaining = remaining[remaining.index(calling[-1]["tool"]) + 1 :]
        self._calls = len(called)
        self.called = called
        yield from behaviour.call_findings(called, facts.tools, self._options.allow)

    def _try(self, tools: Iterable[ToolFacts], remaining: list[str]) -> ProbeOutcome:
        wanted = {permission for tool in tools for permission in tool.required_permissions}
        secret = f"file-check-{secrets.token_hex(16)}"
        request = {
            **self._request("oneclaw_devtools.conformance.calls:make_calls"),
            "scratch": str(self._scratch.root),
            "home": str(self._scratch.home),
            "secret_file": str(self._scratch.secret_file),
            "secret": secret,
            "key": f"sk-check-{secrets.token_hex(16)}",
            "permissions": sorted(wanted.union(KNOWN_PERMISSIONS)),
            "allow": list(self._options.allow),
            "tools": remaining,
            "call_seconds": self._options.patience.call_seconds,
        }
        seconds = self._options.patience.load_seconds
        return run_probe(request, self._scratch, seconds, import_paths=self._subject.import_paths)

    def _request(self, task: str) -> dict[str, Any]:
        package = self._subject.package
        return {
            "task": task,
            "name": self._point.name,
            "value": self._point.value,
            "package": package.name,
            "version": package.version,
        }


def _static_findings(facts: PluginFacts) -> Iterator[Finding]:
    yield from problem_findings(facts.problems)
    yield from loading.emptiness(facts)
    yield from names.name_findings(facts)
    yield from schemas.schema_findings(facts)
    yield from descriptions.description_findings(facts)
    yield from limits.permission_findings(facts)
    yield from limits.timeout_findings(facts)
    yield from manifests.manifest_findings(facts)
