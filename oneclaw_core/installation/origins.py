"""The contents of installed plugins as the user knows them, kept in the home; what changed since is reported.

The first look at an environment takes down what is installed. After it, a new package with a plugin, and one whose
files differ while its version is the same, is reported until the user accepts it. This is a report and no guard: code
that runs as the user can change the record too.
"""

from __future__ import annotations

import csv
import json
import logging
import re
import sys
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OneClawError
from oneclaw_core.plugins.distributions import normalised as normalised
from oneclaw_core.system.private_files import read_private, write_private

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from oneclaw_core.plugins.plugin import Plugin
    from oneclaw_core.system.home import Home

_FORMAT = 1
_LONGEST_BYTES = 4_000_000
# Written by whatever installs, and by Python.
_NOT_CONTENT = re.compile(r"(^\.\.|\.pyc$|\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json|uv_\w+\.json)$)")
_log = logging.getLogger("oneclaw.plugins")


@dataclass(frozen=True, slots=True)
class OriginNews:
    """A package with plugins that is not as the user knows it.

    Attributes:
        package: its normalised name.
        text: what is different.
        is_new: True for a package that was not there before; it may be one that the user has just installed.
    """

    package: str
    text: str
    is_new: bool = False

    @property
    def remedy(self) -> str:
        """The advice about the error."""
        verb = "review" if self.is_new else "accept"
        return f"if you expected that: oneclaw plugins {verb} {self.package}; else uninstall it"


class PluginOrigins:
    """The record of one home, for the environment of this program."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.path / "plugin-origins.json"

    def look(self, plugins: Iterable[Plugin], *, is_thorough: bool = False) -> list[OriginNews]:
        """Compare what is installed with what the user knows, and take down what is new to an empty record.

        Args:
            plugins: the installed plugins.
            is_thorough: True to read each of their files; False to trust lists of files that have not changed.
        """
        document = self._read()
        known = document["environments"].get(sys.prefix)
        after: dict[str, Any] = dict(known or {})
        news: list[OriginNews] = []
        for package, plugin in _by_package(plugins).items():
            before, version = after.get(package), plugin.version
            is_same = before is not None and [before["version"], before["stamp"]] == [version, content_stamp(plugin)]
            if is_same and not is_thorough:
                continue
            now, shown = _known(plugin), f"{package} {version or '?'}"
            if known is not None and before is None:
                news.append(OriginNews(package, f"{shown} is new and was not installed by OneClaw", is_new=True))
            elif before is not None and before["version"] == version and before["content"] != now["content"]:
                news.append(OriginNews(package, f"{shown} has changed files, but no new version"))
            elif is_thorough and (file := next(changed_files(plugin), None)) is not None:
                news.append(OriginNews(package, f"{shown}: {file} is not as it was installed"))
            else:
                after[package] = now
        if after != known:
            self._write(document, after)
        return news

    def accept(self, plugins: Iterable[Plugin], packages: Collection[str]) -> None:
        """Take down packages as they are now.

        Raises:
            OneClawError: the record cannot be written.
        """
        document = self._read()
        after = dict(document["environments"].get(sys.prefix) or {})
        for package, plugin in _by_package(plugins).items():
            if package in packages:
                after[package] = _known(plugin)
        self._write(document, after, is_required=True)

    def _read(self) -> dict[str, Any]:
        try:
            document = json.loads(read_private(self._path, _LONGEST_BYTES) or b"{}")
            if document.get("format") == _FORMAT and isinstance(document["environments"], dict):
                return {"format": _FORMAT, "environments": document["environments"]}
        except (OneClawError, ValueError, AttributeError, KeyError) as error:
            _log.warning("what is known of installed plugins is lost, and taken down again: %s", error)
        return {"format": _FORMAT, "environments": {}}

    def _write(self, document: dict[str, Any], after: Mapping[str, Any], *, is_required: bool = False) -> None:
        if not self._home.path.is_dir():
            return
        document["environments"][sys.prefix] = after
        try:
            write_private(self._path, (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode())
        except OSError as error:
            if is_required:
                raise OneClawError(f"{self._path} cannot be written: {error.strerror or error}") from None
            _log.info("the installed plugins cannot be recorded: %s", error)  # a read-only home


def report_origins(home: Home, records: Iterable[Plugin], *, is_thorough: bool = False) -> list[OriginNews]:
    """Report plugins that are not as the user knows them to their records, and return what is different."""
    installed = [each for each in records if each.is_installed and not each.is_disabled]
    found = PluginOrigins(home).look(installed, is_thorough=is_thorough)
    for news in found:
        for plugin in installed:
            if package_of(plugin) == news.package:
                plugin.report("origin", news.text, news.remedy, is_error=False)
    return found


def _by_package(plugins: Iterable[Plugin]) -> dict[str, Plugin]:
    found: dict[str, Plugin] = {}
    for each in plugins:
        found.setdefault(package_of(each), each)
    return found


def package_of(plugin: Plugin) -> str:
    """Return the normalised name of a plugin's package."""
    return normalised(plugin.distribution or plugin.name)


def _known(plugin: Plugin) -> dict[str, Any]:
    return {"version": plugin.version, "content": content_of(plugin), "stamp": content_stamp(plugin)}


def content_stamp(plugin: Plugin) -> list[Any]:
    """Return JSON data that change when the content of a plugin's package may have changed."""
    path = _record_file(plugin)
    try:
        state = path.stat() if path is not None else None
    except OSError:
        state = None
    return [state.st_mtime_ns, state.st_size] if state is not None else [plugin.tree]


def content_of(plugin: Plugin) -> str:
    """Return a digest of the files of a plugin's package, which stays the same in each environment."""
    path = _record_file(plugin)
    if path is None:
        return f"folder {plugin.tree}"
    lines = sorted(f"{name} {digest}\n" for name, digest in _rows(path))
    return sha256("".join(lines).encode("utf-8", "replace")).hexdigest()


def changed_files(plugin: Plugin) -> Iterator[str]:
    """Find files whose content is not the one that was installed."""
    path = _record_file(plugin)
    if path is None:
        return
    for name, digest in _rows(path):
        kind, _, wanted = digest.partition("=")
        if kind != "sha256":
            continue
        try:
            made = sha256((path.parents[1] / name).read_bytes()).digest()
        except OSError:
            yield name
            continue
        if urlsafe_b64encode(made).rstrip(b"=").decode() != wanted.rstrip("="):
            yield name


def _record_file(plugin: Plugin) -> Path | None:
    """Return the list of files that was installed, ``None`` where the code can change without being installed again."""
    first = plugin.files[0] if plugin.files else ""
    return Path(first) if not plugin.tree and first.endswith("RECORD") else None


def _rows(record: Path) -> Iterator[tuple[str, str]]:
    try:
        with record.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.reader(file):
                if len(row) == 3 and not _NOT_CONTENT.search(row[0]):  # path, hash, size
                    yield row[0], row[1]
    except (OSError, csv.Error) as error:
        yield str(record), f"cannot be read: {type(error).__name__}"
