from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from histories import (
    assistant,
    call,
    database_url,
    failure,
    history,
    opened,
    opened_for_examples,
    pending_calls,
    success,
    user,
)
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from oneclaw_core.errors import ConstraintError, NotFoundError, StoreDamagedError, StoreError
from oneclaw_core.permissions import Decision, Grant
from oneclaw_core.sessions import messages as stored_messages
from oneclaw_core.sessions.schema import IS_GROUP_LOAD, creation, messages
from oneclaw_core.sessions.sessions import new_id
from oneclaw_core.types.messages import Message, MessageType, ToolCallStatus
from oneclaw_core.types.provenance import Mark, MarkKind
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, restore_loaded_groups

pytestmark = pytest.mark.every_python

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.sessions.backend import Connection
    from oneclaw_core.sessions.store import Store


def test_an_entry_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    entry = Message(
        type=MessageType.ASSISTANT,
        content="line\nüñí 🦀",
        shown_characters=3,
        is_incomplete=True,
        duration_ms=0.125,
        provider_data={"anthropic": {"signature": "x" * 100, "blocks": [1, None, True, "ü"]}},
    )
    marks = (Mark(MarkKind.PAGE, "https://example.com/ü"), Mark(MarkKind.PRIVATE, "the file a.md"))
    finished = replace(failure("id"), shown_characters=4, is_json=True, marks=marks)

    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            before = datetime.now(UTC)
            stored = await store.append(session.id, [user(), entry, call("id", arguments='{"a": 1} '), finished])
            read = await store.messages(session.id)
            assert [replace(each, tool_status=None) for each in read] == [
                replace(each, tool_status=None) for each in stored
            ]
            assert [each.tool_status for each in read] == [None, None, ToolCallStatus.ERROR, ToolCallStatus.ERROR]
            assert replace(read[1], sequence=None, created_at=None) == entry
            assert replace(read[3], sequence=None, created_at=None) == finished
            assert read[2].tool_input == '{"a": 1} '
            assert all(each.created_at is not None and each.created_at >= before for each in read)

    asyncio.run(main())


def test_the_order_is_that_of_storing_whatever_the_clock_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            for moment in (3, 1, 2):
                monkeypatch.setattr(stored_messages, "now", lambda moment=moment: moment)
                await store.append(session.id, [user(str(moment))])
            read = await store.messages(session.id)
            assert [each.content for each in read] == ["3", "1", "2"]
            assert [each.sequence for each in read] == sorted(each.sequence or 0 for each in read)
            assert [each.content for each in await history(store, session.id)] == ["3", "1", "2"]

    asyncio.run(main())


def test_entries_are_read_in_pages(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            other = await store.create_session(agent="default")
            for number in range(10):
                await store.append(session.id, [user(str(number))])
                await store.append(other.id, [user("other")])
            after, found = 0, []
            while page := await store.messages(session.id, after=after, limit=4):
                assert len(page) <= 4
                found += [each.content for each in page]
                after = page[-1].sequence or 0
            assert found == [str(number) for number in range(10)]

    asyncio.run(main())


def test_append_stores_all_or_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [call("1")])
            with pytest.raises(StoreError, match="no tool call"):
                await store.append(session.id, [assistant("text"), call("2"), success("3")])
            assert await store.count_messages(session.id) == 1

    asyncio.run(main())


def test_a_call_whose_id_is_taken_or_empty_gets_a_new_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [call("1")])
            stored = await store.append(session.id, [call("1"), call(""), call("2"), call("2")])
            ids = [each.tool_call_id or "" for each in stored]
            assert ids[2] == "2"
            assert len({"1", *ids}) == 5
            assert all(each.startswith("call_") for each in (ids[0], ids[1], ids[3]))
            other = await store.create_session(agent="default")
            assert (await store.append(other.id, [call("1")]))[0].tool_call_id == "1"

    asyncio.run(main())


