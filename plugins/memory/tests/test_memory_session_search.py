"""`oneclaw sessions search`."""

import asyncio
from datetime import date, timedelta

import pytest
from databases import backend_of

from oneclaw_core import Message, MessageType
from oneclaw_core.sessions.store import Store
from oneclaw_core.system.home import find_home


@pytest.fixture
def history(home):
    """A session in which something was said."""

    async def run():
        found = find_home()
        found.create()
        async with await Store.open(backend_of(found.database_url), lock_directory=found.locks) as store:
            session = await store.create_session("kitchen", agent="General Assistant", title="Things to drink")
            said = [
                Message(type=MessageType.USER, content="Which tea,\nplease? \x1b[31m"),
                Message(type=MessageType.ASSISTANT, content="Green téa."),
            ]
            await store.append(session.id, said)
            return session

    return asyncio.run(run())


def test_hits_are_listed_with_their_session(ok, history):
    lines = ok("sessions", "search", "TEA").splitlines()
    assert lines[0].split() == ["session", "time", "by", "text"]
    assert len(lines) == 3
    assert all(line.startswith("kitchen  20") for line in lines[1:])
    assert "\x1b" not in lines[1] + lines[2]
    assert ok("sessions", "search", "drink").splitlines()[1].endswith("title  kitchen: Things to drink")


def test_hits_as_json(ok, history):
    (hit,) = ok("sessions", "search", "green tea", "--json")
    assert hit["source"] == "message"
    assert (hit["session"], hit["session_name"]) == (history.id, "kitchen")
    assert (hit["role"], hit["text"], hit["sequence"]) == ("assistant", "Green téa.", 2)
    assert 0 < hit["score"] < 1
    assert ok("sessions", "search", "coffee", "--json") == []


def test_days_and_a_limit(ok, history):
    today, tomorrow = date.today(), date.today() + timedelta(days=1)
    assert len(ok("sessions", "search", "tea", "--from", str(today), "--to", str(today), "--json")) == 2
    assert ok("sessions", "search", "tea", "--from", str(tomorrow), "--json") == []
    assert len(ok("sessions", "search", "tea", "--limit", "1", "--json")) == 1


def test_some_of_the_words_with_a_warning(oneclaw, history):
    outcome = oneclaw("sessions", "search", "tea nowhere")
    assert outcome.status == 0
    assert "nothing has all the words" in outcome.stderr
    assert "kitchen" in outcome.stdout


@pytest.mark.parametrize("arguments", [("?!",), ("tea", "--from", "yesterday"), ("tea", "--limit", "51")])
def test_wrong_usage(oneclaw, history, arguments):
    assert oneclaw("sessions", "search", *arguments).status == 2


def test_the_first_day_after_the_last_is_wrong_usage(oneclaw, history):
    outcome = oneclaw("sessions", "search", "tea", "--from", "2026-02-02", "--to", "2026-01-01")
    assert (outcome.status, "after the last" in outcome.stderr) == (2, True)
