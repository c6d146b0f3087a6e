"""Connect to a PostgreSQL server."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import psycopg

from oneclaw_postgres.address import KEEPALIVE, SCHEMA
from oneclaw_postgres.pooling import refuse_shared_sessions

if TYPE_CHECKING:
    from oneclaw_postgres.address import PostgresAddress

_STATEMENT_SECONDS = 60.0


def connect(address: PostgresAddress, busy_seconds: float) -> psycopg.Connection[tuple[Any, ...]]:
    """Connect to a server, in autocommit mode.

    Args:
        address: from :func:`parse`.
        busy_seconds: how long a statement waits for the locks of others.

    Raises:
        psycopg.Error: the server cannot be reached, or refuses.
        StoreError: it is behind a pooler that shares sessions between connections.
    """
    connection: psycopg.Connection[tuple[Any, ...]] = psycopg.connect(address.conninfo, autocommit=True)
    try:
        settings = {
            "search_path": SCHEMA,
            "lock_timeout": f"{round(busy_seconds * 1000)}ms",
            "statement_timeout": f"{round(_STATEMENT_SECONDS * 1000)}ms",
            "client_encoding": "UTF8",
            **{f"tcp_keepalives_{name}": str(value) for name, value in KEEPALIVE.items()},
        }
        # Settings in the URL take precedence.
        chosen = {name: value for name, value in settings.items() if f"{name}=" not in address.options}
        calls = ", ".join(["set_config(%s, %s, false)"] * len(chosen))
        values = [each for pair in chosen.items() for each in pair]
        # Behind a pooler, nothing is set before the session is known to belong to this connection.
        is_direct = f"SELECT {calls} WHERE pg_backend_pid() = %s"
        if not connection.execute(is_direct, [*values, connection.info.backend_pid]).fetchall():
            refuse_shared_sessions(connection, address.conninfo, address.name)
            connection.execute(f"SELECT {calls}", values)
    except BaseException:
        connection.close()
        raise
    return connection


def lock_key(what: str) -> int:
    """Return the number of an advisory lock, the same in all processes."""
    return int.from_bytes(hashlib.blake2b(f"oneclaw:{what}".encode(), digest_size=8).digest(), "big", signed=True)
