"""Groups of commands that plugins can extend with subcommands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.output import printable_line, warn
from oneclaw_core.errors import OneClawError

if TYPE_CHECKING:
    from oneclaw_core.plugins.registration.commands import PluginCommand


class CommandGroup(click.Group):
    """A group of the core with the subcommands of plugins.

    Its own subcommands run without loading any plugin, so that they can repair an installation.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the subcommands, those of plugins included."""
        return sorted([*self.commands, *_visible(self.of_plugins(ctx))])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a subcommand; that of a plugin is imported.

        Raises:
            NotFoundError: it belongs to a plugin that is missing; the message says how to get it.
        """
        own = self.commands.get(cmd_name)
        if own is not None:
            return own
        from oneclaw_core.cli.plugin_commands import load_command, require_command

        found = self.of_plugins(ctx).get(cmd_name)
        if found is None or found.is_option:
            require_command(f"{self.name} {cmd_name}")
            return None
        return load_command(found)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing those of plugins."""
        found = self.of_plugins(ctx)
        width = formatter.width - 6 - max(map(len, self.commands), default=0)
        own = [(name, each.get_short_help_str(width)) for name, each in sorted(self.commands.items())]
        of_plugins = [(name, printable_line(found[name].summary)) for name in _visible(found)]
        for title, lines in (("Commands", own), ("Commands of plugins", of_plugins)):
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)

    def of_plugins(self, ctx: click.Context) -> dict[str, PluginCommand]:
        """Return the subcommands and options of plugins, found once a run of the program."""
        key = f"{__name__}.{self.name}"
        if key not in ctx.meta:
            from oneclaw_core.cli.catalog import load_catalog
            from oneclaw_core.plugins.registration.commands import plugin_commands

            try:
                records = load_catalog(is_quiet=True).plugins
            except OneClawError as error:
                warn(f"the commands of plugins are missing: {error}")
                records = []
            ctx.meta[key] = plugin_commands(records, parent=self.name, taken=self.own_names())
        found: dict[str, PluginCommand] = ctx.meta[key]
        return found

    def own_names(self) -> set[str]:
        """Return the names that plugins cannot take: the group's own subcommands and options."""
        return {*self.commands, "--help", *(name for each in self.params for name in each.opts)}


def _visible(found: dict[str, PluginCommand]) -> list[str]:
    return sorted(name for name, each in found.items() if not each.is_option and not each.is_hidden)