def test_a_turn_begins_by_answering_what_was_left_open(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user("do"), call("1"), call("2")])
            await store.finish_calls(session.id, [success("1")])
            interrupted = replace(failure("", "interrupted"), tool_name=None)
            start = await store.begin_turn(session.id, user("and?"), interrupted, None)
            assert start.pending_calls == ()
            assert [each.type for each in start.history[-2:]] == [MessageType.TOOL_RESULT, MessageType.USER]
            answer = start.history[-2]
            assert (answer.tool_call_id, answer.error_type) == ("2", "interrupted")
            assert answer.tool_name == start.history[2].tool_name

    asyncio.run(main())


def test_a_call_is_pending_until_its_outcome_is_stored(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user(), replace(call("1"), tool_status=None), call("2")])
            assert [each.tool_call_id for each in await pending_calls(store, session.id)] == ["1", "2"]
            [result] = await store.finish_calls(session.id, [success("1")])
            assert result.sequence is not None
            assert [each.tool_call_id for each in await pending_calls(store, session.id)] == ["2"]
            await store.finish_calls(session.id, [failure("2", "interrupted")])
            assert await pending_calls(store, session.id) == []
            statuses = [(each.type, each.tool_status) for each in (await store.messages(session.id))[1:]]
            assert statuses == [
                (MessageType.TOOL_CALL, ToolCallStatus.SUCCESS),
                (MessageType.TOOL_CALL, ToolCallStatus.ERROR),
                (MessageType.TOOL_RESULT, ToolCallStatus.SUCCESS),
                (MessageType.TOOL_RESULT, ToolCallStatus.ERROR),
            ]

    asyncio.run(main())


def test_the_first_outcome_of_a_call_is_its_only_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user(), call("1")])
            outcomes = await asyncio.gather(
                store.finish_calls(session.id, [success("1", "first")]),
                store.finish_calls(session.id, [failure("1")]),
                store.append(session.id, [failure("1")]),
            )
            assert outcomes[0] == outcomes[1] == outcomes[2]
            assert await store.count_messages(session.id) == 3
            assert (await store.messages(session.id))[1].tool_status is outcomes[0][0].tool_status
            later = await store.finish_calls(session.id, [success("1", "later")])
            assert later == outcomes[0]

    asyncio.run(main())


def test_the_database_itself_allows_one_result_for_a_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user(), call("1"), success("1")])

            def insert_directly(connection: Connection) -> None:
                row = dict.fromkeys(stored_messages._COLUMNS)
                row |= {"session_id": session.id, "type": "tool_result", "tool_call_id": "1"}
                with pytest.raises(ConstraintError, match=r"(?i)unique"):
                    connection.execute(
                        stored_messages._INSERT,
                        row | {"content": "", "created_at": 0},
                    )

            await store._database.write(insert_directly)

    asyncio.run(main())


def test_a_result_needs_its_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            refused = [
                (store.finish_calls(session.id, [success("no")]), "no tool call 'no'"),
                (store.append(session.id, [success("no")]), "no tool call 'no'"),
                (store.finish_calls("0" * 32, [success("no")]), "no tool call 'no'"),
                (store.finish_calls(session.id, [user()]), "finished by its result"),
                (
                    store.finish_calls(session.id, [replace(success("1"), tool_status=ToolCallStatus.PENDING)]),
                    "either a success or an error",
                ),
                (store.append(session.id, [replace(user(), provider_data={"x": object()})]), "what JSON can hold"),
            ]
            for attempt, message in refused:
                with pytest.raises(StoreError, match=message):
                    await attempt
            assert await store.count_messages(session.id) == 0

    asyncio.run(main())


