"""A session with Anthropic's Messages API, played without a server: what the model is sent is kept."""

import json
from dataclasses import replace

from history_entries import PDF, PNG, assistant, failure, result, user
from history_entries import call as tool_call
from messages_stream import call, events, redacted, text, thinking
from oneclaw_anthropic.answer import MessagesAnswer
from oneclaw_anthropic.wire import RequestEncoder

from oneclaw_core.tools.group_tools import LoadToolGroupTool
from oneclaw_core.tools.registry import ToolRegistry
from oneclaw_core.types.model_requests import ModelRequest, ToolLoading
from oneclaw_core.types.tool_groups import ToolGroupDefinition, restore_loaded_groups
from oneclaw_core.types.tools import ToolDefinition, ToolSourceInfo, ToolSourceType

SERVER = "https://api.anthropic.com"
MODEL = "claude-test"


class Find:
    """A tool in name only; these are never run."""

    def __init__(self, name, parameters=None):
        self.definition = ToolDefinition(
            name, f"Does {name}.", parameters or {"type": "object", "properties": {"q": {"type": "string"}}}
        )

    async def execute(self, arguments, context):
        raise NotImplementedError


def new_registry():
    registry = ToolRegistry()
    registry.register(LoadToolGroupTool(registry))
    registry.register(Find("read_file"))
    for group in ("mail", "pdf", "web"):
        for verb in ("find", "send"):
            registry.register(Find(f"{group}_{verb}"), ToolSourceInfo(ToolSourceType.TOOL_GROUP, group))
        registry.register_group(ToolGroupDefinition(group, group, f"About {group}."))
    return registry


class Session:
    """Plays a session: what the model answers is given, what it is sent is kept."""

    def __init__(self, history=(), loading=ToolLoading.NATIVE, **parameters):
        self.registry = new_registry()
        self.encoder = RequestEncoder(SERVER)
        self.history = list(history)
        self.loading = loading
        self.parameters = parameters
        self.sent = []

    def request(self):
        return ModelRequest(
            model=MODEL,
            system_prompt="Be brief.",
            messages=tuple(self.history),
            tools=self.registry.toolset().active(restore_loaded_groups(self.history)),
            session_id="s",
            parameters=self.parameters,
            tool_loading=self.loading,
        )

    def add(self, message):
        self.history.append(replace(message, sequence=len(self.history) + 1))

    def ask(self):
        self.sent.append(self.encoder.encode(self.request()))

    def say(self, content, *attachments):
        self.add(user(content, *attachments))
        self.ask()

    def answer(self, *blocks, results=()):
        """Let the model answer; if it calls tools, it is asked again with the results, which come in any order."""
        answer = MessagesAnswer(SERVER, MODEL, self.request().tools)
        for event in events(*blocks, stop_reason="tool_use" if results else "end_turn"):
            answer.add(event)
        response = answer.response()
        self.add(assistant(response.text, response.provider_data))
        status = {each.tool_call_id: each.tool_status for each in results}
        for each in response.tool_calls:
            stored = tool_call(each.id, each.name, each.arguments)
            self.add(replace(stored, tool_status=status[each.id]))
        for each in results:
            self.add(each)
        if results:
            self.ask()

    def reopened(self):
        """The session as another process finds it in the database."""
        history = [
            replace(each, provider_data=each.provider_data and json.loads(json.dumps(each.provider_data)))
            for each in self.history
        ]
        other = Session(history, self.loading, **self.parameters)
        other.sent = self.sent
        return other


def played_session(loading=ToolLoading.NATIVE, **parameters):
    """Three turns: two groups loaded, parallel calls, an error, an image and a PDF, thinking, another process."""
    session = Session(loading=loading, thinking={"type": "adaptive"}, **parameters)
    session.say("What is in this?", PNG)
    session.answer(
        thinking("hm", "c2ln"),
        text("I load what I need."),
        call("load_tool_group", {"group_name": "pdf"}, call_id="toolu_1"),
        results=[result("toolu_1", "Loaded 2 tools")],
    )
    session.answer(
        thinking("", "c2lnMg=="),
        call("pdf_find", {"z": 1, "a": {"y": 2, "b": "ä"}}, call_id="toolu_2"),
        redacted("ZGF0YQ=="),
        call("pdf_send", {}, call_id="toolu_3"),
        call("read_file", {"q": "x"}, call_id="toolu_4"),
        results=[failure("toolu_4", "timeout", "too slow"), result("toolu_3", "", PNG, PDF), result("toolu_2", "41")],
    )
    session.answer(thinking("so", "c2lnMw=="), text("A chart."))
    session.say("And this?", PDF)
    session.answer(
        call("load_tool_group", {"group_name": "mail"}, call_id="toolu_5"),
        call("load_tool_group", {"group_name": "pdf"}, call_id="toolu_6"),
        results=[result("toolu_5", "Loaded 2 tools"), result("toolu_6", "Loaded 2 tools")],
    )
    session.answer(text("A report."))
    session = session.reopened()
    session.say("Send it.")
    session.answer(call("mail_send", {"q": "it"}, call_id="toolu_7"), results=[result("toolu_7", "sent")])
    session.answer(text("Done."))
    return session
