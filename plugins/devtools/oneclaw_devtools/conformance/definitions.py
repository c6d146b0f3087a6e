"""Checks: what the loader refused in the definitions of tools, told apart by where the fault is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_devtools.conformance.finding import Check, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oneclaw_devtools.conformance.facts import ProblemFacts

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

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
    "mend the schema, or the type hint that it is made of",
)
PERMISSIONS = Check(
    "permissions.invalid", _E, "permissions that are no list of names", 'write a list of names, such as ["files.write"]'
)
TIMEOUT = Check(
    "timeouts.invalid",
    _E,
    "a timeout that is no number above 0 and up to a day",
    "give timeout_seconds the seconds that one run may take",
)
FUNCTION = Check("manifests.function-name", _E, "a `function` that names none", 'write "function": "module:function"')
KEY = Check("manifests.unknown-key", _W, "a key that manifests do not have", "correct or remove the key")
META = Check(
    "manifests.meta",
    _E,
    "a `_meta` entry with a fault, or in the wrong place",
    "put one _meta entry first in the array",
)
ENTRY = Check("manifests.entry", _E, "an entry that cannot be used for another reason", "mend the entry")
UNREADABLE = Check(
    "manifests.unreadable",
    _E,
    "a manifest that is not there, is no JSON, or has a fault as a whole",
    "correct the path or the file, and include it in the package",
)
ISOLATION = Check(
    "manifests.isolation",
    _E,
    "`isolation` or `asks_itself` with another value",
    'write "isolation": "process", or none',
)

_INDEX = re.compile(r"/\d+(?=/|$)")
_BY_KEY = {
    "name": NAME,
    "description": DESCRIPTION,
    "display_name": DESCRIPTION,
    "parameters": SCHEMA,
    "required_permissions": PERMISSIONS,
    "timeout_seconds": TIMEOUT,
    "function": FUNCTION,
    "isolation": ISOLATION,
    "asks_itself": ISOLATION,
    "_meta": META,
}


def definition_findings(problems: Iterable[ProblemFacts]) -> Iterator[Finding]:
    """Say what the loader reported about definitions and manifests."""
    for problem in problems:
        if problem.check and problem.check != UNREADABLE.name:
            continue
        if problem.where in ("manifest", "register_tools", "register_groups"):
            yield _check_of(problem).found(problem.where, problem.cause)


def _check_of(problem: ProblemFacts) -> Check:
    if problem.check == UNREADABLE.name:
        return UNREADABLE
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
    return FUNCTION if "'function' is missing" in problem.cause else ENTRY
