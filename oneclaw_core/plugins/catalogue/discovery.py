"""The plugins that are installed, as the metadata of their packages tell, before any of them is imported."""

from __future__ import annotations

import logging
import os
import stat
import sys
import time
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core.errors import describe_error
from oneclaw_core.plugins.registration.record import BUILTIN_PLUGIN
from oneclaw_core.system.distributions import CORE_TOOLS, OUR_DISTRIBUTIONS, PROVIDER_PLUGINS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ENTRY_POINT_GROUP = "oneclaw"
BUILTIN_TARGET = "oneclaw_core.builtin"
MAX_TREE_FILES = 20_000
CORE_TOOL_PLUGINS = frozenset(CORE_TOOLS.values()) - {BUILTIN_PLUGIN}
"""OneClaw's own plugins with core tools, without the built-in one."""
SHIPPED_ENTRY = "{name}.entry.json"
"""The file in a plugin's package that holds its entry, so that not even its first listing imports it."""

# A file system may give two changes within this time the same time of change.
_SETTLING_NS = 2_000_000_000
_METADATA_SUFFIXES = (".dist-info", ".egg-info", ".egg-link", ".egg")
_EARLY_PLUGINS = CORE_TOOL_PLUGINS | {*PROVIDER_PLUGINS.values()}
_log = logging.getLogger("oneclaw.plugins")


class PackageMetadata(NamedTuple):
    """The part of a distribution's metadata that loading needs.

    Attributes:
        name: of the distribution.
        version: of the distribution.
        core_requirements: what it requires of ``oneclaw-core`` (PEP 508).
        python_requirement: its ``Requires-Python``, ``""`` for none.
        fault: why these cannot be read, ``""`` if they can.
        is_compatible: True if these are met here, which is found out once, as that takes long.
    """

    name: str | None = None
    version: str | None = None
    core_requirements: tuple[str, ...] = ()
    python_requirement: str = ""
    fault: str = ""
    is_compatible: bool = False


