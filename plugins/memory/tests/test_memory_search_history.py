"""search_history, as the executor runs it, and within turns."""

import asyncio
from datetime import date, timedelta

import pytest
from oneclaw_memory.file import MemoryFile, memory_path
from pytest_oneclaw.chosen_plugins import chosen_plugins

from oneclaw_core import Message, MessageType, OneClaw


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def with_home(home, work):
    async def run():
        plugins = chosen_plugins(["memory"])
        async with OneClaw.open(home, environ={}, start_directory=home.parent, plugins=plugins) as claw:
            return await work(claw)

    return asyncio.run(run())


async def tell(claw, name, *texts):
    session = await claw.begin_session(name, title=f"About {texts[0]}")
    types = (MessageType.USER, MessageType.ASSISTANT)
    messages = [Message(type=types[number % 2], content=text) for number, text in enumerate(texts)]
    await claw.store.append(session.id, messages)


async def search(claw, query, **options):
    return (await claw.call_tool("search_history", {"query": query, **options})).result


def test_hits_say_where_they_come_from(home):
    async def work(claw):
        await tell(claw, "kitchen", "What tea is best?", "Green TÉA from Kyoto, 京都の緑茶.")
        MemoryFile(memory_path(claw.home)).change("Likes black tea", "preferences")
        found = await search(claw, "tea")
        return found.result, (await search(claw, "緑茶")).result, (await search(claw, "kyoto nowhere")).result

    tea, chinese, some = with_home(home, work)
    today = date.today().isoformat()
    assert tea.startswith("3 results for 'tea' (scope all), best first:\n\n1. [")
    assert "memory, Preferences: Likes black tea" in tea
    assert f"message by the user on {today} in session kitchen (About What tea is best?): What tea is best?" in tea
    assert "message by the assistant" in tea
    assert chinese.startswith("1 result ")
    assert "nothing has all the words, these have some:" in some


@pytest.mark.long
def test_scope_and_days_limit_the_search(home):
    async def work(claw):
        await tell(claw, "kitchen", "tea in the kitchen")
        MemoryFile(memory_path(claw.home)).change("Likes tea")
        day = date.today()
        return [
            (await search(claw, "tea", **options)).result
            for options in (
                {"scope": "Memory"},
                {"scope": "SESSIONS"},
                {"date_from": str(day), "date_to": str(day)},
                {"date_from": str(day + timedelta(days=1))},
                {"max_results": 0},
                {"max_results": 1000},
            )
        ]

    memory, sessions, today, tomorrow, one, many = with_home(home, work)
    assert "Likes tea" in memory
    assert "kitchen" not in memory
    assert "kitchen" in sessions
    assert "Likes tea" not in sessions
    assert "The memory has no dates" in today
    assert "tea in the kitchen" in today
    assert tomorrow.startswith("Nothing found for 'tea'")
    assert one.startswith("1 result ")
    assert many.startswith("2 results ")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"query": ""}, "no word to search for"),
        ({"query": '?! "*"'}, "no word to search for"),
        ({"query": "x", "scope": "daily_log"}, "no daily logs here"),
        ({"query": "x", "scope": "web"}, "all, memory or sessions"),
        ({"query": "x", "date_from": "yesterday"}, "YYYY-MM-DD"),
        ({"query": "x", "date_from": "2026-02-30"}, "YYYY-MM-DD"),
        ({"query": "x", "date_to": "20260228"}, "YYYY-MM-DD"),
        ({"query": "x", "date_from": "2026-03-02", "date_to": "2026-03-01"}, "is after"),
        ({"query": "x", "max_results": "many"}, "max_results"),
    ],
)
def test_what_does_not_fit_is_told(home, arguments, part):
    result = with_home(home, lambda claw: claw.call_tool("search_history", arguments)).result
    assert result.error_type == "validation_error"
    assert part in result.error_message


@pytest.mark.parametrize("days", [{"date_from": "0001-01-01"}, {"date_to": "9999-12-31"}, {"date_to": "0001-01-01"}])
def test_the_ends_of_the_calendar_are_days_like_any(home, days):
    assert with_home(home, lambda claw: search(claw, "x", **days)).is_success


def test_a_memory_that_cannot_be_read_is_a_failed_search(home):
    (home / "MEMORY.md").mkdir(parents=True)
    result = with_home(home, lambda claw: search(claw, "tea"))
    assert result.error_type == "search_error"
    assert with_home(home, lambda claw: search(claw, "tea", scope="sessions")).is_success
