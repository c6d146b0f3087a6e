"""llm: all tools are sent with each request."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import llm

from benchmarks.measuring import median_seconds
from benchmarks.tool_set import ANSWER, FIRST_TOOL, LOAD_TURN, PlainTool, plain_tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class InstantModel(llm.AsyncModel):
    """Calls a tool, then answers."""

    model_id = "instant"
    supports_tools = True
    can_stream = True

    async def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any = None) -> AsyncIterator[str]:
        """Answer by how far the turn has come."""
        if prompt.tools and not prompt.tool_results:
            response.add_tool_call(llm.ToolCall(FIRST_TOOL, {"text": LOAD_TURN}, "c"))
            yield ""
            return
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


async def register(size: int) -> float:
    """Tools as the framework wants them."""
    tools = list(plain_tools(size))
    started = time.perf_counter()
    assert len([_tool(tool) for tool in tools]) == size
    return time.perf_counter() - started
