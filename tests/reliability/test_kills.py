"""Processes killed at random points of tool runs, migrations and copies: nothing is lost, doubled or half done.

That a turn with one kind of call survives is shown in tests/integration/test_kill.py, that workers of scheduled tasks
do in the plugin's own tests.
"""

import asyncio
import collections
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
import uuid
from contextlib import closing
from pathlib import Path

import pytest
from audit import faults_of, faults_of_file
from databases import backend_of
from model_server import ModelServer, calls, text
from oneclaw_database import copying
from oneclaw_database import status as database_status

from oneclaw_core.sessions.backend import SCHEMA_VERSION
from oneclaw_core.sessions.store import Store
from oneclaw_core.system.home import find_home
from oneclaw_core.types.messages import MessageType, ToolCallStatus

pytestmark = [pytest.mark.one_python, pytest.mark.long, pytest.mark.usefixtures("own_cache")]

PROGRAM = Path(__file__).with_name("work_to_kill.py")
VERSION_1 = (Path(__file__).parents[1] / "sessions" / "version_1.sql").read_text(encoding="utf-8")
SESSION_OF_VERSION_1 = "0123456789abcdef0123456789abcdef"
ROUNDS = 2
# Much larger than what is written at once.
FILE_CHARACTERS = 300_000
OLD_MESSAGES = 2_000
# What a command leaves running, and is known by among the processes of the machine.
SLEEP_SECONDS = 1_000_000 + os.getpid()  # as no other run on this machine


class Killing:
    """The program, child by child."""

    def __init__(self, kind, what, delays, **environ):
        command = [sys.executable, str(PROGRAM), kind, what, *map(str, delays)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | environ
        )

    def __iter__(self):
        """What became of each child, and how long it took; the next begins when that is asked for."""
        for line in self.process.stdout:
            outcome, milliseconds = line.rsplit(" ", 1)
            yield outcome, float(milliseconds)
            self.process.stdin.write("\n")
            self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.process.kill()
        self.process.communicate()


class WorkingModel:
    """Has commands, JavaScript and files worked on in each round, every call with a separate mark."""

    def __init__(self, home):
        self.home = home
        self.written = set()

    def __call__(self, body):
        messages = body["messages"]
        latest = max(index for index, message in enumerate(messages) if message["role"] == "user")
        if sum("tool_calls" in message for message in messages[latest:]) == ROUNDS:
            return text("All done.")
        mark = uuid.uuid4().hex
        self.written.add(mark)
        left = f"sleep {SLEEP_SECONDS} & a=$!; setsid sleep {SLEEP_SECONDS} & b=$!"
        command = f"{left}; echo {mark} >> commands.txt; kill $a $b; wait; sleep 0.01"
        return calls(
            ("exec", {"command": command}),
            ("js_eval", {"code": f"let n = 0; for (let i = 0; i < 300000; i++) n += i; '{mark}'"}),
            ("write_file", {"path": "whole.txt", "content": mark + "x" * FILE_CHARACTERS + mark}),
            ("write_file", {"path": "lines.txt", "content": f"{mark}\n", "mode": "append"}),
        )


def test_killed_while_tools_run(tmp_path, is_long):
    kills = 100 if is_long else 5
    home = find_home(path=tmp_path / "home")
    model = WorkingModel(home)
    chance = random.Random(7)
    with ModelServer(model) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test"}

        def run(*delays):
            ended = []
            with Killing("turn", str(home.path), delays, **environ) as children:
                for child in children:
                    ended.append(child)
                    # A plugin during whose loading the program ended is left alone, which is tested elsewhere.
                    for note in home.loading.glob("*"):
                        note.unlink()
            return ended

        ends = run(-1, -1)
        assert [outcome for outcome, _ in ends] == ["ended 0"] * 2
        duration_ms = ends[-1][1]
        outcomes = run(*((number + chance.random()) / kills * duration_ms for number in range(kills)))
        assert sum(outcome == "killed" for outcome, _ in outcomes) > kills / 2
        assert run(-1)[0][0] == "ended 0"
    assert_nothing_is_left_running()
    audit(home, model)


