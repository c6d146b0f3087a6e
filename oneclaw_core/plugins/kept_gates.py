"""The gates and rewriters of the versions of plugins that loaded last: they deny while their plugin cannot be loaded.

They are state: they lie in the user's data directory, one file for each environment (``sys.prefix``), and not in the
cache, which may be deleted. While the file cannot be read, every installed plugin that cannot be loaded counts as one
with a gate.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar

from oneclaw_core.errors import OneClawError
from oneclaw_core.system.private_files import StateFile, state_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from oneclaw_core.plugins.plugin import Plugin

_UNKNOWN_GATE = {"before_tool_call": {"argument_names": [], "is_async": False}}
_log = logging.getLogger("oneclaw.plugins")

_Hooks = dict[str, dict[str, Any]]


class KeptGates(StateFile[dict[str, _Hooks]]):
    """The file of one environment.

    Args:
        path: the file; by default that of this user and environment.
    """

    what: ClassVar = "the gates of plugins"
    use: ClassVar = "have the gates noted again"

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(path if path is not None else state_path("gates-of-plugins.json"))

    def of(self, plugin: Plugin) -> _Hooks:
        """Return the gates and rewriters of a plugin that cannot be loaded, with their options."""
        try:
            return self.read().get(_key(plugin), {})
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
            known = self.read()
            if any(known.get(key, {}) != hooks for key, hooks in found.items()):
                self.change(lambda known: {key: hooks for key, hooks in {**known, **found}.items() if hooks})
        except OneClawError as error:
            _log.info("the gates of plugins are not noted: %s", error)

    def _parsed(self, document: Mapping[str, Any]) -> dict[str, _Hooks]:
        return dict(document["gates"]) if document else {}

    def _document(self, content: dict[str, _Hooks]) -> dict[str, Any]:
        return {"gates": content}


def _closed(plugin: Plugin) -> _Hooks:
    from oneclaw_core.hookspecs import HOOK_KINDS, HookKind  # imports pluggy, which listings do without

    closed_kinds = (HookKind.GATE, HookKind.REWRITER)
    return {hook: options for hook, options in plugin.hooks.items() if HOOK_KINDS.get(hook) in closed_kinds}


def _key(plugin: Plugin) -> str:
    return f"{plugin.distribution or ''} {plugin.name.partition('@')[0]}"
