"""A stage for turns: an open home with a few tools, and models that give prepared answers."""

import asyncio
import json
from contextlib import asynccontextmanager

from oneclaw_core import (
    LoadToolGroupTool,
    MessageType,
    OneClaw,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    ToolGroupDefinition,
    ToolRegistry,
    ToolResult,
    ToolSourceInfo,
    ToolSourceType,
    hookimpl,
)
from oneclaw_core.config.providers import MODEL_SETTING, PROVIDER_SETTING
from oneclaw_core.providers import ModelResponse, TextDelta


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

    async def list_models(self):
        return []

    async def aclose(self):
        pass


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


class PlainTool:
    def __init__(self, name, run, **options):
        self.definition = ToolDefinition(name, f"Does {name}.", **options)
        self._run = run
        self.runs = 0

    async def execute(self, arguments, context):
        self.runs += 1
        value = self._run(arguments)
        return await value if asyncio.iscoroutine(value) else value


def some_tools():
    """Return a registry with a core tool and the group pdf."""
    registry = ToolRegistry()
    registry.register(LoadToolGroupTool(registry))
    registry.register(PlainTool("echo", None), ToolSourceInfo.BUILTIN)
    registry.register_group(ToolGroupDefinition("pdf", "PDF Tools", "Reads PDF files"))
    registry.register(PlainTool("pdf_info", None), ToolSourceInfo(ToolSourceType.TOOL_GROUP, "pdf"))
    return registry


class Current:
    """A provider that is the model of the turn."""

    def __init__(self, stage, name):
        self._stage, self._name = stage, name

    def __getattr__(self, name):
        return getattr(self._stage.models[self._name], name)


class Stage:
    """A home with a core tool and the group pdf, and turns with a scripted model."""

    def __init__(self, tmp_path):
        self.tmp_path = tmp_path
        self.claw = None
        self.tools = {}
        self.groups = [ToolGroupDefinition("pdf", "PDF Tools", "Reads PDF files")]
        self.echo = self.add("echo", lambda arguments: ToolResult.success(arguments.get("text", "")))
        self.pdf_info = self.add("pdf_info", lambda arguments: ToolResult.success("Pages: 6"), "pdf")
        self.settings = {"turn_max_tool_rounds": 20, "tool_result_max_characters": 1000}
        self.models = {}
        self.about_model = {}
        self.stored = {}
        self.plugins = []

    def add(self, name, run, group=None, **options):
        return self.put(PlainTool(name, run, **options), group)

    def put(self, tool, group=None):
        self.tools[tool.definition.name] = tool, group
        if self.claw is not None:
            self.claw.add_tools(tool, group=group)
        return tool

    @hookimpl
    def register_providers(self, register):
        register("scripted", lambda config: Current(self, config.name))

    @asynccontextmanager
    async def session(self):
        async with OneClaw.open(self.tmp_path, environ={}, plugins=[self, *self.plugins]) as claw:
            self.claw, self.store, self.registry = claw, claw.store, claw.catalog.registry
            claw.add_tools(LoadToolGroupTool(self.registry))
            for group in self.groups:
                self.registry.register_group(group)
            for tool, group in self.tools.values():
                claw.add_tools(tool, group=group)
            for name, value in self.settings.items():
                await self.store.set_setting(name, value)
            await self.store.set_setting(MODEL_SETTING + "scripted/model", self.about_model)
            await self.store.set_setting(PROVIDER_SETTING + "scripted", {"type": "scripted"})
            for name, value in self.stored.items():
                await self.store.set_setting(name, value)
            self.found = await self.store.find_or_create_session("story", agent="General Assistant")
            yield claw
        self.claw = None

    def turn(self, model, text="hello", of="scripted/model", session="story", **options):
        """Return the events of a turn with a scripted model; ``of`` is what is asked for."""
        self.models["scripted"] = model
        return self.claw.send_message(text, session=session, model=of, **options)

    async def send(self, model, text="hello", events=None, **options):
        events = [] if events is None else events
        async for event in self.turn(model, text, **options):
            events.append(event)
        return events

    async def rows(self):
        return await self.store.messages(self.found.id)

    def play(self, *turns, **options):
        """Run turns of the session, each a model and what the user says; return the events of the last."""

        async def run():
            async with self.session():
                for model, text in turns:
                    events = await self.send(model, text, **options)
            return events

        return asyncio.run(run())

    def played(self, model, text="hello", raises=None, **options):
        """Run a turn; return its events, and the entries of the history."""
        events = []

        async def run():
            async with self.session():
                try:
                    await self.send(model, text, events, **options)
                except BaseException as error:
                    if raises is None or not isinstance(error, raises):
                        raise
                    self.fault = error
                else:
                    assert raises is None, f"no {raises}"
                self.usage = await self.store.usage_totals(self.found.id)
                return await self.rows()

        return events, asyncio.run(run())


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def results_of(rows):
    return [row for row in rows if row.type is MessageType.TOOL_RESULT]
