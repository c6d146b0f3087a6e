"""In a child process: describe plugins one after another, and report what each import leaves behind."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins.catalogue.description import Description, leaving_out
from oneclaw_core.plugins.catalogue.discovery import InstalledPlugin
from oneclaw_core.plugins.isolation.time_limit import ForeignCall
from oneclaw_core.plugins.registration.hook_marks import PluginContract
from oneclaw_core.process.probe_child import ProcessState, exit_fault
from oneclaw_core.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.plugins.registration.entry import PluginEntry
    from oneclaw_core.process.probe_child import Channel

_FOREVER = 1e6


def describe_plugins(request: Mapping[str, Any], channel: Channel) -> None:
    """Describe plugins, and send the entry of each; stop after one that has changed the process.

    Args:
        request: with ``plugins`` as JSON data.
        channel: gets a message with ``begin`` and one with ``entry`` for each.
    """
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
