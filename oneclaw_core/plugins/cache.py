"""The cache of what installed plugins register, in the user's cache directory, so that a listing imports none of them.

There is one file for each environment (``sys.prefix``). A plugin is known while its files are the same. The file also
keeps plugins that are not found now, because another ``PYTHONPATH`` may find them again. It is never trusted: one that
is damaged, open to other users, of another version, or unreadable counts as none, and without a place for it
everything works, only slower.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import sys
import zlib
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from importlib import invalidate_caches
from typing import TYPE_CHECKING, Any

from oneclaw_core.contract import CONTRACT_VERSION
from oneclaw_core.errors import OneClawError
from oneclaw_core.plugins.installed import find_installed, search_path_state, stamp
from oneclaw_core.plugins.plugin import LEFT_ALONE, SETTINGS_HOOK, Plugin, PluginProblem
from oneclaw_core.process.import_journal import Journal
from oneclaw_core.system.private_files import make_private_directory, read_private, write_private
from oneclaw_core.system.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

FORMAT = 6
MAX_BYTES = 256 * 1024 * 1024
MOST_SEARCHES = 8
"""The number of search paths whose plugins the file keeps."""
# Tried again when any package is installed: it may be the one that was missing.
_PASSING_CHECK = "import.fails"
_STEPS_OF_LOADING = frozenset({"compatibility", "discovery", "review", "settings"})
"""The steps whose problems are found at each start."""
_NOTHING_KNOWN: dict[str, Any] = {
    **dict.fromkeys(("registrations", "problems", "known_causes"), ()),
    **{"hooks": {}, "import_ms": None, "stamp": None},
}
"""The part of a row that a look finds out."""

_log = logging.getLogger("oneclaw.plugins")
_loaded = lru_cache(maxsize=1)(json.loads)  # homes that are opened one after another read the same
_Rows = dict[str, dict[str, Any]]
"""Plugins as JSON data with the stamp of their code, by their keys. They are not changed, as homes share them."""


def cache_path() -> Path | None:
    """Return the file of this user and environment (``sys.prefix``), ``None`` for nowhere."""
    from platformdirs import user_cache_path

    directory = user_cache_path("oneclaw", appauthor=False)  # relative for no user
    name = f"plugins-{zlib.crc32(sys.prefix.encode('utf-8', 'replace')):08x}.json"
    return directory / name if directory.is_absolute() else None


class PluginCache:
    """The installed plugins, with what they register as far as it is known.

    Args:
        path: the file; ``None`` for nowhere.

    Attributes:
        journal: beside the file.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.journal = Journal(None if path is None else path.with_suffix(".importing"))
        searches, self._first_rows = self._read()
        self._rows, self._changed = dict(self._first_rows), set[str]()
        self._search = search_path_state()
        found = searches.get(self._search)
        self._is_changed = found is None
        self._keys = self._find() if found is None else found
        self._mark_left_behind()

    def plugins(self) -> list[Plugin]:
        """Return the installed plugins, without what they register: the built-in tools first, then by name."""
        return [Plugin.from_dict({**self._rows[key], "registrations": ()}) for key in self._keys]

    def recall(self, plugin: Plugin) -> None:
        """Give a plugin what it registers, as far as that is known; a disabled one has no use for it."""
        if not (plugin.is_disabled or plugin.registrations) and (row := self._row(plugin)) is not None:
            plugin.registrations = Plugin.from_dict(row).registrations

    def known(self, plugin: Plugin) -> Plugin:
        """Return a plugin for a catalog, with what it registers as far as that is known."""
        row = self._row(plugin) or {**plugin.to_dict(), **_NOTHING_KNOWN}
        return replace(Plugin.from_dict(row), given=plugin.given, has_own_loop=plugin.has_own_loop)

    def unknown(self, plugins: Iterable[Plugin]) -> list[Plugin]:
        """Return the installed plugins that must be looked at to know what they register."""
        rows = [(each, self._row(each)) for each in plugins if each.is_installed]
        return [each for each, row in rows if row is None or row["stamp"] is None or row["stamp"] != stamp(each)]

    @contextmanager
    def looking(self, plugins: Iterable[Plugin]) -> Iterator[Callable[[Plugin | None], None]]:
        """Hold the journal for looking at unknown plugins; what another process found meanwhile is taken over.

        Yields:
            A function to call with the plugin whose code runs next.
        """
        unknown = list(plugins)
        with self.journal.held():
            _, others = self._read()
            for plugin in unknown:
                key, row = _key(plugin), others.get(_key(plugin))
                outdated = self._rows.get(key, _NOTHING_KNOWN)["problems"]
                plugin.problems = [each for each in plugin.problems if each.to_dict() not in outdated]
                if row is not None and row != self._first_rows.get(key) and row["stamp"] == stamp(plugin):
                    plugin.take(Plugin.from_dict(row))
                    self._rows[key] = row
            yield lambda plugin: self.journal.note("" if plugin is None else _key(plugin))
            self._write()  # before another process looks at the same plugins

    @contextmanager
    def importing(self, plugin: Plugin) -> Iterator[None]:
        """Note a plugin in the journal while its code is imported at its first use."""
        journal = Journal(None if self._path is None or not plugin.is_installed else self.journal.path)
        with journal.held(is_waiting=False):
            journal.note(_key(plugin))
            yield

    def keep(self, plugin: Plugin) -> None:
        """Take note of a plugin that was looked at."""
        # Without its objects, which belong to the registry that it was looked at with.
        row = json.loads(json.dumps(plugin.to_dict()))
        plugin.registrations = Plugin.from_dict(row).registrations
        problems = [each for each in row["problems"] if each["where"] not in _STEPS_OF_LOADING]
        before = self._row(plugin) or row
        # A plugin has another name where two packages have one of the same name.
        as_before = {name: before[name] for name in ("name", "known_causes")}
        self._put(_key(plugin), {**row, **as_before, "problems": problems, "stamp": stamp(plugin)})

    def save(self, plugins: Iterable[Plugin]) -> None:
        """Write the file if anything has changed.

        Args:
            plugins: those that were loaded, of whose problems the user was told now.
        """
        for each in plugins:
            causes = sorted({problem.cause for problem in each.problems if problem.is_error})
            if (row := self._row(each)) is not None and row["known_causes"] != causes and not each.is_disabled:
                self._put(_key(each), {**row, "known_causes": causes})
        self._write()

    def amend(self, plugins: Iterable[Plugin]) -> None:
        """Take note of the settings of plugins that were described after the look."""
        for plugin in plugins:
            row = self._row(plugin)
            if row is not None:
                rows = [each for each in row["registrations"] if each["hook"] != SETTINGS_HOOK]
                rows += [each.to_dict() for each in plugin.registrations if each.hook == SETTINGS_HOOK]
                self._put(_key(plugin), {**row, "registrations": rows})
        self._write()

    def forget(self, name: str) -> bool:
        """Have a plugin looked at again that failed; return True if there is one."""
        failed = {
            key: row
            for key, row in self._rows.items()
            if row["name"] == name and any(each["is_error"] for each in row["problems"])
        }
        for key, row in failed.items():
            self._put(key, {**row, **_NOTHING_KNOWN})
        self._write()
        return bool(failed)

    def _find(self) -> list[str]:
        """Find the installed plugins in the metadata of all packages."""
        invalidate_caches()  # a package that was installed meanwhile can be imported
        keys = []
        for plugin in find_installed():
            key, found = _key(plugin), plugin.to_dict()
            row = self._rows.get(key, found)
            may_pass = any(each["check"] == _PASSING_CHECK for each in row["problems"])
            if row is found or may_pass or row["metadata_problem"] != found["metadata_problem"]:
                self._put(key, {**found, **_NOTHING_KNOWN, "known_causes": row["known_causes"]})
            keys.append(key)
        return keys

    def _mark_left_behind(self) -> None:
        """Leave a plugin alone whose code has ended a process."""
        key = self.journal.left_behind()
        if key not in self._rows:
            return
        plugin = Plugin.from_dict({**self._rows[key], **_NOTHING_KNOWN})
        cause = "the program ended while it was imported; it is left alone"
        remedy = (
            f"find out why with: oneclaw plugins check {plugin.name}; then upgrade {plugin.distribution or 'it'}, or "
            f"try it again with: oneclaw plugins enable {plugin.name}"
        )
        plugin.problems = [PluginProblem("import", cause, remedy, check=LEFT_ALONE)]
        self._put(key, {**plugin.to_dict(), "stamp": stamp(plugin)})
        self._write()

    def _row(self, plugin: Plugin) -> dict[str, Any] | None:
        return self._rows.get(_key(plugin)) if plugin.is_installed else None

    def _put(self, key: str, row: dict[str, Any]) -> None:
        self._rows[key] = row
        self._changed.add(key)

    def _read(self) -> tuple[dict[str, list[str]], _Rows]:
        return ({}, {}) if self._path is None or self._path.is_symlink() else _parse(self._path)

    def _write(self) -> None:
        """Write the file, with what other processes have written there since."""
        if self._path is None or not (self._changed or self._is_changed):
            return
        others, rows = self._read()
        searches = {each: keys for each, keys in others.items() if each != self._search}
        searches = dict([*searches.items(), (self._search, self._keys)][-MOST_SEARCHES:])
        rows = rows | {key: self._rows[key] for key in {*self._changed, *self._keys}}
        wanted = {key for keys in searches.values() for key in keys}
        self._changed, self._is_changed = set(), False
        kept = {key: row for key, row in rows.items() if key in wanted}
        body = json.dumps([searches, kept], separators=(",", ":")).encode()
        header = json.dumps({**_identity(), "checksum": zlib.crc32(body)}).encode()
        try:
            make_private_directory(self._path.parent)
            state = self._path.parent.stat()
            # Else others could put files there.
            if state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                write_private(self._path, header + b"\n" + body)
        except OSError as error:
            _log.debug("what plugins register cannot be cached: %s", error)


def _key(plugin: Plugin) -> str:
    """Return what tells the code of an installed plugin from that of all others."""
    return json.dumps(
        [plugin.name.partition("@")[0], plugin.target, plugin.distribution, plugin.version, plugin.files, plugin.tree]
    )


def _parse(path: Path) -> tuple[dict[str, list[str]], _Rows]:
    try:
        header, _, body = (read_private(path, MAX_BYTES) or b"").partition(b"\n")
        if json.loads(header) != {**_identity(), "checksum": zlib.crc32(body)}:
            return {}, {}
        searches, rows = _loaded(body)
    except (OneClawError, ValueError):
        return {}, {}
    return searches, rows


def _identity() -> dict[str, Any]:
    """Return what a cache has to be made by and for."""
    core = {"core": __version__, "contract": CONTRACT_VERSION}
    return {"format": FORMAT, **core, "python": sys.version, "prefix": sys.prefix}
