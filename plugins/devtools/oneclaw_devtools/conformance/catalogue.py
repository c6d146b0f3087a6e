"""All checks there are, by their names."""

from __future__ import annotations

from oneclaw_devtools.conformance import (
    behaviour,
    definitions,
    descriptions,
    imports,
    limits,
    loading,
    manifests,
    names,
    package,
    schemas,
    skills,
)
from oneclaw_devtools.conformance.finding import Check

_FAMILIES = (
    package,
    loading,
    imports,
    names,
    definitions,
    schemas,
    descriptions,
    limits,
    manifests,
    skills,
    behaviour,
)

CHECKS: dict[str, Check] = {
    each.name: each for family in _FAMILIES for each in vars(family).values() if isinstance(each, Check)
}
