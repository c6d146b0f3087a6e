"""The store of messages, and the search in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.errors import SessionBusyError
from oneclaw_core.sessions import messages, search
from oneclaw_core.sessions.store_part import StorePart
from oneclaw_core.sessions.usage import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from oneclaw_core.search.query import Query
    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.sessions.search import Found, SearchRange
    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.types.messages import Message


class StoredMessages(StorePart):
    """Messages of all sessions."""

    async def append(
        self, session_id: str, new: Iterable[Message], *, usage: UsageRecord | None = None
    ) -> list[Message]:
        """Append entries to a history in one transaction.

        A call without a status is stored as pending, and one whose id is empty or used in the session already gets
        a new id: some services number them per answer. A result closes its call, as in
        :meth:`finish_call`.

        Args:
            session_id: the session.
            new: the entries; their ``sequence`` and ``created_at`` are assigned.
            usage: of the model request that they came from.

        Returns:
            The entries as they are stored, with invalid text replaced.

        Raises:
            NotFoundError: the session is gone.
            StoreError: a result has no call.
        """
        try:
            return await self._write_own(_append, session_id, list(new), usage)
        except SessionBusyError:
            if usage is not None:
                # The tokens are spent, although the history does not continue from this request.
                await self._database.write(record, session_id, replace(usage, prefix=None))
            raise

    async def finish_call(self, session_id: str, result: Message) -> Message:
        """Store the result of a call, and set the status of the call.

        Args:
            session_id: the session.
            result: a ``TOOL_RESULT`` with the call's id and the status ``SUCCESS`` or ``ERROR``.

        Returns:
            The result as it is stored; if the call had one already, that one.

        Raises:
            StoreError: the session has no such call.
        """
        return await self._write_own(messages.finish_call, session_id, result)

    async def finish_calls(self, session_id: str, results: Iterable[Message]) -> list[Message]:
        """Store the results of several calls in one transaction, see :meth:`finish_call`."""
        return await self._write_own(messages.finish_calls, session_id, list(results))

    async def history(self, session_id: str, *, max_characters: int | None) -> list[Message]:
        """Read the newest turns that fit, at least the last one.

        They begin with a user's message, and no call is separated from its result.

        Args:
            session_id: the session.
            max_characters: the limit of all texts, arguments and shown parts of results; ``None`` for no limit.
        """
        return list(await self._database.read(_history, session_id, max_characters))

    async def messages(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Message]:
        """Read a part of a history.

        Args:
            session_id: the session.
            after: read entries after this ``sequence``.
            limit: the maximum number of entries.
        """
        return await self._database.read(messages.page, session_id, after, limit)

    async def group_loads(self, session_id: str) -> list[Message]:
        """Read the successful calls of ``load_tool_group`` in their order."""
        return await self._database.read(messages.group_loads, session_id)

    async def pending_calls(self, session_id: str) -> list[Message]:
        """Read the calls without a result in their order."""
        return await self._database.read(messages.pending_calls, session_id)

    async def used_call_ids(self, session_id: str, ids: Iterable[str]) -> set[str]:
        """Return those of the ids that calls of the session already have."""
        return await self._database.read(messages.used_call_ids, session_id, list(ids))

    async def count_messages(self, session_id: str) -> int:
        """Count the entries of a history."""
        return await self._database.read(messages.count, session_id)

    async def search(self, query: Query, where: SearchRange, *, wants_all: bool) -> Found:
        """Find messages and titles that may match a query, and the frequencies of its words.

        Args:
            query: not an empty one.
            where: the part of the store to search.
            wants_all: find texts with all words, else texts with some.
        """
        if not await self._database.read(search.is_current):
            await self._database.write(search.index_new)
        return await self._database.read(search.find, query, where, wants_all=wants_all)


def _append(connection: Connection, session_id: str, new: Sequence[Message], used: UsageRecord | None) -> list[Message]:
    stored = messages.append(connection, session_id, new)
    if used is not None:
        record(connection, session_id, used)
    return stored


def _history(connection: Connection, session_id: str, max_characters: int | None) -> tuple[Message, ...]:
    pending = messages.pending_calls(connection, session_id)
    return messages.newest_turns(connection, session_id, pending, max_characters)
