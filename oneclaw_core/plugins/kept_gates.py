"""The gates and rewriters of the versions of plugins that loaded last: they deny while their plugin cannot be loaded.

They are state: they lie in the user's data directory, one file for each environment (``sys.prefix``), and not in the
cache, which may be deleted. While the file cannot be read, every installed plugin that cannot be loaded counts as one
with a gate.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OneClawError
from oneclaw_core.hookspecs import HOOK_KINDS, HookKind
from oneclaw_core.plugins.names.name_record import state_file
from oneclaw_core.system.private_files import changing_private, read_private, write_private

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from oneclaw_core.plugins.plugin import Plugin

_FORMAT = 1
_LONGEST_BYTES = 16 * 1024 * 1024
_CLOSED_KINDS = (HookKind.GATE, HookKind.REWRITER)
_UNKNOWN_GATE = {"before_tool_call": {"argument_names": [], "is_async": False}}
_log = logging.getLogger("oneclaw.plugins")

_Hooks = dict[str, dict[str, Any]]


class KeptGates:
    """The file of one environment.

    Args:
        path: the file; ``None`` if this user has no data directory. By default that of this user and environment.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path if path is not None else state_file("gates-of-plugins.json")

    def of(self, plugin: Plugin) -> _Hooks:
        """Return the gates and rewriters of a plugin that cannot be loaded, with their options."""
        try:
            return self._read().get(_key(plugin), {})
        except OneClawError as error:
            _log.warning("the gates of plugins that do not load are not known, so all calls are denied: %s", error)
            return _UNKNOWN_GATE

    def keep(self, plugins: Iterable[Plugin]) -> None:
        """Take note of the gates and rewriters of plugins that were loaded.

        Args:
            plugins: those that were looked at, and can be loaded.
        """
        found = {_key(each): _closed(each) for each in plugins}
        try:
            known = self._read()
            if all(known.get(key, {}) == hooks for key, hooks in found.items()):
                return
            if self._path is None:
                return
            with changing_private(self._path, self._path.with_name(f".{self._path.name}.lock"), "the gates of plugins"):
                after = {key: hooks for key, hooks in {**self._read(), **found}.items() if hooks}
                document = {"format": _FORMAT, "prefix": sys.prefix, "gates": after}
                write_private(self._path, (json.dumps(document, indent=1) + "\n").encode())
        except OneClawError as error:
            _log.info("the gates of plugins are not noted: %s", error)

    def _read(self) -> dict[str, _Hooks]:
        if self._path is None:
            raise OneClawError("there is no place to note them: set HOME or XDG_DATA_HOME")
        try:
            content = read_private(self._path, _LONGEST_BYTES)
            if content is None:
                return {}
            document = json.loads(content)
            if (document["format"], document["prefix"]) != (_FORMAT, sys.prefix):
                raise ValueError
            gates: dict[str, _Hooks] = dict(document["gates"])
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            remedy = "repair it, or remove it to have the gates noted again"
            raise OneClawError(f"{self._path} is damaged or of another version of OneClaw: {remedy}") from None
        return gates


def _closed(plugin: Plugin) -> _Hooks:
    return {hook: options for hook, options in plugin.hooks.items() if HOOK_KINDS.get(hook) in _CLOSED_KINDS}


def _key(plugin: Plugin) -> str:
    return f"{plugin.distribution or ''} {plugin.name.partition('@')[0]}"
