"""`oneclaw db`: the database that everything is stored in, and moving it to another one."""

from __future__ import annotations

import logging
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from oneclaw_core import find_home
from oneclaw_core.cli import backend_of, home_with_backend, json_option, print_json, print_table, print_text
from oneclaw_database.backends import database_backend
from oneclaw_database.backups import back_up, list_snapshots
from oneclaw_database.backups import restore as restore_copy
from oneclaw_database.commands import copy, salvage
from oneclaw_database.status import migrate as migrate_database
from oneclaw_database.status import status

if TYPE_CHECKING:
    from oneclaw_core import Home
    from oneclaw_database.backups import Snapshot


@click.group()
def db() -> None:
    """Show and migrate the database, back it up, restore or rescue it, and copy it into another one.

    A database is written as a URL: sqlite:///PATH, or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE. The password
    can be in the environment variable PGPASSWORD, or in ~/.pgpass, instead.
    """


db.add_command(copy)
db.add_command(salvage)


@db.command("status")
@click.argument("url", required=False)
@json_option
def show_status(url: str | None, as_json: bool) -> None:
    """Show which database is used and how much is in it.

    By default that is the one of ONECLAW_DATABASE_URL, or of the home.
    """
    found = status(database_backend(url))
    if as_json:
        print_json({"database": found.name, "schema": found.version, "rows": found.rows})
        return
    print_text(f"{found.name}, schema {found.version}")
    print_table(("table", "rows"), [(name, str(count)) for name, count in found.rows.items()])


@db.command("migrate")
@click.argument("url", required=False)
def migrate(url: str | None) -> None:
    """Make the database, or bring it to the current schema.

    Commands that change something do so by themselves; those that only read ask for this command. A SQLite file is
    snapshotted before; back up a PostgreSQL database with pg_dump.
    """
    # What is logged about it is the result of this command, and no warning.
    logger = logging.getLogger("oneclaw.store")
    logger.addFilter(_print_record)
    try:
        found = migrate_database(database_backend() if url is None else backend_of(url, os.environ))
    finally:
        logger.removeFilter(_print_record)
    print_text(f"{found.name} has schema {found.version}")


@db.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
def backup(file: Path) -> None:
    """Copy the database into the new file FILE, readable only by you. You can go on using OneClaw.

    This is for SQLite; use pg_dump for a PostgreSQL database.
    """
    copy = back_up(database_backend(), file)
    print_text(f"the database is in {copy}; to restore it: oneclaw db restore {shlex.quote(str(copy))}")


@db.command("snapshots")
@json_option
def show_snapshots(as_json: bool) -> None:
    """List the snapshots of the home's databases, the oldest first.

    OneClaw takes them before migrations and restores. The newest five of each kind are kept.
    """
    home, _ = home_with_backend(find_home(), os.environ)
    found = _snapshots(home)
    if as_json:
        print_json(
            [
                {
                    "name": each.path.name,
                    "database": str(each.database),
                    "taken_at": each.taken_at.isoformat(timespec="seconds"),
                    "reason": each.reason,
                    "size_bytes": each.size_bytes,
                    "path": str(each.path),
                }
                for each in found
            ]
        )
        return
    rows = [
        (each.path.name, each.database.name, f"{each.taken_at:%Y-%m-%d %H:%M:%SZ}", each.reason, str(each.size_bytes))
        for each in found
    ]
    print_table(("name", "database", "taken at", "reason", "bytes"), rows)


@db.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
def restore(file: Path) -> None:
    """Restore the database from the copy FILE.

    FILE is a backup, or a snapshot or its name, and is checked first. The previous content is kept as a snapshot.
    Refused while a program has the database open. This is for SQLite; use pg_restore for a PostgreSQL database.
    """
    home, backend = home_with_backend(find_home(), os.environ)
    if not file.exists():
        file = next((each.path for each in _snapshots(home) if each.path.name == file.name == str(file)), file)
    target, kept = restore_copy(backend, file, home.locks)
    print_text(f"{target} has the content of {file}")
    if kept is not None:
        print_text(f"what was there before is in {kept}")


def _print_record(record: logging.LogRecord) -> bool:
    """Print a record, which goes on to the log as a note."""
    record.levelno, record.levelname = logging.INFO, "INFO"
    print_text(record.getMessage())
    return True


def _snapshots(home: Home) -> list[Snapshot]:
    """List the snapshots beside the main database, and beside those in the folders of plugins."""
    database = home.database_path
    folders = [*([database.parent] if database is not None else []), *sorted((home.path / "plugins").glob("*"))]
    return sorted((each for folder in folders for each in list_snapshots(folder)), key=lambda each: each.taken_at)
