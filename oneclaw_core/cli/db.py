"""`oneclaw db`: the database that everything is stored in, and moving it to another one."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import json_option, print_json, print_table, print_text
from oneclaw_core.errors import NotFoundError
from oneclaw_core.home import find_home
from oneclaw_core.plugins.loading.stores import backend_of, home_with_backend

if TYPE_CHECKING:
    from oneclaw_core.sessions.backend import Backend


@click.group(cls=CommandGroup)
def db() -> None:
    """Show and migrate the database, back it up, restore or rescue it, and copy it into another one.

    A database is written as a URL: sqlite:///PATH, or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE. The password
    can be in the environment variable PGPASSWORD, or in ~/.pgpass, instead.
    """


@db.command("status")
@click.argument("url", required=False)
@json_option
def show_status(url: str | None, as_json: bool) -> None:
    """Show which database is used and how much is in it.

    By default that is the one of ONECLAW_DATABASE_URL, or of the home.
    """
    from oneclaw_core.sessions import database_status

    found = database_status.status(database_backend(url))
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
    from oneclaw_core.sessions import database_status

    found = database_status.migrate(database_backend() if url is None else backend_of(url, os.environ))
    print_text(f"{found.name} has schema {found.version}")


@db.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
def backup(file: Path) -> None:
    """Copy the database into the new file FILE, readable only by you. You can go on using OneClaw.

    This is for SQLite; use pg_dump for a PostgreSQL database.
    """
    from oneclaw_core.sessions import snapshots

    copy = snapshots.back_up(database_backend(), file)
    print_text(f"the database is in {copy}; to restore it: oneclaw db restore {shlex.quote(str(copy))}")


@db.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
def restore(file: Path) -> None:
    """Restore the database from the copy FILE.

    FILE is a backup or a snapshot, and is checked first. The previous content is kept as a snapshot. Refused while a
    turn runs. This is for SQLite; use pg_restore for a PostgreSQL database.
    """
    from oneclaw_core.sessions import snapshots

    home, backend = home_with_backend(find_home(), os.environ)
    kept = snapshots.restore(backend, file, home.locks)
    print_text(f"{backend.name} has the content of {file}")
    if kept is not None:
        print_text(f"what was there before is in {kept}")


def database_backend(url: str | None = None) -> Backend:
    """Return the backend of an existing database.

    A missing file is refused: a typo in its path would create a new database, and look like a loss of all data.

    Args:
        url: of the database; ``None`` for the one that OneClaw uses, which may have to be made yet.

    Raises:
        NotFoundError: there is no such file.
        StoreError: the URL is invalid.
    """
    if url is None:
        return home_with_backend(find_home(), os.environ)[1]
    backend = backend_of(url, os.environ)
    if not backend.exists():
        raise NotFoundError(f"there is no database {backend.name}; to make one: oneclaw db migrate sqlite:///PATH")
    return backend
