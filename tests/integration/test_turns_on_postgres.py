"""Turns of many processes, as of many machines, on one PostgreSQL."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from databases import VARIABLE, backend_of
from postgres_server import database_on_server

from oneclaw_core import MessageType
from oneclaw_core.sessions.store import Store

pytestmark = pytest.mark.one_python

PROGRAM = Path(__file__).with_name("turns_on_postgres.py")


@pytest.fixture
def url(postgres, tmp_path):
    return database_on_server(os.environ[VARIABLE], tmp_path)


def run_turns(url, tmp_path, *names_of_processes):
    """Let processes with separate homes send messages at the same time, and give what each says."""
    processes = []
    for number, names in enumerate(names_of_processes):
        home = tmp_path / f"machine-{number}"
        home.mkdir()
        processes.append((str(home), names))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ONECLAW_")}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), json.dumps(processes)],
        env=environ | {"ONECLAW_DATABASE_URL": url, "ONECLAW_SESSION_WAIT_SECONDS": "300"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def stored_histories(url, tmp_path):
    async def read():
        async with await Store.open(backend_of(url), lock_directory=tmp_path / "locks") as store:
            assert (await store.usage_totals()).requests > 0
            return {each.name: await store.messages(each.id) for each in await store.list_sessions()}

    return asyncio.run(read())


TURN = [MessageType.USER, MessageType.ASSISTANT, MessageType.TOOL_CALL, MessageType.TOOL_RESULT, MessageType.ASSISTANT]


def turns_of(messages):
    """Cut a history where the user speaks."""
    turns = []
    for message in messages:
        if message.type is MessageType.USER:
            turns.append([])
        turns[-1].append(message)
    return turns


def test_200_sessions_of_four_processes_complete_their_turns_and_one_that_two_share_has_them_in_turn(url, tmp_path):
    sessions, shared = 50, 6
    names = [[f"{process}-{number}" for number in range(sessions)] for process in range(4)]
    with_shared = [["same"] * shared + each for each in names[:2]] + names[2:]
    said = run_turns(url, tmp_path, *with_shared)
    assert sorted(said) == sorted(f"{len(each)} done []" for each in with_shared)
    histories = stored_histories(url, tmp_path)
    same = histories.pop("same")
    assert [each.sequence for each in same] == sorted(each.sequence for each in same)
    turns_of_one = turns_of(same)
    assert len({turn[0].content for turn in turns_of_one}) == len(turns_of_one) == 2 * shared
    for turn in turns_of_one:
        check_turn(turn)
    assert set(histories) == {name for each in names for name in each}
    for messages in histories.values():
        (turn,) = turns_of(messages)
        check_turn(turn)


def check_turn(turn):
    """A turn is whole, and nothing of another one is in it."""
    kinds = [message.type for message in turn]
    assert kinds == [kind for kind in TURN if kind in kinds]
    [call] = [message for message in turn if message.type is MessageType.TOOL_CALL]
    [result] = [message for message in turn if message.type is MessageType.TOOL_RESULT]
    assert (result.tool_call_id, result.error_type) == (call.tool_call_id, None)
    assert turn[-1].type is MessageType.ASSISTANT