@dataclass(frozen=True, slots=True)
class InstalledPlugin:
    """An entry point of an installed package.

    Attributes:
        name: of the plugin.
        value: what the entry point names, as ``module`` or ``module:attribute``.
        dist: the package.
        files: that the plugin's entry depends on.
        tree: the directory of its code where that can change without being installed again, else ``""``.
        shipped: the file with its entry in the package, ``""`` for none.
    """

    name: str
    value: str
    dist: PackageMetadata = field(default_factory=PackageMetadata)
    files: tuple[str, ...] = ()
    tree: str = ""
    shipped: str = ""

    @property
    def is_builtin(self) -> bool:
        """True for the built-in tools."""
        return self.name == BUILTIN_PLUGIN and self.value.partition(":")[0] == BUILTIN_TARGET

    def load(self) -> Any:
        """Import what the entry point names."""
        from oneclaw_core.plugins.registration.entry import import_target

        return import_target(self.value)

    def stamp(self) -> list[Any]:
        """Return JSON data that change when the plugin's code may have changed."""
        return [_file_state(path) for path in self.files] + ([_tree_state(self.tree)] if self.tree else [])

    def to_dict(self) -> dict[str, Any]:
        """Return the plugin as JSON data."""
        return {
            "name": self.name,
            "value": self.value,
            "dist": list(self.dist),
            "files": list(self.files),
            "tree": self.tree,
            "shipped": self.shipped,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> InstalledPlugin:
        """Read what :meth:`to_dict` returned."""
        name, version, core_requirements, *others = data["dist"]
        dist = PackageMetadata(name, version, tuple(core_requirements), *others)
        return cls(data["name"], data["value"], dist, tuple(data["files"]), data["tree"], data["shipped"])


def search_path_state(known: Mapping[str, Any]) -> dict[str, Any]:
    """Look at the directories of ``sys.path``: which packages' metadata they hold.

    Args:
        known: what was returned before; a directory that has not changed since is not listed again.

    Returns:
        By directory, in their order, its time of change and the metadata in it with theirs.
    """
    state: dict[str, Any] = {}
    newest = time.time_ns() - _SETTLING_NS
    for entry in sys.path:
        path = os.path.abspath(entry or os.curdir)  # noqa: PTH100  # as text, of any form
        try:
            changed_at = os.stat(path).st_mtime_ns  # noqa: PTH116  # the same
        except (OSError, ValueError):
            continue
        before = known.get(path)
        if before is not None and before[0] == changed_at < newest:
            state[path] = before
        else:
            state[path] = [changed_at, _metadata_in(path, changed_at)]
    return state


def holds_same_packages(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return True if two states of ``sys.path`` have the same packages' metadata in the same order."""
    return [(path, listing) for path, (_, listing) in one.items() if listing] == [
        (path, listing) for path, (_, listing) in other.items() if listing
    ]


def find_installed() -> list[InstalledPlugin]:
    """Find the installed plugins in the metadata of all packages: the built-in tools first, then by name."""
    import importlib_metadata

    unique: dict[tuple[str, str], InstalledPlugin] = {}
    for distribution in importlib_metadata.distributions():
        try:
            points = [point for point in distribution.entry_points if point.group == ENTRY_POINT_GROUP]
        except Exception as error:  # noqa: BLE001  # a damaged entry_points.txt makes the library raise anything
            where = getattr(distribution, "_path", "a package")
            _log.warning("the entry points of %s cannot be read, reinstall it: %s", where, describe_error(error))
            continue
        for point in points:
            # A package that is found twice, as in two directories of sys.path, counts once.
            value = _object_reference(point.value)
            if (point.name, value) not in unique:
                unique[point.name, value] = _installed(point.name, value, distribution)
    return sorted(unique.values(), key=lambda each: (not each.is_builtin, not _is_early(each), each.name, each.value))


def _is_early(plugin: InstalledPlugin) -> bool:
    """Return True for a plugin with core tools or providers of OneClaw, whose names no other plugin can take."""
    return plugin.name in _EARLY_PLUGINS and plugin.dist.name == OUR_DISTRIBUTIONS.get(plugin.name)


def package_metadata(distribution: Any) -> PackageMetadata:
    """Read the part of a distribution's metadata that loading needs.

    Args:
        distribution: as ``importlib_metadata`` has them, or a stand-in; ``None`` for none.
    """
    if distribution is None or isinstance(distribution, PackageMetadata):
        return distribution or PackageMetadata()
    from oneclaw_core.plugins.catalogue import compatibility

    try:
        name, version = compatibility.name_and_version(distribution)
    except Exception:  # noqa: BLE001  # a package without readable metadata has neither
        name, version = None, None
    try:
        requirements = compatibility.core_requirements(distribution)
        python = compatibility.python_requirement(distribution)
    except (OSError, ValueError) as error:
        return PackageMetadata(name, version, fault=describe_error(error))
    try:
        is_compatible = compatibility.find_incompatibility(requirements) is None
    except ValueError:
        is_compatible = False
    is_compatible = is_compatible and compatibility.is_python_suitable(python)
    return PackageMetadata(name, version, tuple(requirements), python, is_compatible=is_compatible)


def _object_reference(value: str) -> str:
    """Return the part of an entry point's value that is imported.

    Extras in brackets may follow it. They are discouraged, and the entry points specification still allows them.
    """
    module, colon, attribute = value.partition("[")[0].partition(":")
    return f"{module.strip()}{colon}{attribute.strip()}"


def _installed(name: str, value: str, distribution: Any) -> InstalledPlugin:
    from pathlib import Path

    plugin = InstalledPlugin(name, value, package_metadata(distribution))
    files: list[str] = []
    where = getattr(distribution, "_path", None)
    record = Path(where) / "RECORD" if isinstance(where, Path) else None
    is_recorded = record is not None and record.is_file()
    if record is not None and is_recorded:
        files.append(str(record))
    module, package = _code_of(value.partition(":")[0], is_whole=not plugin.is_builtin)
    if module:
        files.append(module)
    is_changeable = not is_recorded or _is_editable(distribution)
    if plugin.is_builtin:
        files.append(str(Path(__file__).parents[2] / "tools" / "load_tool_group.py"))
    shipped = Path(package) / SHIPPED_ENTRY.format(name=name) if package else None
    return InstalledPlugin(
        name,
        value,
        plugin.dist,
        tuple(files),
        package if is_changeable else "",
        str(shipped) if shipped is not None and shipped.is_file() and not is_changeable else "",
    )


def _code_of(module: str, *, is_whole: bool) -> tuple[str, str]:
    """Find a module's file and its package's directory without importing anything.

    Args:
        module: dotted name.
        is_whole: give the directory of the topmost package.
    """
    from importlib.util import find_spec
    from pathlib import Path

    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return "", ""
    if spec is None:
        return "", ""
    file = spec.origin or ""
    directory = next(iter(spec.submodule_search_locations or ()), "")
    inner = directory
    for part in rest:
        inner = os.path.join(inner, part)  # noqa: PTH118  # as text
        package_file = Path(inner) / "__init__.py"
        file = str(package_file) if package_file.is_file() else f"{inner}.py"
    if rest and not is_whole:
        directory = inner
    return file, directory


def _is_editable(distribution: Any) -> bool:
    import json

    try:
        direct_url = json.loads(distribution.read_text("direct_url.json") or "{}")
        return direct_url.get("dir_info", {}).get("editable") is True
    except (OSError, ValueError, AttributeError):
        return False


def _metadata_in(path: str, changed_at: int) -> list[Any]:
    try:
        with os.scandir(path) as entries:
            found = [entry for entry in entries if entry.name.endswith(_METADATA_SUFFIXES)]
        return sorted([entry.name, entry.stat().st_mtime_ns] for entry in found)
    except NotADirectoryError:  # an archive
        return [["", changed_at]]
    except OSError:
        return []


def _file_state(path: str) -> list[Any]:
    try:
        state = os.stat(path)  # noqa: PTH116  # at each start, of many files
    except (OSError, ValueError):
        return [path]
    return [path, state.st_mtime_ns, state.st_size]


def _tree_state(directory: str) -> list[Any]:
    """Sum up the files of a directory: their names, times of change and sizes."""
    count, checksum = 0, 0
    for line in _tree_lines(directory):
        count += 1
        checksum = zlib.crc32(line.encode("utf-8", "replace"), checksum)
        if count > MAX_TREE_FILES:
            break
    return [directory, count, checksum]


def _tree_lines(directory: str) -> Iterator[str]:
    try:
        with os.scandir(directory) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in found:
        if entry.name == "__pycache__" or entry.name.startswith("."):
            continue
        try:
            state = entry.stat()
            if stat.S_ISDIR(state.st_mode):
                if not entry.is_symlink():
                    yield from _tree_lines(entry.path)
            else:
                yield f"{entry.path} {state.st_mtime_ns} {state.st_size}\n"
        except OSError:
            continue
