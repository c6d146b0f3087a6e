"""Checks: the functions that manifests name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_devtools.conformance.finding import Check, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_devtools.conformance.facts import PluginFacts, TargetFacts, ToolFacts

_E = Severity.ERROR

MODULE = Check(
    "manifests.module", _E, "a function in a module that cannot be imported", "correct the module's name, or mend it"
)
FUNCTION = Check("manifests.function", _E, "a function that its module does not have", "correct the function's name")
NOT_CALLABLE = Check("manifests.not-callable", _E, "a `function` that is something else", "name a function")
SIGNATURE = Check(
    "manifests.signature",
    _E,
    "parameters that the function does not take, or a parameter of the function's that is not declared",
    "make the function's signature and the manifest's parameters agree",
)
ISOLATED_ASYNC = Check(
    "manifests.isolated-async",
    _E,
    "an async function that is to run in a process of its own",
    'write it without async, or remove "isolation"',
)


def manifest_findings(facts: PluginFacts) -> Iterator[Finding]:
    """Look at the functions behind the tools that manifests declare."""
    for tool in facts.tools:
        if tool.target is None:
            continue
        if tool.target.fault is not None:
            yield _fault(tool, tool.target.fault)
            continue
        if tool.isolation is not None and tool.target.is_async:
            yield ISOLATED_ASYNC.found(tool.where, f"{tool.target.place} is an async function")
        for misfit in _misfits(tool, tool.target):
            yield SIGNATURE.found(tool.where, f"{tool.target.place}: {misfit}")


def _fault(tool: ToolFacts, fault: str) -> Finding:
    if "cannot import module" in fault:
        return MODULE.found(tool.where, fault)
    if "has no function" in fault:
        return FUNCTION.found(tool.where, fault)
    if "is no function" in fault:
        return NOT_CALLABLE.found(tool.where, fault)
    return SIGNATURE.found(tool.where, fault)


def _misfits(tool: ToolFacts, target: TargetFacts) -> Iterator[str]:
    if target.parameters is None or tool.parameters is None:
        return
    declared, required = set(tool.properties), set(tool.parameters.get("required", ()))
    taken = {each.name for each in target.parameters}
    for each in target.parameters:
        if each.is_positional_only:
            yield f"{each.name!r} can only be given by position, and arguments come by name"
        elif each.is_required and each.name not in declared:
            yield f"it needs {each.name!r}, which is not declared"
        elif each.is_required and each.name not in required:
            yield f"it needs {each.name!r}, which is declared as optional: give it a default, or make it required"
    if not target.takes_any:
        for name in sorted(declared - taken - set(target.context_names)):
            yield f"it does not take {name!r}"
    for name in sorted(declared.intersection(target.context_names)):
        yield f"{name!r} takes the ToolContext, so no argument can have that name"
