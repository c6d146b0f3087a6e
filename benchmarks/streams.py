"""Many browsers at once on one ``oneclaw serve``: ``uv run python -m benchmarks.streams``.

Each browser has a separate conversation and follows its events. All send a message, so many at a time; a model
service streams the answers in pieces that carry the moment they were sent. Printed are the time until a browser has a
piece, and the memory of the server. Browsers and model service share the machine with it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import httpx

from oneclaw_core import OneClaw

BROWSERS = 200
TALKING = 20
PIECES = 40
PIECE_SECONDS = 0.1
BUDGET_MS = 60.0
_MOMENT = re.compile(r"<(\d+)>")
_START_SECONDS = 60
_LONGEST_SECONDS = 120


async def model_service(pieces: int, seconds: float) -> asyncio.Server:
    """Serve Chat Completions whose pieces are the time at which they were sent, in nanoseconds."""

    def chunk(delta: dict[str, str], reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        data = json.dumps(
            {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        )
        return f"data: {data}\n\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"content-length: (\d+)", head)
        await reader.readexactly(int(length[1]) if length else 0)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for number in range(pieces):
            writer.write(chunk({"role": "assistant", "content": f"word{number} `<{time.monotonic_ns()}>` "}, None))
            await asyncio.sleep(seconds)
        writer.write(chunk({}, "stop") + b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)


class Browser:
    """A conversation and the stream of its events.

    Attributes:
        first_ms: from sending the first piece to having it.
        later_ms: the same of every later piece.
    """

    def __init__(self, client: httpx.AsyncClient, session: str) -> None:
        self._client = client
        self._session = session
        self.first_ms = 0.0
        self.later_ms: list[float] = []

    async def run(self, start: asyncio.Barrier, talking: asyncio.Semaphore) -> None:
        """Follow the events, send a message when all browsers follow theirs, and read until the turn has ended."""
        path = f"/api/sessions/{self._session}"
        async with self._client.stream("GET", f"{path}/events?html=1") as response:
            response.raise_for_status()
            await start.wait()
            async with talking:
                (await self._client.post(f"{path}/messages", json={"text": "Tell me a lot."})).raise_for_status()
                await self._read(response)

    async def _read(self, response: httpx.Response) -> None:
        async for line in response.aiter_lines():
            event = json.loads(line[6:]) if line.startswith("data: ") else {}
            if event.get("event") == "turn_ended":
                if event["status"] != "finished":
                    raise SystemExit(f"a turn has {event['status']}: {event['error']}")
                return
            if event.get("event") == "text":
                self._note(event["text"])

    def _note(self, text: str) -> None:
        now = time.monotonic_ns()
        for sent in map(int, _MOMENT.findall(text)):
            late = (now - sent) / 1e6
            if self.first_ms:
                self.later_ms.append(late)
            else:
                self.first_ms = late


def memory_mib(pid: int) -> float:
    """Return the resident memory of a process, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


async def measure(browsers: int, at_once: int, pieces: int, seconds: float) -> None:
    """Run everything, and print the figures."""
    async with await model_service(pieces, seconds) as model:
        port = model.sockets[0].getsockname()[1]
        with ExitStack() as stack:
            home = stack.enter_context(tempfile.TemporaryDirectory())
            environ = {
                **{name: value for name, value in os.environ.items() if not name.startswith("ONECLAW_")},
                "ONECLAW_HOME": home,
                "ONECLAW_MODEL": "lab/m",
            }
            async with OneClaw.open(home) as claw:
                address = {"type": "openai_compatible", "base_url": f"http://127.0.0.1:{port}/v1"}
                await claw.store.set_setting("provider:lab", address)
            command = [sys.executable, "-m", "oneclaw_core", "serve"]

            def oneclaw(*arguments: str) -> str:
                done = subprocess.run([*command, *arguments], env=environ, capture_output=True, text=True, check=True)  # noqa: S603
                return done.stdout.strip()

            token = await asyncio.to_thread(
                oneclaw, "token", "create", "browsers", "--scope", "chat", "--scope", "read"
            )
            server = stack.enter_context(
                subprocess.Popen([*command, "--port", "0"], env=environ, stderr=subprocess.PIPE, text=True)  # noqa: ASYNC220, S603
            )
            stack.callback(server.terminate)
            assert server.stderr is not None
            line = ""
            while not (found := re.search(r"http://127\.0\.0\.1:\d+", line)):
                line = await asyncio.to_thread(server.stderr.readline)
            limits = httpx.Limits(max_connections=None, keepalive_expiry=1)
            headers = {"Authorization": f"Bearer {token}"}
            async with httpx.AsyncClient(base_url=found[0], headers=headers, limits=limits, timeout=60) as client:
                before = memory_mib(server.pid)
                sessions = [
                    (await client.post("/api/sessions", json={})).raise_for_status().json()["id"]
                    for _ in range(browsers)
                ]
                all_ = [Browser(client, each) for each in sessions]
                start, talking = asyncio.Barrier(browsers), asyncio.Semaphore(at_once)
                highest = before
                started = time.monotonic()
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(each.run(start, talking)) for each in all_]
                    while not all(task.done() for task in tasks):
                        highest = max(highest, memory_mib(server.pid))
                        await asyncio.sleep(0.2)
                took = time.monotonic() - started
    later = sorted(late for each in all_ for late in each.later_ms)
    first = sorted(each.first_ms for each in all_)
    sys.stdout.write(
        f"{browsers} browsers, {at_once} talking at a time, "
        f"{pieces} pieces each, one every {seconds * 1000:.0f} ms; {took:.1f} s\n"
        f"first piece: median {statistics.median(first):.0f} ms, p95 {first[int(len(first) * 0.95)]:.0f} ms\n"
        f"later pieces: median {statistics.median(later):.0f} ms, p95 {later[int(len(later) * 0.95)]:.0f} ms; "
        f"the budget is {BUDGET_MS:.0f} ms\n"
        f"memory of the server: {before:.0f} MiB before, {highest:.0f} MiB at most\n"
    )


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browsers", type=int, default=BROWSERS)
    parser.add_argument("--talking", type=int, default=TALKING, help="how many turns run at a time")
    parser.add_argument("--pieces", type=int, default=PIECES)
    parser.add_argument("--seconds", type=float, default=PIECE_SECONDS, help="between two pieces")
    chosen = parser.parse_args()
    asyncio.run(
        asyncio.wait_for(measure(chosen.browsers, chosen.talking, chosen.pieces, chosen.seconds), _LONGEST_SECONDS)
    )


if __name__ == "__main__":
    main()
