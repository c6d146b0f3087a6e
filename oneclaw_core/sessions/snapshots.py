"""Snapshots of a SQLite database, taken before it changes as a whole."""

from __future__ import annotations

import logging
import re
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreError
from oneclaw_core.sessions.sqlite_connection import BUSY_SECONDS, SqliteConnection
from oneclaw_core.sessions.sqlite_files import new_file, unusable
from oneclaw_core.system.private_files import make_private_directory

if TYPE_CHECKING:
    from pathlib import Path


KEPT_SNAPSHOTS = 5
_MOMENT = "%Y%m%dT%H%M%S.%fZ"
SNAPSHOT = re.compile(r"(?P<name>(?P<stem>.+)-(?P<moment>\d{8}T\d{6}\.\d{6}Z)-(?P<reason>.+)\.db)(?P<log>-wal)?")
_OF_MIGRATION = re.compile(r"(.+-)?schema-\d+")
_log = logging.getLogger("oneclaw.store")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a database.

    Attributes:
        path: of the snapshot.
        database: the file that it is a copy of.
        taken_at: when it was taken.
        reason: such as ``schema-5`` for one from before a migration of schema 5, or ``before-restore``.
        size_bytes: of the snapshot.
    """

    path: Path
    database: Path
    taken_at: datetime
    reason: str
    size_bytes: int


def snapshot_directory(path: Path) -> Path:
    """Return the directory of a database's snapshots, beside it."""
    return path.parent / "snapshots"


def list_snapshots(directory: Path) -> list[Snapshot]:
    """List the snapshots of the databases in a directory, the oldest first."""
    found = []
    for file in snapshot_directory(directory / "any.db").glob("*.db"):
        named = SNAPSHOT.fullmatch(file.name)
        with suppress(OSError, ValueError):
            if named is not None:
                taken_at = datetime.strptime(named["moment"], _MOMENT).replace(tzinfo=UTC)
                database = directory / f"{named['stem']}.db"
                found.append(Snapshot(file, database, taken_at, named["reason"], file.stat().st_size))
    return sorted(found, key=lambda snapshot: snapshot.taken_at)


def snapshot_before_migration(path: Path, version: int, newest: int, plugin: str | None = None) -> Path:
    """Take a snapshot of a SQLite file that is about to be migrated, and say where it is.

    Args:
        path: the file.
        version: of the schema now.
        newest: of the schema afterwards.
        plugin: whose tables are migrated, if it is not the file as a whole.

    Raises:
        StoreError: it cannot be written.
    """
    snapshot = take_snapshot(path, f"{plugin}-schema-{version}" if plugin else f"schema-{version}")
    what = f"the tables of plugin {plugin} in {path}" if plugin else path
    _log.warning("migrating %s from schema %d to %d; snapshot: %s", what, version, newest, snapshot)
    return snapshot


def take_snapshot(path: Path, reason: str) -> Path:
    """Copy a database into its snapshots, of which the newest few are kept.

    Returns:
        The snapshot.

    Raises:
        StoreError: it cannot be written.
    """
    target = _new_snapshot(path, reason)
    with closing(SqliteConnection(path, BUSY_SECONDS)) as source:
        copy_database(source, target)
    _remove_old(path)
    return target


def copy_database(source: SqliteConnection, target: Path) -> None:
    """Copy a database into a new file."""
    with new_file(target) as temporary:
        fill(source, temporary)


def fill(source: SqliteConnection, temporary: Path) -> None:
    """Copy a database into an empty file."""
    with closing(SqliteConnection(temporary, BUSY_SECONDS)) as copy:
        source.driver.backup(copy.driver)
        # One file, which can be moved and read anywhere.
        copy.execute("PRAGMA journal_mode = DELETE")


def _new_snapshot(path: Path, reason: str) -> Path:
    directory = snapshot_directory(path)
    try:
        make_private_directory(directory)
    except OSError as error:
        raise unusable(directory, error) from error
    moment = datetime.now(UTC).strftime(_MOMENT)
    return directory / f"{path.stem}-{moment}-{reason}.db"


def keep_damaged(path: Path) -> Path | None:
    """Move what is left of a database to the snapshots, with its recent transactions; byte for byte."""
    target = _new_snapshot(path, "damaged")
    kept = None
    try:
        for suffix in ("", "-wal"):
            file = path.with_name(path.name + suffix)
            if file.is_file() and file.stat().st_size:
                moved = target.with_name(target.name + suffix)
                file.replace(moved)
                moved.chmod(0o600)
                kept = kept or moved
    except OSError as error:
        raise StoreError(f"what is left of {path} cannot be moved to {target.parent}: {error.strerror}") from error
    _remove_old(path)
    return kept


def _remove_old(path: Path) -> None:
    """Keep the newest snapshots of a database: those from before migrations, and separately all others."""
    kinds: dict[bool, set[str]] = {True: set(), False: set()}
    for file in snapshot_directory(path).iterdir():
        named = SNAPSHOT.fullmatch(file.name)
        if named is not None and named["stem"] == path.stem:
            kinds[_OF_MIGRATION.fullmatch(named["reason"]) is not None].add(named["name"])
    for names in kinds.values():
        for name in sorted(names)[:-KEPT_SNAPSHOTS]:
            for suffix in ("", "-wal"):
                with suppress(OSError):
                    (snapshot_directory(path) / f"{name}{suffix}").unlink()
