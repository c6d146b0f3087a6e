from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from histories import assistant, call, opened, user

from oneclaw_core.errors import NotFoundError, UsageError
from oneclaw_core.sessions.usage import UsageRecord
from oneclaw_core.types.messages import TokenUsage

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
