"""Sessions under a real ``oneclaw serve``: killed in the middle, and reached by all ways to talk."""

import asyncio
import os
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest
from model_server import ModelServer, silence, text

from oneclaw_core import OneClaw
from oneclaw_core.channels import Mailbox
from oneclaw_core.http import ServerTokens

pytestmark = pytest.mark.one_python


@pytest.fixture
def environ(tmp_path, monkeypatch):
    """The environment of programs on a home of the test's own."""
    values = {"ONECLAW_HOME": str(tmp_path / "home"), "ONECLAW_MODEL": "openai_compatible/test", "OPENAI_API_KEY": "k"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return values


def in_home(work):
    """Run an async function of the open home."""

    async def run():
        async with OneClaw.open() as claw:
            return await work(claw)

    return asyncio.run(run())


@pytest.fixture
def token(environ):
    return in_home(lambda claw: ServerTokens(claw.store.plugin_storage("serve")).create("test", ("chat", "read")))


@contextmanager
def serving(token, server, *services, **environ):
    """Run ``oneclaw serve`` until it is ready, and kill it in the end."""
    command = [sys.executable, "-m", "oneclaw_core", "serve", "--port", "0", "--only", "web"]
    command += [part for each in services for part in ("--only", each)]
    variables = os.environ | {"OPENAI_BASE_URL": server.url} | environ
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) as process:
        try:
            ready = {line.split()[1]: line.split()[-1] for line in _lines(process, 1 + len(services))}
            headers = {"Authorization": f"Bearer {token}"}
            with httpx.Client(base_url=ready["web"], headers=headers, timeout=20) as client:
                yield client
        finally:
            process.kill()


def _lines(process, wanted):
    found = []
    while len(found) < wanted:
        line = process.stderr.readline()
        assert line, "it ended"
        if " is ready: " in line:
            found.append(line)
    return found


def until(true, seconds=30):
    """Wait until a function returns something, and return that."""
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def said(client, session):
    """Return the history as pairs."""
    messages = client.get(f"/api/sessions/{session}/messages").json()["messages"]
    return [(each["type"], each["text"]) for each in messages]


def test_what_comes_during_a_turn_is_answered_once_after_a_kill(token):
    answers = [silence(), silence(), text("Both.")]
    with ModelServer(answers) as server:
        with serving(token, server) as client:
            session = client.post("/api/sessions", json={}).json()["id"]
            place = f"/api/sessions/{session}/messages"
            client.post(place, json={"text": "first"})
            until(lambda: len(server.bodies) == 1)
            assert client.post(place, json={"text": "second"}).json()["state"] == "steering"
        with serving(token, server):  # it begins the turn of the second message, and is killed in the middle
            until(lambda: len(server.bodies) == 2)
        with serving(token, server) as client:
            until(lambda: said(client, session)[-1:] == [("assistant", "Both.")])
            history = said(client, session)
            until(lambda: in_home(_waiting) == [])

    assert history == [("user", "first"), ("user", "second"), ("assistant", "Both.")]
    assert [sum(each["content"] == "second" for each in body["messages"]) for body in server.bodies] == [0, 1, 1]


async def _waiting(claw):
    return await (await Mailbox.open(claw, "web")).waiting()
