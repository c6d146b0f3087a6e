"""`oneclaw env`: the environment variables of the user's own tools. A value is read, never shown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import is_terminal, json_option, print_listing, print_text
from oneclaw_core.errors import UsageError

if TYPE_CHECKING:
    from oneclaw_core.config.keys import EnvironmentVariables


@click.group(cls=CommandGroup)
def env() -> None:
    """Set environment variables for the user's own tools, list and remove them.

    They are kept in a file of the home that you alone can read. Only tools that you wrote see them.
    """


@env.command("list")
@json_option
def list_variables(as_json: bool) -> None:
    """List the names; values are never shown."""
    names = _variables().names()
    print_listing(as_json, ({"name": name} for name in names), ("variable",), ((name,) for name in names))


@env.command("set")
@click.argument("name")
@click.argument("more", nargs=-1, metavar="")
def set_variable(name: str, more: tuple[str, ...]) -> None:
    """Set NAME to a value that is typed, without being shown.

    Where there is no terminal, standard input is the value.
    """
    if more:
        raise UsageError(
            "a value is no argument, for other users and the shell's history see those: type it when asked, or pipe it "
            "in"
        )
    variables = _variables()
    was_set = variables.set(name, _read_value(name))
    print_text(f"{name} is {'changed' if was_set else 'set'}")


@env.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Remove the variable NAME."""
    variables = _variables()
    variables.require(name)
    variables.remove(name)
    print_text(f"{name} is removed")


def _variables() -> EnvironmentVariables:
    from oneclaw_core.config.keys import EnvironmentVariables
    from oneclaw_core.home import find_home

    return EnvironmentVariables(find_home())


def _read_value(name: str) -> str:
    from oneclaw_core.config.keys import MAX_VALUE_CHARACTERS

    if is_terminal(sys.stdin):
        typed: str = click.prompt(f"Value of {name} (not shown)", hide_input=True, err=True)
        return typed
    content = sys.stdin.buffer.read(MAX_VALUE_CHARACTERS * 4 + 2)
    try:
        return content.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise UsageError("the value is not UTF-8 text") from None
