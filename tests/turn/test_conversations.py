"""Search in all sessions by the Python API."""

import asyncio
import sqlite3
import time
from contextlib import closing
from datetime import date, datetime

import pytest
from how_long import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oneclaw_core import Message, MessageType, OneClaw, UsageError
from oneclaw_core.search.ranking import Passage, Source


def opened(home, environ=()):
    return OneClaw.open(home, environ=dict(environ), start_directory=home)


async def tell(claw, *texts):
    session = await claw.begin_session()
    await claw.store.append(session.id, [Message(type=MessageType.USER, content=text) for text in texts])
    return session


def test_messages_titles_and_passages_are_ranked_together(tmp_path, database_environ):
    async def run():
        async with opened(tmp_path, database_environ) as claw:
            session = await tell(claw, "I drink tea", "and coffee")
            await claw.begin_session("tea-time")
            notes = [Passage(source=Source.NOTE, text="Likes tea"), Passage(source=Source.NOTE, text="Likes cats")]
            findings = await claw.services.sessions.search("TEA", passages=notes)
            assert [hit.passage.source for hit in findings.hits] == [Source.NOTE, Source.MESSAGE, Source.SESSION]
            assert findings.has_all_words
            assert findings.hits[1].passage.session_id == session.id
            found = await claw.services.sessions.search("tea", max_results=1)
            assert [hit.excerpt for hit in found.hits] == ["I drink tea"]
            found = await claw.services.sessions.search("tea", passages=notes, in_sessions=False)
            assert [hit.excerpt for hit in found.hits] == ["Likes tea"]
            assert (await claw.services.sessions.search("tea milk")).has_all_words is False

    asyncio.run(run())


def test_days_are_the_users_own_and_inclusive(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    try:

        async def run():
            async with opened(tmp_path) as claw:
                await tell(claw, *(f"tea {number}" for number in range(4)))
                moments = [
                    datetime(2026, 7, 1, 23, 59, 59),  # of the machine's zone, which is the point
                    datetime(2026, 7, 2, 0, 0),
                    datetime(2026, 7, 2, 23, 59, 59),
                    datetime(2026, 7, 3, 0, 0),
                ]
                with closing(sqlite3.connect(tmp_path / "oneclaw.db")) as connection:
                    connection.executemany(
                        "UPDATE messages SET created_at = ? WHERE sequence = ?",
                        [(int(moment.timestamp() * 1e6), number) for number, moment in enumerate(moments, 1)],
                    )
                    connection.commit()
                day = date(2026, 7, 2)
                found = await claw.services.sessions.search("tea", since=day, until=day)
                assert sorted(hit.excerpt for hit in found.hits) == ["tea 1", "tea 2"]
                assert len((await claw.services.sessions.search("tea", until=day)).hits) == 3
                assert len((await claw.services.sessions.search("tea", since=day)).hits) == 3

        asyncio.run(run())
    finally:
        monkeypatch.undo()
        time.tzset()


def test_another_time_zone_at_the_ends_of_the_calendar(tmp_path):
    async def run():
        async with opened(tmp_path) as claw:
            await tell(claw, "tea")
            found = await claw.services.sessions.search("tea", since=date.min, until=date.max)
            assert len(found.hits) == 1
            assert (await claw.services.sessions.search("tea", since=date.max)).hits == ()

    asyncio.run(run())


@pytest.mark.parametrize(
    "options",
    [{"max_results": 0}, {"max_results": 51}, {"since": date(2026, 1, 2), "until": date(2026, 1, 1)}],
)
def test_what_does_not_fit_is_refused(options, tmp_path):
    async def run():
        async with opened(tmp_path) as claw:
            with pytest.raises(UsageError):
                await claw.services.sessions.search("tea", **options)

    asyncio.run(run())


def test_a_query_without_words_is_refused(tmp_path):
    async def run():
        async with opened(tmp_path) as claw:
            with pytest.raises(UsageError, match="no word"):
                await claw.services.sessions.search("?!")

    asyncio.run(run())


@pytest.mark.long
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(min_size=1, max_size=40), min_size=3, max_size=10), st.dates())
def test_any_query_is_answered(tmp_path, queries, day):
    async def run():
        async with opened(tmp_path) as claw:
            await tell(claw, "some tea", *queries)
            for query in queries:
                try:
                    found = await claw.services.sessions.search(query)
                    await claw.services.sessions.search(query, since=day, until=day)
                except UsageError:
                    continue
                assert found.hits

    asyncio.run(run())
