"""The sections of memory and plugins in a session's system prompt.

They stay the same within a session, so that each request has the prefix of the one before and hits the service's prompt
cache. They are renewed when the cache is lost anyway: after an hour without a request, or with a new summary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.sessions import sessions as stored_sessions
from oneclaw_core.sessions.fences import update_own
from oneclaw_core.sessions.timestamps import now
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from oneclaw_core.sessions.connection import Connection

REST_MICROSECONDS = 3_600 * 1_000_000

_GET = "SELECT memory, updated_at FROM sessions WHERE id = :it"
_SET = "UPDATE sessions SET memory = :shown WHERE id = :it"


def due(connection: Connection, session_id: str, memory: str) -> str:
    """Return the sections for the session's next turn; called before the session is touched.

    Args:
        connection: the transaction.
        session_id: the session; one that is not there is shown the memory as it is.
        memory: as it is now.
    """
    shown = kept(connection, session_id)
    return memory if shown is None else shown


def take(connection: Connection, session_id: str, memory: str) -> str:
    """Return the sections for the session's next turn, and store them."""
    shown = kept(connection, session_id)
    if shown is None:
        write(connection, session_id, memory)
        return memory
    return shown


def write(connection: Connection, session_id: str, memory: str) -> None:
    """Store the sections of a session.

    Raises:
        SessionBusyError: it is another turn's by now.
    """
    changed = update_own(connection, _SET, {"it": clean_text(session_id), "shown": clean_text(memory)})
    if changed == 0 and connection.token is not None:
        raise stored_sessions.refusal(connection, session_id)


def kept(connection: Connection, session_id: str) -> str | None:
    """Return the stored sections of a session, ``None`` if they are to be renewed."""
    row = connection.execute(_GET, {"it": clean_text(session_id)}).fetchone()
    if row is None or row[0] is None or now() - row[1] > REST_MICROSECONDS:
        return None
    return str(row[0])
