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
from dataclasses import dataclass, field, replace
from importlib import invalidate_caches
from typing import TYPE_CHECKING, Any

from oneclaw_core.contract import CONTRACT_VERSION
from oneclaw_core.errors import OneClawError
from oneclaw_core.plugins.installed import find_installed, search_path_state, stamp
from oneclaw_core.plugins.plugin import LEFT_ALONE, Plugin, PluginProblem
from oneclaw_core.process.import_journal import Journal
from oneclaw_core.system.private_files import KeptFiles, make_private_directory, read_private, write_private
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

_log = logging.getLogger("oneclaw.plugins")


@dataclass(slots=True)
class _Content:
    """The content of the file.

    Attributes:
        directories: of search paths, each with its time of change and the metadata in it.
        searches: the keys of the plugins that were found, by the state of the search path; the last one is the latest.
        rows: the plugins, by their keys; they are not changed, because the homes of a program share them.
    """

    directories: dict[str, Any] = field(default_factory=dict)
    searches: dict[str, list[str]] = field(default_factory=dict)
    rows: dict[str, Plugin] = field(default_factory=dict)


# A program may open many homes, and the file is the same for all of them.
_contents: KeptFiles[_Content] = KeptFiles()


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
        content = self._read()
        self._first_rows, self._rows, self._changed = content.rows, dict(content.rows), set[str]()
        self._directories = search_path_state(content.directories)
        self._search = _fingerprint(self._directories)
        self._is_changed = False
        found = content.searches.get(self._search)
        if found is None or any(key not in self._rows for key in found):
            found = self._find()
        self._keys = found
        self._mark_left_behind()

    def plugins(self) -> list[Plugin]:
        """Return the installed plugins: the built-in tools first, then by name and package."""
        return [self._rows[key].fresh() for key in self._keys]

    def known(self, plugin: Plugin) -> Plugin:
        """Return a plugin for a catalog, with what it registers as far as that is known."""
        return (self._row(plugin) or plugin).fresh()

    def unknown(self, plugins: Iterable[Plugin]) -> list[Plugin]:
        """Return the installed plugins that must be looked at to know what they register."""
        rows = [(each, self._row(each)) for each in plugins if each.is_installed]
        return [each for each, row in rows if row is None or row.stamp is None or row.stamp != stamp(each)]

    @contextmanager
    def looking(self, plugins: Iterable[Plugin]) -> Iterator[Callable[[Plugin | None], None]]:
        """Hold the journal for looking at unknown plugins; what another process found meanwhile is taken over.

        Yields:
            A function to call with the plugin whose code runs next.
        """
        unknown = list(plugins)
        with self.journal.held():
            others = self._read().rows
            for plugin in unknown:
                key = _key(plugin)
                outdated = self._rows[key].problems if key in self._rows else []
                plugin.problems = [each for each in plugin.problems if each not in outdated]
                row = others.get(key)
                if row is not None and row != self._first_rows.get(key) and row.stamp == stamp(plugin):
                    plugin.take(row)
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
        before = self._row(plugin) or plugin
        # As from the file: without its objects, which belong to the registry that it was looked at with.
        data = json.loads(json.dumps(plugin.to_dict()))
        data["problems"] = [each for each in data["problems"] if each["where"] not in _STEPS_OF_LOADING]
        # A plugin has another name where two packages have one of the same name.
        data |= {"name": before.name, "stamp": stamp(plugin), "known_causes": before.known_causes}
        kept = Plugin.from_dict(data)
        plugin.registrations = list(kept.registrations)
        self._put(kept)

    def save(self, plugins: Iterable[Plugin]) -> None:
        """Write the file if anything has changed.

        Args:
            plugins: those that were loaded, of whose problems the user was told now.
        """
        for each in plugins:
            row = self._row(each)
            known_causes = frozenset(problem.cause for problem in each.problems if problem.is_error)
            if row is not None and row.known_causes != known_causes and not each.is_disabled:
                self._put(replace(row, known_causes=known_causes))
        self._write()

    def forget(self, name: str) -> bool:
        """Have a plugin looked at again that failed; return True if there is one."""
        named = [each for each in self._rows.values() if each.name == name]
        failed = [each for each in named if any(problem.is_error for problem in each.problems)]
        for each in failed:
            self._put(each.unlooked())
        self._write()
        return bool(failed)

    def _find(self) -> list[str]:
        """Find the installed plugins in the metadata of all packages."""
        invalidate_caches()  # a package that was installed meanwhile can be imported
        self._is_changed = True
        keys = []
        for plugin in find_installed():
            key = _key(plugin)
            row = self._rows.get(key, plugin)
            may_pass = any(each.check == _PASSING_CHECK for each in row.problems)
            if row is plugin or may_pass or row.metadata_problem != plugin.metadata_problem:
                self._put(replace(plugin, known_causes=row.known_causes))
            keys.append(key)
        return keys

    def _mark_left_behind(self) -> None:
        """Leave a plugin alone whose code has ended a process."""
        row = self._rows.get(self.journal.left_behind())
        if row is None:
            return
        plugin = row.unlooked()
        cause = "the program ended while it was imported; it is left alone"
        remedy = (
            f"find out why with: oneclaw plugins check {plugin.name}; then upgrade {plugin.distribution or 'it'}, or "
            f"try it again with: oneclaw plugins enable {plugin.name}"
        )
        plugin.problems = [PluginProblem("import", cause, remedy, check=LEFT_ALONE)]
        plugin.stamp = stamp(plugin)
        self._put(plugin)
        self._write()

    def _row(self, plugin: Plugin) -> Plugin | None:
        return self._rows.get(_key(plugin)) if plugin.is_installed else None

    def _put(self, row: Plugin) -> None:
        key = _key(row)
        self._rows[key] = row
        self._changed.add(key)

    def _read(self) -> _Content:
        if self._path is None or self._path.is_symlink():
            return _Content()
        return _contents.get(self._path, _parse)

    def _write(self) -> None:
        """Write the file, with what other processes have written there since."""
        if self._path is None or not (self._changed or self._is_changed):
            return
        others = self._read()
        searches = {each: keys for each, keys in others.searches.items() if each != self._search}
        searches = dict([*searches.items(), (self._search, self._keys)][-MOST_SEARCHES:])
        rows = others.rows | {key: self._rows[key] for key in {*self._changed, *self._keys}}
        wanted = {key for keys in searches.values() for key in keys}
        content = {
            "directories": {each: state for each, state in self._directories.items() if state[1]},
            "searches": searches,
            "rows": [row.to_dict() for key, row in rows.items() if key in wanted],
        }
        self._changed, self._is_changed = set(), False
        body = json.dumps(content, separators=(",", ":")).encode()
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


def _fingerprint(directories: dict[str, Any]) -> str:
    """Return a text that is the same while a search path finds the same packages in the same order."""
    found = json.dumps([(path, listing) for path, (_, listing) in directories.items() if listing])
    return f"{zlib.crc32(found.encode('utf-8', 'replace')):08x}{len(found):x}"


def _parse(path: Path) -> _Content:
    try:
        header, _, body = (read_private(path, MAX_BYTES) or b"").partition(b"\n")
        if json.loads(header) != {**_identity(), "checksum": zlib.crc32(body)}:
            return _Content()
        data = json.loads(body)
        rows = [Plugin.from_dict(each) for each in data["rows"]]
        return _Content(data["directories"], data["searches"], {_key(each): each for each in rows})
    except (OneClawError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return _Content()


def _identity() -> dict[str, Any]:
    """Return what a cache has to be made by and for."""
    made_by = {"core": __version__, "contract": CONTRACT_VERSION, "python": sys.version, "prefix": sys.prefix}
    return {"format": FORMAT, **made_by}
