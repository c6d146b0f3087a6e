"""The journal of calls that MCP clients make: each is noted before it runs, and how it ended after."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from oneclaw_core import redact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import StorageConnection, ToolResult
    from oneclaw_core.sessions import PluginTables

MAX_CALLS = 10_000
_ARGUMENTS_CHARACTERS = 1_000
_TRIM_EVERY = 100


@dataclass(frozen=True, slots=True)
class JournalCall:
    """A call of a client.

    Attributes:
        number: counts up.
        at: the time it began.
        client: ``mcp`` for standard input and output, else ``mcp:TOKEN``.
        tool: the name of the tool.
        arguments: the beginning of its arguments as JSON, without known secrets.
        outcome: ``success`` or the type of the error; ``None`` if it runs, or was cut off by the end of the process.
        duration_ms: how long it took, in milliseconds; ``None`` without an outcome.
    """

    number: int
    at: datetime
    client: str
    tool: str
    arguments: str
    outcome: str | None
    duration_ms: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "number": self.number,
            "at": self.at.isoformat(timespec="seconds"),
            "client": self.client,
            "tool": self.tool,
            "arguments": self.arguments,
            "outcome": self.outcome,
            "duration_ms": self.duration_ms,
        }


class CallJournal:
    """The journal in the storage of the plugin.

    Args:
        tables: made with :data:`STEPS`.
    """

    def __init__(self, tables: PluginTables) -> None:
        self._tables = tables

    async def begin(self, client: str, tool: str, arguments: str) -> int:
        """Note a call that is about to run; return its number."""
        shown = redact(arguments)[:_ARGUMENTS_CHARACTERS]
        return await self._tables.write(_begin, int(time.time() * 1000), client, tool, shown)

    async def end(self, number: int, result: ToolResult, duration_ms: float) -> None:
        """Note how a call ended."""
        outcome = "success" if result.is_success else result.error_type or "error"
        await self._tables.write(_end, number, outcome, duration_ms)

    async def last(self, limit: int) -> Sequence[JournalCall]:
        """Return the last calls, the newest first."""
        return await self._tables.read(_last, limit)


def _create(connection: StorageConnection) -> None:
    connection.execute(
        f"CREATE TABLE {connection.table('calls')} (id {connection.numbered_key}, at BIGINT NOT NULL, "
        "client TEXT NOT NULL, tool TEXT NOT NULL, arguments TEXT NOT NULL, outcome TEXT, duration_ms DOUBLE PRECISION)"
    )


STEPS = (_create,)


_INSERT = "INSERT INTO mcp__calls (at, client, tool, arguments) VALUES (:at, :client, :tool, :arguments)"
# Of each client, so that none drives the calls of others out.
_TRIM = """
    DELETE FROM mcp__calls WHERE id IN (
        SELECT id FROM (
            SELECT id, ROW_NUMBER() OVER (PARTITION BY client ORDER BY id DESC) AS place FROM mcp__calls
        ) AS placed WHERE place > :kept
    )"""
_FINISH = "UPDATE mcp__calls SET outcome = :outcome, duration_ms = :duration WHERE id = :number"
_LAST = """
    SELECT id, at, client, tool, arguments, outcome, duration_ms FROM mcp__calls ORDER BY id DESC LIMIT :limit"""


def _begin(connection: StorageConnection, at: int, client: str, tool: str, arguments: str) -> int:
    row = {"at": at, "client": client, "tool": tool, "arguments": arguments}
    number = int(connection.insert(_INSERT, row))
    if number % _TRIM_EVERY == 0:
        connection.execute(_TRIM, {"kept": MAX_CALLS})
    return number


def _end(connection: StorageConnection, number: int, outcome: str, duration_ms: float) -> None:
    connection.execute(_FINISH, {"outcome": outcome, "duration": duration_ms, "number": number})


def _last(connection: StorageConnection, limit: int) -> list[JournalCall]:
    rows = connection.execute(_LAST, {"limit": limit}).fetchall()
    return [JournalCall(row[0], datetime.fromtimestamp(row[1] / 1000, UTC), *row[2:]) for row in rows]