def test_a_finished_call_of_another_history_can_be_copied_with_its_result(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            first = await store.create_session(agent="default")
            await store.append(first.id, [user(), call("1"), success("1")])
            second = await store.create_session(agent="default")
            await store.append(second.id, await store.messages(first.id))
            copied, original = await store.messages(second.id), await store.messages(first.id)
            assert [(each.type, each.tool_status) for each in copied] == [
                (each.type, each.tool_status) for each in original
            ]

    asyncio.run(main())


def test_any_text_can_be_stored(tmp_path: Path) -> None:
    async def check(store: Store, text: str) -> None:
        session = await store.create_session(agent=text, model=text)
        identity = text or "id"
        hostile = replace(
            call(identity, text, text), content=text, error_type=text, provider_data={"type": {text: [text]}}
        )
        stored = await store.append(session.id, [user(text), hostile])
        [result] = await store.finish_calls(session.id, [replace(success(identity, text), tool_name=text)])
        read = await store.messages(session.id)
        assert read[0] == stored[0]
        assert read[2] == result
        if text.isprintable():
            assert read[0].content == text
            assert read[1].provider_data == {"type": {text: [text]}}

    with opened_for_examples(tmp_path) as run:

        @settings(max_examples=examples(50))
        @given(text=st.text(st.characters(codec=None, exclude_categories=()), max_size=20))
        def holds(text: str) -> None:
            run(check, text)

        holds()


@pytest.mark.long
def test_ids_that_calls_of_this_session_have_are_replaced(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [call(f"call-{number}") for number in range(3)])
            other = await store.create_session(agent="default")
            await store.append(other.id, [call("elsewhere")])
            given = [f"call-{number}" for number in range(2, 2000)] + ["elsewhere"]
            stored = await store.append(session.id, [call(each) for each in given])
            assert [each.tool_call_id for each in stored[1:]] == given[1:]
            assert stored[0].tool_call_id != "call-2"

    asyncio.run(main())


STORE_CALL_AND_WAIT = """
import asyncio, sys, tempfile
from oneclaw_core.installation.stores import backend_of
from pathlib import Path
from oneclaw_core.types.messages import Message, MessageType, ToolCallStatus
from oneclaw_core.sessions.store import Store

async def main():
    store = await Store.open(backend_of(sys.argv[1], {}), lock_directory=Path(tempfile.mkdtemp()))
    call = Message(type=MessageType.TOOL_CALL, tool_call_id="1", tool_name="write_file", tool_input="{}")
    await store.append(sys.argv[2], [call])
    print("stored", flush=True)
    sys.stdin.readline()

asyncio.run(main())
"""


def test_a_call_stored_before_a_kill_is_there_and_pending(tmp_path: Path) -> None:
    async def begin() -> str:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user()])
            return session.id

    session_id = asyncio.run(begin())
    with subprocess.Popen(
        [sys.executable, "-c", STORE_CALL_AND_WAIT, database_url(tmp_path), session_id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stored\n"
        process.send_signal(signal.SIGKILL)

    async def take_up() -> None:
        async with opened(tmp_path) as store:
            start = await store.load_turn(session_id, 1000)
            assert [each.tool_call_id for each in start.pending_calls] == ["1"]
            assert [each.type for each in start.history] == [MessageType.USER, MessageType.TOOL_CALL]
            await store.finish_calls(session_id, [failure("1", "interrupted")])
            assert (await store.load_turn(session_id, 1000)).pending_calls == ()

    asyncio.run(take_up())


def load(call_id: str, group: str) -> Message:
    return call(call_id, LOAD_TOOL_GROUP, f'{{"group_name": "{group}"}}')


def test_044_group_loads_are_the_successful_ones_in_their_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            other = await store.create_session(agent="default")
            await store.append(other.id, [user(), load("1", "elsewhere"), success("1", name=LOAD_TOOL_GROUP)])
            await store.append(session.id, [user(), load("1", "mail"), load("2", "nothing"), load("3", "pdf")])
            await store.append(session.id, [load("4", "pending"), call("5", "other_tool", '{"group_name": "no"}')])
            for result in (success("3"), failure("2"), success("1"), success("5")):
                await store.finish_calls(session.id, [result])
            start = await store.load_turn(session.id, 1)
            assert restore_loaded_groups(start.group_loads) == ["mail", "pdf"]

    asyncio.run(main())


def test_the_index_of_group_loads_names_the_tool_that_loads_groups() -> None:
    assert f"tool_name = '{LOAD_TOOL_GROUP}'" in IS_GROUP_LOAD


def plan(connection: Connection, statement: str) -> str:
    """How SQLite means to find the rows."""
    values = dict.fromkeys(("session", "before", "after", "page"), 1)
    [row] = connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
    return str(row[3])


@pytest.mark.only("sqlite")
@pytest.mark.parametrize("first_made", [None, "messages_by_session", "group_loads", "pending_calls"])
def test_044_nothing_at_the_start_of_a_turn_reads_the_whole_history(tmp_path: Path, first_made: str | None) -> None:
    """Whatever the order of the indexes, which decides where SQLite finds two of them equally good."""

    def plans(connection: Connection) -> list[str]:
        if first_made is not None:
            _, *indexes = creation(messages, connection.dialect)
            for index in messages.indexes:
                connection.execute(f"DROP INDEX {index.name}")
            for statement in sorted(indexes, key=lambda each: f" {first_made} " not in each):
                connection.execute(statement)
        return [
            plan(connection, statement)
            for statement in (
                stored_messages._GROUP_LOADS,
                stored_messages._PENDING_CALLS,
                stored_messages._BACKWARDS,
                stored_messages._FORWARDS,
            )
        ]

    async def main() -> list[str]:
        async with opened(tmp_path) as store:
            return await store._database.write(plans)

    assert asyncio.run(main()) == [
        "SEARCH messages USING INDEX group_loads (session_id=? AND tool_name=?)",
        "SEARCH messages USING INDEX pending_calls (session_id=? AND tool_status=?)",
        "SEARCH messages USING INDEX messages_by_session (session_id=? AND sequence>? AND sequence<?)",
        "SEARCH messages USING INDEX messages_by_session (session_id=? AND sequence>?)",
    ]


@pytest.mark.parametrize(
    "fault", ["type = 'poem'", "created_at = 9000000000000000000", "provider_data = '{'", "provider_data = '[]'"]
)
def test_a_damaged_row_is_reported(tmp_path: Path, fault: str) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user()])
            await store._database.write(lambda it: it.execute(f"UPDATE messages SET {fault}").close())
            with pytest.raises(StoreDamagedError, match=r"damaged message \(number 1\): put a backup copy"):
                await store.messages(session.id)

    asyncio.run(main())


