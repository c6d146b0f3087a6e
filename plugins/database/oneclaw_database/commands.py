"""`oneclaw db copy` and `oneclaw db salvage`."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core import UsageError
from oneclaw_core.cli import (
    backend_of,
    is_terminal,
    json_option,
    print_json,
    print_table,
    print_text,
    warn,
)
from oneclaw_database.backends import database_backend
from oneclaw_database.copying import copy as copy_database
from oneclaw_database.copying import plugins_with_tables
from oneclaw_database.salvage import salvage as rescue

if TYPE_CHECKING:
    from collections.abc import Callable


@click.command()
@click.argument("urls", nargs=-1, metavar="[FROM_URL] TO_URL")
@click.option("--to", "target", help="Where to, instead of TO_URL.")
@json_option
def copy(urls: tuple[str, ...], target: str | None, as_json: bool) -> None:
    """Copy everything into an empty database.

    Each row is checked. Without FROM_URL, it copies the database that OneClaw uses now. An interrupted copy leaves
    nothing behind. Do not use OneClaw meanwhile: later changes are not copied. Tables of plugins are not copied.
    """
    named = [*urls, *([target] if target is not None else [])]
    if not 1 <= len(named) <= 2:
        raise UsageError("name the database to copy into, as in: oneclaw db copy --to URL")
    source = database_backend(named[0] if len(named) == 2 else None)
    tables = copy_database(source, backend_of(named[-1], os.environ), _progress())
    left_out = plugins_with_tables(source)
    if left_out:
        warn(f"the tables of plugins are not copied and begin empty in the copy: those of {', '.join(left_out)}")
    documents: list[dict[str, Any]] = [
        {"table": each.name, "rows": each.rows, "sha256": each.sha256} for each in tables
    ]
    if as_json:
        print_json(documents)
        return
    print_table(
        ("table", "rows", "sha256"), [(each["table"], str(each["rows"]), each["sha256"][:16]) for each in documents]
    )
    print_text("all rows are the same in both; set ONECLAW_DATABASE_URL to use the copy")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "target",
    metavar="NEW",
    type=click.Path(path_type=Path),
    help="The new database; by default beside FILE, with -salvaged in its name.",
)
@json_option
def salvage(file: Path, target: Path | None, as_json: bool) -> None:
    """Rescue the readable content of a damaged SQLite file, FILE.

    The content goes into a new database; FILE is not changed. Recent transactions in FILE-wal are read, too, if that
    file exists. It lists what was saved and what was lost; the exit status is 1 if there is nothing to save.
    """
    found = rescue(file, target or file.with_name(f"{file.stem}-salvaged.db"))
    if as_json:
        print_json(
            {
                "database": str(found.path),
                "pages": found.pages,
                "rows": found.rows,
                "damaged_pages": found.damaged,
                "senseless_rows": found.refused,
                "repairs": found.notes,
            }
        )
        return
    print_table(("table", "rows saved"), [(name, str(count)) for name, count in sorted(found.rows.items()) if count])
    for line in found.losses():
        print_text(line)
    print_text(f"what was saved is in {found.path}; to use it: oneclaw db restore {shlex.quote(str(found.path))}")


def _progress() -> Callable[[str, int], None]:
    """Show how far a copy is, on a terminal."""
    if not is_terminal(sys.stderr):
        return lambda table, rows: None

    def show(table: str, rows: int) -> None:
        click.echo(f"\r\x1b[K{table}: {rows}", nl=False, err=True)

    return show
