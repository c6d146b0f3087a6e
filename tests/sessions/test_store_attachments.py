"""Files that go with messages."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from histories import assistant, call, history, opened, opened_for_examples, success, user
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from oneclaw_core.sessions import messages
from oneclaw_core.sessions.backend import value_of
from oneclaw_core.sessions.history import SENT_FILES_BYTES, file_characters
from oneclaw_core.types.messages import Attachment, Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from oneclaw_core.sessions.backend import Connection
    from oneclaw_core.sessions.store import Store

PICTURE = Attachment("a.png", "image/png", bytes(range(256)))
DOCUMENT = Attachment("b.pdf", "application/pdf", b"%PDF-")
EMPTY = Attachment("empty", "application/pdf", b"")


def with_files(message: Message, *files: Attachment) -> Message:
    return replace(message, attachments=files)


def files_of(messages: object) -> list[tuple[Attachment, ...]]:
    return [each.attachments for each in messages]  # type: ignore[attr-defined]


def test_files_come_back_in_their_order_wherever_messages_are_read(tmp_path: Path) -> None:
    entries = [
        with_files(user(), PICTURE, EMPTY, DOCUMENT),
        call("1"),
        with_files(success("1"), DOCUMENT),
        assistant(),
    ]
    expected = [entry.attachments for entry in entries]

    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            stored = await store.append(session.id, entries)
            assert files_of(stored) == expected
            assert files_of(await store.messages(session.id)) == expected
            assert files_of(await history(store, session.id)) == expected
            assert files_of((await store.load_turn(session.id, None)).history) == expected

    asyncio.run(main())


def test_files_for_the_user_are_stored_as_such_and_are_no_load_for_models(tmp_path: Path) -> None:
    sent = Attachment("c.zip", "application/zip", b"PK", is_for_user=True)
    entries = [user(), call("1"), with_files(success("1"), sent), assistant()]

    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, entries)
            assert (await store.messages(session.id))[2].attachments == (sent,)
            copied = await store.branch_session(session.id)
            assert (await store.messages(copied.id))[2].attachments == (sent,)
            [left_out] = (await store.load_turn(session.id, None)).history[2].attachments
            assert (left_out.is_for_user, left_out.data, left_out.size) == (True, b"", 2)

    asyncio.run(main())


def test_the_newest_messages_come_in_order_without_the_bytes_of_files(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            stored = await store.append(session.id, [user("1"), with_files(user("2"), PICTURE), user("3")])
            newest = await store.newest_messages(session.id, None, 2)
            assert [each.content for each in newest] == ["2", "3"]
            assert [(each.data, each.size) for each in newest[0].attachments] == [(b"", 256)]
            before = await store.newest_messages(session.id, stored[2].sequence, 5)
            assert [each.content for each in before] == ["1", "2"]
            assert await store.newest_messages(session.id, 0, 5) == []

    asyncio.run(main())


def test_a_result_found_instead_of_a_second_one_has_its_files(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user(), call("1")])
            [first] = await store.finish_calls(session.id, [with_files(success("1"), PICTURE)])
            [second] = await store.finish_calls(session.id, [with_files(success("1"), DOCUMENT)])
            assert first.attachments == second.attachments == (PICTURE,)
            assert files_of(await store.messages(session.id)) == [(), (), (PICTURE,)]

    asyncio.run(main())


def test_a_new_turn_begins_with_the_files_of_the_users_message(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            start = await store.begin_turn(session.id, with_files(user(), PICTURE), success(""), None)
            assert files_of(start.history) == [(PICTURE,)]

    asyncio.run(main())


def test_text_that_no_database_can_hold_is_replaced_in_a_files_name(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            strange = Attachment("a\x00\ud800.png", "image/png", b"x")
            stored = await store.append(session.id, [with_files(user(), strange)])
            assert stored == await store.messages(session.id)
            assert stored[0].attachments[0].name == "a\ufffd?.png"

    asyncio.run(main())


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows with what is asked of the bytes of files."""
    seen: list[str] = []
    rows = messages.rows_in

    def see(connection: Connection, sql: str, name: str, values: Sequence[Any], *others: Any) -> Iterator[Any]:
        if name == "sequences" and "length(" not in sql and values:
            seen.append(f"{sql} {values}")
        return rows(connection, sql, name, values, *others)

    monkeypatch.setattr(messages, "rows_in", see)
    return seen


