"""Its command has a name that the program has."""

import click

from oneclaw_core import hookimpl


@hookimpl
def register_commands(cli):
    cli.add_command(click.Command("things"))
    cli.add_command(click.Command("things"))
