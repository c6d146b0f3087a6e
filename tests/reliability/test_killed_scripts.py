"""A script that is killed at any moment and gone on with makes no call twice that cannot be repeated."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("script_to_kill.py")
DONE = 9  # effects of the whole script


def killed(directory, language, environ, seconds):
    """Run the program, and kill it some time after it began; return its answer, or `None` if it was killed."""
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), str(directory), language],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environ},
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    if first != "ready\n":
        raise AssertionError(first + process.communicate()[1])
    if seconds is not None:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    out, problems = process.communicate(timeout=120)
    if process.returncode == -signal.SIGKILL:
        return None
    assert process.returncode == 0, problems
    return out.strip()


def one_script(directory, language, environ, most_kills, longest_seconds):
    """Kill a script again and again until it ends; return how often, and how many effects it had."""
    directory.mkdir()
    kills, answer = 0, None
    while answer is None:
        seconds = random.uniform(0, longest_seconds) if kills < most_kills else None
        answer = killed(directory, language, environ, seconds)
        kills += answer is None
    log = directory / "effects.log"
    effects = Counter(log.read_text().split() if log.exists() else ())  # none, if it was killed before the script began
    assert max(effects.values(), default=1) == 1, f"done twice after {kills} kills: {effects}"
    assert (int(answer) if answer.isdigit() else 0) <= len(effects) <= DONE
    return kills, len(effects)


def many_kills(tmp_path, wanted, language="python", environ=None, longest_seconds=0.12):
    """Kill scripts until there were enough kills; print what came of them."""
    kills = scripts = effects = 0
    while kills < wanted:
        found = one_script(tmp_path / str(scripts), language, environ or {}, min(6, wanted - kills), longest_seconds)
        kills, scripts, effects = kills + found[0], scripts + 1, effects + found[1]
    sys.stdout.write(f"{kills} kills of {scripts} scripts, {effects} of {scripts * DONE} effects done, none twice\n")


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

    kills = scripts = effects = 0
    while kills < 200:
        home = tmp_path / str(scripts)
        environ = {"ONECLAW_DATABASE_URL": database_on_server(postgres.uri("postgres"), home)}
        found = one_script(home, "python", environ, min(6, 200 - kills), 0.25)
        kills, scripts, effects = kills + found[0], scripts + 1, effects + found[1]
    sys.stdout.write(f"{kills} kills of {scripts} scripts, {effects} of {scripts * DONE} effects done, none twice\n")
