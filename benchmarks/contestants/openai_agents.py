"""openai-agents: all tools are sent with each request; loading them on demand needs a service of OpenAI."""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    FunctionTool,
    Model,
    ModelResponse,
    OpenAIChatCompletionsModel,
    Runner,
    SQLiteSession,
    Usage,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)

from benchmarks.measuring import median_seconds, turns_per_second
from benchmarks.model_service import model_service
from benchmarks.tool_set import ANSWER, FIRST_TOOL, LOAD_TURN, PlainTool, message_text, plain_tools

set_tracing_disabled(True)


class InstantModel(Model):
    """Calls a tool, then answers; without one, it only answers."""

    def __init__(self, tool: str | None = None) -> None:
        self.tool = tool

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002  # the framework's name
        """Answer by how far the turn has come."""
        is_answered = not isinstance(input, str) and input[-1].get("type") == "function_call_output"
        output: Any
        if self.tool is None or is_answered:
            text = ResponseOutputText(text=ANSWER, type="output_text", annotations=[])
            output = ResponseOutputMessage(id="m", role="assistant", status="completed", type="message", content=[text])
        else:
            arguments = json.dumps({"text": LOAD_TURN})
            output = ResponseFunctionToolCall(call_id="c", name=self.tool, arguments=arguments, type="function_call")
        return ModelResponse(output=[output], usage=Usage(requests=1), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        """It does not stream."""
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


def _connected(url: str, model: str, tools: list[PlainTool]) -> Agent[None]:
    service = OpenAIChatCompletionsModel(model, AsyncOpenAI(base_url=url, api_key="none"))
    return Agent(name="a", model=service, tools=[_tool(tool) for tool in tools])


async def http_turn(size: int) -> float:
    """A run of two requests with the framework's session in a SQLite file."""
    numbers = itertools.count()
    with model_service(0) as url, tempfile.TemporaryDirectory() as directory:
        agent = _connected(url, "first_tool", list(plain_tools(size)))

        async def once() -> None:
            session = SQLiteSession(f"session-{next(numbers)}", Path(directory) / "sessions.db")
            result = Runner.run_streamed(agent, LOAD_TURN, session=session)
            async for _ in result.stream_events():
                pass
            assert result.final_output == ANSWER
            session.close()

        return await median_seconds(once)


async def http_stream(size: int) -> float:
    """A streamed run."""
    with model_service(0) as url:
        agent = _connected(url, "pieces", [])

        async def once() -> None:
            events = Runner.run_streamed(agent, LOAD_TURN).stream_events()
            data = [getattr(event, "data", None) async for event in events]
            assert len([each for each in data if isinstance(each, ResponseTextDeltaEvent) and each.delta]) == size

        return await median_seconds(once) / size


async def http_sessions(size: int) -> dict[str, float]:
    """Runs side by side, each with its history."""
    with model_service() as url:
        agent = _connected(url, "echo", [PlainTool("echo", "core")])
        histories: list[Any] = [[] for _ in range(size)]

        async def one(number: int) -> None:
            result = Runner.run_streamed(agent, [*histories[number], {"role": "user", "content": LOAD_TURN}])
            async for _ in result.stream_events():
                pass
            assert result.final_output == ANSWER
            histories[number] = result.to_input_list()

        return await turns_per_second(one, size)
