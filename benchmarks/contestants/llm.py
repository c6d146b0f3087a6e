"""llm: all tools are sent with each request."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llm
import sqlite_utils
from llm.logs import LogStore

from benchmarks.measuring import kilobytes_of_each, median_seconds, turns_per_second
from benchmarks.tool_set import ANSWER, FIRST_TOOL, LOAD_TURN, PlainTool, plain_tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class InstantModel(llm.AsyncModel):
    """Calls a tool, then answers; or answers in pieces."""

    model_id = "instant"
    supports_tools = True
    can_stream = True

    def __init__(self, pieces: int = 0, seconds: float = 0) -> None:
        self.pieces = pieces
        self.seconds = seconds

    async def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any = None) -> AsyncIterator[str]:
        """Answer by how far the turn has come."""
        if self.seconds:
            await asyncio.sleep(self.seconds)
        if prompt.tools and not prompt.tool_results:
            response.add_tool_call(llm.ToolCall(FIRST_TOOL, {"text": LOAD_TURN}, "c"))
            yield ""
            return
        for number in range(self.pieces):
            yield f"word{number} "
        yield ANSWER


def _tool(tool: PlainTool) -> llm.Tool:
    return llm.Tool(tool.name, tool.description, tool.parameters, lambda text: text)


async def turn(size: int) -> float:
    """A chain of two requests, each with all tools."""
    tools = [_tool(tool) for tool in plain_tools(size)]
    model = InstantModel()

    async def once() -> None:
        text = await model.conversation().chain(LOAD_TURN, tools=tools).text()
        assert text.strip().endswith(ANSWER)

    return await median_seconds(once)


async def stored_turn(size: int) -> float:
    """The same, logged to a SQLite file as the command does."""
    tools = [_tool(tool) for tool in plain_tools(size)]
    model = InstantModel()
    with tempfile.TemporaryDirectory() as directory:
        store = LogStore(sqlite_utils.Database(Path(directory) / "logs.db"))

        async def once() -> None:
            chain = model.conversation().chain(LOAD_TURN, tools=tools)
            assert (await chain.text()).strip().endswith(ANSWER)
            for response in chain._responses:
                store.log(await response.to_sync_response())

        return await median_seconds(once)


async def register(size: int) -> float:
    """Tools as the framework wants them."""
    tools = list(plain_tools(size))
    started = time.perf_counter()
    assert len([_tool(tool) for tool in tools]) == size
    return time.perf_counter() - started


async def stream(size: int) -> float:
    """A streamed answer."""
    model = InstantModel(size)

    async def once() -> None:
        shown = [piece async for piece in model.prompt(LOAD_TURN)]
        assert len(shown) >= size

    return await median_seconds(once) / size


async def sessions(size: int) -> float:
    """Chains side by side, each in its conversation."""
    model = InstantModel(seconds=0.05)
    tools = [_tool(PlainTool("tool_0_0", "core"))]
    conversations = [model.conversation() for _ in range(size)]

    async def one(number: int) -> None:
        text = await conversations[number].chain(LOAD_TURN, tools=tools).text()
        assert text.strip().endswith(ANSWER)

    return await turns_per_second(one, size)


async def idle(size: int) -> float:
    """Conversations as the program keeps them."""
    model = InstantModel()
    conversations: dict[int, Any] = {}

    async def one(number: int) -> None:
        if number not in conversations:
            conversations[number] = model.conversation()
        await conversations[number].prompt(LOAD_TURN)

    return await kilobytes_of_each(one, size)
