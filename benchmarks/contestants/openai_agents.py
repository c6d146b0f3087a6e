"""openai-agents: all tools are sent with each request; loading them on demand needs a service of OpenAI."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)

from benchmarks.measuring import kilobytes_of_each, median_seconds, turns_per_second
from benchmarks.model_service import model_service
from benchmarks.tool_set import ANSWER, FIRST_TOOL, LOAD_TURN, PlainTool, message_text, plain_tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

set_tracing_disabled(True)


class InstantModel(Model):
    """Calls a tool, then answers; without one, it only answers, in pieces where these are asked for."""

    def __init__(self, tool: str | None = None, seconds: float = 0, pieces: int = 0) -> None:
        self.tool = tool
        self.seconds = seconds
        self.pieces = pieces

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

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """The events of the service that have text, and the last one."""
        for number in range(self.pieces):
            yield ResponseTextDeltaEvent.model_construct(
                type="response.output_text.delta",
                item_id="m",
                output_index=0,
                content_index=0,
                delta=f"word{number} ",
                logprobs=[],
                sequence_number=number,
            )
        answer = await self.get_response(None, LOAD_TURN)
        response = Response.model_construct(id="r", output=answer.output, usage=None, model="instant", tools=[])
        yield ResponseCompletedEvent.model_construct(
            type="response.completed", response=response, sequence_number=self.pieces
        )


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


async def stored_turn(size: int) -> float:
    """The same with the framework's session in a SQLite file."""
    agent = Agent(name="a", model=InstantModel(FIRST_TOOL), tools=[_tool(tool) for tool in plain_tools(size)])
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as directory:

        async def once() -> None:
            session = SQLiteSession(f"session-{next(numbers)}", Path(directory) / "sessions.db")
            result = await Runner.run(agent, LOAD_TURN, session=session)
            assert result.final_output == ANSWER
            session.close()

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


async def stream(size: int) -> float:
    """A streamed run."""
    agent = Agent(name="a", model=InstantModel(pieces=size))

    async def once() -> None:
        events = Runner.run_streamed(agent, LOAD_TURN).stream_events()
        shown = [
            event.data.delta async for event in events if isinstance(getattr(event, "data", 0), ResponseTextDeltaEvent)
        ]
        assert len(shown) == size

    return await median_seconds(once) / size


async def sessions(size: int) -> float:
    """Runs side by side, each with its history."""
    agent = Agent(name="a", model=InstantModel("echo", 0.05), tools=[_tool(PlainTool("echo", "core"))])
    histories: list[Any] = [[] for _ in range(size)]

    async def one(number: int) -> None:
        result = await Runner.run(agent, [*histories[number], {"role": "user", "content": LOAD_TURN}])
        histories[number] = result.to_input_list()

    return await turns_per_second(one, size)


async def http_sessions(size: int) -> float:
    """The same with a model service over HTTP."""
    with model_service() as url:
        model = OpenAIChatCompletionsModel("echo", AsyncOpenAI(base_url=url, api_key="none"))
        agent = Agent(name="a", model=model, tools=[_tool(PlainTool("echo", "core"))])
        histories: list[Any] = [[] for _ in range(size)]

        async def one(number: int) -> None:
            result = Runner.run_streamed(agent, [*histories[number], {"role": "user", "content": LOAD_TURN}])
            async for _ in result.stream_events():
                pass
            histories[number] = result.to_input_list()

        return await turns_per_second(one, size)


async def idle(size: int) -> float:
    """Histories as the program keeps them."""
    agent = Agent(name="a", model=InstantModel())
    histories: dict[int, Any] = {}

    async def one(number: int) -> None:
        result = await Runner.run(agent, [*histories.get(number, ()), {"role": "user", "content": LOAD_TURN}])
        histories[number] = result.to_input_list()

    return await kilobytes_of_each(one, size)
