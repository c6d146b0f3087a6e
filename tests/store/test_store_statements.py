"""Statements that go to the driver directly mean what they mean through SQLAlchemy."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from histories import opened
from sqlalchemy import bindparam, insert, select, update

from oneclaw_core.errors import StoreError
from oneclaw_core.store.schema import sessions, usage
from oneclaw_core.store.statements import new_number, run

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

BY_AGENT = (
    select(sessions.c.name, sessions.c.created_at)
    .where(sessions.c.agent == bindparam("agent"), sessions.c.title.is_(None))
    .order_by(sessions.c.name.desc())
    .limit(2)
)
RENAME = update(sessions).where(sessions.c.name == bindparam("old")).values(name=bindparam("new"))
ADD = insert(usage)
STRANGE = "100 %s :x ? 'ü' \N{GRINNING FACE}"


def test_values_come_and_go_unchanged(tmp_path: Path) -> None:
    def work(connection: Connection) -> None:
        through_sqlalchemy = connection.execute(BY_AGENT, {"agent": STRANGE}).all()
        assert run(connection, BY_AGENT, {"agent": STRANGE}).fetchall() == [tuple(row) for row in through_sqlalchemy]
        assert [row[0] for row in through_sqlalchemy] == ["c", "b"]
        assert run(connection, BY_AGENT, {"agent": "nobody"}).fetchone() is None
        assert run(connection, RENAME, {"old": "c", "new": STRANGE}).rowcount == 1
        assert run(connection, RENAME, {"old": "c", "new": "d"}).rowcount == 0
        assert connection.execute(select(sessions.c.name).where(sessions.c.name == STRANGE)).scalar() == STRANGE

    async def main() -> None:
        async with opened(tmp_path) as store:
            for name in "abc":
                await store.create_session(name, agent=STRANGE)
            await store._database.write(work)

    asyncio.run(main())


def test_a_new_row_has_the_number_that_it_is_said_to_have(tmp_path: Path) -> None:
    def work(connection: Connection) -> None:
        numbers = [
            new_number(run(connection, ADD, {"provider": provider, "model": "m", "created_at": 1})) for provider in "ab"
        ]
        found = connection.execute(select(usage.c.id, usage.c.provider).order_by(usage.c.id)).all()
        assert [tuple(row) for row in found] == list(zip(numbers, "ab", strict=True))

    async def main() -> None:
        async with opened(tmp_path) as store:
            await store._database.write(work)

    asyncio.run(main())


def test_what_the_driver_raises_is_explained_without_what_was_to_be_stored(tmp_path: Path) -> None:
    def work(connection: Connection) -> None:
        run(connection, ADD, {"provider": "p", "model": "m", "created_at": 1, "session_id": "a secret"})

    async def main() -> None:
        async with opened(tmp_path) as store:
            with pytest.raises(StoreError) as raised:
                await store._database.write(work)
            assert "secret" not in str(raised.value)
            assert (await store.usage_totals()).requests == 0

    asyncio.run(main())
