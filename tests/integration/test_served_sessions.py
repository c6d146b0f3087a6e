"""Sessions under a real ``oneclaw serve``: killed in the middle, and reached by all ways to talk."""

import asyncio
import base64
import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from itertools import pairwise

import httpx
import pytest
from bot_api_server import OWNER, TOKEN, BotApiServer
from model_server import ModelServer, calls, silence, text
from oneclaw_channels import Mailbox, Pairing

from oneclaw_core import OneClaw
from oneclaw_core.channels import Inbound
from oneclaw_core.http import ServerTokens

pytestmark = [pytest.mark.one_python, pytest.mark.usefixtures("own_cache")]
DOT = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC")


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


@pytest.mark.long
def test_what_comes_during_a_turn_is_answered_once_after_a_kill(token):
    answers = [silence(), silence(), text("One."), text("Two.")]
    with ModelServer(answers) as server:
        with serving(token, server) as client:
            session = client.post("/api/sessions", json={}).json()["id"]
            place = f"/api/sessions/{session}/messages"
            client.post(place, json={"text": "first"})
            until(lambda: len(server.bodies) == 1)
            assert client.post(place, json={"text": "second"}).json()["state"] == "steering"
        with serving(token, server):  # it goes on with the turn of the first message, and is killed in the middle
            until(lambda: len(server.bodies) == 2)
        with serving(token, server) as client:
            until(lambda: said(client, session)[-1:] == [("assistant", "Two.")])
            history = said(client, session)
            until(lambda: in_home(_waiting) == [])

    assert history == [("user", "first"), ("assistant", "One."), ("user", "second"), ("assistant", "Two.")]
    assert [sum(each["content"] == "second" for each in body["messages"]) for body in server.bodies] == [0, 0, 0, 1]


async def _waiting(claw):
    return await (await Mailbox.open(claw, "web")).waiting()


@pytest.mark.long
def test_the_message_that_begins_a_turn_outlives_a_kill_with_its_files(token):
    """Killed before the model has answered: the next process finishes the turn without being asked."""
    picture = {"name": "a.png", "media_type": "image/png", "data": base64.b64encode(DOT).decode()}
    table = {"name": "b.csv", "media_type": "text/csv", "data": base64.b64encode(b"x,y").decode()}
    with ModelServer([silence(), text("Seen.")]) as server:
        with serving(token, server) as client:
            session = client.post("/api/sessions", json={}).json()["id"]
            place = f"/api/sessions/{session}/messages"
            sent = {"text": "look", "attachments": [picture, table]}
            assert client.post(place, json=sent).json()["state"] == "started"
            until(lambda: len(server.bodies) == 1)
        with serving(token, server) as client:
            until(lambda: said(client, session)[-1:] == [("assistant", "Seen.")])
            ((_, asked), _) = said(client, session)
            until(lambda: in_home(_waiting) == [])

    assert re.fullmatch(r"look\n\n\[file b.csv \(text/csv, 3 bytes\) is stored as .*-2-b.csv\]", asked)
    assert "image" in json.dumps(server.bodies[1]["messages"])


@pytest.mark.long
def test_a_message_that_was_stored_and_not_begun_is_said_by_the_next_process(token):
    async def store(claw):
        session = await claw.begin_session("trip")
        mailbox = await Mailbox.open(claw, "web")
        await mailbox.put(Inbound(id="0:gone", chat=session.id, person="web", text="Hi"), session_id=session.id)

    in_home(store)
    with ModelServer([text("Hello.")]) as server, serving(token, server) as client:
        until(lambda: said(client, "trip") == [("user", "Hi"), ("assistant", "Hello.")])


@pytest.mark.long
def test_files_during_a_turn_wait_for_its_end(token):
    picture = {"name": "a.png", "media_type": "image/png", "data": base64.b64encode(DOT).decode()}
    with ModelServer([silence(), text("Seen."), text("More.")]) as server, serving(token, server) as client:
        session = client.post("/api/sessions", json={}).json()["id"]
        place = f"/api/sessions/{session}/messages"
        client.post(place, json={"text": "first"})
        until(lambda: len(server.bodies) == 1)
        assert client.post(place, json={"attachments": [picture]}).json()["state"] == "waiting"
        assert client.post(place, json={"text": "then"}).json()["state"] == "waiting"
        client.post(f"/api/sessions/{session}/stop", json={})
        until(lambda: said(client, session)[-1:] == [("assistant", "More.")])
        users = [content for kind, content in said(client, session) if kind == "user"]

    assert users == ["first", "[sent without words: a.png]", "then"]


@pytest.fixture
def telegram(environ):
    async def pair(claw):
        await (await Pairing.open(claw, "telegram")).add(str(OWNER["id"]), OWNER["first_name"])

    in_home(pair)
    server = BotApiServer()
    yield server
    server.close()


@pytest.mark.long
def test_a_session_goes_on_from_the_terminal_over_the_api_to_telegram(token, telegram, monkeypatch):
    load = calls(("load_tool_group", {"group_name": "files"}))
    bot = {"ONECLAW_TELEGRAM_TOKEN": TOKEN, "ONECLAW_TELEGRAM_API_ROOT": telegram.root}
    with ModelServer([load, text("Loaded."), text("From the API."), text("From Telegram.")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        command = [sys.executable, "-m", "oneclaw_core", "run", "--session", "trip", "Load the files."]
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        with serving(token, server, "telegram", **bot) as client:
            client.post("/api/sessions/trip/messages", json={"text": "And here?"})
            until(lambda: said(client, "trip")[-1:] == [("assistant", "From the API.")])
            telegram.writes("/sessions trip")
            telegram.writes("And there?")
            telegram.until(lambda: "From Telegram." in telegram.messages.values(), 30)
            until(lambda: said(client, "trip")[-1:] == [("assistant", "From Telegram.")])
            history = said(client, "trip")
            status = client.get("/api/sessions/trip").json()

    assert run.stdout.strip().endswith("Loaded.")
    assert [each for each in history if each[0] in ("user", "assistant") and each[1]] == [
        ("user", "Load the files."),
        ("assistant", "Loaded."),
        ("user", "And here?"),
        ("assistant", "From the API."),
        ("user", "And there?"),
        ("assistant", "From Telegram."),
    ]
    assert status["groups"] == ["files"]
    tools = [{each["function"]["name"] for each in body["tools"]} for body in server.bodies]
    assert "find_files" not in tools[0]
    assert tools[1] == tools[2] == tools[3] > tools[0]
    bodies = [body["messages"] for body in server.bodies]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(bodies))
