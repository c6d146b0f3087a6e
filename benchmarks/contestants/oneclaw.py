"""OneClaw: every turn is stored in a SQLite file, or in the database of ``ONECLAW_DATABASE_URL``."""

from __future__ import annotations

import json
import os
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.contestants.oneclaw_mcp import mcp_call, mcp_gateway, mcp_start
from benchmarks.contestants.oneclaw_opening import channels
from benchmarks.measuring import median_seconds, tokens_of, turns_per_second
from benchmarks.model_service import MODEL_SECONDS, model_service
from benchmarks.tool_set import (
    ANSWER,
    FIRST_GROUP,
    FIRST_TOOL,
    LOAD_TURN,
    PlainTool,
    grouped,
    message_text,
    one_page,
    plain_tools,
)
from benchmarks.work import CALL_TOOL, COMMAND, ISOLATED, JAVASCRIPT
from oneclaw_core import (
    Message,
    MessageType,
    OneClaw,
    TextEvent,
    ToolCall,
    ToolDefinition,
    ToolGroupDefinition,
    ToolResult,
    ToolResultEvent,
    ToolSourceInfo,
    ToolSourceType,
    TurnFinishedEvent,
)
from oneclaw_core.providers import ModelResponse
from oneclaw_core.tools.calls.call import Caller
from oneclaw_core.types.agents import GENERAL_ASSISTANT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from oneclaw_core import ToolContext
    from oneclaw_core.providers import ModelEvent, ModelInfo, ModelRequest


__all__ = ["channels", "mcp_call", "mcp_gateway", "mcp_start"]


class Model:
    """Loads a group, calls its first tool, answers; or only answers.

    Args:
        is_calling: False if it only answers.
    """

    def __init__(self, *, is_calling: bool = True) -> None:
        self.is_calling = is_calling

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer by how far the turn has come."""
        last = request.messages[-1]
        if last.tool_name is None and self.is_calling:
            yield _calls("load_tool_group", group_name=FIRST_GROUP)
        elif last.tool_name == "load_tool_group":
            yield _calls(FIRST_TOOL, text=LOAD_TURN)
        else:
            yield ModelResponse(text=ANSWER)

    async def list_models(self) -> list[ModelInfo]:
        """Offer nothing."""
        return []

    async def aclose(self) -> None:
        """Nothing is open."""


def _calls(name: str, **arguments: str) -> ModelResponse:
    return ModelResponse(tool_calls=(ToolCall("c", name, json.dumps(arguments)),))


class EchoTool:
    """Gives back its text."""

    def __init__(self, tool: PlainTool) -> None:
        self.definition = ToolDefinition(tool.name, tool.description, tool.parameters, read_only=True)

    async def execute(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Give it back."""
        return ToolResult.success(arguments["text"])


def _register(claw: OneClaw, tools: list[PlainTool]) -> None:
    registry = claw.catalog.registry
    for tool in tools:
        registry.register(EchoTool(tool), ToolSourceInfo(ToolSourceType.TOOL_GROUP, tool.group))
    for group, members in grouped(iter(tools)).items():
        registry.register_group(ToolGroupDefinition(group, group, members[0].group_description))


@asynccontextmanager
async def _opened(model: Model, tools: list[PlainTool]) -> AsyncIterator[OneClaw]:
    from oneclaw_core.plugins.loading import discover

    with tempfile.TemporaryDirectory() as directory:
        async with OneClaw.open(Path(directory), environ=dict(os.environ), plugins=discover()[:1]) as claw:
            claw.catalog.provider_types["instant"] = lambda config: model
            await claw.store.set_setting("provider:instant", {"type": "instant"})
            _register(claw, tools)
            yield claw


async def _send(claw: OneClaw, model: str = "instant/model", **options: Any) -> None:
    events = [event async for event in claw.send_message(LOAD_TURN, model=model, **options)]
    assert isinstance(events[-1], TurnFinishedEvent)
    assert events[-1].text == ANSWER
    assert all(event.result.status == "success" for event in events if isinstance(event, ToolResultEvent))


async def turn(size: int) -> float:
    """A turn in a separate session."""
    async with _opened(Model(), list(plain_tools(size))) as claw:
        return await median_seconds(lambda: _send(claw))


async def register(size: int) -> float:
    """Tools as objects."""
    tools = list(plain_tools(size))
    async with _opened(Model(), []) as claw:
        started = time.perf_counter()
        _register(claw, tools)
        return time.perf_counter() - started


