"""Write the catalogue entries that the packages of this workspace bring, so that no listing has to import them.

Also write the file of the core that says which distribution brings what, for plugins that are not installed.

Run it when a plugin registers something else: ``uv run python release/plugin_entries.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.plugins.catalogue.description import Description
from oneclaw_core.plugins.catalogue.discovery import SHIPPED_ENTRY, InstalledPlugin, find_installed
from oneclaw_core.plugins.catalogue.entries import shipped_document
from oneclaw_core.plugins.registration.hook_marks import PluginContract
from oneclaw_core.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKSPACE = Path(__file__).parents[1]


def own_plugins() -> Iterator[InstalledPlugin]:
    """Find the plugins whose code lies in this workspace."""
    return (each for each in find_installed() if each.tree and Path(each.tree).is_relative_to(WORKSPACE))


def entry_file(plugin: InstalledPlugin) -> Path:
    """Return where a plugin's entry lies."""
    return Path(plugin.tree) / SHIPPED_ENTRY.format(name=plugin.name)


def entry_text(plugin: InstalledPlugin) -> str:
    """Describe a plugin, and return the content of its file."""
    entry = Description(plugin.name, plugin.load, PluginContract(), ToolRegistry(), plugin.dist.name).make()
    assert not entry.problems, entry.problems
    document = shipped_document(entry, plugin.dist.name or "", plugin.dist.version or "", Path(plugin.tree))
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


PARTS_FILE = WORKSPACE / "oneclaw_core" / "system" / "shipped_parts.json"
_TABLES = ("our_distributions", "groups", "commands", "chat_commands", "channels", "triggers")
_TABLES_OF_HOOKS = {
    "register_chat_commands": "chat_commands",
    "register_channels": "channels",
    "register_triggers": "triggers",
}


def parts_text() -> str:
    """Return the file that says which plugin brings what, from the entries of the plugins."""
    tables: dict[str, dict[str, str]] = {name: {} for name in _TABLES}
    for plugin in sorted(own_plugins(), key=lambda each: each.name):
        if plugin.is_builtin:
            continue
        tables["our_distributions"][plugin.name] = plugin.dist.name or ""
        entry = json.loads(entry_file(plugin).read_text("utf-8"))["entry"]
        tables["groups"] |= dict.fromkeys((each["name"] for each in entry["groups"]), plugin.name)
        for each in entry["registrations"]:
            if each["hook"] == "register_commands" and " --" not in each["name"]:
                tables["commands"][each["name"]] = plugin.name
            elif each["hook"] in _TABLES_OF_HOOKS:
                tables[_TABLES_OF_HOOKS[each["hook"]]][each["name"]] = plugin.name
    return json.dumps({name: dict(sorted(parts.items())) for name, parts in tables.items()}, indent=1) + "\n"


if __name__ == "__main__":
    for each in own_plugins():
        entry_file(each).write_text(entry_text(each), encoding="utf-8")
        print(entry_file(each).relative_to(WORKSPACE))
    PARTS_FILE.write_text(parts_text(), encoding="utf-8")
    print(PARTS_FILE.relative_to(WORKSPACE))
