"""langgraph-bigtool: the model retrieves tools by their ids, which are bound from the next request on."""

from __future__ import annotations

import time
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.store.memory import InMemoryStore
from langgraph_bigtool import create_agent

from benchmarks.measuring import median_seconds
from benchmarks.tool_set import ANSWER, FIRST_TOOL, LOAD_TURN, TOOLS_PER_GROUP, PlainTool, plain_tools


class InstantModel(BaseChatModel):
    """Retrieves tools, calls the first, answers."""

    @property
    def _llm_type(self) -> str:
        return "instant"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Convert them, as models do."""
        from langchain_core.utils.function_calling import convert_to_openai_tool

        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        calls: list[Any] = []
        if not isinstance(last, ToolMessage):
            calls = [{"name": "retrieve_tools", "args": {"query": LOAD_TURN}, "id": "c", "type": "tool_call"}]
        elif str(last.content).startswith("Available tools"):
            calls = [{"name": FIRST_TOOL, "args": {"text": LOAD_TURN}, "id": "d", "type": "tool_call"}]
        message = AIMessage("" if calls else ANSWER, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def _tool(tool: PlainTool) -> StructuredTool:
    return StructuredTool.from_function(
        lambda text: text, name=tool.name, description=tool.description, args_schema=tool.parameters
    )


def _graph(size: int) -> Any:
    ids = [tool.name for tool in plain_tools(min(size, TOOLS_PER_GROUP))]

    def retrieve_tools(query: str) -> list[str]:
        """Find tools."""
        return ids

    async def retrieve(query: str) -> list[str]:
        """Find tools."""
        return ids

    retrieve.__name__ = "retrieve_tools"
    registry = {tool.name: _tool(tool) for tool in plain_tools(size)}
    builder = create_agent(
        InstantModel(),
        registry,
        retrieve_tools_function=retrieve_tools,
        retrieve_tools_coroutine=retrieve,
    )
    return builder.compile(store=InMemoryStore())


async def turn(size: int) -> float:
    """A run of three requests."""
    graph = _graph(size)

    async def once() -> None:
        state = await graph.ainvoke({"messages": [("user", LOAD_TURN)]})
        assert state["messages"][-1].content == ANSWER

    return await median_seconds(once)


async def register(size: int) -> float:
    """A graph with its tools."""
    started = time.perf_counter()
    _graph(size)
    return time.perf_counter() - started
