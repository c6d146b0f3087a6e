"""Describing plugins in a child process, so that an import that hangs, exits or crashes costs one plugin only."""

from __future__ import annotations

import atexit
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.catalogue.description import Description, leaving_out
from oneclaw_core.plugins.catalogue.discovery import InstalledPlugin
from oneclaw_core.plugins.isolation import ForeignCall
from oneclaw_core.plugins.registration.entry import PluginEntry
from oneclaw_core.plugins.registration.hook_marks import PluginContract
from oneclaw_core.process.probe import Scratch, run_probe
from oneclaw_core.process.probe_child import ProcessState, exit_fault
from oneclaw_core.process.temporary_folders import worker_folder
from oneclaw_core.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.process.probe import ProbeOutcome
    from oneclaw_core.process.probe_child import Channel


_FOREVER = 1e6


def describe_plugins(request: Mapping[str, Any], channel: Channel) -> None:
    """Describe plugins, and send the entry of each; stop after one that has changed the process."""
    contract = PluginContract()
    for number, data in enumerate(request["plugins"]):
        plugin = InstalledPlugin.from_dict(data)
        description = Description(plugin.name, plugin.load, contract, ToolRegistry(), plugin.dist.name)
        before = ProcessState.now()
        channel.printed()
        channel.send({"begin": number, "step": "import"})
        description.tell = lambda step, number=number: channel.send({"begin": number, "step": step})  # type: ignore[misc]
        # In a thread, as in the program: code that needs the main thread fails here as it does there.
        entry = ForeignCall(description.make, f"description of {plugin.name}").wait(_FOREVER)
        is_changed = _report_leftovers(before, entry, plugin)
        printed = channel.printed()
        if printed:
            cause = f"it printed {printed[:100]!r}"
            entry.report("import", cause, "ask its author to log instead", is_error=False, check="import.prints")
        channel.send({"described": number, "entry": entry.to_dict()})
        if is_changed:
            return  # the next ones are described by a process that is as it was


def _report_leftovers(before: ProcessState, entry: PluginEntry, plugin: InstalledPlugin) -> bool:
    """Report what the import left behind; what can harm others keeps the plugin from being loaded."""
    remedy = leaving_out(plugin.name, plugin.dist.name)
    dangers = before.dangers()
    if atexit._ncallbacks() > before.exit_functions and (fault := exit_fault()):
        dangers.append(fault)
    changes = [each for each in before.changes() if each not in dangers]
    for danger in dangers:
        entry.report("import", f"{danger}: it is not loaded", remedy, check="import.changes-process")
    if dangers:
        entry.tools, entry.groups, entry.registrations, entry.hooks = [], [], [], {}
    for change in changes:
        cause = f"its import changed {change}"
        entry.report("import", cause, remedy, is_error=False, check="import.changes-process")
    return bool(dangers or changes)


_TASK = "oneclaw_core.plugins.catalogue.child_description:describe_plugins"


def describe_in_child(plugins: Sequence[InstalledPlugin], *, import_paths: Sequence[str] = ()) -> list[PluginEntry]:
    """Describe plugins in a child process with a home and a separate environment.

    One process describes them all, unless a plugin ends it, hangs in it or changes it: then another one goes on behind
    that plugin.

    Args:
        plugins: the plugins.
        import_paths: directories to import from before all others.

    Returns:
        The entries, in the order of the plugins.
    """
    entries: list[PluginEntry] = []
    while len(entries) < len(plugins):
        entries += _described(plugins[len(entries) :], import_paths)
    return entries


def _described(plugins: Sequence[InstalledPlugin], import_paths: Sequence[str]) -> list[PluginEntry]:
    """Describe plugins with one process, up to the first one that stops it."""
    with worker_folder() as folder:
        scratch = Scratch(Path(folder))
        scratch.make()
        environment = scratch.environment()
        del environment["PYTHONDONTWRITEBYTECODE"]
        request = {"task": _TASK, "plugins": [each.to_dict() for each in plugins]}
        outcome = run_probe(
            request, scratch, isolation.LOAD_SECONDS, import_paths=import_paths, environment=environment
        )
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
        cause, check = f"it did not end within {isolation.LOAD_SECONDS:g} s", f"{kind}.hangs"
    else:
        cause = f"the process that described it {outcome.end.failure or outcome.end.how}"
        check = f"{kind}.kills"
    entry.report(step, cause, leaving_out(plugin.name, plugin.dist.name), check=check)
    return entry
