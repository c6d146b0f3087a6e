"""A whole session as it goes over the wire, judged by OpenAI's own types, and by what its prompt cache needs."""

import itertools
import json
from dataclasses import dataclass, field, replace

import pytest
from history_entries import PDF, PNG, assistant, call, failure, forced, result, user
from oneclaw_openai.chat_wire import ECHOED_KEYS, RequestEncoder
from openai_types import chat_request
from pydantic import ValidationError

from oneclaw_core.types.model_requests import ModelRequest
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup
from oneclaw_core.types.tools import ToolDefinition

OPENAI = "https://api.openai.com"
LOCAL = "http://localhost:8000"


def tool(name):
    parameters = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return ToolDefinition(name, f"Does {name}.", parameters)


CORE = (tool("load_tool_group"), tool("read_file"))
PDF_GROUP = LoadedGroup("pdf", (tool("pdf_info"), tool("pdf_render")))
MAIL_GROUP = LoadedGroup("mail", (tool("mail_find"), tool("mail_send")))


@dataclass
class Session:
    """Writes a history, and keeps the request that is sent whenever the model is asked."""

    history: list = field(default_factory=list)
    groups: tuple = ()
    requests: list = field(default_factory=list)

    def user(self, text, *attachments):
        self.history.append(user(text, *attachments))
        self._ask()

    def answer(self, text="", reasoning=None, calls=(), results=(), load=()):
        data = {"openai_compatible": {"server": LOCAL, "reasoning_content": reasoning}} if reasoning else None
        self.history.append(assistant(text, data))
        statuses = {each.tool_call_id: each.tool_status for each in results}
        for call_id, name, arguments in calls:
            self.history.append(call(call_id, name, json.dumps(arguments), statuses[call_id]))
        self.history += results
        self.groups += tuple(load)
        if calls:
            self._ask()

    def _ask(self):
        tools = ActiveTools(CORE, self.groups)
        self.requests.append(
            ModelRequest(
                model="m",
                system_prompt="Be brief.",
                messages=tuple(self.history),
                tools=tools,
                session_id="s",
                parameters={"temperature": 0.5},
                max_output_tokens=1000,
            )
        )


def three_turns():
    session = Session()
    session.user("What is in these?", PNG, PDF)
    session.answer(
        "I load the tools.",
        "PDF tools are needed.",
        calls=[("c1", "load_tool_group", {"group_name": "pdf"}), ("c2", "read_file", {"text": "Größe"})],
        results=[result("c2", "text"), result("c1", "Loaded 2 tools")],
        load=[PDF_GROUP],
    )
    session.answer(
        "",
        "Now render it.",
        calls=[("c3", "pdf_render", {"text": "x"}), ("c4", "pdf_info", {"text": "y"})],
        results=[result("c3", "a page", PNG), failure("c4", "timeout", "too slow")],
    )
    session.answer("A chart.")
    session.user("Mail it.")
    session.answer(
        "",
        "Mail is needed.",
        calls=[("c5", "load_tool_group", {"group_name": "mail"})],
        results=[result("c5", "Loaded 2 tools")],
        load=[MAIL_GROUP],
    )
    session.answer("", None, calls=[("c6", "mail_send", {"text": "z"})], results=[result("c6", "sent")])
    session.answer("Sent.")
    session.user("Thanks!")
    return session.requests


def judged(body):
    """The request as OpenAI's types see it; they ignore what they do not know, and read lists only on demand."""
    return forced(chat_request().validate_python(body))


def without_echo(body):
    messages = [{key: each[key] for key in each if key not in ECHOED_KEYS} for each in body["messages"]]
    return body | {"messages": messages}


@pytest.mark.long
@pytest.mark.parametrize("server", [OPENAI, LOCAL])
def test_every_request_of_a_session_is_valid_by_openais_types(server):
    for request in three_turns():
        body = json.loads(RequestEncoder(server).encode(request))
        assert judged(body) == without_echo(body)


def test_the_judge_sees_what_is_wrong_deep_inside():
    body = json.loads(RequestEncoder(OPENAI).encode(three_turns()[0]))
    body["messages"][1]["content"][1]["image_url"] = {"address": "x"}
    with pytest.raises(ValidationError):
        judged(body)


def test_reasoning_goes_back_with_each_answer_it_came_with():
    body = json.loads(RequestEncoder(LOCAL).encode(three_turns()[-1]))
    echoed = [each.get("reasoning_content") for each in body["messages"] if each["role"] == "assistant"]
    assert echoed == ["PDF tools are needed.", "Now render it.", None, "Mail is needed.", None, None]
    elsewhere = RequestEncoder(OPENAI).encode(three_turns()[-1])
    assert b"reasoning_content" not in elsewhere


def pieces(body):
    """The bytes of the messages and of the tools in a request, each list without its end."""
    end = b',"stream":true'
    messages = body[: body.index(end) - 1]
    tools = body[body.index(b'"tools":[') : -2]
    return messages, tools


@pytest.mark.parametrize("server", [OPENAI, LOCAL, "https://api.mistral.ai"])
@pytest.mark.parametrize("is_new_process", [False, True])
def test_each_request_begins_with_the_last_one(server, is_new_process):
    """Across calls, files, group loads, new turns and new encoders: messages and tools are only ever appended."""
    encoder = RequestEncoder(server)
    bodies = []
    for request in three_turns():
        if is_new_process:
            encoder = RequestEncoder(server)
            tools = ActiveTools(
                tuple(map(replace, request.tools.core)),
                tuple(LoadedGroup(each.name, tuple(map(replace, each.tools))) for each in request.tools.groups),
            )
            request = replace(request, tools=tools)
        bodies.append(encoder.encode(request))
    for earlier, later in itertools.pairwise(bodies):
        for before, after in zip(pieces(earlier), pieces(later), strict=True):
            assert after.startswith(before)
    assert bodies == [RequestEncoder(server).encode(request) for request in three_turns()]
    names = [each["function"]["name"] for each in json.loads(bodies[-1])["tools"]]
    loaded = ["pdf_info", "pdf_render", "mail_find", "mail_send"]
    assert names == ["load_tool_group", "read_file", *loaded]
