"""pydantic-ai: groups are capabilities that the model loads, with ``defer_loading``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pydantic_ai import Agent, Tool
from pydantic_ai.capabilities import Capability
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

from benchmarks.measuring import median_seconds
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
