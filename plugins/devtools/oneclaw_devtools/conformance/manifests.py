"""Checks: definitions of tools, the manifests that hold them, the functions that they name, and skills."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_devtools.conformance.finding import Check, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_devtools.conformance.facts import PluginFacts, ProblemFacts, TargetFacts, ToolFacts

_E, _W = Severity.ERROR, Severity.WARNING

NAME = Check(
    "names.invalid",
    _E,
    "a tool's name that some provider refuses",
    "use 1 to 63 letters, digits, '_' or '-', beginning with a letter or '_'",
)
DESCRIPTION = Check(
    "descriptions.missing", _E, "a tool or group without a description", "say what it does and when to use it"
)
SCHEMA = Check(
    "schemas.invalid",
    _E,
    "parameters that cannot be described, or are no JSON Schema of an object",
    "fix the schema, or the type hint that it is made of",
)
PERMISSIONS = Check(
    "permissions.invalid", _E, "permissions that are no list of names", 'write a list of names, such as ["files.write"]'
)
TIMEOUT = Check(
    "timeouts.invalid",
    _E,
    "a timeout that is not a number above 0 and up to a day",
    "give timeout_seconds the seconds that one run may take",
)
FUNCTION_NAME = Check(
    "manifests.function-name", _E, "a `function` that names none", 'write "function": "module:function"'
)
KEY = Check("manifests.unknown-key", _W, "a key that manifests do not have", "correct or remove the key")
META = Check(
    "manifests.meta",
    _E,
    "a `_meta` entry with a fault, or in the wrong place",
    "put one _meta entry first in the array",
)
ENTRY = Check("manifests.entry", _E, "an entry that cannot be used for another reason", "fix the entry")
UNREADABLE = Check(
    "manifests.unreadable",
    _E,
    "a manifest that is not there, is not JSON, or has a fault as a whole",
    "correct the path or the file, and include it in the package",
)
ISOLATION = Check(
    "manifests.isolation",
    _E,
    "`read_only`, `idempotent`, `isolation`, `asks_itself`, `is_poll` or `reads` with another value",
    'write "isolation": "process", or none',
)
MODULE = Check(
    "manifests.module", _E, "a function in a module that cannot be imported", "correct the module's name, or fix it"
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
    "an async function that is to run in a separate process",
    'write it without async, or remove "isolation"',
)
SKILL_MISSING = Check(
    "skills.missing", _E, "a skill without a folder or `SKILL.md`", "write SKILL.md, and include it in the package"
)
SKILL_TWICE = Check("skills.twice", _W, "a skill that is registered twice", "register it once")
SKILL_FORMAT = Check("skills.format", _E, "a `SKILL.md` that cannot be used", "fix SKILL.md")
SKILL_ADVICE = Check("skills.advice", _W, "a `SKILL.md` that can be used but has a fault", "fix SKILL.md")
SKILL_NEEDS = Check(
    "skills.needs", _W, "a skill that names groups or tools that are not there", "correct the names in its metadata"
)

_INDEX = re.compile(r"/\d+(?=/|$)")
_BY_KEY = {
    "name": NAME,
    "description": DESCRIPTION,
    "display_name": DESCRIPTION,
    "parameters": SCHEMA,
    "required_permissions": PERMISSIONS,
    "timeout_seconds": TIMEOUT,
    "function": FUNCTION_NAME,
    "read_only": ISOLATION,
    "idempotent": ISOLATION,
    "isolation": ISOLATION,
    "asks_itself": ISOLATION,
    "is_poll": ISOLATION,
    "reads": ISOLATION,
    "output_schema": SCHEMA,
    "_meta": META,
}


def definition_check(problem: ProblemFacts) -> Check:
    """Return the check for a fault in a definition that the loader refused, by the place of the fault."""
    if "unknown key" in problem.cause:
        return KEY
    is_meta = "'_meta'" in problem.cause.partition(": /")[0]
    if is_meta:
        return META
    key = _INDEX.sub("", problem.pointer, count=1).removeprefix("/").partition("/")[0]
    if key:
        return _BY_KEY.get(key, ENTRY)
    if "'description' is missing" in problem.cause:
        return DESCRIPTION
    return FUNCTION_NAME if "'function' is missing" in problem.cause else ENTRY


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
    if "is not a function" in fault:
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
