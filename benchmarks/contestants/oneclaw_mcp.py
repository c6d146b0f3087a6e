"""OneClaw with MCP servers that its home knows."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.contestants.bare_mcp import CALLS, behind_gateway, configured, stdio_client_of, with_size
from benchmarks.contestants.oneclaw_opening import opening_seconds
from benchmarks.mcp_homes import HTTP_SERVER, HTTP_URL, server_name
from benchmarks.mcp_server import FIRST_TOOL
from benchmarks.measuring import STARTED, median_seconds, tree_megabytes
from benchmarks.model_service import model_service
from benchmarks.tool_set import ANSWER, LOAD_TURN
from benchmarks.work import ABOVE_SDK, ALL_MEMORY, FIRST_RESULT, OPENING, OVER_HTTP, OVER_STDIO

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mcp import Client

    from oneclaw_core import OneClaw
    from oneclaw_core.providers import ModelEvent, ModelInfo, ModelRequest

_PAIRS = 150
_ALLOWED = (f"mcp.{server_name(0)}.*", f"mcp.{HTTP_SERVER}.*")


@asynccontextmanager
async def _opened() -> AsyncIterator[OneClaw]:
    from oneclaw_core import OneClaw

    async with OneClaw.open(Path(os.environ["ONECLAW_HOME"]), allow=_ALLOWED) as claw:
        yield claw


async def mcp_start(size: int) -> dict[str, float]:
    """The servers are known from files, and the one that is called is started."""
    values: dict[str, float] = {}
    name = f"{server_name(0)}__{FIRST_TOOL}"

    async with _opened() as claw:
        from oneclaw_core import ToolCall, TurnFinishedEvent
        from oneclaw_core.providers import ModelResponse

        class Model:
            async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
                """Load the group of the first tool, call it, answer."""
                last = request.messages[-1].tool_name
                if last is None:
                    values[""] = time.perf_counter() - STARTED
                    if size:
                        source = claw.catalog.registry.get_source_info(name)
                        assert source is not None
                        yield _call("load_tool_group", group_name=source.group_name or "")
                        return
                elif last == "load_tool_group":
                    yield _call(name, text=LOAD_TURN)
                    return
                else:
                    assert LOAD_TURN in str(request.messages[-1]), request.messages[-1]
                    values[FIRST_RESULT] = time.perf_counter() - STARTED
                yield ModelResponse(text=ANSWER)

            async def list_models(self) -> list[ModelInfo]:
                """Offer nothing."""
                return []

            async def aclose(self) -> None:
                """Nothing is open."""

        def _call(tool: str, **arguments: str) -> ModelResponse:
            return ModelResponse(tool_calls=(ToolCall("c", tool, json.dumps(arguments)),))

        claw.catalog.provider_types["instant"] = lambda config: Model()
        await claw.store.set_setting("provider:instant", {"type": "instant"})
        events = [event async for event in claw.send_message(LOAD_TURN, model="instant/model")]
        assert isinstance(events[-1], TurnFinishedEvent)
        # Before other things are done in this process.
        memory = tree_megabytes()
    values[OPENING] = await opening_seconds(Path(os.environ["ONECLAW_HOME"]), allow=_ALLOWED)
    values = with_size(values, _sent_over_http())
    return values if memory is None else {**values, ALL_MEMORY: memory}


def _sent_over_http() -> list[object]:
    """Return the definitions and the list of groups of the first request of ``oneclaw run``."""
    program = Path(sys.executable).with_name("oneclaw")
    with tempfile.TemporaryDirectory() as folder, model_service(0, Path(folder, "requests")) as url:
        adding = ["providers", "add", "lab", "--type", "openai_compatible", "--base-url", url]
        for command in (adding, ["run", "--model", "lab/m", LOAD_TURN]):
            subprocess.run([program, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603
        request = json.loads(Path(folder, "requests").read_text(encoding="utf-8").splitlines()[0])
    prompt = request["messages"][0]["content"]
    assert "## Available Tool Groups" in prompt, prompt
    return [*(each["function"] for each in request["tools"]), "".join(prompt.partition("## Available Tool Groups")[1:])]


async def mcp_call(size: int) -> dict[str, float]:
    """Call a tool of a server of each kind as a program does, and through the bare SDK in turns."""
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    values: dict[str, float] = {}
    (entry,) = configured().values()
    http = Client(streamable_http_client(os.environ[HTTP_URL]), read_timeout_seconds=60)
    arguments = {"text": LOAD_TURN}
    async with _opened() as claw:
        for title, server, client in (
            (OVER_STDIO, server_name(0), stdio_client_of(entry)),
            (OVER_HTTP, HTTP_SERVER, http),
        ):

            async def call(tool: str = f"{server}__{FIRST_TOOL}") -> None:
                result = (await claw.call_tool(tool, arguments)).result
                assert result.status == "success", result

            async def calls(call: Callable[[], Awaitable[None]] = call) -> None:
                for _ in range(CALLS):
                    await call()

            async with client:
                await client.list_tools()
                values[title] = await median_seconds(calls) / CALLS
                wall, processor = await _differences(call, client)
                values[f"{title}, {ABOVE_SDK}"] = wall
                values[f"{title}, {ABOVE_SDK}, time of a processor"] = processor
    return values


async def _differences(call: Callable[[], Awaitable[None]], client: Client) -> list[float]:
    """Return by how much the calls are above those of the client, which take turns: time and that of a processor."""
    own, bare = [], []
    for _ in range(_PAIRS):
        started = time.perf_counter(), time.process_time()
        await call()
        middle = time.perf_counter(), time.process_time()
        await client.call_tool(FIRST_TOOL, {"text": LOAD_TURN})
        end = time.perf_counter(), time.process_time()
        own.append([after - before for before, after in zip(started, middle, strict=True)])
        bare.append([after - before for before, after in zip(middle, end, strict=True)])
    medians = [[statistics.median(each) for each in zip(*times, strict=True)] for times in (own, bare)]
    return [above - below for above, below in zip(*medians, strict=True)]


async def mcp_gateway(size: int) -> dict[str, float]:
    """Connect to ``oneclaw mcp serve``."""
    entry = {
        "command": str(Path(sys.executable).with_name("oneclaw")),
        "args": ["mcp", "serve", "--allow", f"mcp.{server_name(0)}.*"],
    }
    call = {"name": f"{server_name(0)}__{FIRST_TOOL}", "arguments": {"text": LOAD_TURN}}
    return await behind_gateway(stdio_client_of(entry, dict(os.environ)), "call_tool", call)