async def call(size: int) -> dict[str, float]:
    """Through the executor, with its checks; and as a program calls a tool."""
    calls = 200
    async with _opened(Model(), list(plain_tools(size))) as claw:
        parts = claw._parts  # a turn gives its calls to the executor
        caller = Caller(parts.registry.toolset().all_active, GENERAL_ASSISTANT.name)
        requested = ToolCall("c", FIRST_TOOL, json.dumps({"text": LOAD_TURN}))

        async def by_executor() -> None:
            for _ in range(calls):
                (outcome,) = await parts.executor.execute([requested], caller)
                assert outcome.result.status == "success"

        async def by_program() -> None:
            for _ in range(calls):
                assert (await claw.call_tool(FIRST_TOOL, {"text": LOAD_TURN})).result.status == "success"

        return {
            "": await median_seconds(by_executor) / calls,
            CALL_TOOL: await median_seconds(by_program) / calls,
        }


async def resume(size: int) -> float:
    """The next turn of a stored session."""
    async with _opened(Model(is_calling=False), []) as claw:
        session = await claw.store.create_session(agent="General Assistant", model="instant/model")
        for start in range(0, size, 1_000):
            messages = [
                Message(type=MessageType.ASSISTANT if number % 2 else MessageType.USER, content=message_text(number))
                for number in range(start, min(start + 1_000, size))
            ]
            await claw.store.append(session.id, messages)
        return await median_seconds(lambda: _send(claw, session=session.id))


@asynccontextmanager
async def _connected(seconds: float, plugins: Iterable[str] | None = None) -> AsyncIterator[OneClaw]:
    """Open a home whose provider ``lab`` is a model service over HTTP, with all installed plugins by default."""
    with model_service(seconds) as url, tempfile.TemporaryDirectory() as directory:
        async with OneClaw.open(Path(directory), environ=dict(os.environ), plugins=plugins) as claw:
            await claw.store.set_setting("provider:lab", {"type": "openai_compatible", "base_url": url})
            yield claw


async def http_turn(size: int) -> float:
    """Run a turn in a new session, in a home with all plugins."""
    async with _connected(0) as claw:
        _register(claw, list(plain_tools(size)))
        return await median_seconds(lambda: _send(claw, model="lab/groups"))


async def http_stream(size: int) -> float:
    """From the connection to the events of a turn."""
    async with _connected(0, ("builtin", "openai")) as claw:

        async def once() -> None:
            events = claw.send_message(LOAD_TURN, model="lab/pieces")
            assert len([event async for event in events if isinstance(event, TextEvent)]) == size

        return await median_seconds(once) / size


async def http_sessions(size: int) -> dict[str, float]:
    """Sessions of one process side by side, each turn with one tool call."""
    async with _connected(MODEL_SECONDS, ("builtin", "openai")) as claw:
        claw.catalog.registry.register(EchoTool(PlainTool("echo", "core")), ToolSourceInfo(ToolSourceType.PLUGIN))
        return await turns_per_second(lambda number: _send(claw, model="lab/echo", session=f"session-{number}"), size)


async def processes(size: int) -> dict[str, float]:
    """Tools that run in separate processes: the first call in a program, and the others."""
    with tempfile.TemporaryDirectory() as directory:
        file = one_page(Path(directory))
        plugins = ("builtin", "shell", "javascript", "pdf")
        home = Path(directory, "home")
        async with OneClaw.open(
            home, environ={}, plugins=plugins, allow=["shell.execute"], start_directory=directory
        ) as claw:
            values: dict[str, float] = {}
            calls = {
                COMMAND: ("exec", {"command": "true"}),
                JAVASCRIPT: ("js_eval", {"code": "6*7"}),
                ISOLATED: ("pdf_info", {"path": str(file)}),
            }
            for title, (name, arguments) in calls.items():

                async def once(name: str = name, arguments: dict[str, str] = arguments) -> None:
                    result = (await claw.call_tool(name, arguments)).result
                    assert result.status == "success", result

                started = time.perf_counter()
                await once()
                values[f"{title}, the first call"] = time.perf_counter() - started
                values[title] = await median_seconds(once)
            return values


async def tokens(size: int) -> float:
    """The definitions and the list of groups of a first request, and of the next when a group is loaded."""

    class Listener(Model):
        definitions: tuple[ToolDefinition, ...] = ()
        listing = ""

        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            self.definitions = tuple(request.tools)
            self.listing = "".join(request.system_prompt.partition("## Available Tool Groups")[1:])
            yield ModelResponse(text=ANSWER)

    listener = Listener()
    with tempfile.TemporaryDirectory() as directory:
        async with OneClaw.open(Path(directory), environ={}) as claw:
            claw.catalog.provider_types["instant"] = lambda config: listener
            await claw.store.set_setting("provider:instant", {"type": "instant"})
            await _send(claw, tool_groups=("google_gmail",) if size else None)
    definitions = [
        {"name": each.name, "description": each.description, "parameters": each.parameters}
        for each in listener.definitions
    ]
    return tokens_of([*definitions, listener.listing])


async def session_tokens(size: int) -> dict[str, float]:
    """Of the ten turns of ``tokens.py``, with each service."""
    from benchmarks.tokens import billed_by_service

    return await billed_by_service()
