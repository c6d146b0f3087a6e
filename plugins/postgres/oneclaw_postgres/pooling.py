"""Detect connection poolers that assign each transaction another session of the server.

Behind such a pooler (PgBouncer's ``pool_mode=transaction``), a lock is acquired in one session and released in another.
Two processes could then run turns of one session, or a lock would never be released, without any error.

Behind any pooler, the process ID of the server differs from the one that the client got when it connected, which is
cheap to check. Only then are the processes of this connection and of another one compared, outside of transactions.
"""

from __future__ import annotations

import selectors
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg

from oneclaw_core import StoreError

if TYPE_CHECKING:
    from psycopg import Connection

_ASK = b"SELECT pg_backend_pid()"
# If all sessions are in use, a pooler that shares them would still assign the one that this connection leaves.
_WAIT_SECONDS = 2.0


def refuse_shared_sessions(connection: Connection[Any], conninfo: str, name: str) -> None:
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


def _server_process(connection: Connection[Any]) -> int:
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
