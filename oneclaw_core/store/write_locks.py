"""Keeping transactions that write from interfering with one another, where a database runs several at a time.

SQLite runs one at a time by itself, so nothing is done for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.store.postgres_address import lock_key

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LOCK = "SELECT pg_advisory_xact_lock(%s::bigint)"
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(%s::bigint)"


def runs_several(connection: Connection) -> bool:
    """Whether the database runs several transactions that write at a time, as PostgreSQL does."""
    return connection.dialect.name == "postgresql"


def one_at_a_time(connection: Connection, what: str) -> None:
    """Wait for other transactions that asked for the same, and keep those that will from running until this one ends.

    Args:
        connection: of the transaction; what it reads from now on is what those others stored.
        what: what the transaction is about, such as ``agents``.
    """
    if runs_several(connection):
        connection.exec_driver_sql(_LOCK, (lock_key(what),))


def is_alone(connection: Connection, what: str) -> bool:
    """The same, but instead of waiting say whether another transaction is at it."""
    return not runs_several(connection) or bool(connection.exec_driver_sql(_TRY_LOCK, (lock_key(what),)).scalar_one())
