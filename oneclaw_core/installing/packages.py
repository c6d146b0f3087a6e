"""Which packages are installed in the environment, and which of them are plugins."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import importlib_metadata

from oneclaw_core.installing.requirement import normalised, same_location
from oneclaw_core.plugins.installed import ENTRY_POINT_GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.installing.requirement import PluginRequirement


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """A package that is installed.

    Attributes:
        name: normalised.
        version: its version.
        plugins: names of its entry points in the group ``oneclaw``; empty for a package that is no plugin.
        location: where it came from if that was no index (PEP 610).
    """

    name: str
    version: str
    plugins: tuple[str, ...] = ()
    location: str | None = None


def installed_packages() -> dict[str, InstalledPackage]:
    """Look at what is installed now, also if that has changed since the program started."""
    importlib_metadata.MetadataPathFinder.invalidate_caches()
    found: dict[str, InstalledPackage] = {}
    for distribution in importlib_metadata.distributions():
        package = _describe(distribution)
        if package is not None:
            # The first one on the path is the one that is imported.
            found.setdefault(package.name, package)
    return found


def find_installed(
    requirement: PluginRequirement, before: Mapping[str, InstalledPackage], after: Mapping[str, InstalledPackage]
) -> InstalledPackage | None:
    """Find the package that a requirement stands for.

    Args:
        requirement: what was asked for.
        before: the packages before it was installed.
        after: those since then.

    Returns:
        The package; ``None`` if it cannot be told.
    """
    if requirement.name is not None:
        return after.get(requirement.name)
    location = requirement.location or ""
    here = [each for each in after.values() if each.location is not None and same_location(each.location, location)]
    changed = [each for each in here if before.get(each.name) != each]
    for candidates in (changed, here):
        if len(candidates) == 1:
            return candidates[0]
    return None


def _describe(distribution: Any) -> InstalledPackage | None:
    try:
        name, version = str(distribution.name), str(distribution.version)
        points = tuple(point.name for point in distribution.entry_points if point.group == ENTRY_POINT_GROUP)
    except Exception:  # noqa: BLE001  # damaged metadata make the library raise anything; discover() tells of them
        return None
    return InstalledPackage(normalised(name), version, points, _location_of(distribution))


def _location_of(distribution: Any) -> str | None:
    try:
        noted = json.loads(distribution.read_text("direct_url.json") or "null")
    except (OSError, ValueError):
        return None
    url = noted.get("url") if isinstance(noted, dict) else None
    return url if isinstance(url, str) else None
