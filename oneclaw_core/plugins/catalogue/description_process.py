"""Describing plugins in a child process, so that an import that hangs, exits or crashes costs one plugin only."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.plugins.catalogue.description import leaving_out
from oneclaw_core.plugins.isolation import time_limit
from oneclaw_core.plugins.registration.entry import PluginEntry
from oneclaw_core.process.probe import Scratch, run_probe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.plugins.catalogue.discovery import InstalledPlugin
    from oneclaw_core.process.probe import ProbeOutcome

_TASK = "oneclaw_core.plugins.catalogue.child_description:describe_plugins"


def describe_in_child(plugins: Sequence[InstalledPlugin]) -> list[PluginEntry]:
    """Describe plugins in a child process with a home and an environment of its own.

    One process describes them all, unless a plugin ends it, hangs in it or changes it: then another one goes on behind
    that plugin.

    Returns:
        The entries, in the order of the plugins.
    """
    entries: list[PluginEntry] = []
    while len(entries) < len(plugins):
        entries += _described(plugins[len(entries) :])
    return entries


def _described(plugins: Sequence[InstalledPlugin]) -> list[PluginEntry]:
    """Describe plugins with one process, up to the first one that stops it."""
    with tempfile.TemporaryDirectory(prefix="oneclaw-", ignore_cleanup_errors=True) as folder:
        scratch = Scratch(Path(folder))
        scratch.make()
        environment = scratch.environment()
        del environment["PYTHONDONTWRITEBYTECODE"]
        request = {"task": _TASK, "plugins": [each.to_dict() for each in plugins]}
        outcome = run_probe(request, scratch, time_limit.LOAD_SECONDS, environment=environment)
    entries: list[PluginEntry] = []
    begun, step = -1, "import"
    for message in outcome.messages:
        if message.get("begin") == len(entries):
            begun, step = len(entries), str(message.get("step"))
        elif message.get("described") == len(entries) == begun:
            entries.append(_read(message.get("entry"), plugins[begun]))
            if len(entries) == len(plugins):
                break
    is_stopped = len(entries) < len(plugins) and (begun == len(entries) or not entries)
    return [*entries, _failed(plugins[len(entries)], step, outcome)] if is_stopped else entries


def _read(data: object, plugin: InstalledPlugin) -> PluginEntry:
    try:
        entry = PluginEntry.from_dict(data)  # type: ignore[arg-type]  # if it is anything else, that is found out
    except Exception:  # noqa: BLE001  # the plugin may have written this itself
        entry = PluginEntry(plugin.name)
        remedy = leaving_out(plugin.name, plugin.dist.name)
        entry.report("import", "it disturbed the process that described it", remedy, check="import.fails")
    entry.name = plugin.name
    return entry


def _failed(plugin: InstalledPlugin, step: str, outcome: ProbeOutcome) -> PluginEntry:
    entry = PluginEntry(plugin.name)
    kind = "import" if step == "import" else "hooks"
    if outcome.end.has_hung:
        cause, check = f"it did not end within {time_limit.LOAD_SECONDS:g} s", f"{kind}.hangs"
    else:
        cause = f"the process that described it {outcome.end.failure or outcome.end.how}"
        check = f"{kind}.kills"
    entry.report(step, cause, leaving_out(plugin.name, plugin.dist.name), check=check)
    return entry
