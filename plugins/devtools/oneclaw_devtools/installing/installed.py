"""The installed packages, and those that a user names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from oneclaw_core import NotFoundError, UsageError
from oneclaw_devtools.fixed_names import ENTRY_POINT_GROUP
from oneclaw_devtools.installing.requirement import parse_requirement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_devtools.installing.requirement import PluginRequirement


class InstalledPackage(NamedTuple):
    """An installed package; a plugin if it has an entry point in the group ``oneclaw``."""

    version: str
    is_plugin: bool
    is_for_this_core: bool


def find_package(name: str) -> InstalledPackage | None:
    """Find an installed package; one that came since the program started too."""
    import importlib_metadata

    from oneclaw_core.plugins import core_requirements, find_incompatibility

    importlib_metadata.MetadataPathFinder.invalidate_caches()
    try:
        found = importlib_metadata.distribution(name)
        is_plugin = bool(found.entry_points.select(group=ENTRY_POINT_GROUP))
        return InstalledPackage(str(found.version), is_plugin, find_incompatibility(core_requirements(found)) is None)
    except Exception:  # noqa: BLE001  # damaged metadata raise anything; plugins list reports them
        return None


def require_plugin(name: str) -> None:
    """Refuse a package that is not installed, or is no plugin.

    Raises:
        NotFoundError: it is not installed.
        UsageError: it is no plugin.
    """
    package = find_package(name)
    if package is None:
        raise NotFoundError(f"{name} is not installed; oneclaw plugins list shows the packages of all plugins")
    if not package.is_plugin:
        raise UsageError(f"{name} is installed, but is not a plugin: leave it to what installed it")


def parse_packages(texts: Iterable[str]) -> list[PluginRequirement]:
    """Parse packages; one may not be named twice, nor be installed and no plugin."""
    wanted: dict[str, PluginRequirement] = {}
    for each in map(parse_requirement, texts):
        if find_package(each.name):
            require_plugin(each.name)
        if each.name in wanted:
            raise UsageError(f"{each.name} is named twice")
        wanted[each.name] = each
    return list(wanted.values())
