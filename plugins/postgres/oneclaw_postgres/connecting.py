"""Connect to a PostgreSQL server, but not through a pooler that assigns each transaction another session of the server.

Behind such a pooler (PgBouncer's ``pool_mode=transaction``), a lock is acquired in one session and released in another.
Two processes could then run turns of one session, or a lock would never be released, without any error.

Behind any pooler, the process ID of the server differs from the one that the client got when it connected, which is
cheap to check. Only then are the processes of this connection and of another one compared, outside of transactions.
"""

from __future__ import annotations

import hashlib
import selectors
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg

from oneclaw_core import StoreError
from oneclaw_postgres.address import KEEPALIVE, SCHEMA

if TYPE_CHECKING:
    from oneclaw_postgres.address import PostgresAddress

_STATEMENT_SECONDS = 60.0
_ASK = b"SELECT pg_backend_pid()"
# If all sessions are in use, a pooler that shares them would still assign the one that this connection leaves.
_WAIT_SECONDS = 2.0


def connect(address: PostgresAddress, busy_seconds: float) -> psycopg.Connection[tuple[Any, ...]]:
    """Connect to a server, in autocommit mode.

    Args:
        address: from :func:`~oneclaw_postgres.address.parse`.
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
            _refuse_shared_sessions(connection, address.conninfo, address.name)
            connection.execute(f"SELECT {calls}", values)
    except BaseException:
        connection.close()
        raise
    return connection


def lock_key(what: str) -> int:
    """Return the number of an advisory lock, the same in all processes."""
    return int.from_bytes(hashlib.blake2b(f"oneclaw:{what}".encode(), digest_size=8).digest(), "big", signed=True)


def _refuse_shared_sessions(connection: psycopg.Connection[Any], conninfo: str, name: str) -> None:
    """Check that a connection through a pooler keeps its session.

    Args:
        connection: without an open transaction.
        conninfo: of the connection.
        name: of the database, for the message.

    Raises:
        StoreError: the pooler shares sessions between connections.
        psycopg.Error: the connection was lost.
    """
    first = _server_process(connection)
    other = _process_of_another(conninfo)
    # Twice: of two sessions that alternate, the second check would see the first one again.
    seen = {first, _server_process(connection), _server_process(connection)}
    if len(seen) > 1 or other in seen:
        raise StoreError(
            f"the database {name} is behind a pooler that gives each transaction another session, where locks do not "
            "hold: set the pooler to session mode (PgBouncer: pool_mode=session), or name the server itself in the URL"
        )


def _server_process(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(_ASK).fetchone()
    return int(row[0]) if row is not None else 0


def _process_of_another(conninfo: str) -> int | None:
    """Return the server process of another connection; ``None`` if there is none available."""
    deadline = time.monotonic() + _WAIT_SECONDS
    try:
        with closing(psycopg.connect(conninfo, autocommit=True)) as other:
            server = other.pgconn
            server.send_query(_ASK)
            server.flush()
            with selectors.DefaultSelector() as selector:
                selector.register(server.socket, selectors.EVENT_READ)
                while server.is_busy():
                    if not selector.select(max(deadline - time.monotonic(), 0)):
                        return None
                    server.consume_input()
            result = server.get_result()
            answer = result.get_value(0, 0) if result is not None else None
            return int(answer) if answer else None
    except psycopg.Error:
        return None
