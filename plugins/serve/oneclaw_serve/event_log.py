"""The events of turns in the database, so that any process can continue a client's stream without loss.

Events are kept for an hour: the history of the session has all that matters later. Numbers grow within a session.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_serve import stateless_sessions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.sessions import PluginStorage, PluginTables, StorageConnection

KEPT_SECONDS = 3_600
KEPT_QUESTION_SECONDS = 30 * 86_400
HEARTBEAT_SECONDS = 5.0
DEAD_SECONDS = 20.0
_PAGE = 500


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event of a session.

    Attributes:
        number: grows within the session.
        kind: as in ``oneclaw run --json``, or one of the server's: ``turn_started``, ``turn_ended``, ``approval``,
            ``approval_decided``, ``question``, ``question_answered``.
        data: JSON data.
    """

    number: int
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunningTurn:
    """A turn that some process works on.

    Attributes:
        first: the number of its first event.
        after_message: the ``sequence`` of the last message before it.
    """

    first: int
    after_message: int


@dataclass(frozen=True, slots=True)
class _Waiting:
    session: str
    rows: list[dict[str, Any]]
    done: asyncio.Future[None]


class EventLog:
    """Events, running turns, questions and answered requests in the plugin's tables.

    Attributes:
        tables: of the plugin.
    """

    def __init__(self, tables: PluginTables) -> None:
        self.tables = self._tables = tables
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, storage: PluginStorage) -> EventLog:
        """Create or migrate the tables."""
        return cls(await storage.tables([_create, stateless_sessions.create]))

    async def begin_turn(self, session: str, after_message: int) -> int:
        """Note that a turn begins; return the number of its first event, which is greater than all before."""
        return await self._tables.write(_begin, session, after_message)

    async def add(self, session: str, events: Iterable[LoggedEvent]) -> None:
        """Store events, and note that the turn is alive.

        What many turns add while a transaction runs goes into the next one together.
        """
        rows = [
            {"session": session, "number": each.number, "kind": each.kind, "data": json.dumps(each.data), "at": _now()}
            for each in events
        ]
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(session, rows, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_waiting())
        await done

    async def _write_waiting(self) -> None:
        try:
            while self._waiting:
                together, self._waiting = self._waiting, []
                if not await self._write(together) and len(together) > 1:
                    # One that fails must not keep the events of others out.
                    for each in together:
                        await self._write([each])
        finally:
            self._writing = None

    async def _write(self, together: list[_Waiting]) -> bool:
        """Write in one transaction; if that fails, tell the only one that it failed, and return False."""
        try:
            await self._tables.write(
                _add, [each.session for each in together], [row for each in together for row in each.rows]
            )
        except Exception as error:  # noqa: BLE001  # the waiting request gets the error
            if len(together) == 1 and not together[0].done.done():
                together[0].done.set_exception(error)
            return False
        for each in together:
            if not each.done.done():
                each.done.set_result(None)
        return True

    async def reset(self, session: str) -> None:
        """Have clients read the history again, since its end was changed."""
        await self._tables.write(_reset, session)

    async def end_turn(self, session: str) -> None:
        """Note that no turn of the session runs any more; remove events that are old."""
        await self._tables.write(_end, session)

    async def running_turn(self, session: str) -> RunningTurn | None:
        """Return the turn that runs in any process; ``None`` if there is none, or its process is dead."""
        return await self._tables.read(_running, session)

    async def after(self, session: str, number: int) -> list[LoggedEvent]:
        """Return the next events behind a number, a page at most."""
        return await self._tables.read(_after, session, number)

    async def bounds(self, session: str) -> tuple[int, int]:
        """Return the numbers of the first and the last stored event, 0 for none."""
        return await self._tables.read(_bounds, session)

    async def ask(self, approval: str, session: str, kind: str, question: dict[str, Any]) -> None:
        """Store a question that waits for a person."""
        values = {"id": approval, "session": session, "kind": kind, "question": json.dumps(question), "at": _now()}
        await self._tables.write(_ask, values)

    async def answer(self, approval: str, answer: str, by: str) -> bool:
        """Store the answer to a question; return False if it was answered already, or withdrawn."""
        return await self._tables.write(_answer, {"id": approval, "answer": answer, "by": by, "at": _now()})

    async def answer_to(self, approval: str) -> str | None:
        """Return the stored answer to a question; ``None`` for none."""
        return await self._tables.read(_answer_to, approval)

    async def questions(self, session: str | None = None, approval: str | None = None) -> list[dict[str, Any]]:
        """Return the questions that wait for an answer, of one session or of all."""
        return await self._tables.read(_questions, session, approval)

    async def claim_request(self, client: str, key: str, digest: str) -> tuple[bool, str, str | None]:
        """Claim an idempotency key for a client for a day.

        Returns:
            True if it is new; the digest of the request that came first; its response, ``None`` if there is none yet.
        """
        return await self._tables.write(_claim, {"client": client, "key": key, "digest": digest, "at": _now()})

    async def store_response(self, client: str, key: str, response: str | None) -> None:
        """Store the response to a request with an idempotency key; ``None`` to release the key."""
        await self._tables.write(_respond, client, key, response)

    async def keep(self, client: str, key: str, value: str) -> None:
        """Keep a value for a client for a day."""
        await self._tables.write(_keep, {"client": client, "key": key, "value": value, "at": _now()})

    async def kept(self, client: str, key: str) -> str | None:
        """Return a kept value; ``None`` for none."""
        return await self._tables.read(_kept, client, key)

    async def take(self, client: str, key: str) -> str | None:
        """Return a kept value and forget it; of several that ask at once, one gets it."""
        return await self._tables.write(_take, client, key)


