"""Statements mean the same on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from histories import opened

from oneclaw_core.errors import ConstraintError, StoreError
from oneclaw_core.sessions import usage as stored_usage
from oneclaw_core.sessions.backend import value_of, with_list

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from oneclaw_core.sessions.backend import Connection

STRANGE = "100 %s %(x)s :x ? 'ü' \N{GRINNING FACE}"
USAGE = dict.fromkeys(stored_usage._WRITTEN) | {"provider": "p", "model": "m", "created_at": 1}


def write(home: Path, work: Callable[[Connection], Any]) -> Any:
    async def main() -> Any:
        async with opened(home) as store:
            return await store._database.write(work)

    return asyncio.run(main())


def test_values_come_and_go_unchanged(tmp_path: Path) -> None:
    def work(connection: Connection) -> list[Any]:
        insert = "INSERT INTO settings (key, value, updated_at) VALUES (:key, :value, :moment)"
        connection.execute(insert, {"key": "strange", "value": STRANGE, "moment": 1, "unused": 2})
        connection.execute_many(insert, [{"key": each, "value": "", "moment": 2**62} for each in "ab"])
        changed = connection.execute("UPDATE settings SET updated_at = 3 WHERE key <> :x", {"x": "strange"})
        assert changed.rowcount == 2
        assert connection.execute("SELECT key FROM settings WHERE value = :x", {"x": STRANGE}).fetchone() == (
            "strange",
        )
        assert connection.execute("SELECT key FROM settings WHERE key = 'no :x %s'").fetchone() is None
        return connection.execute("SELECT key, value, updated_at FROM settings ORDER BY key").fetchall()

    assert write(tmp_path, work) == [("a", "", 3), ("b", "", 3), ("strange", STRANGE, 1)]


def test_a_literal_beside_a_placeholder_is_left_alone(tmp_path: Path) -> None:
    def work(connection: Connection) -> Any:
        sql = """SELECT 'it''s :x %s 100%', "key" -- :x
            FROM (SELECT :x AS "key") AS it /* :x */"""
        return connection.execute(sql, {"x": "y"}).fetchone()

    assert write(tmp_path, work) == ("it's :x %s 100%", "y")


def test_a_list_is_passed_value_by_value(tmp_path: Path) -> None:
    def work(connection: Connection) -> Any:
        insert = "INSERT INTO settings (key, value, updated_at) VALUES (:key, '', 0)"
        connection.execute_many(insert, [{"key": each} for each in "abc"])
        sql, parameters = with_list("SELECT count(*) FROM settings WHERE key IN (:keys)", "keys", ["a", "c", "d"])
        return value_of(connection.execute(sql, parameters))

    assert write(tmp_path, work) == 2


def test_rows_are_streamed_in_batches(tmp_path: Path) -> None:
    def work(connection: Connection) -> list[int]:
        insert = "INSERT INTO settings (key, value, updated_at) VALUES (:key, '', 0)"
        connection.execute_many(insert, [{"key": f"{number:02}"} for number in range(25)])
        batches = list(connection.stream("SELECT key FROM settings ORDER BY key", 10))
        assert [key for batch in batches for (key,) in batch] == [f"{number:02}" for number in range(25)]
        return [len(batch) for batch in batches]

    assert write(tmp_path, work) == [10, 10, 5]


def test_a_new_row_has_the_number_that_it_is_said_to_have(tmp_path: Path) -> None:
    def work(connection: Connection) -> None:
        numbers = [connection.insert_numbered(stored_usage._INSERT, USAGE | {"provider": it}, "id") for it in "ab"]
        found = connection.execute("SELECT id, provider FROM usage ORDER BY id").fetchall()
        assert found == list(zip(numbers, "ab", strict=True))

    write(tmp_path, work)


def test_a_refused_row_is_reported_without_what_was_to_be_stored(tmp_path: Path) -> None:
    def unknown_session(connection: Connection) -> None:
        connection.execute(stored_usage._INSERT, USAGE | {"session_id": "a secret"})

    def same_name(connection: Connection) -> None:
        insert = "INSERT INTO settings (key, value, updated_at) VALUES (:name, '1', 0)"
        connection.execute_many(insert, [{"name": "a secret"}] * 2)

    for work, lacks_parent in ((unknown_session, True), (same_name, False)):
        with pytest.raises(ConstraintError, match="refused the operation") as raised:
            write(tmp_path, work)
        assert raised.value.lacks_parent is lacks_parent
        assert "secret" not in str(raised.value)


def test_what_the_driver_raises_is_explained(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"the database .* refused the operation"):
        write(tmp_path, lambda it: it.execute("SELEC 1"))
    assert write(tmp_path, lambda it: value_of(it.execute("SELECT 1"))) == 1
