"""The plugins that are installed, as the metadata of their packages tell, before any of them is imported."""

from __future__ import annotations

import json
import logging
import os
import sys
import zlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import describe_error
from oneclaw_core.plugins.distributions import CORE_TOOLS, OUR_DISTRIBUTIONS, PROVIDER_PLUGINS
from oneclaw_core.plugins.plugin import BUILTIN_PLUGIN, Plugin, PluginProblem

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTRY_POINT_GROUP = "oneclaw"
MAX_TREE_FILES = 20_000
CORE_TOOL_PLUGINS = frozenset(CORE_TOOLS.values()) - {BUILTIN_PLUGIN}
"""OneClaw's own plugins with core tools, without the built-in one."""

_METADATA_SUFFIXES = (".dist-info", ".egg-info", ".egg-link", ".egg")
_EARLY_PLUGINS = CORE_TOOL_PLUGINS | {*PROVIDER_PLUGINS.values()}
_log = logging.getLogger("oneclaw.plugins")


def find_installed(search_path: list[str] | None = None) -> list[Plugin]:
    """Find the installed plugins: the built-in tools, those with OneClaw's core tools or providers, then by name.

    Args:
        search_path: the directories of the packages; by default ``sys.path``.
    """
    import importlib_metadata

    found: dict[tuple[str, str], Plugin] = {}
    for distribution in importlib_metadata.distributions(path=sys.path if search_path is None else search_path):
        try:
            points = [point for point in distribution.entry_points if point.group == ENTRY_POINT_GROUP]
        except Exception as error:  # noqa: BLE001  # a damaged entry_points.txt makes the library raise anything
            place = getattr(distribution, "_path", "a package")
            _log.warning("the entry points of %s cannot be read, reinstall it: %s", place, describe_error(error))
            continue
        for point in points:
            # A package that is found twice, as in two directories of sys.path, counts once.
            target = _object_reference(point.value)
            if (point.name, target) not in found:
                found[point.name, target] = _installed(point.name, target, distribution)
    return sorted(found.values(), key=lambda each: (not each.is_builtin, not _is_early(each), each.name, each.target))


def stamp(plugin: Plugin) -> list[Any]:
    """Return JSON data that change when a plugin's code may have changed."""
    return [_file_state(path) for path in plugin.files] + ([_tree_state(plugin.tree)] if plugin.tree else [])


def described(name: str, target: str, distribution: Any) -> Plugin:
    """Return a plugin with what the metadata of its distribution say; ``None`` for no distribution."""
    if distribution is None:
        return Plugin(name, target)
    from oneclaw_core.plugins.compatibility import problem_of, read_headers

    plugin = Plugin(name, target)
    try:
        headers = read_headers(distribution)
        plugin.distribution, plugin.version = (headers.get(each, [""])[0] or None for each in ("name", "version"))
        plugin.metadata_problem = None if plugin.is_builtin else problem_of(plugin, headers)
    except Exception as error:  # noqa: BLE001  # damaged metadata make the library raise anything
        cause = f"the metadata cannot be read: {describe_error(error)}"
        plugin.metadata_problem = PluginProblem("compatibility", cause, "reinstall it", is_error=False)
    return plugin


def search_path_state() -> str:
    """Return a text that is the same while ``sys.path`` finds the same packages in the same order."""
    paths = [os.path.abspath(entry or os.curdir) for entry in sys.path]  # noqa: PTH100  # as text, of any form
    found = json.dumps([metadata for path in paths if (metadata := _metadata_in(path))])
    return f"{zlib.crc32(found.encode('utf-8', 'replace')):08x}{len(found):x}"


def _is_early(plugin: Plugin) -> bool:
    """Return True for a plugin with core tools or providers of OneClaw, whose names no other plugin can take."""
    return plugin.name in _EARLY_PLUGINS and plugin.distribution == OUR_DISTRIBUTIONS.get(plugin.name)


def _object_reference(value: str) -> str:
    """Return the part of an entry point's value that is imported.

    Extras in brackets may follow it. They are discouraged, and the entry points specification still allows them.
    """
    module, colon, attribute = value.partition("[")[0].partition(":")
    return f"{module.strip()}{colon}{attribute.strip()}"


def _installed(name: str, target: str, distribution: Any) -> Plugin:
    plugin = described(name, target, distribution)
    where = getattr(distribution, "_path", None)
    record = Path(where) / "RECORD" if isinstance(where, Path) else None
    is_recorded = record is not None and record.is_file()
    module, package = _code_of(target.partition(":")[0], is_whole=not plugin.is_builtin)
    files = [str(record) if is_recorded else "", module]
    if plugin.is_builtin:
        files.append(str(Path(__file__).parents[1] / "tools" / "group_tools.py"))
    plugin.files = tuple(each for each in files if each)
    plugin.tree = package if not is_recorded or _is_editable(distribution) else ""
    return plugin


def _code_of(module: str, *, is_whole: bool) -> tuple[str, str]:
    """Find a module's file and its package's directory without importing anything.

    Args:
        module: dotted name.
        is_whole: give the directory of the topmost package.
    """
    from importlib.util import find_spec

    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None:
        return "", ""
    directory = next(iter(spec.submodule_search_locations or ()), "")
    inner = Path(directory, *rest)
    is_package = (inner / "__init__.py").is_file()
    file = inner / "__init__.py" if is_package else f"{inner}.py"
    return str(file) if rest else spec.origin or "", directory if is_whole else str(inner)


def _is_editable(distribution: Any) -> bool:
    try:
        direct_url = json.loads(distribution.read_text("direct_url.json") or "{}")
        return direct_url.get("dir_info", {}).get("editable") is True
    except (OSError, ValueError, AttributeError):
        return False


def _metadata_in(path: str) -> list[Any]:
    """Return the state of the metadata of packages in a directory, or of an archive."""
    try:
        names = sorted(name for name in os.listdir(path) if name.endswith(_METADATA_SUFFIXES))  # noqa: PTH208  # quicker
    except NotADirectoryError:
        return [_file_state(path)]
    except (OSError, ValueError):
        return []
    return [_file_state(f"{path}/{name}") for name in names]


def _file_state(path: str) -> list[Any]:
    try:
        state = os.stat(path)  # noqa: PTH116  # at each start, of many files
    except (OSError, ValueError):
        return [path]
    return [path, state.st_mtime_ns, state.st_size]


def _tree_state(directory: str) -> list[Any]:
    """Sum up the files of a directory: their names, times of change and sizes."""
    count, checksum = 0, 0
    for count, state in enumerate(islice(_tree_files(directory), MAX_TREE_FILES + 1), 1):  # noqa: B007
        checksum = zlib.crc32(repr(state).encode("utf-8", "replace"), checksum)
    return [directory, count, checksum]


def _tree_files(directory: str) -> Iterator[list[Any]]:
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(each for each in folders if each != "__pycache__" and not each.startswith("."))
        states = (_file_state(f"{folder}/{name}") for name in sorted(names) if not name.startswith("."))
        yield from (each for each in states if len(each) > 1)