def _now() -> int:
    return int(time.time() * 1_000)


def _create(connection: StorageConnection) -> None:
    t = connection.table
    connection.execute(
        f"CREATE TABLE {t('events')} (session TEXT NOT NULL, number BIGINT NOT NULL, kind TEXT NOT NULL, "
        "data TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (session, number))"
    )
    connection.execute(f"CREATE INDEX {t('events_at')} ON {t('events')} (at)")
    connection.execute(
        f"CREATE TABLE {t('turns')} (session TEXT PRIMARY KEY, first BIGINT NOT NULL, after_message BIGINT NOT NULL, "
        "alive_at BIGINT NOT NULL)"
    )
    connection.execute(
        f"CREATE TABLE {t('questions')} (id TEXT PRIMARY KEY, session TEXT NOT NULL, kind TEXT NOT NULL, "
        "question TEXT NOT NULL, asked_at BIGINT NOT NULL, answer TEXT, decided_by TEXT, decided_at BIGINT)"
    )
    connection.execute(
        f"CREATE TABLE {t('requests')} (client TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, response TEXT, "
        "at BIGINT NOT NULL, PRIMARY KEY (client, key))"
    )


def _begin(connection: StorageConnection, session: str, after_message: int) -> int:
    row = connection.execute(
        f"SELECT max(number) FROM {connection.table('events')} WHERE session = :session", {"session": session}
    ).fetchone()
    # The time makes numbers grow also when all earlier events were removed.
    first = max(int(row[0] or 0) if row else 0, _now() * 1_000) + 1
    connection.execute(
        f"INSERT INTO {connection.table('turns')} (session, first, after_message, alive_at) "
        "VALUES (:session, :first, :after, :at) ON CONFLICT (session) DO UPDATE SET first = excluded.first, "
        "after_message = excluded.after_message, alive_at = excluded.alive_at",
        {"session": session, "first": first, "after": after_message, "at": _now()},
    )
    return first


def _reset(connection: StorageConnection, session: str) -> None:
    row = connection.execute(
        f"SELECT max(number) FROM {connection.table('events')} WHERE session = :session", {"session": session}
    ).fetchone()
    number = max(int(row[0] or 0) if row else 0, _now() * 1_000) + 1
    row = {"session": session, "number": number, "kind": "reset", "data": "{}", "at": _now()}
    _add(connection, [session], [row])


