"""Write the catalogue entries that the packages of this workspace bring, so that no listing has to import them.

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


if __name__ == "__main__":
    for each in own_plugins():
        entry_file(each).write_text(entry_text(each), encoding="utf-8")
        print(entry_file(each).relative_to(WORKSPACE))