def assert_nothing_is_left_running():
    """What a command had started ended with whoever had it run, however that ended."""
    deadline = time.monotonic() + 60
    while left := [pid for pid, line in command_lines() if line == ["sleep", str(SLEEP_SECONDS)]]:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.05)


def command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.parent.name, path.read_text().rstrip("\0").split("\0")
        except OSError:
            continue  # it has ended


def history_of(home):
    async def rows():
        async with await Store.open(backend_of(home.database_url), lock_directory=home.locks) as store:
            session = await store.find_session("story")
            return await store.messages(session.id)

    return asyncio.run(rows())


def audit(home, model):
    messages = history_of(home)
    assert faults_of(messages) == []
    assert faults_of_file(home.database_path) == []
    whole = (home.workspace / "whole.txt").read_text()
    assert whole[:32] in model.written
    assert whole == whole[:32] + "x" * FILE_CHARACTERS + whole[:32]
    files = {
        "exec": (home.workspace / "commands.txt").read_text().split(),
        "write_file": (home.workspace / "lines.txt").read_text().split(),
    }
    marks = {name: collections.Counter(lines) for name, lines in files.items()}
    results = {each.tool_call_id: each for each in messages if each.type is MessageType.TOOL_RESULT}
    for call in (each for each in messages if each.type is MessageType.TOOL_CALL):
        result = results[call.tool_call_id]
        arguments = json.loads(call.tool_input)
        is_success = result.tool_status is ToolCallStatus.SUCCESS
        assert is_success or result.error_type == "interrupted", result
        if call.tool_name == "exec":
            mark = arguments["command"].partition("echo ")[2][:32]
        elif arguments.get("mode") == "append":
            mark = arguments["content"].strip()
        else:
            continue
        made = marks[call.tool_name].pop(mark, 0)
        assert made == 1 if is_success else made <= 1, (call, result)
    assert not any(marks.values()), "something was done by a call that is not stored"


class NotingModel:
    """Has marks noted, written and looked up in each round, every call with a separate mark."""

    def __call__(self, body):
        messages = body["messages"]
        latest = max(index for index, message in enumerate(messages) if message["role"] == "user")
        if sum("tool_calls" in message for message in messages[latest:]) == ROUNDS:
            return text("All done.")
        mark = uuid.uuid4().hex
        return calls(
            ("write_file", {"path": "lines.txt", "content": f"{mark}\n", "mode": "append"}),
            ("note", {"mark": mark}),
            ("get_current_time", {}),
        )


