"""Compare what tools did while they were tried with what the plugin declares in ``capabilities.json``."""

from __future__ import annotations

import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from oneclaw_core.capabilities import Declaration, DeclarationError, read_declaration
from oneclaw_devtools.conformance.finding import Check, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from oneclaw_devtools.conformance.facts import CallFacts
    from oneclaw_devtools.conformance.finding import Finding
    from oneclaw_devtools.conformance.target import PluginPoint

INVALID = Check(
    "capabilities.invalid", Severity.ERROR, "a `capabilities.json` with a fault", "correct it; see its JSON Schema"
)
UNDECLARED = Check(
    "capabilities.undeclared",
    Severity.WARNING,
    "a call that connects to a host or starts a program that `capabilities.json` does not name",
    "declare it with a reason, or leave it out of the code",
)


def find_declaration(point: PluginPoint, import_paths: Sequence[str]) -> Declaration:
    """Find what a plugin declares; none of its code runs.

    Args:
        point: the plugin.
        import_paths: the directories to look in before ``sys.path``.

    Raises:
        DeclarationError: the file is invalid.
    """
    top = point.value.partition(":")[0].partition(".")[0]
    for root in map(Path, filter(None, (*import_paths, *sys.path))):
        if (root / top).is_dir() or (root / f"{top}.py").is_file():
            return read_declaration(point.name, point.value, root)
    return Declaration(point.name, None)


def has_declaration(point: PluginPoint, import_paths: Sequence[str]) -> bool:
    """Return True if a plugin declares its capabilities; see :func:`find_declaration`."""
    try:
        return find_declaration(point, import_paths).reasons is not None
    except DeclarationError:
        return True


def declaration_findings(
    point: PluginPoint, import_paths: Sequence[str], calls: Iterable[CallFacts]
) -> Iterator[Finding]:
    """Compare what a plugin declares with what was observed.

    Args:
        point: the plugin.
        import_paths: as for :func:`find_declaration`.
        calls: of its tools, with what was observed.
    """
    try:
        declared = find_declaration(point, import_paths)
    except DeclarationError as error:
        yield INVALID.found(f"plugin {point.name}", str(error))
        return
    if declared.reasons is None:
        declared = Declaration(point.name)
    for call in calls:
        for observed in call.observed:
            if not _is_declared(declared, observed):
                yield UNDECLARED.found(f"tool {call.tool}", f"it does not declare this: {observed}")


def _is_declared(declared: Declaration, observed: str) -> bool:
    kind, _, name = observed.partition(": ")
    if kind == "host":
        return declared.allows_host(name)
    return declared.allows("program", PurePath(name).name)
