"""The commands and options of plugins as click has them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.output import reserved_stdout
from oneclaw_core.errors import NotFoundError, PluginError

if TYPE_CHECKING:
    from oneclaw_core.plugins.registration.commands import PluginCommand

_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "path": click.Path(path_type=Path),
}


def load_command(command: PluginCommand) -> click.Command:
    """Import a plugin's command.

    Raises:
        PluginError: that fails; the message names the plugin and the command that disables it.
    """
    with reserved_stdout():
        loaded = command.record.load_object_now(command.registration)
    if isinstance(loaded, click.Command):
        return loaded
    name, package = command.record.name, f" ({command.record.package})" if command.record.package else ""
    raise PluginError(
        f"plugin {name}{package}: {command.registration.target} is no click command; upgrade the plugin, or disable it "
        f"with: oneclaw plugins disable {name}"
    )


def make_option(option: PluginCommand) -> click.Option:
    """Make the click option that a plugin registered; its value is passed under its name with ``_`` for ``-``."""
    options = option.registration.options
    type_name, default = options["type"], options["default"]
    return click.Option(
        [option.name],
        type=_TYPES[type_name],
        is_flag=type_name == "boolean",
        default=bool(default) if type_name == "boolean" else default,
        show_default=default is not None and type_name != "boolean",
        help=option.summary,
    )


def require_command(command: str) -> None:
    """Refuse a command of one of OneClaw's own plugins that is not available.

    Args:
        command: what stands behind ``oneclaw``, such as ``plugins install``.

    Raises:
        NotFoundError: it belongs to such a plugin; the message says how to install it.
    """
    from oneclaw_core.distributions import COMMANDS, how_to_install
    from oneclaw_core.plugins.loading.load_plugins import discover

    plugin = COMMANDS.get(command)
    if plugin is None:
        return
    is_installed = any(each.name == plugin for each in discover())
    remedy = f"enable it with: oneclaw plugins enable {plugin}" if is_installed else how_to_install(plugin)
    raise NotFoundError(f"the command {command} needs the plugin {plugin}: {remedy}")