def test_killed_turns_are_resumed(tmp_path, is_long):
    tries = 100 if is_long else 8
    home = find_home(path=tmp_path / "home")
    chance = random.Random(13)
    with ModelServer(NotingModel()) as server:
        environ = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "test"}

        def run(*delays):
            with Killing("resume", str(home.path), delays, **environ) as children:
                return list(children)

        ends = run(-1, -1)
        assert [outcome for outcome, _ in ends] == ["ended 0"] * 2
        duration_ms = min(duration_ms for _, duration_ms in ends)
        outcomes = run(*(duration_ms * (0.2 + 0.7 * chance.random()) for _ in range(tries)))
        # A machine that is less busy than before may be done sooner.
        assert sum(outcome == "killed" for outcome, _ in outcomes) > tries / 4
        assert run(-1)[0][0] == "ended 0"

    messages = history_of(home)
    assert faults_of(messages) == []
    assert faults_of_file(home.database_path) == []
    texts = [each.content for each in messages if each.type is MessageType.USER or each.content == "All done."]
    assert texts == ["go on", "All done."] * (len(texts) // 2), "each message has its one answer"
    written = collections.Counter((home.workspace / "lines.txt").read_text().split())
    noted = collections.defaultdict(list)
    for line in (home.path / "notes.txt").read_text().splitlines():
        noted[line.split()[0]].append(line.split()[1])
    results = {each.tool_call_id: each for each in messages if each.type is MessageType.TOOL_RESULT}
    for call in (each for each in messages if each.type is MessageType.TOOL_CALL):
        result = results[call.tool_call_id]
        is_success = result.tool_status is ToolCallStatus.SUCCESS
        if call.tool_name != "write_file":
            assert is_success, result
            continue
        made = written.pop(json.loads(call.tool_input)["content"].strip(), 0)
        assert is_success or result.error_type == "interrupted", result
        assert made == 1 if is_success else made <= 1, result
    assert not written, "something was done by a call that is not stored"
    keys = [set(of_mark) for of_mark in noted.values()]
    assert all(len(each) == 1 for each in keys), "a call that runs again has the same key"
    assert len(set.union(*keys)) == len(keys)
    assert len(keys) == sum(call.tool_name == "note" for call in messages if call.type is MessageType.TOOL_CALL)


def old_database(path, messages):
    """A database of version 1 with a long history."""
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(VERSION_1)
        connection.executemany(
            "INSERT INTO messages (session_id, type, content, created_at) VALUES (?, ?, ?, ?)",
            [(SESSION_OF_VERSION_1, "user", f"message {number} " + "word " * 20, number) for number in range(messages)],
        )
        return connection.execute("SELECT count(*) FROM messages").fetchone()[0]


def test_killed_while_a_database_is_migrated(tmp_path, is_long):
    kills = 60 if is_long else 6
    template = tmp_path / "template" / "oneclaw.db"
    count = old_database(template, OLD_MESSAGES)
    path = tmp_path / "home" / "oneclaw.db"
    path.parent.mkdir()
    chance = random.Random(11)
    shutil.copy(template, path)
    with Killing("migrate", f"sqlite:///{path}", [-1]) as children:
        [(outcome, duration_ms)] = children
    assert outcome == "ended 0"
    delays = [(number + chance.random()) / kills * duration_ms for number in range(kills)]
    versions = collections.Counter()
    shutil.copy(template, path)
    with Killing("migrate", f"sqlite:///{path}", delays) as children:
        for outcome, _ in children:
            assert outcome in ("killed", "ended 0")
            with closing(sqlite3.connect(path)) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                [(version,)] = connection.execute("SELECT version FROM schema_version")
                assert connection.execute("SELECT count(*) FROM messages").fetchone() == (count,)
                versions[version] += 1
            if chance.random() < 0.5 or version == SCHEMA_VERSION:  # else the next goes on with what is there
                for each in path.parent.glob("oneclaw.db*"):
                    each.unlink()
                shutil.copy(template, path)
    assert len(versions) > 1, versions

    async def read():
        async with await Store.open(backend_of(f"sqlite:///{path}"), lock_directory=tmp_path / "locks") as store:
            return len(await store.messages(SESSION_OF_VERSION_1)), await store.settings()

    assert asyncio.run(read()) == (count, {"model": "openai/gpt"})
    assert [fault for fault in faults_of_file(path) if not fault.startswith("unanswered")] == []


def test_killed_while_a_database_is_copied(tmp_path, is_long):
    kills = 60 if is_long else 6
    source, target = tmp_path / "source" / "oneclaw.db", tmp_path / "target" / "copy.db"
    old_database(source, OLD_MESSAGES)
    urls = [f"sqlite:///{each}" for each in (source, target)]
    backend_of(urls[0]).prepare().close()
    whole = database_status.status(backend_of(urls[0])).rows
    before = source.read_bytes()
    chance = random.Random(12)

    def clear():
        for each in target.parent.glob("copy.db*"):
            each.unlink()

    with Killing("copy", " ".join(urls), [-1]) as children:
        [(outcome, duration_ms)] = children
    assert outcome == "ended 0"
    clear()
    killed = 0
    delays = [(number + chance.random()) / kills * duration_ms for number in range(kills)]
    with Killing("copy", " ".join(urls), delays) as children:
        for outcome, _ in children:
            if target.exists():
                rows = database_status.status(backend_of(urls[1])).rows
                is_empty = not any(rows.values())
                assert is_empty or rows == whole
            else:
                is_empty = True
            killed += outcome == "killed" and is_empty
            if not is_empty:
                clear()
    assert killed > 2
    clear()
    assert {each.name: each.rows for each in copying.copy(*map(backend_of, urls), lambda name, rows: None)} == whole
    assert source.read_bytes() == before
