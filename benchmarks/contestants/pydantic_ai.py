"""pydantic-ai: groups are capabilities that the model loads, with ``defer_loading``."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import Capability
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from benchmarks.measuring import kilobytes_of_each, median_seconds, turns_per_second
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

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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


async def stream(size: int) -> float:
    """A streamed run."""

    async def pieces(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for number in range(size):
            yield f"word{number} "

    agent = Agent(FunctionModel(stream_function=pieces))

    async def once() -> None:
        async with agent.run_stream(LOAD_TURN) as result:
            shown = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        assert len("".join(shown)) > size

    return await median_seconds(once) / size


async def sessions(size: int) -> float:
    """Runs side by side, each with its history of messages."""

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.sleep(0.05)
        if _last_result(messages) is None:
            return ModelResponse(parts=[ToolCallPart("echo", {"text": LOAD_TURN})])
        return ModelResponse(parts=[TextPart(ANSWER)])

    agent = Agent(FunctionModel(model), tools=[_tool(PlainTool("echo", "core"))])
    histories: list[Any] = [[] for _ in range(size)]

    async def one(number: int) -> None:
        result = await agent.run(LOAD_TURN, message_history=histories[number])
        histories[number] = result.all_messages()

    return await turns_per_second(one, size)


async def idle(size: int) -> float:
    """Histories as the program keeps them."""
    agent = Agent(FunctionModel(_answer))
    histories: dict[int, Any] = {}

    async def one(number: int) -> None:
        result = await agent.run(LOAD_TURN, message_history=histories.get(number))
        histories[number] = result.all_messages()

    return await kilobytes_of_each(one, size)
