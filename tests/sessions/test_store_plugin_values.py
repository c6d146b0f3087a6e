"""The values that plugins store by keys."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from histories import change, opened, rows

from oneclaw_core.errors import NotFoundError, StoreDamagedError, UsageError
from oneclaw_core.sessions import plugin_storage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from oneclaw_core.sessions.plugin_storage import PluginStorage
    from oneclaw_core.sessions.store import Store


def with_storage(home: Path, work: Callable[[PluginStorage, Store], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with opened(home) as store:
            return await work(store.plugin_storage("notes"), store)

    return asyncio.run(main())


@pytest.mark.parametrize("value", [None, True, 0.5, 2**70, "ü\x00\ud800", [1, {"a": None}], {"": []}])
def test_a_value_comes_back_as_it_was_stored(tmp_path: Path, value: object) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        await storage.set("key", "before")
        await storage.set("key", value)
        assert await storage.get("key", "default") == value
        assert await storage.delete("key") is True
        assert await storage.delete("key") is False
        assert await storage.get("key", "default") == "default"

    with_storage(tmp_path, work)


def test_a_plugin_sees_its_own_values_alone(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        other = store.plugin_storage("other")
        await storage.set("key", 1)
        await other.set("key", 2)
        assert (await storage.get("key"), await other.get("key")) == (1, 2)
        assert await other.delete("key") is True
        assert await storage.list() == {"key": 1}

    with_storage(tmp_path, work)


def test_values_are_listed_by_the_beginning_of_their_keys(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        for key in ("b:2", "a:%", "b:10", "b", "ü_1"):
            await storage.set(key, key)
        assert list(await storage.list()) == ["a:%", "b", "b:10", "b:2", "ü_1"]
        assert await storage.list("b:") == {"b:10": "b:10", "b:2": "b:2"}
        assert await storage.list("%") == {}
        assert list(await storage.list("ü_")) == ["ü_1"]

    with_storage(tmp_path, work)


def test_of_several_that_set_an_absent_value_one_does(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        async with opened(tmp_path) as elsewhere:
            storages = [storage, elsewhere.plugin_storage("notes")] * 10
            done = await asyncio.gather(*(each.set_if_absent("key", place) for place, each in enumerate(storages)))
        assert sorted(done) == [False] * 19 + [True]
        assert await storage.get("key") == done.index(True)

    with_storage(tmp_path, work)


def test_changes_at_once_are_all_kept(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        async with opened(tmp_path) as elsewhere:
            storages = [storage, elsewhere.plugin_storage("notes")] * 10
            await asyncio.gather(*(each.change("n", lambda value: (value or 0) + 1) for each in storages))
        assert await storage.get("n") == 20
        assert await storage.change("n", lambda value: {"was": value}) == {"was": 20}
        assert await storage.change("n", lambda value: None) is None
        assert await storage.list() == {}

    with_storage(tmp_path, work)


def test_a_change_that_raises_changes_nothing(tmp_path: Path) -> None:
    def fail(value: object) -> object:
        raise ZeroDivisionError

    async def work(storage: PluginStorage, store: Store) -> None:
        await storage.set("n", 1)
        with pytest.raises(ZeroDivisionError):
            await storage.change("n", fail)
        assert await storage.get("n") == 1

    with_storage(tmp_path, work)


def test_an_expired_value_is_not_there_and_is_removed_later(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        for key in ("a", "b", "c", "d"):
            await storage.set(key, key, ttl_seconds=3600)
        change(tmp_path, "UPDATE plugin_values SET expires_at = 1")
        await storage.set("lasting", 1, ttl_seconds=3600)
        assert await storage.get("a") is None
        assert await storage.delete("a") is False
        assert list(await storage.list()) == ["lasting"]
        assert await storage.set_if_absent("b", "new") is True
        assert await storage.change("c", lambda value: [value]) == [None]
        assert rows(tmp_path, "SELECT key FROM plugin_values ORDER BY key") == [("b",), ("c",), ("lasting",)]
        assert rows(tmp_path, "SELECT count(*) FROM plugin_values WHERE expires_at IS NULL") == [(2,)]

    with_storage(tmp_path, work)


def test_a_change_leaves_the_time_at_which_a_value_expires(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        await storage.set("key", 1, ttl_seconds=3600)
        before = rows(tmp_path, "SELECT expires_at FROM plugin_values")
        await storage.change("key", lambda value: value + 1)
        assert rows(tmp_path, "SELECT expires_at FROM plugin_values") == before != [(None,)]
        await storage.set("key", 1)
        assert rows(tmp_path, "SELECT expires_at FROM plugin_values") == [(None,)]

    with_storage(tmp_path, work)


def test_values_of_a_session_are_deleted_with_it(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        session = await store.create_session(agent="default")
        within = await store.create_session(agent="default", parent_id=session.id)
        for each in (session, within):
            await storage.of_session(each.id).set("key", each.id)
        await storage.set("key", "of the plugin")
        assert await storage.of_session(session.id).list() == {"key": session.id}
        assert await storage.list() == {"key": "of the plugin"}
        await store.delete_session(session.id)
        assert rows(tmp_path, "SELECT value FROM plugin_values") == [('"of the plugin"',)]
        with pytest.raises(NotFoundError, match="there is no session"):
            await storage.of_session(session.id).set("key", 1)
        with pytest.raises(NotFoundError, match="is not a session's id"):
            storage.of_session("work")

    with_storage(tmp_path, work)


@pytest.mark.parametrize(
    ("key", "value", "ttl_seconds", "message"),
    [
        ("", 1, None, "1 to 500 characters"),
        ("k" * 501, 1, None, "1 to 500 characters"),
        ("key", {1, 2}, None, "must be what JSON can hold"),
        ("key", float("nan"), None, "must be what JSON can hold"),
        ("key", "x" * (plugin_storage.MAX_VALUE_BYTES - 1), None, "has 1048577 bytes as JSON, 1048576 are allowed"),
        ("key", "ü" * (plugin_storage.MAX_VALUE_BYTES // 2), None, "are allowed: use a file"),
        ("key", 1, 0, "a number of seconds above 0"),
        ("key", 1, float("inf"), "a number of seconds above 0"),
    ],
)
def test_what_cannot_be_stored_is_refused(
    tmp_path: Path, key: str, value: object, ttl_seconds: float | None, message: str
) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        with pytest.raises(UsageError, match=message):
            await storage.set(key, value, ttl_seconds=ttl_seconds)
        assert await storage.list() == {}
        await storage.set("k" * 500, "x" * (plugin_storage.MAX_VALUE_BYTES - 2))

    with_storage(tmp_path, work)


def test_a_storage_that_is_full_takes_no_new_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_storage, "MAX_KEYS", 3)

    async def work(storage: PluginStorage, store: Store) -> None:
        for number in range(3):
            await storage.set(f"key {number}", number)
        with pytest.raises(UsageError, match="storage of plugin notes is full: it holds 3 keys already"):
            await storage.set("another", 1)
        await storage.set("key 1", "changed")
        await storage.delete("key 2")
        await storage.set("another", 1)
        assert list(await storage.list()) == ["another", "key 0", "key 1"]
        session = await store.create_session(agent="default")
        await storage.of_session(session.id).set("another", 1)

    with_storage(tmp_path, work)


def test_a_damaged_value_is_reported(tmp_path: Path) -> None:
    async def work(storage: PluginStorage, store: Store) -> None:
        await storage.set("key", 1)
        change(tmp_path, "UPDATE plugin_values SET value = '{'")
        with pytest.raises(StoreDamagedError, match=r"damaged value of a plugin \(key\)"):
            await storage.get("key")

    with_storage(tmp_path, work)
