"""Whether a connection pooler gives a client the same session of the server throughout, as OneClaw needs it.

A pooler that shares sessions out for a transaction at a time (PgBouncer's ``pool_mode=transaction``) takes a lock of a
session in one of them and gives it back in another. Two processes would then be in one turn, or a lock would stay for
ever, and nothing would say so.

Behind any pooler, the server's process is not the one that the client was told of as it connected. That costs nothing
to see; only then is it asked which process serves this connection, and another one, while neither has a transaction.
"""

from __future__ import annotations

import selectors
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg

from oneclaw_core.errors import StoreError

if TYPE_CHECKING:
    from psycopg import Connection

_ASK = b"SELECT pg_backend_pid()"
# Where all sessions are in use, a pooler that shares them out would still give the one that this connection leaves.
_WAIT_SECONDS = 2.0


def refuse_shared_sessions(connection: Connection[Any], conninfo: str, name: str) -> None:
    """Make sure that a connection through a pooler keeps its session.

    Args:
        connection: to look at; no transaction is under way in it.
        conninfo: it was made with.
        name: of the database, for the message.

    Raises:
        StoreError: the pooler shares sessions out.
        psycopg.Error: the connection was lost.
    """
    first = _server_process(connection)
    other = _process_of_another(conninfo)
    # Twice: two sessions that a pooler gives out in turn would come round to the first.
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
    """The process that serves another connection; ``None`` if none can be had now."""
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
