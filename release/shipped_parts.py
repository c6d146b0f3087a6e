"""Write the file of the core that says which distribution brings what, for plugins that are not installed.

Run it when a plugin registers something else: ``uv run python release/shipped_parts.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.plugins.loading import load_plugins
from oneclaw_core.plugins.plugin import GROUP_HOOK

if TYPE_CHECKING:
    from oneclaw_core.plugins.plugin import Plugin

WORKSPACE = Path(__file__).parents[1]
PARTS_FILE = WORKSPACE / "oneclaw_core" / "plugins" / "shipped_parts.json"
_TABLES = ("our_distributions", "groups", "commands", "chat_commands", "channels", "triggers")
_TABLES_OF_HOOKS = {
    GROUP_HOOK: "groups",
    "register_chat_commands": "chat_commands",
    "register_channels": "channels",
    "register_triggers": "triggers",
}


def own_plugins() -> list[Plugin]:
    """Return the plugins whose code lies in this workspace, with what they register."""
    return [each for each in load_plugins().plugins if each.tree and Path(each.tree).is_relative_to(WORKSPACE)]


def parts_text() -> str:
    """Return the file that says which plugin brings what."""
    tables: dict[str, dict[str, str]] = {name: {} for name in _TABLES}
    for plugin in sorted(own_plugins(), key=lambda each: each.name):
        if plugin.is_builtin:
            continue
        tables["our_distributions"][plugin.name] = plugin.distribution or ""
        for each in plugin.registrations:
            if each.hook == "register_commands" and " --" not in each.name:
                tables["commands"][each.name] = plugin.name
            elif each.hook in _TABLES_OF_HOOKS:
                tables[_TABLES_OF_HOOKS[each.hook]][each.name] = plugin.name
    return json.dumps({name: dict(sorted(parts.items())) for name, parts in tables.items()}, indent=1) + "\n"


if __name__ == "__main__":
    PARTS_FILE.write_text(parts_text(), encoding="utf-8")
    print(PARTS_FILE.relative_to(WORKSPACE))
