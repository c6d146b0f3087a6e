"""Sessions, and the summaries that stand for the oldest part of their histories."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from histories import assistant, call, failure, opened, success, user

from oneclaw_core.errors import NotFoundError, StoreError, UsageError
from oneclaw_core.sessions.history import newest_turns
from oneclaw_core.sessions.usage import UsageRecord
from oneclaw_core.types.messages import TokenUsage
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, restore_loaded_groups

if TYPE_CHECKING:
    from pathlib import Path


def test_a_session_is_found_by_name_id_and_beginning_of_its_id(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session("work", agent="coder", model="openai/gpt")
            assert (session.name, session.agent, session.model, session.title) == ("work", "coder", "openai/gpt", None)
            assert abs(session.created_at - datetime.now(UTC)) < timedelta(seconds=10)
            for wanted in ("work", session.id, session.id[:6], session.id[:31]):
                assert await store.find_session(wanted) == session
            for other in ("wor", "WORK", session.id[:5], session.id + "0", "", "%", "zzzzzz", "\ud800"):
                assert await store.find_session(other) is None

    asyncio.run(main())


def test_a_name_goes_before_an_id_and_an_ambiguous_beginning_finds_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            first = await store.create_session(agent="default")
            named = await store.create_session(first.id, agent="default")
            assert await store.find_session(first.id) == named

            def same_beginning(connection: object) -> None:
                for end in "ab":
                    connection.execute(  # type: ignore[attr-defined]
                        "INSERT INTO sessions (id, agent, created_at, updated_at) "
                        f"VALUES ('{'f' * 31 + end}', 'default', 0, 0)"
                    )

            await store._database.write(same_beginning)
            assert await store.find_session("f" * 20) is None
            found = await store.find_session("f" * 31 + "a")
            assert found is not None

    asyncio.run(main())


def test_a_name_is_unique_and_not_empty(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.create_session("work", agent="default")
            with pytest.raises(UsageError, match="a session named 'work' already"):
                await store.create_session("work", agent="default")
            with pytest.raises(UsageError, match="must not be empty"):
                await store.create_session(" ", agent="default")
            assert len({(await store.create_session(agent="default")).id for _ in range(3)}) == 3

    asyncio.run(main())


def test_two_stores_that_begin_a_session_of_one_name_get_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as one, opened(tmp_path) as other:
            first, second = await asyncio.gather(
                *(store.find_or_create_session("work", agent="default") for store in (one, other))
            )
            assert first == second

    asyncio.run(main())


def test_the_list_begins_with_the_session_used_last(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            old = await store.create_session("old", agent="default")
            new = await store.create_session("new", agent="default")
            assert [each.name for each in await store.list_sessions()] == ["new", "old"]
            await store.append(old.id, [user("question"), assistant("answer " * 100), call("1"), assistant("")])
            listed = await store.list_sessions()
            assert [(each.name, each.message_count) for each in listed] == [("old", 4), ("new", 0)]
            assert listed[0].last_text.startswith("answer answer")
            assert len(listed[0].last_text) == 200
            assert listed[1].last_text == ""
            assert listed[0].updated_at > old.updated_at
            await store.append(new.id, [user()])
            assert [each.name for each in await store.list_sessions(limit=1)] == ["new"]

    asyncio.run(main())


def test_a_title_is_cleaned(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default", title="about\x00 \ud800")
            assert session.title == "about\ufffd ?"
            assert await store.find_session(session.id) == session

    asyncio.run(main())


def test_a_deleted_session_is_gone_with_all_that_belongs_to_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session("work", agent="default")
            kept = await store.create_session("kept", agent="default")
            usage = UsageRecord("openai", "gpt", TokenUsage(input_tokens=1))
            stored = await store.append(session.id, [user()], usage=usage)
            assert await store.delete_session(session.id) is True
            assert await store.delete_session(session.id) is False
            assert await store.find_session("work") is None
            assert await store.count_messages(session.id) == 0
            assert (await store.usage_totals(session.id)).requests == 0
            # What was spent stays spent.
            assert (await store.usage_totals()).requests == 1
            with pytest.raises(NotFoundError, match=session.id):
                await store.append(session.id, [user()])
            # Numbers are not used again.
            [later] = await store.append(kept.id, [user()])
            assert later.sequence > stored[-1].sequence

    asyncio.run(main())


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
