"""`oneclaw db`: the database that everything is stored in, and moving it to another one."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import json_option, print_json, print_table, print_text, warn
from oneclaw_core.errors import NotFoundError, UsageError
from oneclaw_core.home import find_home
from oneclaw_core.plugins.loading.stores import backend_of, home_with_backend

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core.sessions.backend import Backend


@click.group(cls=CommandGroup)
def db() -> None:
    """Show and migrate the database, back it up, restore or rescue it, and copy it into another one.

    A database is written as a URL: sqlite:///PATH, or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE. The password
    can stand in the environment variable PGPASSWORD, or in ~/.pgpass, instead.
    """


@db.command("status")
@click.argument("url", required=False)
@json_option
def show_status(url: str | None, as_json: bool) -> None:
    """Show which database is used and how much is in it.

    By default that is the one of ONECLAW_DATABASE_URL, or of the home.
    """
    from oneclaw_core.sessions import copying

    found = copying.status(_own() if url is None else _existing(url))
    if as_json:
        print_json({"database": found.name, "schema": found.version, "rows": found.rows})
        return
    print_text(f"{found.name}, schema {found.version}")
    print_table(("table", "rows"), [(name, str(count)) for name, count in found.rows.items()])


@db.command("migrate")
@click.argument("url", required=False)
def migrate(url: str | None) -> None:
    """Make the database, or bring it to the current schema.

    Commands that change something do so by themselves; those that only read ask for this command. The database is
    snapshotted before.
    """
    from oneclaw_core.sessions import copying

    found = copying.migrate(_own() if url is None else backend_of(url, os.environ))
    print_text(f"{found.name} has schema {found.version}")


@db.command("copy")
@click.argument("urls", nargs=-1, metavar="[FROM_URL] TO_URL")
@click.option("--to", "target", help="Where to, instead of TO_URL.")
@json_option
def copy(urls: tuple[str, ...], target: str | None, as_json: bool) -> None:
    """Copy everything into an empty database, and check it row by row.

    Without FROM_URL, it is the database that OneClaw uses now. An interrupted copy leaves nothing behind. Do not use
    OneClaw meanwhile: what is stored after the copy began is not in it. Tables that plugins made are not copied.
    """
    from oneclaw_core.sessions import copying

    named = [*urls, *([target] if target is not None else [])]
    if not 1 <= len(named) <= 2:
        raise UsageError("name the database to copy into, as in: oneclaw db copy --to URL")
    source = _existing(named[0]) if len(named) == 2 else _own()
    tables = copying.copy(source, backend_of(named[-1], os.environ), _progress())
    left_out = copying.plugins_with_tables(source)
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


@db.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
def backup(file: Path) -> None:
    """Copy the database into the new file FILE, readable by you alone. OneClaw can be used meanwhile.

    This is for SQLite; use pg_dump for a PostgreSQL database.
    """
    from oneclaw_core.sessions import snapshots

    copy = snapshots.back_up(_own(), file)
    print_text(f"the database is in {copy}; to restore it: oneclaw db restore {shlex.quote(str(copy))}")


@db.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
def restore(file: Path) -> None:
    """Restore the database from the copy FILE.

    FILE is a backup or a snapshot, and is checked first. What was there is kept as a snapshot. Refused while a turn
    runs. This is for SQLite; use pg_restore for a PostgreSQL database.
    """
    from oneclaw_core.sessions import snapshots

    home, backend = home_with_backend(find_home(), os.environ)
    kept = snapshots.restore(backend, file, home.locks)
    print_text(f"{backend.name} has the content of {file}")
    if kept is not None:
        print_text(f"what was there before is in {kept}")


@db.command("salvage")
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
    """Rescue what can be read of a damaged SQLite file, FILE.

    What is found goes into a new database; FILE is not changed. The recent transactions in FILE-wal are read, too, if
    that file is there. Tells what was saved and what was lost; the exit status is 1 if there is nothing to save.
    """
    from oneclaw_core.sessions.salvage import salvage as rescue

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
    from oneclaw_core.cli.output import is_terminal

    if not is_terminal(sys.stderr):
        return lambda table, rows: None

    def show(table: str, rows: int) -> None:
        click.echo(f"\r\x1b[K{table}: {rows}", nl=False, err=True)

    return show


def _own() -> Backend:
    _, backend = home_with_backend(find_home(), os.environ)
    return backend


def _existing(url: str) -> Backend:
    """Reject a missing file: a typo in its path would create a new database, and look like a loss of all data.

    Raises:
        NotFoundError: there is no such file.
        StoreError: the URL is invalid.
    """
    backend = backend_of(url, os.environ)
    if not backend.exists():
        raise NotFoundError(f"there is no database {backend.name}; to make one: oneclaw db migrate sqlite:///PATH")
    return backend
