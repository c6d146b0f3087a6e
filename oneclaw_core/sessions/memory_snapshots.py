"""What the models of a session are shown of the user's memory and by plugins, beside the agent's prompt.

It stays as it was when the session began, so that each request begins with the bytes of the one before and is found in
the service's prompt cache. It is renewed when that is lost anyway: after an hour of rest, or with a new summary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.sessions import sessions as stored_sessions
from oneclaw_core.sessions.fences import update_own
from oneclaw_core.sessions.timestamps import now
from oneclaw_core.types.tool_result import clean_text

if TYPE_CHECKING:
    from oneclaw_core.sessions.connection import Connection

REST_MICROSECONDS = 3_600 * 1_000_000

_GET = "SELECT memory, updated_at FROM sessions WHERE id = :it"
_SET = "UPDATE sessions SET memory = :shown WHERE id = :it"


def due(connection: Connection, session_id: str, memory: str) -> str:
    """Find what the session's next turn is to show, before the session is touched.

    Args:
        connection: the transaction.
        session_id: the session; one that is not there is shown the memory as it is.
        memory: as it is now.
    """
    shown = kept(connection, session_id)
    return memory if shown is None else shown


def take(connection: Connection, session_id: str, memory: str) -> str:
    """The same, and keep it."""
    shown = kept(connection, session_id)
    if shown is None:
        write(connection, session_id, memory)
        return memory
    return shown


def write(connection: Connection, session_id: str, memory: str) -> None:
    """Set what the session is shown from now on.

    Raises:
        SessionBusyError: it is another turn's by now.
    """
    changed = update_own(connection, _SET, {"it": clean_text(session_id), "shown": clean_text(memory)})
    if changed == 0 and connection.token is not None:
        raise stored_sessions.refusal(connection, session_id)


def kept(connection: Connection, session_id: str) -> str | None:
    """Return what the session is shown, ``None`` if that is to be renewed."""
    row = connection.execute(_GET, {"it": clean_text(session_id)}).fetchone()
    if row is None or row[0] is None or now() - row[1] > REST_MICROSECONDS:
        return None
    return str(row[0])
