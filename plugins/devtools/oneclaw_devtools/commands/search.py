"""`oneclaw plugins search`."""

from __future__ import annotations

from pathlib import Path

import click

from oneclaw_core import NotFoundError
from oneclaw_core.cli import json_option, load_catalog, print_json, print_table, print_text, printable_line


@click.command("search", short_help="Find plugins in the index.")
@click.argument("words", nargs=-1)
@click.option("--index", "path", type=click.Path(path_type=Path), help="The file of the index.")
@json_option
def search(words: tuple[str, ...], path: Path | None, as_json: bool) -> None:
    """Find plugins that work with this OneClaw, by words of their names, summaries and capabilities.

    The index is a file: of --index, of the setting devtools.index, or of the package oneclaw-plugin-index.
    """
    from oneclaw_devtools.installing.plugin_index import read_index
    from oneclaw_devtools.settings import index_path, read_settings

    index = read_index(path or index_path(read_settings(load_catalog(is_quiet=True).states.settings)))
    if index is None:
        raise NotFoundError("there is no index: install the package oneclaw-plugin-index, or give --index FILE")
    found = index.search(words)
    if as_json:
        print_json([each.model_dump(mode="json") for each in found])
        return
    if not found:
        print_text("no plugin that works with this OneClaw has these words")
        return
    rows = [
        (each.name, each.version, each.grade, f"{each.tokens.core:,} + {each.tokens.groups:,}", each.summary)
        for each in found
    ]
    shown = [tuple(map(printable_line, row)) for row in rows]
    print_table(("name", "version", "grade", "tokens", "summary"), shown)
