"""Development tools for OneClaw plugins: make, check, install and sync them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CommandRegistrar, SettingsRegistrar

_COMMANDS = {
    "new": ("new:new", "Make the package of a new plugin."),
    "check": ("check:check", "Check a plugin, for its author."),
    "install": ("install:install", "Install plugins into the environment that OneClaw runs in."),
    "upgrade": ("install:upgrade", "Install newer versions of plugins."),
    "uninstall": ("install:uninstall", "Uninstall plugins, by the names of their packages."),
    "sync": ("sync:sync", "Reinstall the plugins that an upgrade of OneClaw removed."),
    "review": ("review:review", "Review what a plugin may do."),
    "accept": ("review:accept", "Accept plugins that something else installed or changed."),
    "search": ("search:search", "Find plugins in the index."),
    "box": ("box:box", "Run a plugin's tools in a sandbox."),
    "unbox": ("box:unbox", "Take a plugin out of its box."),
}


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Add the settings for finding and upgrading plugins."""
    register("oneclaw_devtools.settings:DevtoolsSettings")


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Add the commands to ``oneclaw plugins``, and ``oneclaw prompt``."""
    summary = "Show exactly what would be sent to the model next."
    register("prompt", "oneclaw_devtools.commands.prompt:prompt", help=summary)
    for name, (target, summary) in _COMMANDS.items():
        register(name, f"oneclaw_devtools.commands.{target}", help=summary, parent="plugins")
