"""The user's decisions on permissions, and the log of what became of them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from oneclaw_core.sessions.connection import insertion
from oneclaw_core.sessions.timestamps import now, to_datetime, to_stored
from oneclaw_core.types.permissions import Decision, Grant, PermissionUse
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from datetime import datetime

    from oneclaw_core.sessions.connection import Connection

# The first version of the schema that has the table; decisions of older ones are permissions and patterns alone.
GRANTS_SINCE = 10
# How many entries the log keeps.
MAX_LOG_ENTRIES = 50_000
_PRUNED_EVERY = 500
_MAX_TEXT_CHARACTERS = 4_000

_THIS = """permission = :permission AND pattern = :pattern AND agent = :agent AND task = :task
        AND directory = :directory"""
_COLUMNS = "permission, pattern, agent, task, directory, decision, expires_at, source, created_at, last_used_at"
_GRANTS = f"SELECT {_COLUMNS} FROM grants ORDER BY permission, pattern, id"
_PERMISSIONS = "SELECT name, decision FROM permissions ORDER BY name"
# Of two with the same key the newer one holds.
_SET_GRANT = f"""
    INSERT INTO grants ({_COLUMNS})
    VALUES (:permission, :pattern, :agent, :task, :directory, :decision, :expires_at, :source, :created_at, NULL)
    ON CONFLICT (permission, pattern, agent, task, directory) DO UPDATE SET
        decision = excluded.decision, expires_at = excluded.expires_at, source = excluded.source,
        created_at = excluded.created_at, last_used_at = NULL"""
_REMOVE_GRANTS = "DELETE FROM grants WHERE permission = :permission AND pattern = :pattern"
_REMOVE_GRANT = f"DELETE FROM grants WHERE {_THIS}"
_REMOVE_TASK_GRANTS = "DELETE FROM grants WHERE task = :task"
_RESET_GRANTS = "DELETE FROM grants"
_USED = f"UPDATE grants SET last_used_at = :moment WHERE {_THIS}"
# All but the key of the grant.
_LOG_COLUMNS = tuple(each.name for each in fields(PermissionUse) if each.name != "grant")
_RECORD = insertion("permission_log", _LOG_COLUMNS)
_PRUNE = "DELETE FROM permission_log WHERE id <= :id"
_READ_LOG = f"SELECT {', '.join(_LOG_COLUMNS)} FROM permission_log"
_LOG = f"{_READ_LOG} ORDER BY id DESC LIMIT :limit"
_LOG_OF_SESSION = f"{_READ_LOG} WHERE session_id = :session ORDER BY id DESC LIMIT :limit"


def read_grants(connection: Connection) -> tuple[Grant, ...]:
    """Read what the user decided, by permission and pattern, without what only a newer version understands."""
    rows = connection.execute(_GRANTS).fetchall()
    return tuple(_grant(row) for row in rows if row[5] in set(Decision))


def read_permissions(connection: Connection) -> tuple[Grant, ...]:
    """Read what the user decided from a database of a version before :data:`GRANTS_SINCE`."""
    rows = connection.execute(_PERMISSIONS).fetchall()
    splits = ((name.partition(":"), decision) for name, decision in rows if decision in set(Decision))
    return tuple(
        Grant(permission, pattern or None, Decision(decision), source="version 0.1")
        for (permission, _, pattern), decision in splits
    )


def set_grant(connection: Connection, grant: Grant) -> None:
    """Store a decision; it takes the place of one on the same permission, pattern, agent, task and directory."""
    expires_at = to_stored(grant.until) if grant.until is not None else None
    values = {"decision": str(grant.decision), "expires_at": expires_at, "source": grant.source, "created_at": now()}
    connection.execute(_SET_GRANT, {**_key(grant.key), **values})


def remove_grants(connection: Connection, permission: str, pattern: str | None = None) -> int:
    """Remove and count the decisions on a permission as a whole, or on one pattern of it, for whomever they hold."""
    return connection.execute(
        _REMOVE_GRANTS, {"permission": clean_text(permission), "pattern": clean_text(pattern or "")}
    ).rowcount


def remove_grant(connection: Connection, grant: Grant) -> bool:
    """Remove one decision; return False if it is gone."""
    return bool(connection.execute(_REMOVE_GRANT, _key(grant.key)).rowcount)


def remove_task_grants(connection: Connection, task: str) -> int:
    """Remove and count the decisions for a scheduled task, given its id."""
    return connection.execute(_REMOVE_TASK_GRANTS, {"task": clean_text(task)}).rowcount


def reset_grants(connection: Connection) -> int:
    """Remove and count all decisions."""
    return connection.execute(_RESET_GRANTS).rowcount


def record_use(connection: Connection, use: PermissionUse) -> None:
    """Add an entry to the log, and note with the grant that it was used. The log keeps the newest entries."""
    moment = now()
    number = connection.insert_numbered(
        _RECORD,
        {
            "permission": clean_text(use.permission),
            "subject": _shortened(use.subject),
            "detail": _shortened(use.detail),
            "tool_name": clean_text(use.tool_name),
            "is_granted": use.is_granted,
            "decided_by": use.decided_by,
            "session_id": use.session_id,
            "agent": _shortened(use.agent),
            "task": _shortened(use.task),
            "directory": _shortened(use.directory),
            "at": moment,
        },
        "id",
    )
    if use.grant is not None:
        connection.execute(_USED, {**_key(use.grant), "moment": moment})
    if number > MAX_LOG_ENTRIES and number % _PRUNED_EVERY == 0:
        connection.execute(_PRUNE, {"id": number - MAX_LOG_ENTRIES})


def record_known_use(connection: Connection, use: PermissionUse, known: tuple[Grant, ...]) -> bool:
    """Record a use that was granted by what was known; return False, and record nothing, if that has changed."""
    if read_grants(connection) != known:
        return False
    record_use(connection, use)
    return True


def read_log(connection: Connection, limit: int, session_id: str | None = None) -> list[PermissionUse]:
    """Read the newest entries of the log, the newest first.

    Args:
        limit: how many at most.
        session_id: of which session; ``None`` for all.
    """
    if session_id is None:
        rows = connection.execute(_LOG, {"limit": limit}).fetchall()
    else:
        rows = connection.execute(_LOG_OF_SESSION, {"limit": limit, "session": session_id}).fetchall()
    return [
        PermissionUse(
            **{
                **row,
                "detail": row["detail"] or "",
                "is_granted": bool(row["is_granted"]),
                "at": to_datetime(row["at"]),
            }
        )
        for row in (dict(zip(_LOG_COLUMNS, values, strict=True)) for values in rows)
    ]


def _grant(row: tuple[Any, ...]) -> Grant:
    permission, pattern, agent, task, directory, decision, expires_at, source, created_at, last_used_at = row
    return Grant(
        permission=permission,
        pattern=pattern or None,
        decision=Decision(decision),
        until=_moment(expires_at),
        agent=agent or None,
        task=task or None,
        directory=directory or None,
        source=source,
        created_at=_moment(created_at),
        last_used_at=_moment(last_used_at),
    )


def _moment(stored: int | None) -> datetime | None:
    return to_datetime(stored) if stored is not None else None


def _key(key: tuple[str, str | None, str | None, str | None, str | None]) -> dict[str, str]:
    names = ("permission", "pattern", "agent", "task", "directory")
    return {name: clean_text(value or "") for name, value in zip(names, key, strict=True)}


def _shortened(text: str | None) -> str | None:
    return clean_text(text)[:_MAX_TEXT_CHARACTERS] if text is not None else None
