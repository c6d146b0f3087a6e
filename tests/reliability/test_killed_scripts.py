"""A script that is killed at any moment and gone on with makes no call twice that cannot be repeated."""

import multiprocessing
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path

import pytest
import script_to_kill

pytestmark = pytest.mark.usefixtures("own_cache")

DONE = 9  # effects of the whole script
# A process that has imported everything is forked for each run: a fresh program takes a second to start.
FORKS = multiprocessing.get_context("forkserver")
PRELOADED = [
    "script_to_kill",
    "docstring_parser",
    "jsonschema.validators",
    "oneclaw_core.agents.service",
    "oneclaw_core.app",
    "oneclaw_core.config.configuration",
    "oneclaw_core.config.keys",
    "oneclaw_core.config.model_service",
    "oneclaw_core.config.provider_service",
    "oneclaw_core.plugins.manager",
    "oneclaw_core.plugins.registrars",
    "oneclaw_core.process.process_state",
    "oneclaw_core.scripts.script",
    "oneclaw_core.sessions.migrations",
    "oneclaw_core.sessions.sqlite_files",
    "oneclaw_core.sessions.plugin_storage",
    "oneclaw_core.sessions.sqlite_backend",
    "oneclaw_core.sessions.sqlite_search",
    "oneclaw_core.tool_functions.function",
    "oneclaw_core.tool_sources.published_tools",
    "oneclaw_core.turn.preview",
    "oneclaw_core.turn.turn",
    "oneclaw_core.wiring",
    "oneclaw_javascript.js_eval",
    "oneclaw_javascript.running",
    "oneclaw_postgres",
    "platformdirs",
    "psycopg",
    "pydantic.type_adapter",
    "pydantic.types",
]


@dataclass
class Count:
    """The outcome of scripts that were killed."""

    kills: int = 0
    kills_in_calls: int = 0
    scripts: int = 0
    effects: int = 0

    def show(self):
        sys.stdout.write(
            f"{self.kills} kills of {self.scripts} scripts, {self.kills_in_calls} of them during a call; "
            f"{self.effects} of {self.scripts * DONE} effects done, none twice\n"
        )


def killed(directory, language, environ, seconds):
    """Run the script, and kill it some time after it began; return its answer, or `None` if it was killed."""
    receiver, sender = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=script_to_kill.run, args=(directory, language, environ, sender))
    process.start()
    sender.close()
    assert receiver.recv() == "ready"
    if seconds is not None:
        time.sleep(seconds)
        process.kill()
    process.join(120)
    if process.exitcode == -signal.SIGKILL:
        return None
    assert process.exitcode == 0
    return receiver.recv()


def kill_one_script(count, directory, language, environ, most_kills, longest_seconds):
    """Kill a script again and again until it ends; count how often, and its effects."""
    directory.mkdir()
    kills, answer = 0, None
    while answer is None:
        seconds = random.uniform(0, longest_seconds) if kills < most_kills else None
        answer = killed(directory, language, environ, seconds)
        kills += answer is None
        count.kills_in_calls += answer is None and (directory / "running").read_bytes() != bytes(1)
    log = directory / "effects.log"
    effects = Counter(log.read_text().split() if log.exists() else ())  # none, if it was killed before the script began
    assert max(effects.values(), default=1) == 1, f"done twice after {kills} kills: {effects}"
    assert (int(answer) if answer.isdigit() else 0) <= len(effects) <= DONE
    count.kills += kills
    count.scripts += 1
    count.effects += len(effects)


def many_kills(tmp_path, wanted, language="python", environ_of=lambda home: {}, longest_seconds=0.2):
    """Kill scripts until there were enough kills; print what came of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))  # where the server of forks imports the script from
        FORKS.set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()
    count = Count()
    while count.kills < wanted:
        home = tmp_path / str(count.scripts)
        kill_one_script(count, home, language, environ_of(home), min(6, wanted - count.kills), longest_seconds)
    count.show()


@pytest.mark.long
def test_a_killed_script_does_nothing_twice(tmp_path):
    many_kills(tmp_path, 4)


@pytest.mark.long
def test_a_killed_script_in_javascript_does_nothing_twice(tmp_path):
    many_kills(tmp_path, 2, "javascript", longest_seconds=0.8)


@pytest.mark.long
def test_five_hundred_kills(tmp_path):
    many_kills(tmp_path, 500)


@pytest.mark.long
def test_many_kills_in_javascript(tmp_path):
    many_kills(tmp_path, 50, "javascript", longest_seconds=0.9)


@pytest.mark.long
def test_two_hundred_kills_on_postgresql(tmp_path, postgres):
    from postgres_server import database_on_server

    def environ_of(home):
        return {"ONECLAW_DATABASE_URL": database_on_server(postgres.uri("postgres"), home)}

    many_kills(tmp_path, 200, environ_of=environ_of, longest_seconds=0.25)
