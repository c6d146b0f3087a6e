"""Finding messages and sessions by their words."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from databases import VARIABLE
from histories import assistant, call, change, database_path, opened, opened_for_examples, rows, success, user
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from oneclaw_core.search.ranking import Source
from oneclaw_core.search.words import parse_query
from oneclaw_core.sessions.backend import SearchIndex, to_stored
from oneclaw_core.sessions.search import SearchRange

if TYPE_CHECKING:
    from oneclaw_core.sessions.store import Store

VERSION_1 = Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8")

WRITER = """
import asyncio, sys
from histories import opened, user
from pathlib import Path
async def main():
    async with opened(Path(sys.argv[1])) as store:
        session = await store.create_session(agent="General Assistant")
        for number in range(100_000):
            await store.append(session.id, [user(f"killed {number}")])
            print(number, flush=True)
asyncio.run(main())
"""


async def found(store: Store, query: str, where: SearchRange | None = None, *, wants_all: bool = True) -> list[str]:
    candidates = await store.search(parse_query(query), where or SearchRange(), wants_all=wants_all)
    return [each.text for each in candidates.passages if each.source is Source.MESSAGE]


async def titles(store: Store, query: str, where: SearchRange | None = None) -> list[str]:
    candidates = await store.search(parse_query(query), where or SearchRange(), wants_all=True)
    return [each.text for each in candidates.passages if each.source is Source.SESSION]


def entries_of_index(home: Path, term: str) -> int:
    if VARIABLE in os.environ:
        [(count,)] = rows(home, "SELECT count(*) FROM message_search WHERE terms @@ ?::tsquery", f"'{term}'")
    else:
        query = "SELECT count(*) FROM message_search WHERE message_search MATCH ?"
        [(count,)] = rows(home, query, f'"{term}"')
    return int(count)


def test_what_the_user_and_the_model_said_is_found_and_nothing_else(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session("work", agent="General Assistant", title="a title")
            await store.append(session.id, [user("tea, please"), assistant("Here is Téa"), assistant("")])
            await store.append(session.id, [call("1", "make_tea", '{"tea": 1}'), success("1", "tea")])
            assert await found(store, "TEA") == ["Here is Téa", "tea, please"]
            assert await found(store, "tea please") == ["tea, please"]
            assert await found(store, "coffee") == []
            [passage, _] = (await store.search(parse_query("tea"), SearchRange(), wants_all=True)).passages
            assert (passage.role, passage.session_id, passage.session_name) == ("assistant", session.id, "work")
            assert passage.session_title == "a title"
            assert passage.moment is not None

    asyncio.run(main())


@pytest.mark.long
def test_messages_are_found_across_batches_and_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="General Assistant")
            for number in range(3):
                await store.append(session.id, [user(f"tea {number} {n}") for n in range(200)])
            # Two batches are in the index without a search.
            assert entries_of_index(tmp_path, "tea") == 512
            assert len(await found(store, "tea 2")) == 202
            await store.append(session.id, [user("tea for two")])
            assert await found(store, "tea two") == ["tea for two"]

    asyncio.run(main())


@pytest.mark.long
def test_the_newest_are_looked_at_where_many_match(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="General Assistant")
            await store.append(session.id, [user(f"tea {number}") for number in range(1000)])
            texts = await found(store, "tea")
            assert texts == [f"tea {number}" for number in range(999, 999 - len(texts), -1)]
            assert 100 <= len(texts) < 1000
            candidates = await store.search(parse_query("tea 7"), SearchRange(), wants_all=True)
            common, rare = candidates.frequencies
            assert common == pytest.approx(1)
            assert rare == pytest.approx(0.001)

    asyncio.run(main())


def test_a_search_reads_so_much_text_and_no_more(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="General Assistant")
            await store.append(session.id, [user(f"tea {number} " + "x" * 15_000) for number in range(60)])
            texts = await found(store, "tea")
            assert [text.split()[1] for text in texts] == [str(number) for number in range(59, 59 - len(texts), -1)]
            assert 1 < len(texts) < 60

    asyncio.run(main())


def test_what_has_some_of_the_words_is_found_if_nothing_has_all(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="General Assistant")
            await store.append(session.id, [user("sencha in kyoto")])
            await store.append(session.id, [user(f"in town, {number} times kyoto") for number in range(300)])
            await store.append(session.id, [user(f"sencha, {number} cups") for number in range(300)])
            texts = await found(store, "sencha kyoto nowhere", wants_all=False)
            # Older than all that has one of the words, and yet there.
            assert "sencha in kyoto" in texts

    asyncio.run(main())


def test_the_turn_under_way_is_left_out_to_the_message(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            asking = await store.create_session(agent="General Assistant", title="tea?")
            other = await store.create_session(agent="General Assistant", title="tea!")
            await store.append(asking.id, [user("tea before"), assistant("more tea")])
            await store.append(other.id, [user("tea elsewhere")])
            await store.append(asking.id, [user("what about tea?"), assistant("I look for tea"), call("1")])
            await store.append(other.id, [user("tea elsewhere, later")])
            where = SearchRange(asking_sessions=frozenset([asking.id]))
            assert await found(store, "tea", where) == [
                "tea elsewhere, later",
                "tea elsewhere",
                "more tea",
                "tea before",
            ]
            assert await titles(store, "tea", where) == ["tea!"]

    asyncio.run(main())


@pytest.mark.long
def test_days_limit_what_is_found_even_if_a_clock_was_wrong(tmp_path: Path) -> None:
    begun = datetime(2026, 3, 1, tzinfo=UTC)

    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="General Assistant")
            await store.append(session.id, [user(f"tea of day {number}") for number in range(60)])
            for number in range(60):
                # Some hours back and forth.
                moment = begun + timedelta(days=number, hours=12 + number % 3 * 5)
                change(tmp_path, "UPDATE messages SET created_at = ? WHERE sequence = ?", to_stored(moment), number + 1)
            change(
                tmp_path, "UPDATE messages SET created_at = ? WHERE sequence = 31", to_stored(begun + timedelta(29.2))
            )
            since, until = to_stored(begun + timedelta(days=29)), to_stored(begun + timedelta(days=31))
            assert await found(store, "tea", SearchRange(since, until)) == ["tea of day 30", "tea of day 29"]
            assert len(await found(store, "tea", SearchRange(since=since))) == 31
            assert len(await found(store, "tea", SearchRange(until=until))) == 31
            assert await found(store, "tea", SearchRange(until=to_stored(begun))) == []
            assert await found(store, "tea", SearchRange(since=to_stored(begun + timedelta(days=90)))) == []

    asyncio.run(main())


def test_titles_and_names_are_found(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.create_session("kitchen", agent="General Assistant", title="tea and cakes")
            await store.create_session(agent="General Assistant")
            assert await titles(store, "kitchen tea") == ["kitchen: tea and cakes"]

    asyncio.run(main())


def test_a_deleted_session_leaves_nothing_in_the_index(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            gone = await store.create_session(agent="General Assistant", title="secret title")
            kept = await store.create_session(agent="General Assistant", title="other title")
            child = await store.create_session(agent="General Assistant", title="secret child", parent_id=gone.id)
            for session in (gone, kept, child):
                await store.append(session.id, [user(f"secret tea {number}") for number in range(5)])
            assert len(await found(store, "secret tea")) == 5 * 3
            await store.append(gone.id, [user("secret, and not in the index yet")])
            assert await store.delete_session(gone.id)
            assert entries_of_index(tmp_path, "secret") == 5
            assert len(await found(store, "secret")) == 5
            assert await titles(store, "title") == ["other title"]
            assert await titles(store, "secret") == []
            await store.append(kept.id, [user("secret news")])
            assert (await found(store, "secret"))[0] == "secret news"

    asyncio.run(main())


def test_only_the_beginning_of_a_very_long_message_is_found(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            session = await store.create_session(agent="General Assistant")
            await store.append(session.id, [user("first " + "x " * SearchIndex.INDEXED_CHARACTERS + "last")])
            assert len(await found(store, "first")) == 1
            assert await found(store, "last") == []
            await store.delete_session(session.id)
            assert entries_of_index(tmp_path, "first") == entries_of_index(tmp_path, "x") == 0

    asyncio.run(main())


@pytest.mark.only("sqlite")
def test_an_old_database_is_indexed_when_it_is_migrated(tmp_path: Path) -> None:
    with closing(sqlite3.connect(database_path(tmp_path))) as connection:
        connection.executescript(VERSION_1)

    async def main() -> None:
        async with opened(tmp_path) as store:
            assert entries_of_index(tmp_path, "read") == 1
            assert await found(store, "says text") == ["it says text"]
            assert await titles(store, "title") == ["work: a title"]
            assert await store.delete_session("0123456789abcdef0123456789abcdef")
            assert await found(store, "text", wants_all=False) == []

    asyncio.run(main())


@pytest.mark.long
@pytest.mark.one_python
def test_a_killed_writer_leaves_the_index_as_complete_as_the_messages(tmp_path: Path) -> None:
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, env=environ, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if int(line) >= 2 * SearchIndex.MESSAGES_PER_BATCH + 20:
                process.send_signal(signal.SIGKILL)
                break
    process.wait()

    async def main() -> None:
        async with opened(tmp_path) as store:
            (session,) = await store.list_sessions()
            last = session.message_count - 1
            for number in (0, 255, 256, last - 1, last):
                assert await found(store, f"killed {number}") == [f"killed {number}"]
            assert entries_of_index(tmp_path, "killed") == session.message_count

    asyncio.run(main())


@pytest.mark.long
@pytest.mark.one_python
def test_two_processes_search_and_write_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as one, opened(tmp_path) as other:
            session = await one.create_session(agent="General Assistant")
            for number in range(30):
                await one.append(session.id, [user(f"tea {number}")])
                assert await asyncio.gather(found(one, f"tea {number}"), found(other, f"tea {number}")) == [
                    [f"tea {number}"],
                    [f"tea {number}"],
                ]
        assert entries_of_index(tmp_path, "tea") == 30

    asyncio.run(main())


ANY_TEXTS = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=30),
        st.sampled_from(
            ['"', "a AND", "NEAR(a b, 2)", "a*", "^a", "-a", "a:b", "'; DROP TABLE messages; --", "{a}: b"]
        ),
    ),
    min_size=5,
    max_size=20,
)


@pytest.mark.long
def test_no_text_is_an_error_in_a_query_or_a_message(tmp_path: Path) -> None:
    async def check(store: Store, texts: list[str]) -> None:
        session = await store.create_session(agent="General Assistant")
        await store.append(session.id, [user(text) for text in texts])
        for text in texts:
            query = parse_query(text)
            if query:
                assert query.counts(text) == [1] * len(query.units) or any(query.counts(text))
                assert any(all(query.counts(each)) for each in await found(store, text))
                await found(store, text, wants_all=False)
        await store.delete_session(session.id)
        for text in texts:
            if parse_query(text):
                assert await found(store, text) == []

    with opened_for_examples(tmp_path) as run:

        @settings(max_examples=examples(12))
        @given(ANY_TEXTS)
        def holds(texts: list[str]) -> None:
            run(check, texts)

        holds()
