"""openai-agents: all tools are sent with each request; loading them on demand needs a service of OpenAI."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from agents import Agent, FunctionTool, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from benchmarks.measuring import median_seconds, resident_megabytes
from benchmarks.tool_set import ANSWER, FIRST_TOOL, LOAD_TURN, PlainTool, message_text, plain_tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

set_tracing_disabled(True)


class InstantModel(Model):
    """Calls a tool, then answers; without one, it only answers."""

    def __init__(self, tool: str | None = None, seconds: float = 0) -> None:
        self.tool = tool
        self.seconds = seconds

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002  # the framework's name
        """Answer by how far the turn has come."""
        if self.seconds:
            await asyncio.sleep(self.seconds)
        is_answered = not isinstance(input, str) and input[-1].get("type") == "function_call_output"
        output: Any
        if self.tool is None or is_answered:
            text = ResponseOutputText(text=ANSWER, type="output_text", annotations=[])
            output = ResponseOutputMessage(id="m", role="assistant", status="completed", type="message", content=[text])
        else:
            arguments = json.dumps({"text": LOAD_TURN})
            output = ResponseFunctionToolCall(call_id="c", name=self.tool, arguments=arguments, type="function_call")
        return ModelResponse(output=[output], usage=Usage(requests=1), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Not used."""
        raise NotImplementedError


def _tool(tool: PlainTool) -> FunctionTool:
    async def invoke(context: Any, arguments: str) -> str:
        return str(json.loads(arguments)["text"])

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.parameters,
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


async def turn(size: int) -> float:
    """A run of two requests, each with all tools."""
    agent = Agent(name="a", model=InstantModel(FIRST_TOOL), tools=[_tool(tool) for tool in plain_tools(size)])

    async def once() -> None:
        result = await Runner.run(agent, LOAD_TURN)
        assert result.final_output == ANSWER

    return await median_seconds(once)


async def register(size: int) -> float:
    """An agent with its tools."""
    tools = list(plain_tools(size))
    started = time.perf_counter()
    Agent(name="a", model=InstantModel(), tools=[_tool(tool) for tool in tools])
    return time.perf_counter() - started


async def resume(size: int) -> float:
    """A run with a history."""
    agent = Agent(name="a", model=InstantModel())
    history: list[Any] = [
        {"role": "assistant" if number % 2 else "user", "content": message_text(number)} for number in range(size)
    ]
    history.append({"role": "user", "content": LOAD_TURN})
    return await median_seconds(lambda: Runner.run(agent, list(history)))


async def sessions(size: int) -> float:
    """Runs side by side, each with its history."""
    agent = Agent(name="a", model=InstantModel("echo", 0.05), tools=[_tool(PlainTool("echo", "core"))])
    histories: list[Any] = [[] for _ in range(size)]

    async def one(number: int) -> None:
        result = await Runner.run(agent, [*histories[number], {"role": "user", "content": LOAD_TURN}])
        histories[number] = result.to_input_list()

    await asyncio.gather(*map(one, range(size)))
    turns = 10
    started = time.perf_counter()
    for _ in range(turns):
        await asyncio.gather(*map(one, range(size)))
    return size * turns / (time.perf_counter() - started)


async def idle(size: int) -> float:
    """Histories as the program keeps them."""
    agent = Agent(name="a", model=InstantModel())
    await Runner.run(agent, LOAD_TURN)
    before = resident_megabytes()
    histories: list[Any] = [[] for _ in range(size)]
    for number in range(size):
        for _ in range(10):
            result = await Runner.run(agent, [*histories[number], {"role": "user", "content": LOAD_TURN}])
            histories[number] = result.to_input_list()
    return max(0.0, resident_megabytes() - before) / size
