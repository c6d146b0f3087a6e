"""Groups of commands that plugins extend, and the commands and options of plugins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from oneclaw_core.cli.output import printable_line, reserved_stdout, warn
from oneclaw_core.errors import NotFoundError, OneClawError, PluginError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from click.shell_completion import CompletionItem

    from oneclaw_core.plugins.plugin import Plugin, Registration


class PluginCommand(NamedTuple):
    """A command, or an option of one, that a plugin registered.

    Attributes:
        record: the plugin.
        registration: what it registered.
    """

    record: Plugin
    registration: Registration

    @property
    def name(self) -> str:
        """The name on the command line, without the parent's."""
        return self.registration.name.rpartition(" ")[2]

    @property
    def is_option(self) -> bool:
        """True for an option."""
        return self.name.startswith("--")

    @property
    def summary(self) -> str:
        """The line for ``--help``."""
        return str(self.registration.options.get("help") or "")

    @property
    def is_hidden(self) -> bool:
        """True if listings leave it out."""
        return bool(self.registration.options.get("is_hidden"))


def plugin_commands(
    records: Iterable[Plugin], *, parent: str | None = None, taken: Collection[str] = ()
) -> dict[str, PluginCommand]:
    """Gather what plugins add to the program, or to one of its commands; a name that is taken is reported.

    Args:
        records: the plugins, in the order of loading; of two that add the same name, the first one's stays.
        parent: the command, such as ``serve``; ``None`` for the program.
        taken: names of the commands and options that there are without plugins.

    Returns:
        Commands and options, by name.
    """
    found: dict[str, PluginCommand] = {}
    for record in records:
        for registration in record.registrations:
            if registration.hook != "register_commands" or registration.options.get("parent") != parent:
                continue
            command = PluginCommand(record, registration)
            kind = "option" if command.is_option else "command"
            if command.name in taken or command.name in found:
                cause = f"the {kind} {command.name!r} is taken"
                record.report("register_commands", cause, "use another name", check="names.command-taken")
            else:
                found[command.name] = command
    return found


class CommandGroup(click.Group):
    """A group of commands of the core with those of plugins.

    Its own commands run without loading any plugin, so that they can repair an installation.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands, those of plugins included."""
        names = [*self.own_commands(), *_visible(self.of_plugins(ctx))]
        return names if self._parent is None else sorted(names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command; that of a plugin is imported.

        Raises:
            NotFoundError: it belongs to a plugin that is missing; the message says how to get it.
        """
        own = self.commands.get(cmd_name)
        if own is not None:
            return own
        found = self.of_plugins(ctx).get(cmd_name)
        if found is None or found.is_option:
            require_command(" ".join(filter(None, (self._parent, cmd_name))))
            return None
        return load_command(found)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the names of commands and options without importing the commands of plugins."""
        from click.shell_completion import CompletionItem

        found = self.of_plugins(ctx)
        summaries = {name: each.get_short_help_str(100) for name, each in self.commands.items() if not each.hidden}
        summaries |= {name: found[name].summary for name in _visible(found)}
        completions = [
            CompletionItem(name, help=printable_line(summary))
            for name, summary in sorted(summaries.items())
            if name.startswith(incomplete)
        ]
        return [*completions, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing those of plugins."""
        found = self.of_plugins(ctx)
        width = formatter.width - 6 - max(map(len, self.commands), default=0)
        own = [(name, each.get_short_help_str(width)) for name, each in self.own_commands().items()]
        of_plugins = [(name, printable_line(found[name].summary)) for name in _visible(found)]
        for title, lines in (("Commands", own), ("Commands of plugins", of_plugins)):
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)

    def of_plugins(self, ctx: click.Context) -> dict[str, PluginCommand]:
        """Return the commands and options of plugins, found once a run of the program."""
        key = f"{__name__}.{self.name}"
        if key not in ctx.meta:
            from oneclaw_core.cli.catalog import load_catalog

            try:
                # A command that needs the database says itself that it cannot be read.
                records = load_catalog(is_quiet=True).plugins
            except OneClawError as error:
                warn(f"the commands of plugins are missing: {error}")
                records = []
            ctx.meta[key] = plugin_commands(records, parent=self._parent, taken=self.own_names())
        found: dict[str, PluginCommand] = ctx.meta[key]
        return found

    def own_commands(self) -> dict[str, click.Command]:
        """Return the group's own commands in the order of their listing."""
        return dict(sorted(self.commands.items()))

    def own_names(self) -> set[str]:
        """Return the names that plugins cannot take: the group's own commands and options."""
        return {*self.commands, "--help", *(name for each in self.params for name in each.opts)}

    @property
    def _parent(self) -> str | None:
        """The name that plugins register subcommands under; ``None`` for the program itself."""
        return None if self.name == "oneclaw" else self.name


def _visible(found: dict[str, PluginCommand]) -> list[str]:
    return sorted(name for name, each in found.items() if not each.is_option and not each.is_hidden)


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
    from oneclaw_core.plugins.first_use import load_object_now

    with reserved_stdout():
        loaded = load_object_now(command.record, command.registration)
    if isinstance(loaded, click.Command):
        return loaded
    name, package = command.record.name, f" ({command.record.package})" if command.record.package else ""
    raise PluginError(
        f"plugin {name}{package}: {command.registration.target} is not a click command; upgrade the plugin, or "
        f"disable it with: oneclaw plugins disable {name}"
    )


def make_option(option: PluginCommand) -> click.Option:
    """Make the click option that a plugin registered; its value is passed under its name with ``_`` for ``-``."""
    options = option.registration.options
    type_name, default = options["type"], options["default"]
    is_flag = type_name == "boolean"
    bounds = options.get("minimum"), options.get("maximum")
    option_type = _TYPES[type_name]
    if bounds != (None, None):
        option_type = click.IntRange(*bounds) if type_name == "integer" else click.FloatRange(*bounds)
    return click.Option(
        [option.name],
        type=option_type,
        is_flag=is_flag,
        default=bool(default) if is_flag else default,
        show_default=default is not None and not is_flag,
        help=option.summary,
    )


def require_command(command: str) -> None:
    """Refuse a command of one of OneClaw's own plugins that is not available.

    Args:
        command: what stands behind ``oneclaw``, such as ``plugins install``.

    Raises:
        NotFoundError: it belongs to such a plugin; the message says why, and how to get it.
    """
    from oneclaw_core.cli.catalog import load_catalog
    from oneclaw_core.shipped.missing import COMMANDS, why_missing

    plugin = COMMANDS.get(command)
    if plugin is None:
        return
    absent = load_catalog(is_quiet=True).absent_plugins
    raise NotFoundError(f"the command {command} needs the plugin {plugin}, which {why_missing(plugin, absent)}")
