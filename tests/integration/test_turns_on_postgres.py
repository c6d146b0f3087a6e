"""Turns of many processes, as of many machines, on one PostgreSQL."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from postgres_server import VARIABLE, database_on_server

from oneclaw_core import MessageType
from oneclaw_core.store.store import Store

pytestmark = pytest.mark.one_python

PROGRAM = Path(__file__).with_name("turns_on_postgres.py")


@pytest.fixture
def url(postgres, tmp_path):
    return database_on_server(os.environ[VARIABLE], tmp_path)


def run_turns(url, tmp_path, width, *names_of_processes):
    """Let processes with homes of their own send messages at the same time, and give what each says."""
    processes = []
    for number, names in enumerate(names_of_processes):
        home = tmp_path / f"machine-{number}"
        home.mkdir()
        environ = {name: value for name, value in os.environ.items() if not name.startswith("ONECLAW_")}
        processes.append(
            subprocess.Popen(
                [sys.executable, str(PROGRAM), str(home), str(width), *names],
                env=environ | {"ONECLAW_DATABASE_URL": url, "ONECLAW_SESSION_WAIT_SECONDS": "100"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    for process in processes:
        assert process.stdout.readline() == "ready\n", process.stderr.read()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=120) for process in processes]
    assert [errors for _, errors in ended] == [""] * len(processes)
    return [said for said, _ in ended]


def stored_histories(url, tmp_path):
    async def read():
        async with await Store.open(url, lock_directory=tmp_path / "locks") as store:
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


def test_turns_of_one_session_follow_one_another(url, tmp_path):
    count = 6
    said = run_turns(url, tmp_path, count, ["same"] * count, ["same"] * count)
    assert said == [f"{count} done []\n"] * 2
    histories = stored_histories(url, tmp_path)
    assert list(histories) == ["same"]
    turns = turns_of(histories["same"])
    assert len({turn[0].content for turn in turns}) == len(turns) == 2 * count
    for turn in turns:
        kinds = [message.type for message in turn]
        assert kinds == [kind for kind in TURN if kind in kinds]
        [call] = [message for message in turn if message.type is MessageType.TOOL_CALL]
        [result] = [message for message in turn if message.type is MessageType.TOOL_RESULT]
        assert (result.tool_call_id, result.error_type) == (call.tool_call_id, None)
        assert turn[-1].type is MessageType.ASSISTANT
    assert [each.sequence for each in histories["same"]] == sorted(each.sequence for each in histories["same"])


def test_200_sessions_of_four_processes_complete_their_turns(url, tmp_path):
    names = [[f"{process}-{number}" for number in range(50)] for process in range(4)]
    assert run_turns(url, tmp_path, 50, *names) == ["50 done []\n"] * 4
    histories = stored_histories(url, tmp_path)
    assert len(histories) == 200
    for messages in histories.values():
        kinds = [message.type for message in messages]
        assert kinds.count(MessageType.USER) == kinds.count(MessageType.TOOL_RESULT) == 1
        assert kinds[-1] is MessageType.ASSISTANT
