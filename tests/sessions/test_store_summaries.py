"""A summary that stands for the oldest part of a history."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from histories import assistant, call, failure, opened, success, user

from oneclaw_core.errors import NotFoundError, StoreError
from oneclaw_core.sessions.history import newest_turns
from oneclaw_core.tools.toolset import LOAD_TOOL_GROUP, restore_loaded_groups

if TYPE_CHECKING:
    from pathlib import Path


def test_a_turn_begins_after_the_summary_and_the_history_stays_whole(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            load = call("1", LOAD_TOOL_GROUP, '{"group_name": "mail"}')
            old = await store.append(
                session.id, [user("old"), load, success("1", name=LOAD_TOOL_GROUP), assistant("done")]
            )
            new = await store.append(session.id, [user("new"), assistant("yes")])
            assert (await store.load_turn(session.id, None)).summary is None
            await store.set_summary(session.id, "there was \x00mail", old[-1].sequence or 0)
            start = await store.load_turn(session.id, None)
            assert list(start.history) == new
            assert (start.summary, start.summary_until) == ("there was \ufffdmail", old[-1].sequence)
            assert restore_loaded_groups(start.group_loads) == ["mail"]
            assert len(await store.messages(session.id)) == 6
            begun = await store.begin_turn(session.id, user("newest"), failure(""), None)
            assert [each.content for each in begun.history] == ["new", "yes", "newest"]
            assert begun.summary == start.summary

    asyncio.run(main())


def test_a_later_summary_replaces_the_earlier_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            other = await store.create_session(agent="default")
            stored = await store.append(session.id, [user("1"), user("2"), user("3")])
            for number in (0, 1):
                await store.set_summary(session.id, f"until {number}", stored[number].sequence or 0)
            start = await store.load_turn(session.id, None)
            assert (start.summary, list(start.history)) == ("until 1", stored[2:])
            assert (await store.load_turn(other.id, None)).summary is None

    asyncio.run(main())


def test_a_summary_may_end_within_a_turn(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            stored = await store.append(session.id, [user(), call("1"), success("1"), call("2"), success("2")])
            await store.set_summary(session.id, "the first was called", stored[2].sequence or 0)
            expected = await store.messages(session.id, after=stored[2].sequence or 0)
            for limit in (None, 1_000, 0):
                assert list((await store.load_turn(session.id, limit)).history) == expected
            await store.append(session.id, [user("next")])
            assert [each.content for each in (await store.load_turn(session.id, 4)).history] == ["next"]
            assert len((await store.load_turn(session.id, 1_000)).history) == 3

    asyncio.run(main())


def test_everything_can_be_summarized(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            [message] = await store.append(session.id, [user()])
            await store.set_summary(session.id, "hello", message.sequence or 0)
            assert (await store.load_turn(session.id, None)).history == ()

    asyncio.run(main())


def test_a_summary_that_would_part_a_call_from_its_result_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            stored = await store.append(
                session.id, [user(), call("1"), call("2"), success("1"), success("2"), call("3"), user("x")]
            )
            numbers = [each.sequence or 0 for each in stored]
            for refused in (1, 2, 3, 5, 6):
                with pytest.raises(StoreError, match="part a tool call from its result"):
                    await store.set_summary(session.id, "no", numbers[refused])
            assert (await store.load_turn(session.id, None)).summary is None
            for possible in (0, 4):
                await store.set_summary(session.id, "yes", numbers[possible])
            await store.finish_calls(session.id, [failure("3")])
            with pytest.raises(StoreError, match="part a tool call from its result"):
                await store.set_summary(session.id, "no", numbers[6])

    asyncio.run(main())


def test_a_summary_ends_at_a_message_of_its_session(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            other = await store.create_session(agent="default")
            [elsewhere] = await store.append(other.id, [user()])
            for number in (elsewhere.sequence or 0, 0, -1, 99):
                with pytest.raises(StoreError, match=f"no message {number} at which"):
                    await store.set_summary(session.id, "no", number)
            with pytest.raises(NotFoundError):
                await store.set_summary("0" * 32, "no", 1)

    asyncio.run(main())


def test_what_follows_a_summary_is_cut_at_turns_where_it_does_not_fit() -> None:
    entries = [assistant("rest"), user("1234"), assistant("5678")]
    assert newest_turns(reversed(entries), (), 12, follows_summary=True) == tuple(entries)
    assert newest_turns(reversed(entries), (), 11, follows_summary=True) == tuple(entries[1:])
    assert newest_turns(reversed(entries), (), 0, follows_summary=True) == tuple(entries[1:])
    within = [call("1"), replace(success("1"), content="x" * 50)]
    assert newest_turns(reversed(within), (), 0, follows_summary=True) == tuple(within)
    assert newest_turns([], (), None, follows_summary=True) == ()
