"""Workers killed at moments that no one chose: every due run is done, and no request is sent twice."""

import asyncio
import os
import random
import time
from datetime import UTC, datetime, timedelta

import pytest
from postgres_server import PostgresServer, administer
from tasks_rig import DEADLINE_SECONDS, not_successful, until

from oneclaw_core import MessageType, OneClaw, StoreError, ToolCallStatus

pytestmark = [pytest.mark.one_python, pytest.mark.usefixtures("own_cache")]

IS_LONG = os.environ.get("ONECLAW_TESTS_LONG", "") not in ("", "0")
RUNS, KILLS = (500, 60) if IS_LONG else (10, 2)
CUT_OFF = "http_request was cut off: it may or may not have had its effect"


def due(url, number):
    at = datetime.now(UTC) - timedelta(minutes=2)
    when = {"schedule_type": "one_time", "date": f"{at:%Y-%m-%d}", "hour": at.hour, "minute": at.minute}
    prompt = f"Send a GET request to {url}/hit/{number}"
    return dict(name=f"Task {number}", prompt=prompt, **when, time_zone="UTC", is_notified=False)


@pytest.fixture
def own_server(home, monkeypatch):
    """A PostgreSQL server that can be killed, with the store and the tasks of the home in it."""
    pytest.importorskip("oneclaw_postgres", reason="the store in PostgreSQL is a separate plugin")
    server = PostgresServer()
    administer(server.uri("postgres"), "CREATE DATABASE killed TEMPLATE template0")
    url = server.uri("killed").replace("postgresql://", "postgresql+psycopg://")
    monkeypatch.setenv("ONECLAW_DATABASE_URL", url)
    yield server
    server.stop()


@pytest.mark.long
def test_workers_killed_at_random(tasks, allowed, counting_server, workers):
    be_killed(tasks, counting_server, workers, [lambda: None] * KILLS)


@pytest.mark.long
def test_workers_and_the_database_server_killed_at_random(own_server, allowed, tasks, counting_server, workers):
    # Every fourth kill is one of the server, under the workers that are at work.
    be_killed(tasks, counting_server, workers, [own_server.restart, *[lambda: None] * 3] * (KILLS // 3 or 1))


def be_killed(tasks, counting_server, workers, also):
    words = [due(counting_server.url, number) for number in range(RUNS)]
    tasks.add(*words, at=datetime.now(UTC) - timedelta(minutes=10))
    chance = random.Random(5)
    running = [workers.start("--concurrency=2") for _ in range(2)]
    until(lambda: counting_server.hits, "the first request")
    for each in also:
        time.sleep(chance.random() * 0.5)
        each()
        victim = running.pop(chance.randrange(len(running)))
        victim.kill()
        victim.wait()
        running.append(workers.start("--concurrency=2"))

    def finished():
        try:
            runs = tasks.all_runs()
        except StoreError:
            return None  # the server is starting
        return runs if len(runs) == RUNS and all(run.status.is_final for run in runs) else None

    runs = until(finished, "all runs", DEADLINE_SECONDS + 5 * RUNS)
    assert not_successful(runs) == [], workers.output()
    assert max(counting_server.hits.values()) == 1
    # A request that no one got was in the making when its worker or the server was killed, and the log says so.
    missing = RUNS - len(counting_server.hits)
    assert missing <= sum(run.notes == CUT_OFF for run in runs)
    asyncio.run(audit(run.session for run in runs))


async def audit(sessions):
    """Every call has exactly one result, and its status."""
    async with OneClaw.open() as claw:
        for session in sessions:
            messages = await claw.store.messages(session)
            results = {each.tool_call_id: each for each in messages if each.type is MessageType.TOOL_RESULT}
            calls = [each for each in messages if each.type is MessageType.TOOL_CALL]
            assert len(results) == sum(each.type is MessageType.TOOL_RESULT for each in messages) == len(calls)
            for call in calls:
                result = results[call.tool_call_id]
                assert call.tool_status is result.tool_status
                assert result.tool_status is ToolCallStatus.SUCCESS or result.error_type == "interrupted"