def test_a_session_begins_with_its_first_turn_or_not_at_all(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_grant(Grant("files.read", decision=Decision.DENY))
            await store.set_tool_enabled("tool", "pdf_info", False)
            session_id = new_id()
            session, start = await store.begin_session_with_turn(session_id, user("first"), agent="A", title="about")
            found = await store.find_session(session_id)
            assert found == replace(session, updated_at=found.updated_at)
            assert (session.id, session.name, session.agent, session.title) == (session_id, None, "A", "about")
            again = await store.load_turn(session_id, None)
            assert start == again
            assert [each.content for each in start.history] == ["first"]
            with pytest.raises(NotFoundError):
                await store.begin_session_with_turn(new_id(), user("lost"), agent="A", parent_id="0" * 32)
            assert len(await store.list_sessions()) == 1

    asyncio.run(main())


def test_several_outcomes_are_stored_all_or_none(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user(), call("1"), call("2")])
            with pytest.raises(StoreError, match="no tool call 'unknown'"):
                await store.finish_calls(session.id, [success("1"), success("unknown")])
            assert [each.tool_call_id for each in (await store.load_turn(session.id, None)).pending_calls] == ["1", "2"]
            stored = await store.finish_calls(session.id, [success("2"), failure("1")])
            assert [each.tool_call_id for each in stored] == ["2", "1"]
            # The first outcome of a call stays.
            assert await store.finish_calls(session.id, [failure("2")]) == stored[:1]

    asyncio.run(main())


def test_a_message_is_marked_as_not_sent_and_keeps_the_rest(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            first, second = await store.append(session.id, [user("one"), user("two")])
            data = {"other": {"kept": True}, "oneclaw": {"not_sent": "no, thanks"}}
            await store.mark_not_sent(session.id, [replace(second, provider_data=data)])
            again = await store.messages(session.id)
        assert [each.not_sent for each in again] == [None, "no, thanks"]
        assert (again[1].provider_data or {})["other"] == {"kept": True}
        assert again[0] == first

    asyncio.run(main())
