"""The installed packages, and the plugins that a new process loads from them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import importlib_metadata
from packaging.utils import canonicalize_name

from oneclaw_devtools.fixed_names import ENTRY_POINT_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DEADLINE_SECONDS = 60.0
_KINDS = ("groups", "tools", "providers", "skills")
_COMPARED = ("package", "version", "status", "problems", *_KINDS)


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """An installed package.

    Attributes:
        name: Normalised name.
        version: Its version.
        plugins: Names of its entry points in the group ``oneclaw``.
    """

    name: str
    version: str
    plugins: tuple[str, ...] = ()


def installed_packages() -> dict[str, InstalledPackage]:
    """Find the installed packages, by name; those that came since the program started too."""
    importlib_metadata.MetadataPathFinder.invalidate_caches()
    found: dict[str, InstalledPackage] = {}
    for distribution in importlib_metadata.distributions():
        try:
            name = canonicalize_name(distribution.name)
            plugins = tuple(point.name for point in distribution.entry_points if point.group == ENTRY_POINT_GROUP)
            package = InstalledPackage(name, str(distribution.version), plugins)
        except Exception:  # noqa: BLE001, S112  # damaged metadata raise anything; plugins list reports them
            continue
        # The first one on the path is the one that is imported.
        found.setdefault(name, package)
    return found


def load_in_new_process() -> dict[str, dict[str, Any]] | None:
    """Load all plugins in a new process, as ``oneclaw plugins list --json`` describes them.

    Returns:
        The plugins by name; ``None`` if they cannot be loaded.
    """
    command = (sys.executable, "-P", "-m", "oneclaw_core", "plugins", "list", "--json")
    try:
        done = subprocess.run(  # noqa: S603  # this program itself
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_DEADLINE_SECONDS, check=True
        )
        return {each["name"]: each for each in json.loads(done.stdout)}
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return None


def describe_changes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[str]:
    """Describe which plugins, tools and groups came and went, a line each.

    Args:
        before: The plugins as they were, see :func:`load_in_new_process`.
        after: The plugins as they are.
    """
    if before is None or after is None:
        yield "the plugins cannot all be loaded: see oneclaw plugins list"
        return
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old and new and all(old[key] == new[key] for key in _COMPARED):
            continue
        if old is None or new is None:
            yield f"{'+' if old is None else '-'} plugin {name} ({_package(new or old)})"
        elif _package(old) != _package(new):
            yield f"  plugin {name}: {_package(old)} -> {_package(new)}"
        else:
            yield f"  plugin {name} ({_package(new)})"
        for kind in _KINDS:
            had, has = (set(each[kind]) if each else set() for each in (old, new))
            for sign, names in (("-", had - has), ("+", has - had)):
                if names:
                    yield f"  {sign} {kind}: {', '.join(sorted(names))}"


def find_problems(plugins: Mapping[str, Any] | None, packages: set[str]) -> Iterator[str]:
    """Find what does not work in the plugins of some packages, with what to do."""
    for name, plugin in (plugins or {}).items():
        if canonicalize_name(plugin["package"] or "") in packages:
            for each in plugin["problems"]:
                if each["is_error"]:
                    yield f"plugin {name} does not work: {each['cause']}; what to do: {each['remedy']}"


def _package(plugin: Any) -> str:
    return f"{plugin['package']} {plugin['version']}" if plugin["package"] else "unknown package"
