"""All commands with their arguments and options, from the program itself and the plugins of this repository."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.main import BUILTIN_COMMANDS, command_line
from parts._markdown import code, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator


def markdown(arguments: list[str], lines: list[str]) -> str:
    """A heading for each command; ``builtin`` gives those of the core, ``plugins`` those that plugins bring."""
    program = command_line()
    context = _context(program, "oneclaw", None)
    names = program.list_commands(context)
    chosen = [name for name in names if (name in BUILTIN_COMMANDS) == (arguments == ["builtin"])]
    pieces = [piece for name in chosen for piece in _command(program, name, context, 3)]
    return "\n".join(pieces)


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    # A fixed width, independent of the terminal that builds the site.
    return click.Context(command, info_name=name, parent=parent, terminal_width=100, max_content_width=100)


def _command(group: click.Group, name: str, parent: click.Context, level: int) -> Iterator[str]:
    command = group.get_command(parent, name)
    if command is None or command.hidden:
        return
    context = _context(command, name, parent)
    yield f"{'#' * level} {context.command_path}\n"
    yield _help(command.help or command.short_help or "")
    yield f"```text\n{_usage(context)}\n```\n"
    options = [_option(parameter, context) for parameter in command.params if isinstance(parameter, click.Option)]
    rows = [row for row in options if row is not None]
    if rows:
        yield table(["option", "meaning"], rows)
    if command.epilog:
        yield _help(command.epilog)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            yield from _command(command, each, context, level + 1)


def _usage(context: click.Context) -> str:
    pieces = context.command.collect_usage_pieces(context)
    return " ".join([context.command_path, *pieces])


def _help(source: str) -> str:
    """Write a help text: paragraphs, and those behind a backspace character as they are."""
    paragraphs = inspect.cleandoc(source).partition("\f")[0].split("\n\n")
    return (
        "\n\n".join(
            f"```text\n{each.removeprefix(chr(8)).strip(chr(10))}\n```" if each.startswith("\b") else text(each)
            for each in paragraphs
        )
        + "\n"
    )


def _option(option: click.Option, context: click.Context) -> tuple[str, str] | None:
    record = option.get_help_record(context)
    return (code(record[0]), text(record[1])) if record else None