def _add(connection: StorageConnection, sessions: list[str], rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute_many(
            f"INSERT INTO {connection.table('events')} (session, number, kind, data, at) "
            "VALUES (:session, :number, :kind, :data, :at)",
            rows,
        )
    connection.execute_many(
        f"UPDATE {connection.table('turns')} SET alive_at = :at WHERE session = :session",
        [{"session": each, "at": _now()} for each in sessions],
    )


def _end(connection: StorageConnection, session: str) -> None:
    old = {"at": _now() - KEPT_SECONDS * 1_000}
    connection.execute(f"DELETE FROM {connection.table('turns')} WHERE session = :session", {"session": session})
    connection.execute(f"DELETE FROM {connection.table('events')} WHERE at < :at", old)
    connection.execute(
        f"DELETE FROM {connection.table('questions')} WHERE (session = :session AND answer IS NULL) OR asked_at < :at",
        {"session": session, "at": _now() - KEPT_QUESTION_SECONDS * 1_000},
    )


def _running(connection: StorageConnection, session: str) -> RunningTurn | None:
    row = connection.execute(
        f"SELECT first, after_message FROM {connection.table('turns')} WHERE session = :session AND alive_at > :since",
        {"session": session, "since": _now() - int(DEAD_SECONDS * 1_000)},
    ).fetchone()
    return RunningTurn(int(row[0]), int(row[1])) if row else None


def _after(connection: StorageConnection, session: str, number: int) -> list[LoggedEvent]:
    rows = connection.execute(
        f"SELECT number, kind, data FROM {connection.table('events')} WHERE session = :session AND number > :number "
        f"ORDER BY number LIMIT {_PAGE}",
        {"session": session, "number": number},
    )
    return [LoggedEvent(int(row[0]), row[1], json.loads(row[2])) for row in rows]


def _bounds(connection: StorageConnection, session: str) -> tuple[int, int]:
    row = connection.execute(
        f"SELECT min(number), max(number) FROM {connection.table('events')} WHERE session = :session",
        {"session": session},
    ).fetchone()
    return (int(row[0] or 0), int(row[1] or 0)) if row else (0, 0)


def _ask(connection: StorageConnection, values: dict[str, Any]) -> None:
    connection.execute(
        f"INSERT INTO {connection.table('questions')} (id, session, kind, question, asked_at) "
        "VALUES (:id, :session, :kind, :question, :at)",
        values,
    )


def _answer(connection: StorageConnection, values: dict[str, Any]) -> bool:
    changed = connection.execute(
        f"UPDATE {connection.table('questions')} SET answer = :answer, decided_by = :by, decided_at = :at "
        "WHERE id = :id AND answer IS NULL",
        values,
    )
    return changed.rowcount == 1


def _answer_to(connection: StorageConnection, approval: str) -> str | None:
    row = connection.execute(
        f"SELECT answer FROM {connection.table('questions')} WHERE id = :id", {"id": approval}
    ).fetchone()
    return row[0] if row else None


def _questions(connection: StorageConnection, session: str | None, approval: str | None) -> list[dict[str, Any]]:
    found = connection.execute(
        f"SELECT id, session, kind, question FROM {connection.table('questions')} "
        "WHERE answer IS NULL ORDER BY asked_at"
    )
    return [
        {"id": row[0], "session": row[1], "kind": row[2], **json.loads(row[3])}
        for row in found
        if session in (None, row[1]) and approval in (None, row[0])
    ]


def _claim(connection: StorageConnection, values: dict[str, Any]) -> tuple[bool, str, str | None]:
    table = connection.table("requests")
    connection.execute(f"DELETE FROM {table} WHERE at < :at", {"at": _now() - 86_400_000})
    made = connection.execute(
        f"INSERT INTO {table} (client, key, digest, at) VALUES (:client, :key, :digest, :at) ON CONFLICT DO NOTHING",
        values,
    )
    if made.rowcount == 1:
        return True, values["digest"], None
    row = connection.execute(
        f"SELECT digest, response FROM {table} WHERE client = :client AND key = :key",
        {"client": values["client"], "key": values["key"]},
    ).fetchone()
    return (False, row[0], row[1]) if row else (False, "", None)


def _respond(connection: StorageConnection, client: str, key: str, response: str | None) -> None:
    table = connection.table("requests")
    what = {"client": client, "key": key}
    if response is None:
        connection.execute(f"DELETE FROM {table} WHERE client = :client AND key = :key", what)
    else:
        statement = f"UPDATE {table} SET response = :response WHERE client = :client AND key = :key"
        connection.execute(statement, {**what, "response": response})


def _keep(connection: StorageConnection, values: dict[str, Any]) -> None:
    table = connection.table("requests")
    connection.execute(f"DELETE FROM {table} WHERE at < :at", {"at": _now() - 86_400_000})
    connection.execute(
        f"INSERT INTO {table} (client, key, digest, response, at) VALUES (:client, :key, '', :value, :at) "
        "ON CONFLICT (client, key) DO UPDATE SET response = excluded.response, at = excluded.at",
        values,
    )


def _kept(connection: StorageConnection, client: str, key: str) -> str | None:
    row = connection.execute(
        f"SELECT response FROM {connection.table('requests')} WHERE client = :client AND key = :key",
        {"client": client, "key": key},
    ).fetchone()
    return row[0] if row else None


def _take(connection: StorageConnection, client: str, key: str) -> str | None:
    table = connection.table("requests")
    what = {"client": client, "key": key}
    where = "WHERE client = :client AND key = :key"
    row = connection.execute(f"SELECT response FROM {table} {where}", what).fetchone()
    taken = connection.execute(f"DELETE FROM {table} {where}", what)
    return row[0] if row and taken.rowcount == 1 else None
