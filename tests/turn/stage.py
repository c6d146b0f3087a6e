"""A stage for turns: a real store and registry, and a model that gives prepared answers."""

import asyncio
import json
from contextlib import asynccontextmanager
from types import SimpleNamespace

from oneclaw_core import (
    LoadToolGroupTool,
    Message,
    MessageType,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    ToolGroupDefinition,
    ToolRegistry,
    ToolResult,
    ToolSourceInfo,
    ToolSourceType,
)
from oneclaw_core.files import PathGuard
from oneclaw_core.plugins.running.runtime import Plugins
from oneclaw_core.plugins.sources.published_tools import PublishedTools
from oneclaw_core.plugins.sources.tool_sources import ToolSources
from oneclaw_core.project.trust import Project
from oneclaw_core.provenance.marks import CallOrigins
from oneclaw_core.providers import ModelInfo, ModelResponse, ProviderConfig, TextDelta
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.sessions.store import Store
from oneclaw_core.tools.calls.steps import tool_executor
from oneclaw_core.tools.permissions import PermissionPolicy
from oneclaw_core.turn.compaction import ContextLimits
from oneclaw_core.turn.context import TurnContext, TurnParts
from oneclaw_core.turn.model import ChosenModel
from oneclaw_core.turn.stream import Deadline, TurnTracker
from oneclaw_core.turn.turn import INTERRUPTED, Turn
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.budget import TurnBudget


class ScriptedModel:
    """A provider that gives prepared answers and keeps the requests."""

    attachment_media_types = ("image/",)
    loads_natively = False

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.closed_streams = 0

    async def stream(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        try:
            if callable(answer):
                async for event in answer():
                    yield event
                return
            if isinstance(answer, Exception):
                raise answer
            if answer.text:
                yield TextDelta(answer.text)
            yield answer
        finally:
            self.closed_streams += 1


def streams(*events):
    """Make an answer that is streamed in these events; an exception ends it."""

    async def stream():
        for event in events:
            if isinstance(event, BaseException):
                raise event
            yield event

    return stream


def says(text):
    return ModelResponse(text=text, usage=TokenUsage(input_tokens=10, output_tokens=2))


def calls(*wanted, text=""):
    return ModelResponse(
        text=text,
        tool_calls=tuple(
            ToolCall(f"c{n}", name, arguments if isinstance(arguments, str) else json.dumps(arguments))
            for n, (name, arguments) in enumerate(wanted)
        ),
    )


class StagedTurn:
    """A turn whose events are listened to."""

    def __init__(self, parts, context):
        self._parts, self._context = parts, context

    def run(self, start, groups=()):
        return TurnTracker().stream(lambda emit: Turn(self._parts, self._context, emit).run(start, groups))


class PlainTool:
    def __init__(self, name, run):
        self.definition = ToolDefinition(name, f"Does {name}.")
        self._run = run
        self.runs = 0

    async def execute(self, arguments, context):
        self.runs += 1
        value = self._run(arguments)
        return await value if asyncio.iscoroutine(value) else value


class Stage:
    """A store, a registry with a core tool and the group pdf, and turns with a scripted model."""

    def __init__(self, tmp_path):
        self.tmp_path = tmp_path
        self.registry = ToolRegistry()
        self.registry.register(LoadToolGroupTool(self.registry))
        self.echo = self.add("echo", lambda arguments: ToolResult.success(arguments.get("text", "")))
        self.registry.register_group(ToolGroupDefinition("pdf", "PDF Tools", "Reads PDF files"))
        self.pdf_info = self.add("pdf_info", lambda arguments: ToolResult.success("Pages: 6"), "pdf")
        self.deadline_seconds = 60
        self.max_tool_rounds = 20
        self.result_max_characters = 1000
        self.context_limits = ContextLimits()

    def add(self, name, run, group=None):
        tool = PlainTool(name, run)
        source = ToolSourceInfo(ToolSourceType.TOOL_GROUP, group) if group else ToolSourceInfo.BUILTIN
        self.registry.register(tool, source)
        return tool

    @asynccontextmanager
    async def session(self):
        async with await Store.open(SqliteBackend(self.tmp_path / "test.db"), lock_directory=self.tmp_path) as store:
            self.store = store
            self.found = await store.find_or_create_session("story", agent="General Assistant")
            yield

    def turn(self, model):
        async def remember(grant):
            raise AssertionError("nothing is to be remembered here")

        policy = PermissionPolicy([], remember)
        executor = tool_executor(
            self.registry, policy, CallOrigins(PathGuard(self.tmp_path, self.tmp_path)), self.tmp_path
        )
        chosen = ChosenModel(model, ProviderConfig("scripted", "scripted"), ModelInfo(name="model"))
        parts = TurnParts(
            store=self.store,
            registry=self.registry,
            executor=executor,
            plugins=Plugins([], None),
            permissions=policy,
            settings=None,
            models=None,
            providers=None,
            tool_sources=ToolSources(PublishedTools(self.registry, []), self.tmp_path, None),
            project=Project(),
            environ={},
            background=SimpleNamespace(untold=set()),
        )
        context = TurnContext(
            session=self.found,
            agent=GENERAL_ASSISTANT,
            model=chosen,
            budget=TurnBudget((), self.max_tool_rounds),
            deadline=Deadline(self.deadline_seconds),
            context_limits=self.context_limits,
            result_max_characters=self.result_max_characters,
        )
        return StagedTurn(parts, context)

    async def send(self, model, text="hello", events=None):
        events = [] if events is None else events
        async for event in self.turn(model).run(await self.begin(text)):
            events.append(event)
        return events

    async def begin(self, text):
        message = Message(type=MessageType.USER, content=text)
        return await self.store.begin_turn(self.found.id, message, INTERRUPTED, None)

    async def rows(self):
        return await self.store.messages(self.found.id)

    def play(self, *turns):
        """Run turns of the session, each a model and what the user says; the events of the last."""

        async def run():
            async with self.session():
                for model, text in turns:
                    events = await self.send(model, text)
            return events

        return asyncio.run(run())
