"""The same work with no framework: what it costs at least."""

from __future__ import annotations

import json
import time
from typing import Any

from benchmarks.contestants.bare_mcp import mcp_call, mcp_gateway, mcp_start
from benchmarks.measuring import median_seconds
from benchmarks.tool_set import (
    ANSWER,
    FIRST_GROUP,
    FIRST_TOOL,
    LOAD_TURN,
    PlainTool,
    grouped,
    message_text,
    one_page,
    plain_tools,
)
from benchmarks.work import COMMAND, ISOLATED, JAVASCRIPT

__all__ = ["mcp_call", "mcp_gateway", "mcp_start"]


def _tool(count: int) -> dict[str, Any]:
    return {tool.name: lambda text: text for tool in plain_tools(count)}


async def turn(size: int) -> float:
    """Three rounds of a loop over a list of messages."""
    functions = _tool(size)
    groups = grouped(plain_tools(size))

    def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        if messages[-1]["role"] == "user":
            return {"call": ("load_tool_group", json.dumps({"group_name": FIRST_GROUP}))}
        if messages[-1]["name"] == "load_tool_group":
            return {"call": (FIRST_TOOL, json.dumps({"text": LOAD_TURN}))}
        return {"text": ANSWER}

    async def once() -> None:
        messages: list[dict[str, Any]] = [{"role": "user", "content": LOAD_TURN}]
        active: list[str] = []
        while True:
            answer = model(messages)
            messages.append({"role": "assistant", **answer})
            if "call" not in answer:
                return
            name, text = answer["call"]
            arguments = json.loads(text)
            if name == "load_tool_group":
                active += [tool.name for tool in groups[arguments["group_name"]]]
                result = "loaded"
            else:
                result = functions[name](**arguments)
            messages.append({"role": "tool", "name": name, "content": result})

    return await median_seconds(once)


# What OneClaw sends before the conversation: about as many characters, and as many tools.
_SYSTEM_PROMPT = message_text(0) * 15
_CORE_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"core_{number}",
            "description": message_text(number) * 2,
            "parameters": PlainTool(f"core_{number}", "core").parameters,
        },
    }
    for number in range(13)
]


async def http_turn(size: int) -> float:
    """A loop with httpx and SQLite, which stores each message before it goes on.

    Its requests are as long as OneClaw's.
    """
    import sqlite3
    import tempfile
    from contextlib import closing
    from pathlib import Path

    import httpx

    from benchmarks.model_service import model_service

    functions = _tool(size)
    groups = grouped(plain_tools(size))
    definitions = {
        tool.name: {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in plain_tools(size)
    }

    async def ask(client: httpx.AsyncClient, messages: list[dict[str, Any]], tools: list[str]) -> dict[str, Any]:
        body = {
            "model": "groups",
            "stream": True,
            "messages": [{"role": "system", "content": _SYSTEM_PROMPT}, *messages],
            "tools": [*_CORE_TOOLS, *(definitions[name] for name in tools)],
        }
        answer: dict[str, Any] = {"role": "assistant", "content": ""}
        async with client.stream("POST", "chat/completions", json=body) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if not line.startswith("data: ") or line == "data: [DONE]":
                    continue
                delta = json.loads(line[6:])["choices"][0]["delta"]
                answer["content"] += delta.get("content") or ""
                for call in delta.get("tool_calls", ()):
                    answer.setdefault("tool_calls", []).append({"id": call["id"], "function": call["function"]})
        return answer

    with (
        model_service(0) as url,
        tempfile.TemporaryDirectory() as folder,
        closing(sqlite3.connect(Path(folder) / "messages.db")) as database,
    ):
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, session INTEGER, message TEXT)")
        database.execute("CREATE INDEX by_session ON messages (session)")
        async with httpx.AsyncClient(base_url=url) as client:
            session = 0

            async def once() -> None:
                nonlocal session
                session += 1
                messages: list[dict[str, Any]] = []
                active: list[str] = []

                def store(message: dict[str, Any]) -> None:
                    messages.append(message)
                    row = (session, json.dumps(message))
                    database.execute("INSERT INTO messages (session, message) VALUES (?, ?)", row)
                    database.commit()

                store({"role": "user", "content": LOAD_TURN})
                while True:
                    answer = await ask(client, messages, active)
                    store(answer)
                    if "tool_calls" not in answer:
                        assert answer["content"] == ANSWER
                        return
                    for call in answer["tool_calls"]:
                        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
                        if name == "load_tool_group":
                            active += [tool.name for tool in groups[arguments["group_name"]]]
                            result = "loaded"
                        else:
                            result = functions[name](**arguments)
                        store({"role": "tool", "tool_call_id": call["id"], "content": result})

            return await median_seconds(once)


async def http_stream(size: int) -> float:
    """The lines of the response, each parsed."""
    import httpx

    from benchmarks.model_service import model_service

    body = {"model": "pieces", "stream": True, "messages": [{"role": "user", "content": LOAD_TURN}]}
    with model_service(0) as url:
        async with httpx.AsyncClient(base_url=url) as client:

            async def once() -> None:
                shown = []
                async with client.stream("POST", "chat/completions", json=body) as response:
                    async for line in response.aiter_lines():
                        if line.startswith("data: ") and line != "data: [DONE]":
                            delta = json.loads(line[6:])["choices"][0]["delta"]
                            if delta.get("content"):
                                shown.append(delta["content"])
                assert len(shown) == size

            return await median_seconds(once) / size


async def register(size: int) -> float:
    """A dict."""
    tools = list(plain_tools(size))
    started = time.perf_counter()
    known = {tool.name: (tool, tool.parameters) for tool in tools}
    assert len(known) == size
    return time.perf_counter() - started


async def call(size: int) -> float:
    """A call of the function."""
    functions = _tool(size)
    calls = 10_000

    async def once() -> None:
        for _ in range(calls):
            functions[FIRST_TOOL](**json.loads(json.dumps({"text": LOAD_TURN})))

    return await median_seconds(once) / calls


async def processes(size: int) -> dict[str, float]:
    """The shell, and the engine and the library in this process."""
    import asyncio
    import tempfile
    from pathlib import Path

    import pypdfium2  # type: ignore[import-untyped]  # ships no types
    import quickjs  # type: ignore[import-not-found]  # the same

    with tempfile.TemporaryDirectory() as directory:
        file = one_page(Path(directory))

        async def command() -> None:
            process = await asyncio.create_subprocess_exec("/bin/sh", "-c", "true")
            assert await process.wait() == 0

        async def javascript() -> None:
            assert quickjs.Context().eval("6*7") == 42

        async def isolated() -> None:
            with pypdfium2.PdfDocument(file) as document:
                assert len(document) == 1

        return {
            COMMAND: await median_seconds(command),
            JAVASCRIPT: await median_seconds(javascript),
            ISOLATED: await median_seconds(isolated),
        }
