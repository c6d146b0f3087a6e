"""pydantic-ai: groups are capabilities that the model loads, with ``defer_loading``."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import Capability
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from benchmarks.contestants.bare_mcp import CALLS, configured, with_size
from benchmarks.mcp_homes import HTTP_URL, server_name
from benchmarks.mcp_server import FIRST_TOOL as FIRST_MCP_TOOL
from benchmarks.measuring import STARTED, median_seconds
from benchmarks.tool_set import (
    ANSWER,
    FIRST_GROUP,
    FIRST_TOOL,
    LOAD_TURN,
    PlainTool,
    grouped,
    message_text,
    plain_tools,
)
from benchmarks.work import FIRST_RESULT, OVER_HTTP, OVER_STDIO

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models.function import AgentInfo


def _echo(text: str) -> str:
    return text


def _tool(tool: PlainTool) -> Tool[None]:
    return Tool.from_schema(_echo, name=tool.name, description=tool.description, json_schema=tool.parameters)


def _agent(model: FunctionModel, size: int) -> Agent[None, str]:
    capabilities = [
        Capability[None](
            id=group,
            description=tools[0].group_description,
            tools=[_tool(tool) for tool in tools],
            defer_loading=True,
        )
        for group, tools in grouped(plain_tools(size)).items()
    ]
    return Agent(model, capabilities=capabilities)


def _last_result(messages: list[ModelMessage]) -> str | None:
    return next((part.tool_name for part in messages[-1].parts if isinstance(part, ToolReturnPart)), None)


async def _load_and_call(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    part: TextPart | ToolCallPart
    match _last_result(messages):
        case None:
            part = ToolCallPart("load_capability", {"id": FIRST_GROUP})
        case "load_capability":
            part = ToolCallPart(FIRST_TOOL, {"text": LOAD_TURN})
        case _:
            part = TextPart(ANSWER)
    return ModelResponse(parts=[part])


async def _answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart(ANSWER)])


async def turn(size: int) -> float:
    """A run of three requests."""
    agent = _agent(FunctionModel(_load_and_call), size)

    async def once() -> None:
        result = await agent.run(LOAD_TURN)
        assert result.output == ANSWER
        assert result.usage.requests == 3

    return await median_seconds(once)


async def register(size: int) -> float:
    """Capabilities with their tools, and an agent that has them."""
    started = time.perf_counter()
    _agent(FunctionModel(_answer), size)
    return time.perf_counter() - started


async def resume(size: int) -> float:
    """A run with a history."""
    agent = Agent(FunctionModel(_answer))
    history: list[ModelMessage] = [
        ModelResponse(parts=[TextPart(message_text(number))])
        if number % 2
        else ModelRequest(parts=[UserPromptPart(message_text(number))])
        for number in range(size)
    ]
    return await median_seconds(lambda: agent.run(LOAD_TURN, message_history=history))


async def mcp_start(size: int) -> dict[str, float]:
    """A capability for each server, whose tools the model loads."""
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.capabilities import MCP

    values: dict[str, float] = {}
    sent: list[object] = []
    called = f"{server_name(0)}_{FIRST_MCP_TOOL}"

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        part: TextPart | ToolCallPart = TextPart(ANSWER)
        match _last_result(messages):
            case None:
                values[""] = time.perf_counter() - STARTED
                sent.extend(
                    {"name": each.name, "description": each.description, "parameters": each.parameters_json_schema}
                    for each in info.function_tools
                )
                sent.append(info.instructions or "")
                if size:
                    part = ToolCallPart("load_capability", {"id": server_name(0)})
            case "load_capability":
                part = ToolCallPart(called, {"text": LOAD_TURN})
            case _:
                values[FIRST_RESULT] = time.perf_counter() - STARTED
        return ModelResponse(parts=[part])

    capabilities = [
        MCP[None](
            local=StdioTransport(command=entry["command"], args=entry["args"]),
            id=name,
            description=f"Everything that {name} can do for a user.",
            tool_prefix=True,
            defer_loading=True,
        )
        for name, entry in configured().items()
    ]
    agent = Agent(FunctionModel(model), capabilities=capabilities)
    async with agent:
        assert (await agent.run(LOAD_TURN)).output == ANSWER
        return with_size(values, sent)


async def mcp_call(size: int) -> dict[str, float]:
    """Call a tool of a toolset of each kind, as a program does."""
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    values = {}
    (entry,) = configured().values()
    stdio = StdioTransport(command=entry["command"], args=entry["args"])
    for title, target in ((OVER_STDIO, stdio), (OVER_HTTP, os.environ[HTTP_URL])):
        async with MCPToolset[None](target) as toolset:
            await toolset.list_tools()

            async def calls(toolset: MCPToolset[None] = toolset) -> None:
                for _ in range(CALLS):
                    await toolset.direct_call_tool(FIRST_MCP_TOOL, {"text": LOAD_TURN})

            values[title] = await median_seconds(calls) / CALLS
    return values
