"""Write the list of OneClaw's own plugins in docs/plugins.md: ``uv run python release/plugin_directory.py``.

It reads the plugins' ``pyproject.toml``, and loads the plugins for what they register.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from shipped_parts import own_plugins

from oneclaw_core.plugins.plugin import TOOL_HOOK, Plugin

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "plugins.md"
BEGIN = "<!-- The list is written by release/plugin_directory.py. -->\n"
END = "<!-- The list ends here. -->\n"
_MOST_PERMISSIONS = 8
# The hooks whose registrations a user notices, and what they add.
_PARTS = {
    "register_providers": "provider type",
    "register_commands": "command",
    "register_chat_commands": "chat command",
    "register_channels": "channel",
    "register_stores": "store for",
    "register_services": "service",
    "register_triggers": "task trigger",
    "register_skills": "skill",
}
_PLURALS = {"store for": "stores for"}


def directory() -> str:
    """Return the list: a section for each distribution, those of ``standard`` first."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    standard = {each.partition(">")[0] for each in extras["standard"]}
    projects = [path.parent for path in ROOT.glob("plugins/*/pyproject.toml")]
    projects = [each for each in projects if "oneclaw" in _project(each).get("entry-points", {})]  # some are libraries
    sections = [
        (_name(each) not in standard, _name(each), _section(each, _name(each) in standard)) for each in projects
    ]
    return "\n".join(text for _, _, text in sorted(sections))


def page_with_directory(page: str) -> str:
    """Replace the list in the page."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{directory()}\n{END}{rest.partition(END)[2]}"


def _project(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def _name(folder: Path) -> str:
    return str(_project(folder)["name"])


def _section(folder: Path, is_standard: bool) -> str:
    project = _project(folder)
    plugins = {each.name: each for each in own_plugins()}
    own = [plugins[plugin] for plugin in sorted(project["entry-points"]["oneclaw"])]
    title = project["name"]
    link = f"[{title}](../plugins/{folder.name}/README.md)" if (folder / "README.md").is_file() else title
    lines = [f"### {title}", "", project["description"], ""]
    lines += [f"- Adds: {'; '.join(adds)}" if (adds := _adds(own)) else "- Adds: only settings and hooks"]
    if permissions := _permissions(own):
        lines.append(f"- Permissions of its tools: {', '.join(permissions)}")
    install = f"`oneclaw plugins install {title}`"
    lines.append(f"- Install: {f'in `standard`, or {install}' if is_standard else install}")
    lines.append(f"- Read more: {link}")
    return "\n".join([*lines, ""])


def _adds(plugins: list[Plugin]) -> list[str]:
    tools = [each for plugin in plugins for each in plugin.registrations if each.hook == TOOL_HOOK]
    adds = []
    if core := sorted(f"`{each.name}`" for each in tools if not each.group):
        adds.append(f"core tool{'s' if len(core) > 1 else ''} {', '.join(core)}")
    counts = Counter(each.group for each in tools if each.group)
    if groups := [f"`{group}` ({count} tool{'s' if count > 1 else ''})" for group, count in sorted(counts.items())]:
        adds.append(f"tool group{'s' if len(groups) > 1 else ''} {', '.join(groups)}")
    for hook, part in _PARTS.items():
        if names := _names(plugins, hook):
            word = part if len(names) == 1 else _PLURALS.get(part, f"{part}s")
            adds.append(f"{word} {', '.join(f'`{name}`' for name in names)}")
    return adds


def _names(plugins: list[Plugin], hook: str) -> list[str]:
    found = sorted({each.name for plugin in plugins for each in plugin.registrations if each.hook == hook})
    if hook == "register_chat_commands":
        return [f"/{name}" for name in found]
    if hook != "register_commands":
        return found
    # Options of `serve` are listed with that command, and a subcommand of a group by its whole name.
    return [f"oneclaw {name}" for name in found if " --" not in name]


def _permissions(plugins: list[Plugin]) -> list[str]:
    definitions = [each.definition for plugin in plugins for each in plugin.registrations]
    found = sorted({each for it in definitions if it is not None for each in it.required_permissions})
    if len(found) <= _MOST_PERMISSIONS:
        return [f"`{each}`" for each in found]
    return sorted({f"`{each.rpartition('.')[0]}.*`" for each in found})


if __name__ == "__main__":
    PAGE.write_text(page_with_directory(PAGE.read_text("utf-8")), "utf-8")
    print(PAGE.relative_to(ROOT))
