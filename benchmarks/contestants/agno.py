"""agno: all tools are sent with each request."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from agno.agent import Agent, RunContentEvent
from agno.db.sqlite import AsyncSqliteDb
from agno.models.message import Message
from agno.models.openai import OpenAILike
from agno.run.agent import RunOutput
from agno.tools.function import Function

from benchmarks.measuring import median_seconds, turns_per_second
from benchmarks.model_service import model_service
from benchmarks.tool_set import ANSWER, LOAD_TURN, PlainTool, plain_tools


async def _echo(text: str) -> str:
    return text


def _agent(url: str, model: str, tools: list[PlainTool], db: AsyncSqliteDb | None = None) -> Agent:
    functions = [
        Function(
            name=tool.name,
            description=tool.description,
            parameters=tool.parameters,
            entrypoint=_echo,
            skip_entrypoint_processing=True,
        )
        for tool in tools
    ]
    return Agent(
        model=OpenAILike(id=model, base_url=url, api_key="none"),
        tools=functions,
        db=db,
        telemetry=False,
    )


async def _send(agent: Agent, session: str) -> list[str]:
    events = agent.arun(LOAD_TURN, stream=True, session_id=session)
    return [str(event.content) async for event in events if isinstance(event, RunContentEvent) and event.content]


async def http_turn(size: int) -> float:
    """A run of two requests with the framework's sessions in a SQLite file."""
    numbers = itertools.count()
    with model_service(0) as url, tempfile.TemporaryDirectory() as directory:
        db = AsyncSqliteDb(db_file=str(Path(directory) / "sessions.db"))
        agent = _agent(url, "first_tool", list(plain_tools(size)), db)

        async def once() -> None:
            assert await _send(agent, f"session-{next(numbers)}") == [ANSWER]

        return await median_seconds(once)


async def http_stream(size: int) -> float:
    """A streamed run."""
    with model_service(0) as url:
        agent = _agent(url, "pieces", [])
        numbers = itertools.count()

        async def once() -> None:
            assert len(await _send(agent, f"session-{next(numbers)}")) == size

        return await median_seconds(once) / size


async def http_sessions(size: int) -> dict[str, float]:
    """Runs side by side, each with its history."""
    with model_service() as url:
        agent = _agent(url, "echo", [PlainTool("echo", "core")])

        histories: list[list[Message]] = [[] for _ in range(size)]

        async def one(number: int) -> None:
            messages = [*histories[number], Message(role="user", content=LOAD_TURN)]
            # Faster than a database of the framework's in memory.
            async for event in agent.arun(messages, stream=True, yield_run_output=True):
                if isinstance(event, RunOutput):
                    assert event.content == ANSWER
                    histories[number] = list(event.messages or ())
            assert len(histories[number]) > len(messages)

        return await turns_per_second(one, size)
