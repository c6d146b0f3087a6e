"""Its command has a name that the program has."""

import click

from oneclaw_core import hookimpl


@hookimpl
def register_commands(register):
    register("run", click.Command("run"))
