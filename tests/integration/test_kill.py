"""A turn killed at any moment loses no call, runs none twice, and the next turn works."""

import asyncio
import collections
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from databases import backend_of
from histories import pending_calls
from how_long import IS_LONG
from model_server import ModelServer, calls, text

from oneclaw_core import MessageType, ToolCallStatus
from oneclaw_core.sessions.store import Store
from oneclaw_core.system.home import find_home

pytestmark = [pytest.mark.one_python, pytest.mark.usefixtures("own_cache")]

ROUNDS = 4
KILLS = 20 if IS_LONG else 2
# Not every turn is still running when its time has come.
MOST_TURNS = 100


class AppendingModel:
    """Calls write_file twice in each of some rounds, each time with a separate mark; checks what it is sent."""

    def __init__(self):
        self.faults = []

    def __call__(self, body):
        messages = body["messages"]
        self.check(messages)
        latest = max(index for index, message in enumerate(messages) if message["role"] == "user")
        rounds = sum("tool_calls" in message for message in messages[latest:])
        if rounds == ROUNDS:
            return text("All written.")
        marks = [f"{uuid.uuid4().hex}\n" for _ in range(2)]
        return calls(*(("write_file", {"path": "marks.txt", "content": mark, "mode": "append"}) for mark in marks))

    def check(self, messages):
        for index, message in enumerate(messages):
            wanted = [call["id"] for call in message.get("tool_calls", ())]
            answered = [each.get("tool_call_id") for each in messages[index + 1 : index + 1 + len(wanted)]]
            if wanted != answered:
                self.faults.append((wanted, answered))


def run_turns(home, server):
    """Run turns in processes that are killed; give how each process ended, and what they said of faults."""
    program = [
        sys.executable,
        str(Path(__file__).with_name("turns_to_kill.py")),
        str(home),
        str(KILLS),
        str(MOST_TURNS),
    ]
    environ = os.environ | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test"}
    done = subprocess.run(program, env=environ, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout.splitlines(), done.stderr


def test_a_turn_is_killed_at_random_points(tmp_path, database_environ, monkeypatch):
    for name, value in database_environ.items():
        monkeypatch.setenv(name, value)
    model = AppendingModel()
    with ModelServer(model) as server:
        outcomes, faults = run_turns(tmp_path, server)
    assert outcomes.count("killed") == KILLS
    assert set(outcomes) == {"killed", "ended 0"}, faults
    assert outcomes[-1] == "ended 0"
    assert model.faults == []
    audit(find_home(path=tmp_path))


def audit(home):
    async def rows():
        async with await Store.open(backend_of(home.database_url), lock_directory=home.locks) as store:
            session = await store.find_session("story")
            return await store.messages(session.id), await pending_calls(store, session.id)

    messages, pending = asyncio.run(rows())
    assert pending == []
    results = collections.defaultdict(list)
    for message in messages:
        if message.type is MessageType.TOOL_RESULT:
            results[message.tool_call_id].append(message)
    written = collections.Counter((home.workspace / "marks.txt").read_text().split())
    assert max(written.values()) == 1
    stored = [message for message in messages if message.type is MessageType.TOOL_CALL]
    assert len(stored) > 2 * ROUNDS
    for call in stored:
        (result,) = results[call.tool_call_id]
        mark = json.loads(call.tool_input)["content"].strip()
        if result.tool_status is ToolCallStatus.SUCCESS:
            assert written.pop(mark) == 1
        else:
            assert result.error_type == "interrupted"
            written.pop(mark, None)
    assert not written, "something was written by a call that is not stored"
