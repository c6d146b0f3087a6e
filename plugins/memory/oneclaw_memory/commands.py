"""`oneclaw memory`: what is remembered about the user."""

from __future__ import annotations

import sys

import click

from oneclaw_core import UsageError
from oneclaw_core.cli import is_terminal, json_option, print_json, print_text
from oneclaw_memory.document import NOTES, SECTIONS, sections
from oneclaw_memory.file import MemoryFile, memory_path


@click.group()
def memory() -> None:
    """Show and change the memory about you: the file MEMORY.md in the home.

    Models see it in new sessions, and add to it with the tool save_memory.
    """


@memory.command("show")
@json_option
def show(as_json: bool) -> None:
    """Show the whole memory."""
    file = _file()
    text = file.read()
    if as_json:
        found = [{"section": each.heading, "entries": list(each.entries)} for each in sections(text) if each.entries]
        print_json({"path": str(file.path), "characters": len(text), "sections": found})
    elif any(each.entries for each in sections(text)):
        print_text(text.rstrip("\n"))
    else:
        print_text("nothing is remembered yet")


@memory.command("path")
def path() -> None:
    """Print the path of the file, which may not exist yet."""
    print_text(str(_file().path))


@memory.command("add")
@click.option(
    "--category",
    type=click.Choice(list(SECTIONS), case_sensitive=False),
    default=NOTES,
    show_default=True,
    help="The section that it belongs to.",
)
@click.argument("text")
def add(text: str, category: str) -> None:
    """Remember TEXT, a sentence or a Markdown list.

    TEXT can be - for standard input. Write -- before a TEXT that begins with a dash.
    """
    from oneclaw_core.cli import read_stdin

    change = _file().change(read_stdin() if text == "-" else text, category)
    print_text(f"remembered under {change.section.heading}" if change.section is not None else "remembered")


@memory.command("remove")
@click.argument("text")
def remove(text: str) -> None:
    """Forget TEXT.

    The memory must have this exact text, and only once.
    """
    if not text.strip():
        raise UsageError("say what to forget, in the words in which it is remembered")
    _file().change("", replaces=text)
    print_text("forgotten")


@memory.command("edit")
def edit() -> None:
    """Open the file in your editor, that of VISUAL or EDITOR."""
    file = _file()
    if not is_terminal(sys.stdin):
        raise UsageError(f"there is no terminal here to edit in: change the file {file.path} instead")
    file.create()
    click.edit(filename=str(file.path))


def _file() -> MemoryFile:
    from oneclaw_core import find_home
    from oneclaw_core.config import known_secret_check

    home = find_home()
    return MemoryFile(memory_path(home), known_secret_check(home))