def test_files_outside_the_window_are_not_read_and_none_means_no_query(tmp_path: Path, seen: list[str]) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            [old] = await store.append(session.id, [with_files(user("old"), PICTURE)])
            await store.append(session.id, [user("plain"), assistant("x" * 100)])
            seen.clear()
            start = await store.load_turn(session.id, 101)
            assert [each.content[:5] for each in start.history] == ["plain", "xxxxx"]
            assert await store.messages(session.id, after=old.sequence or 0) != []
            assert seen == []
            assert files_of((await store.load_turn(session.id, None)).history) == [(PICTURE,), (), ()]
            assert len(seen) == 1

    asyncio.run(main())


def test_the_window_asks_once_for_all_its_files(tmp_path: Path, seen: list[str]) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [with_files(user(), PICTURE) for _ in range(250)])
            seen.clear()
            assert files_of((await store.load_turn(session.id, None)).history) == [(PICTURE,)] * 250
            assert len(seen) == 1

    asyncio.run(main())


def test_more_messages_with_files_than_one_query_takes_are_read(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [with_files(user(), EMPTY) for _ in range(501)])
            assert files_of(await store.messages(session.id)) == [(EMPTY,)] * 501

    asyncio.run(main())


def test_files_go_with_their_session(tmp_path: Path) -> None:
    async def main() -> object:
        async with opened(tmp_path) as store:
            kept = await store.create_session(agent="default")
            gone = await store.create_session(agent="default")
            for session in (kept, gone):
                await store.append(session.id, [with_files(user(), PICTURE)])
            await store.delete_session(gone.id)
            assert files_of(await store.messages(kept.id)) == [(PICTURE,)]
            return await store._database.read(lambda it: value_of(it.execute("SELECT count(*) FROM attachments")))

    assert asyncio.run(main()) == 1


def test_a_window_has_the_files_of_just_its_messages(tmp_path: Path) -> None:
    async def check(store: Store, contents: list[list[bytes]], max_characters: int) -> None:
        entries = [
            with_files(user(f"{number:05}"), *(Attachment("f", "image/png", data) for data in files))
            for number, files in enumerate(contents)
        ]
        session = await store.create_session(agent="default")
        await store.append(session.id, entries)
        window = await history(store, session.id, max_characters)
        begin = len(entries) - len(window)
        assert [(each.content, each.attachments) for each in window] == [
            (each.content, each.attachments) for each in entries[begin:]
        ]

    with opened_for_examples(tmp_path) as run:

        @settings(max_examples=examples(40))
        @given(st.lists(st.lists(st.binary(max_size=20), max_size=3), max_size=8), st.integers(0, 40))
        def holds(contents: list[list[bytes]], max_characters: int) -> None:
            run(check, contents, max_characters)

        holds()


def listed(file: Attachment) -> Attachment:
    return Attachment(file.name, file.media_type, b"", left_out_bytes=len(file.data))


@pytest.mark.long
@pytest.mark.only("sqlite")
def test_old_files_are_read_without_their_bytes_when_there_are_too_many(tmp_path: Path, seen: list[str]) -> None:
    half = Attachment("half.png", "image/png", bytes(SENT_FILES_BYTES // 2))

    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [with_files(user(), half, DOCUMENT), with_files(user(), half)])
            seen.clear()
            history = (await store.load_turn(session.id, None)).history
            assert files_of(history) == [(listed(half), listed(DOCUMENT)), (half,)]
            assert [statement.rpartition(" ")[2] for statement in seen] == ["[2]"]
            # They are there whenever the history itself is wanted.
            assert files_of(await store.messages(session.id)) == [(half, DOCUMENT), (half,)]

    asyncio.run(main())


def test_files_count_for_the_length_of_a_history(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [with_files(user("old"), PICTURE), user("new")])
            length = file_characters(PICTURE) + 6
            for limit, shown in ((length, ["old", "new"]), (length - 1, ["new"])):
                history = (await store.load_turn(session.id, limit)).history
                assert [each.content for each in history] == shown

    asyncio.run(main())
    assert file_characters(PICTURE) == file_characters(listed(PICTURE)) > 1_000
    assert file_characters(Attachment("a.txt", "text/plain", b"four")) == 4
    huge = Attachment("a.pdf", "application/pdf", b"", left_out_bytes=20_000_000)
    assert file_characters(DOCUMENT) < file_characters(huge) <= 100_000


def test_a_long_entry_is_stored_whole(tmp_path: Path) -> None:
    big = Attachment("big.bin", "application/octet-stream", bytes(range(256)) * 2_000)

    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user("x" * 300_000), with_files(user("2"), big)])
            [text, file] = await store.messages(session.id)
            assert (len(text.content), file.attachments) == (300_000, (big,))

    asyncio.run(main())
