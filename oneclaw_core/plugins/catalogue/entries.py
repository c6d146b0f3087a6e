"""The entries of all installed plugins: from the cache, from a file in their package, or described now."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.contract import CONTRACT_VERSION
from oneclaw_core.plugins.catalogue.cache import FORMAT, CatalogueCache, user_cache
from oneclaw_core.plugins.catalogue.discovery import (
    InstalledPlugin,
    find_installed,
    holds_same_packages,
    search_path_state,
)
from oneclaw_core.plugins.registration.entry import PluginEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.plugins.registration.record import PluginRecord


# Tried again when any package is installed: it may be the one that was missing.
_PASSING_CHECKS = frozenset({"import.fails"})

_log = logging.getLogger("oneclaw.plugins")
# The last entries with their texts, by what the entry points name. No one changes them: a program's homes share them.
_parsed: dict[str, tuple[str, PluginEntry | None]] = {}


class InstalledCatalogue:
    """The installed plugins with their entries.

    Args:
        cache: where entries are kept; by default in the user's cache directory.
    """

    def __init__(self, cache: CatalogueCache | None = None) -> None:
        self._cache = cache if cache is not None else user_cache()
        content = self._cache.read()
        paths = content.get("paths", {})
        self._paths = search_path_state(paths)
        try:
            self._kept = [_Kept.from_dict(each) for each in content.get("plugins", ())]
        except (KeyError, TypeError, ValueError):
            self._kept, paths = [], {}
        is_same = bool(paths) and holds_same_packages(self._paths, paths)
        self._is_changed = not is_same or any(
            paths.get(path) != state for path, state in self._paths.items() if state[1]
        )
        if not is_same:
            known = {each.plugin: each for each in self._kept}
            guards = {each.plugin.name: each.guards for each in self._kept}
            self._kept = [known.get(each) or _Kept(each, guards.get(each.name)) for each in find_installed()]
            for each in self._kept:
                each.forget_passing_failure()

    def plugins(self) -> list[InstalledPlugin]:
        """Return the installed plugins: the built-in tools first, then by name and package."""
        return [each.plugin for each in self._kept]

    def entries(self, plugins: Iterable[InstalledPlugin]) -> dict[InstalledPlugin, PluginEntry]:
        """Return the entries of plugins; those that are not known are described now."""
        wanted = set(plugins)
        kept = [each for each in self._kept if each.plugin in wanted]
        found = {each.plugin: entry for each in kept if (entry := each.entry()) is not None}
        missing = [each for each in kept if each.plugin not in found]
        if missing:
            self._is_changed = True
            described = _described([each.plugin for each in missing])
            for each, entry in zip(missing, described, strict=True):
                each.keep(entry)
                # Without its objects, as from the cache: they belong to the registry they were described with.
                found[each.plugin] = PluginEntry.from_dict(entry.to_dict())
        return found

    def guards(self, plugin: InstalledPlugin) -> dict[str, dict[str, Any]]:
        """Return the gates and rewriters of the last version of a plugin that could be loaded.

        They stay in force while the plugin cannot be loaded, and fail closed.
        """
        kept = self._kept_of(plugin)
        return kept.guards if kept is not None else {}

    def known_causes(self, plugin: InstalledPlugin) -> frozenset[str]:
        """Return the causes of a plugin's problems that the user was told about before."""
        kept = self._kept_of(plugin)
        return frozenset(kept.told) if kept is not None else frozenset()

    def _kept_of(self, plugin: InstalledPlugin) -> _Kept | None:
        # Most plugins that are asked for are the objects that :meth:`plugins` returned.
        found = next((each for each in self._kept if each.plugin is plugin), None)
        return found or next((each for each in self._kept if each.plugin == plugin), None)

    def save(self, records: Iterable[tuple[InstalledPlugin, PluginRecord]]) -> None:
        """Keep what has changed for the next start.

        Args:
            records: of the plugins, with the problems that the user has been told about now.
        """
        causes = {
            plugin: sorted(problem.cause for problem in record.problems if problem.is_error)
            for plugin, record in records
        }
        for each in self._kept:
            told = causes.get(each.plugin, each.told)
            if told != each.told:
                each.told = told
                self._is_changed = True
        if self._is_changed:
            self._is_changed = False
            self._cache.write({"paths": self._paths, "plugins": [each.to_dict() for each in self._kept]})

    def forget(self, name: str) -> bool:
        """Have a plugin described again that failed.

        Returns:
            True if there was something to forget.
        """
        found = [each for each in self._kept if each.plugin.name == name and each.has_failed]
        for each in found:
            each.text, each.told = None, []
        if found:
            self._cache.write({"paths": self._paths, "plugins": [each.to_dict() for each in self._kept]})
        return bool(found)


