"""Several processes of ``oneclaw serve``, as on several machines, on one PostgreSQL."""

import asyncio
import json
import os
import re
import signal
import sys
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpx
import pytest
from databases import VARIABLE
from postgres_server import database_on_server

from oneclaw_core import OneClaw

pytestmark = [pytest.mark.one_python, pytest.mark.usefixtures("own_cache")]

WORDS = [f"word{number} " for number in range(30)]


class Model:
    """Chat Completions on loopback; each answer comes in pieces, and goes on when it is let."""

    def __init__(self):
        self.goes_on = asyncio.Event()
        self.asked = 0

    @asynccontextmanager
    async def listening(self):
        async with await asyncio.start_server(self._answer, "127.0.0.1", 0) as server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"

    async def _answer(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        await reader.readexactly(int(length[1]))
        self.asked += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for number, word in enumerate(WORDS):
            if number == 10:
                await self.goes_on.wait()
            self._write(writer, {"role": "assistant", "content": word}, None)
        self._write(writer, {}, "stop")
        writer.write(b"data: [DONE]\n\n")
        writer.close()
        with suppress(ConnectionError):  # who asked may have been killed
            await writer.wait_closed()

    @staticmethod
    def _write(writer, delta, reason):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        writer.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")


@asynccontextmanager
async def served(environ):
    """Run ``oneclaw serve``; yield its process and its address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "oneclaw_core", "serve", "--port", "0"),
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        origin = None
        while origin is None:
            line = (await process.stderr.readline()).decode()
            assert line, "the server has ended"
            origin = re.search(r"ready: (http://127\.0\.0\.1:\d+)", line)
        yield process, origin[1]
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.communicate()


async def read_until(client, session, kind, after="0"):
    """Read events behind a number until one of a kind; return the text, the kinds and the last number."""
    text, kinds, number = "", [], after
    async with client.stream("GET", f"/api/sessions/{session}/events", headers={"Last-Event-ID": after}) as response:
        async for line in response.aiter_lines():
            if line.startswith("id: "):
                number = line[4:]
            if line.startswith("data: "):
                event = json.loads(line[6:])
                kinds.append(event["event"])
                text += event["text"] if event["event"] == "text" else ""
                if event["event"] == kind:
                    return text, kinds, number
    raise AssertionError(f"the stream ended without {kind}")


@pytest.mark.long
def test_any_server_takes_a_request_and_a_killed_one_loses_nothing(postgres, tmp_path):
    url = database_on_server(os.environ[VARIABLE], tmp_path)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ONECLAW_")}
    homes = [tmp_path / name for name in ("first", "second")]
    environs = [
        clean | {"ONECLAW_HOME": str(home), "ONECLAW_DATABASE_URL": url, "ONECLAW_MODEL": "lab/m"} for home in homes
    ]

    async def scene():
        model = Model()
        async with AsyncExitStack() as stack:
            address = await stack.enter_async_context(model.listening())
            async with OneClaw.open(homes[0], environ=environs[0]) as claw:
                await claw.store.set_setting("provider:lab", {"type": "openai_compatible", "base_url": address})
            made = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "oneclaw_core", "serve", "token", "create", "script"),
                env=environs[0],
                stdout=asyncio.subprocess.PIPE,
            )
            token = (await made.communicate())[0].decode().strip()
            first = await stack.enter_async_context(served(environs[0]))
            second = await stack.enter_async_context(served(environs[1]))
            headers = {"Authorization": f"Bearer {token}"}
            one, other = [
                await stack.enter_async_context(httpx.AsyncClient(base_url=origin, headers=headers, timeout=60))
                for _, origin in (first, second)
            ]
            session = (await one.post("/api/sessions", json={})).json()["id"]
            # The events of a turn in one process reach a client of the other.
            model.goes_on.set()
            following = asyncio.create_task(read_until(other, session, "turn_ended"))
            sent = await one.post(f"/api/sessions/{session}/messages", json={"text": "Tell me."})
            assert sent.is_success, sent.text
            text, kinds, last = await following
            assert text == "".join(WORDS)
            assert kinds[0] == "turn_started"

            # The process that answers is killed; the other one finishes the turn by itself.
            model.goes_on.clear()
            following = asyncio.create_task(read_until(other, session, "text", last))
            sent = await one.post(f"/api/sessions/{session}/messages", json={"text": "And more?"})
            assert sent.is_success, sent.text
            _, _, last = await following
            first[0].kill()
            await first[0].wait()
            model.goes_on.set()
            text, kinds, _ = await read_until(other, session, "turn_ended", last)
            assert text.endswith("".join(WORDS))
            history = (await other.get(f"/api/sessions/{session}/messages")).json()["messages"]
            return [(each["type"], each["text"]) for each in history], model.asked

    history, asked = asyncio.run(asyncio.wait_for(scene(), 120))
    answer = "".join(WORDS)
    assert history == [("user", "Tell me."), ("assistant", answer), ("user", "And more?"), ("assistant", answer)]
    assert asked == 3
