"""``oneclaw serve`` under two turns a second for ten minutes: memory, descriptors, threads and files do not grow.

The memory of Python objects is measured inside the server, and the resident memory from outside.

``ONECLAW_SOAK_MINUTES=60 ONECLAW_TESTS_LONG=1 pytest tests/reliability/test_soak.py`` takes an hour. The samples are in
the file ``samples.txt`` of the test's folder.
"""

import asyncio
import os
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from model_server import ModelServer, calls, text

from oneclaw_core import OneClaw
from oneclaw_core.http import ServerTokens

pytestmark = [pytest.mark.one_python, pytest.mark.long]

MINUTES = float(os.environ.get("ONECLAW_SOAK_MINUTES", "10"))
TURNS_A_SECOND = 2
MOST_BYTES_PER_TURN = 512
SAMPLE_SECONDS = 5
# What is kept up to a limit, such as pages of the database and compiled statements, fills up in the first minutes.
WARM_UP_SHARE = 0.5
# Caches of SQLite and memory that the allocators of C keep grow for about 2,000 turns, more than ten minutes have. In a
# longer run, resident memory is held to the same bytes a turn.
MOST_RESIDENT_BYTES = 3_000_000
MINUTES_UNTIL_FLAT = 40
PLUGIN = '''
import asyncio, gc, tracemalloc
from oneclaw_core import hookimpl, tool
from oneclaw_core.plugins import WebResponse

async def memory(context, request):
    gc.collect()
    return WebResponse(body=str(tracemalloc.get_traced_memory()[0]))

@hookimpl
def register_routes(register):
    register("memory", memory, is_public=True)

@tool
async def fetch_numbers(about: str) -> str:
    """Fetch numbers.

    Args:
        about: what for.
    """
    work = asyncio.create_task(asyncio.sleep(0))
    await work
    return about + " 12345" * 2_000

@hookimpl
async def before_tool_call(context, call):
    await asyncio.sleep(0)

@hookimpl
async def turn_finished(context, turn, outcome):
    await asyncio.sleep(0)

@hookimpl
def register_tools(register):
    register(fetch_numbers)
'''


def install(site):
    """Install the plugin with the async tool where ``PYTHONPATH`` finds it."""
    info = site / "soak_plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: soak-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[oneclaw]\nsoak = soak_plugin\n")
    (site / "soak_plugin.py").write_text(PLUGIN)


def answer(body):
    """Call the tool for every other question."""
    last = body["messages"][-1]
    number = int(re.search(r"number (\d+)", str(body["messages"]))[1])
    if last["role"] == "user" and number % 2:
        return calls(("fetch_numbers", {"about": f"word{number}"}))
    return text(f"These are words{number} of an answer.")


@dataclass
class Sample:
    """What the server uses after some turns."""

    turn: int
    bytes: int
    resident_bytes: int
    descriptors: int
    threads: int
    files: Counter


def sample(process, turn, traced, *folders):
    status = Path(f"/proc/{process.pid}/status").read_text()
    files = Counter(
        re.sub(r"[0-9a-f]{8,}|\d+", "N", str(path.relative_to(folder)))
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    )
    return Sample(
        turn,
        traced,
        int(re.search(r"RssAnon:\s+(\d+) kB", status)[1]) * 1024,
        len(list(Path(f"/proc/{process.pid}/fd").iterdir())),
        int(re.search(r"Threads:\s+(\d+)", status)[1]),
        files,
    )


class Client:
    """Talks to the server in all ways, in turn."""

    def __init__(self, http):
        self._http = http

    async def take_turn(self, number):
        message = f"question number {number} about word{number}"
        if number % 4 == 3:
            await self._on_the_page(message)
            return
        headers = {"x-oneclaw-session": f"chat {number // 40}"} if number % 4 == 2 else {}
        body = {
            "model": "General Assistant",
            "messages": [{"role": "user", "content": message}],
            "stream": number % 4 == 1,
        }
        response = await self._http.post("/v1/chat/completions", json=body, headers=headers)
        assert response.status_code == 200, response.text

    async def _on_the_page(self, message):
        session = (await self._http.post("/api/sessions", json={})).json()["id"]
        await self._http.post(f"/api/sessions/{session}/messages", json={"text": message})
        async with self._http.stream("GET", f"/api/sessions/{session}/events") as response:
            async for line in response.aiter_lines():
                if '"turn_ended"' in line:
                    return


async def soak(server, process, ready, token, folders):
    """Take turns at an even pace; return samples."""
    samples = []
    turns = round(MINUTES * 60 * TURNS_A_SECOND)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=ready, headers=headers, timeout=60) as http:
        client = Client(http)
        began = sampled = time.monotonic()
        for number in range(turns):
            await asyncio.sleep(max(0.0, began + number / TURNS_A_SECOND - time.monotonic()))
            await client.take_turn(number)
            server.requests.clear()
            if time.monotonic() - sampled >= SAMPLE_SECONDS:
                sampled = time.monotonic()
                traced = int((await http.get("/soak/memory")).text)
                samples.append(sample(process, number, traced, *folders))
    return samples


def lines_of(process):
    """Return the address at which the server is ready."""
    for line in process.stderr:
        if " is ready: " in line:
            return line.split()[-1]
    raise AssertionError("it ended")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of a process from /proc")
def test_a_server_does_not_grow(tmp_path):
    install(tmp_path / "site")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    home = tmp_path / "home"

    async def make_token():
        async with OneClaw.open(home, environ={}) as claw:
            return await ServerTokens(claw.store.plugin_storage("serve")).create("soak", ("chat", "read"))

    token = asyncio.run(make_token())
    with ModelServer(answer) as server:
        environ = os.environ | {
            "ONECLAW_HOME": str(home),
            "ONECLAW_MODEL": "openai_compatible/test",
            "OPENAI_API_KEY": "a-key-of-a-test",
            "OPENAI_BASE_URL": server.url,
            "PYTHONPATH": str(tmp_path / "site"),
            "TMPDIR": str(temporary),
            "PYTHONTRACEMALLOC": "1",
        }
        command = [sys.executable, "-m", "oneclaw_core", "serve", "--port", "0"]
        process = subprocess.Popen(command, env=environ, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        with process:
            try:
                ready = lines_of(process)
                samples = asyncio.run(soak(server, process, ready, token, (home, temporary)))
            finally:
                process.kill()

    settled = samples[round(len(samples) * WARM_UP_SHARE) :]
    earlier, later = settled[: len(settled) // 2], settled[len(settled) // 2 :]

    def bytes_per_turn(use):
        return statistics.linear_regression(
            [each.turn for each in settled], [getattr(each, use) for each in settled]
        ).slope

    slope, resident_slope = bytes_per_turn("bytes"), bytes_per_turn("resident_bytes")
    lines = [
        f"{each.turn} {each.bytes} {each.resident_bytes} {each.descriptors} {each.threads} {each.files.total()}"
        for each in samples
    ]
    (tmp_path / "samples.txt").write_text(
        "\n".join([*lines, f"{slope:.0f} bytes a turn, {resident_slope:.0f} resident", ""])
    )
    for use in ("descriptors", "threads"):
        assert max(getattr(each, use) for each in later) <= max(getattr(each, use) for each in earlier) + 2, use
    more = later[-1].files - earlier[-1].files
    assert more.total() <= 2, more
    assert slope < MOST_BYTES_PER_TURN, lines
    assert later[-1].resident_bytes - earlier[0].resident_bytes < MOST_RESIDENT_BYTES, lines
    assert MINUTES < MINUTES_UNTIL_FLAT or resident_slope < MOST_BYTES_PER_TURN, lines