class _Kept:
    """A plugin in the cache.

    Attributes:
        plugin: the plugin.
        stamp: of its code when it was described.
        text: its entry as JSON, ``None`` for none.
        told: the causes of its problems that the user was told about.
        guards: the gates and rewriters of the last version that could be loaded, with their options.
    """

    def __init__(self, plugin: InstalledPlugin, guards: dict[str, dict[str, Any]] | None = None) -> None:
        self.plugin = plugin
        self.guards = guards or {}
        self.stamp: list[Any] = []
        self.text: str | None = None
        self.told: list[str] = []

    @property
    def has_failed(self) -> bool:
        return any(each["is_error"] for each in self._problems())

    def entry(self) -> PluginEntry | None:
        """Return the entry, unless the code has changed since."""
        if self.text is None or self.stamp != self.plugin.stamp():
            return None
        text, entry = _parsed.get(self.plugin.value, ("", None))
        if text != self.text:
            try:
                entry = PluginEntry.from_dict(json.loads(self.text))
            except Exception:  # noqa: BLE001  # an older or damaged entry may be wrong in any way
                return None
            _parsed[self.plugin.value] = self.text, entry
        return entry

    def keep(self, entry: PluginEntry) -> None:
        if any(each.is_error and each.where == "import" for each in entry.problems):
            entry.hooks = {**self.guards, **entry.hooks}
        else:
            self.guards = _guards_among(entry.hooks)
        self.stamp, self.text = self.plugin.stamp(), json.dumps(entry.to_dict(), separators=(",", ":"))

    def forget_passing_failure(self) -> None:
        # Most entries need not be parsed to see it.
        may_have = self.text is not None and any(check in self.text for check in _PASSING_CHECKS)
        if may_have and any(each["check"] in _PASSING_CHECKS for each in self._problems()):
            self.text = None

    def _problems(self) -> list[dict[str, Any]]:
        problems: list[dict[str, Any]] = json.loads(self.text)["problems"] if self.text is not None else []
        return problems

    def to_dict(self) -> dict[str, Any]:
        return {
            "plugin": self.plugin.to_dict(),
            "stamp": self.stamp,
            "entry": self.text,
            "told": self.told,
            "guards": self.guards,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> _Kept:
        kept = cls(InstalledPlugin.from_dict(data["plugin"]), dict(data["guards"]))
        kept.stamp, kept.text, kept.told = data["stamp"], data["entry"], list(data["told"])
        return kept


def _guards_among(hooks: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    if not hooks:
        return {}
    from oneclaw_core.hookspecs import HOOK_KINDS, HookKind

    return {hook: hooks[hook] for hook in hooks if HOOK_KINDS[hook] in (HookKind.GATE, HookKind.REWRITER)}


def _described(plugins: Sequence[InstalledPlugin]) -> list[PluginEntry]:
    """Describe plugins: in a child process, unless they bring their entry or are the built-in tools alone."""
    entries = {each: _shipped(each) for each in plugins}
    missing = [each for each, entry in entries.items() if entry is None]
    if any(not each.is_builtin for each in missing):
        from oneclaw_core.plugins.catalogue.child_description import describe_in_child

        _log.debug("describing %s", ", ".join(each.name for each in missing))
        entries |= zip(missing, describe_in_child(missing), strict=True)
    # Without the built-in tools there is no program, whatever kept the child from describing them.
    entries |= {each: _described_here(each) for each, entry in entries.items() if _is_lacking(each, entry)}
    return [entry for entry in entries.values() if entry is not None]


def _is_lacking(plugin: InstalledPlugin, entry: PluginEntry | None) -> bool:
    return plugin.is_builtin and (entry is None or not entry.tools)


def _described_here(plugin: InstalledPlugin) -> PluginEntry:
    from oneclaw_core.plugins.catalogue.description import Description
    from oneclaw_core.plugins.registration.hook_marks import PluginContract
    from oneclaw_core.tools.registry import ToolRegistry

    return Description(plugin.name, plugin.load, PluginContract(), ToolRegistry(), plugin.dist.name).make()


def _shipped(plugin: InstalledPlugin) -> PluginEntry | None:
    return read_shipped_entry(Path(plugin.shipped), plugin) if plugin.shipped else None


_PACKAGE = "{package}"


def shipped_document(entry: PluginEntry, package: str, version: str, folder: Path) -> dict[str, Any]:
    """Return the content of the file for an entry."""
    data = {**entry.to_dict(), "import_ms": None}
    return {
        "format": FORMAT,
        "contract": CONTRACT_VERSION,
        "package": package,
        "version": version,
        "entry": _replaced(data, str(folder), _PACKAGE),
    }


def read_shipped_entry(path: Path, plugin: InstalledPlugin) -> PluginEntry | None:
    """Read the entry that a package brings; ``None`` if it is of another version."""
    try:
        document = json.loads(path.read_bytes())
        about = (document["format"], document["contract"], document["package"], document["version"])
        if about != (FORMAT, CONTRACT_VERSION, plugin.dist.name, plugin.dist.version):
            return None
        entry = PluginEntry.from_dict(_replaced(document["entry"], _PACKAGE, str(path.parent)))
    except Exception:  # noqa: BLE001  # the file is foreign, and may be wrong in any way
        return None
    entry.name = plugin.name
    return entry


def _replaced(data: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """Replace the beginning of the paths of manifests and skills."""

    def path(value: str) -> str:
        return new + value.removeprefix(old) if value.startswith(old) else value

    registrations = [
        {**each, "options": {**each["options"], "folder": path(each["options"]["folder"])}}
        if each["hook"] == "register_skills"
        else each
        for each in data["registrations"]
    ]
    return {**data, "manifests": [path(each) for each in data["manifests"]], "registrations": registrations}
