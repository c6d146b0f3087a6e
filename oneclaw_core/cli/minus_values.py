"""Values that begin with a minus, such as ``oneclaw config set telegram.groups -1001234567890``.

click reads them as options. A number, or a text with blanks, is no option of any command, so it is taken as a value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OPTION = re.compile(r"--?[A-Za-z][\w-]*(=.*)?", re.DOTALL)


def arguments_with_values(error: click.NoSuchOption, arguments: Sequence[str]) -> list[str] | None:
    """Return the arguments of the program with values behind ``--``, ``None`` if none was taken for an option.

    Args:
        error: that click raised for the arguments.
        arguments: of the program.
    """
    context = error.ctx
    if context is None or not _takes_values(context.command):
        return None
    start = _start_of(context, arguments)
    options, values = _told_apart(context.command, arguments[start:])
    moved = [*arguments[:start], *options, "--", *values]
    return moved if any(each.startswith("-") for each in values) and moved != list(arguments) else None


def with_hint(error: click.NoSuchOption) -> click.NoSuchOption:
    """Return the error with a hint how to write a value that begins with a minus."""
    if error.ctx is None or not _takes_values(error.ctx.command):
        return error
    message = f"{error.message.rstrip('.')}; if it is a value, write -- before it"
    return click.NoSuchOption(error.option_name, message, error.possibilities, error.ctx)


def _takes_values(command: click.Command) -> bool:
    return any(isinstance(each, click.Argument) for each in command.params)


def _start_of(context: click.Context, arguments: Sequence[str]) -> int:
    """Return where the arguments of a command begin."""
    start = 0
    for name in context.command_path.split()[1:]:
        start = arguments.index(name, start) + 1 if name in arguments[start:] else start
    return start


def _told_apart(command: click.Command, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the options, each with its value, and the other arguments."""
    with_value = set(_names_of_options_with_value(command))
    options: list[str] = []
    values: list[str] = []
    left = list(arguments)
    while left:
        each = left.pop(0)
        if each == "--":
            return options, [*values, *left]
        if _OPTION.fullmatch(each) is None:
            values.append(each)
            continue
        options.append(each)
        if each in with_value and left:
            options.append(left.pop(0))
    return options, values


def _names_of_options_with_value(command: click.Command) -> Iterator[str]:
    for each in command.params:
        if isinstance(each, click.Option) and not each.is_flag and not each.count:
            yield from each.opts
