"""Sessions that begin with a copy of another one's history, and names that change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from histories import assistant, call, opened, success, user

from oneclaw_core.errors import StoreError, UsageError
from oneclaw_core.search.words import parse_query
from oneclaw_core.sessions.search import SearchRange
from oneclaw_core.types.messages import Attachment, Message, MessageType
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, restore_loaded_groups

if TYPE_CHECKING:
    from pathlib import Path

PICTURE = Attachment("a.png", "image/png", b"\x89PNG\x00")


def test_a_branch_has_the_messages_files_groups_and_summary_before_a_message(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            origin = await store.create_session("work", agent="coder", model="a/b", title="a title", directory="/here")
            first = Message(type=MessageType.USER, content="one", attachments=(PICTURE,))
            load = call("call", LOAD_TOOL_GROUP, '{"group_name": "pdf"}')
            stored = await store.append(origin.id, [first, load])
            await store.finish_calls(origin.id, [success("call", "loaded")])
            [_, two, _] = await store.append(origin.id, [assistant("1"), user("two"), assistant("2")])
            await store.set_summary(origin.id, "it began", stored[0].sequence or 0)
            before = await store.messages(origin.id)

            made = await store.branch_session(origin.id, "other", two.sequence)

            copied = await store.messages(made.id)
            assert [each.content for each in copied] == [each.content for each in before[:-2]]
            assert copied[0].attachments == (PICTURE,)
            assert [each.created_at for each in copied] == [each.created_at for each in before[:-2]]
            start = await store.load_turn(made.id, None)
            assert (start.summary, start.summary_until) == ("it began", copied[0].sequence)
            assert restore_loaded_groups(start.group_loads) == ["pdf"]
            assert (made.agent, made.model, made.title, made.parent_id) == ("coder", "a/b", "a title", None)
            assert await store.last_used_session("/here") in (made, await store.find_session("work"))
            assert await store.messages(origin.id) == before

    asyncio.run(main())


def test_a_branch_parts_no_call_from_its_result_and_is_not_empty(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session("work", agent="default")
            [first, _] = await store.append(session.id, [user("one"), call("call")])
            [second] = await store.append(session.id, [user("two")])
            await store.finish_calls(session.id, [success("call")])
            with pytest.raises(StoreError, match="part a tool call"):
                await store.branch_session(session.id, None, second.sequence)
            with pytest.raises(UsageError, match="nothing to copy"):
                await store.branch_session(session.id, None, first.sequence)
            with pytest.raises(UsageError, match="already"):
                await store.branch_session(session.id, "work")
            assert len(await store.list_sessions()) == 1

    asyncio.run(main())


def test_a_renamed_session_is_found_by_its_new_name_alone(tmp_path: Path) -> None:
    async def main() -> None:
        async def found(word: str) -> list[str | None]:
            passages = await store.search(parse_query(word), SearchRange(None, None, frozenset()), wants_all=True)
            return [each.session_name for each in passages.passages]

        async with opened(tmp_path) as store:
            session = await store.create_session("zebra", agent="default")
            await store.create_session("taken", agent="default")
            assert await found("zebra") == ["zebra"]

            await store.rename_session(session.id, "okapi")

            renamed = await store.find_session("okapi")
            assert renamed is not None
            assert renamed.id == session.id
            assert await store.find_session("zebra") is None
            assert (await found("zebra"), await found("okapi")) == ([], ["okapi"])
            with pytest.raises(UsageError, match="already"):
                await store.rename_session(session.id, "taken")
            with pytest.raises(UsageError, match="must not be empty"):
                await store.rename_session(session.id, " ")

    asyncio.run(main())
