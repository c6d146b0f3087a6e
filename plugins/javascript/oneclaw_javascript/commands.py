"""`oneclaw env`: the environment variables of the user's own tools. A value is read, never shown."""

from __future__ import annotations

import sys

import click

from oneclaw_core import NotFoundError, UsageError, find_home
from oneclaw_core.cli import EnvironmentVariables, is_terminal, json_option, print_json, print_table, print_text

# More than any value has: the rest of a longer one need not be read to refuse it.
_MAX_BYTES = 4 * 65_536 + 2


@click.group()
def env() -> None:
    """Set, list and remove environment variables for your own tools.

    They are stored in a file of the home that only you can read. Only tools that you wrote see them.
    """


@env.command("list")
@json_option
def list_variables(as_json: bool) -> None:
    """List the names; values are never shown."""
    names = _variables().names()
    if as_json:
        print_json([{"name": name} for name in names])
    else:
        print_table(("variable",), ((name,) for name in names))


@env.command("set")
@click.argument("name")
@click.argument("more", nargs=-1, metavar="")
def set_variable(name: str, more: tuple[str, ...]) -> None:
    """Set NAME to a value, which is not shown while you type it.

    Without a terminal, the value is read from standard input.
    """
    if more:
        raise UsageError(
            "a value is not an argument, for other users and the shell's history see those: type it when asked, or "
            "pipe it in"
        )
    variables = _variables()
    was_set = variables.set(name, _read_value(name))
    print_text(f"{name} is {'changed' if was_set else 'set'}")


@env.command("remove")
@click.argument("name")
def remove(name: str) -> None:
    """Remove the variable NAME."""
    if not _variables().remove(name):
        raise NotFoundError(f"no variable {name!r} is set; see: oneclaw env list")
    print_text(f"{name} is removed")


def _variables() -> EnvironmentVariables:
    return EnvironmentVariables(find_home())


def _read_value(name: str) -> str:
    if is_terminal(sys.stdin):
        typed: str = click.prompt(f"Value of {name} (not shown)", hide_input=True, err=True)
        return typed
    content = sys.stdin.buffer.read(_MAX_BYTES)
    try:
        return content.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise UsageError("the value is not UTF-8 text") from None
