"""Histories that end before a message, and their parts that are restored."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from histories import assistant, call, opened, success, user

from oneclaw_core.errors import StoreError, UsageError
from oneclaw_core.search.words import parse_query
from oneclaw_core.sessions.search import SearchRange
from oneclaw_core.sessions.sessions import new_id
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, restore_loaded_groups

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.sessions.store import Store


async def _told(store: Store, session_id: str) -> list[str]:
    return [each.content for each in (await store.load_turn(session_id, None)).history]


def test_a_history_ends_before_a_message_and_is_restored(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session("work", agent="default")
            await store.append(session.id, [user("one"), assistant("first")])
            load = call("call", LOAD_TOOL_GROUP, '{"group_name": "pdf"}')
            [second, *_] = await store.append(session.id, [user("zebra"), load])
            await store.finish_calls(session.id, [success("call", "loaded")])
            await store.append(session.id, [assistant("second")])
            before = await store.messages(session.id)
            part = new_id()
            for _ in range(2):  # repeated after a crash
                await store.end_history(session.id, second.sequence or 0, part)
                assert await _told(store, session.id) == ["one", "first"]
                assert restore_loaded_groups((await store.load_turn(session.id, None)).group_loads) == []
            assert [each.name for each in await store.list_sessions()] == ["work"]
            assert await store.ended_parts(session.id) == [part]
            assert await store.find_session(part) is None
            found = await store.search(parse_query("zebra"), SearchRange(None, None, frozenset()), wants_all=True)
            assert found.passages == ()
            for _ in range(2):
                await store.restore_history(session.id, part)
                assert await store.messages(session.id) == before
                loads = (await store.load_turn(session.id, None)).group_loads
                assert restore_loaded_groups(loads) == ["pdf"]

    asyncio.run(main())


def test_a_summary_of_messages_that_are_taken_off_goes_with_them(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            stored = await store.append(session.id, [user("one"), assistant("1"), user("two"), assistant("2")])
            await store.set_summary(session.id, "one and two", stored[2].sequence or 0)
            part = new_id()
            await store.end_history(session.id, stored[2].sequence or 0, part)
            start = await store.load_turn(session.id, None)
            assert (start.summary, [each.content for each in start.history]) == (None, ["one", "1"])
            await store.restore_history(session.id, part)
            start = await store.load_turn(session.id, None)
            assert (start.summary, [each.content for each in start.history]) == ("one and two", ["2"])

    asyncio.run(main())


def test_a_part_is_not_restored_behind_newer_messages_and_goes_with_its_session(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            [first, _] = await store.append(session.id, [user("one"), assistant("1")])
            part = new_id()
            await store.end_history(session.id, first.sequence or 0, part)
            await store.append(session.id, [user("other")])
            with pytest.raises(UsageError, match="went on since"):
                await store.restore_history(session.id, part)
            with pytest.raises(UsageError, match="no message"):
                await store.end_history(session.id, first.sequence or 0, new_id())
            assert await store.delete_session(session.id)
            assert await store.count_messages(part) == 0

    asyncio.run(main())


def test_a_call_is_not_parted_from_its_result(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user("one"), call("call", "exec", "{}")])
            [second] = await store.append(session.id, [user("two")])
            await store.finish_calls(session.id, [success("call", "done")])
            with pytest.raises(StoreError, match="part a tool call"):
                await store.end_history(session.id, second.sequence or 0, new_id())

    asyncio.run(main())


def test_the_session_of_a_directory_goes_before_newer_ones(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            here = await store.create_session(agent="default", directory="/here")
            there = await store.create_session(agent="default", directory="/there")
            assert await store.last_used_session("/here") == here
            assert await store.last_used_session("/elsewhere") == await store.last_used_session() == there

    asyncio.run(main())
