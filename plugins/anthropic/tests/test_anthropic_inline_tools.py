"""Tools that are defined in the conversation: the requests of sessions, and models that do not take them."""

import itertools
import json
from dataclasses import replace

import pytest
from anthropic_types import messages_beta_request
from history_entries import assistant, call, forced, load, result, user
from hypothesis import given
from hypothesis import strategies as st
from messages_session import MODEL, SERVER, Session, played_session
from messages_stream import call as messages_stream_call
from messages_stream import events, reply, text
from model_server import ModelServer, status
from oneclaw_anthropic import tools as anthropic_tools
from oneclaw_anthropic.answer import MessagesAnswer
from oneclaw_anthropic.provider import INLINE_TOOLS_BETA, AnthropicProvider
from oneclaw_anthropic.wire import RequestEncoder
from provider_session import Service, hello

from oneclaw_core.errors import ProviderRequestError
from oneclaw_core.types.model_requests import LoadingRefused, ModelRequest, ModelResponse, ToolLoading
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup
from oneclaw_core.types.tools import ToolDefinition

INLINE = ToolLoading.INLINE
MARK = {"type": "ephemeral"}


def tool(name, **properties):
    return ToolDefinition(name, f"Does {name}.", {"type": "object", "properties": properties})


LOAD = tool("load_tool_group")
MAIL, WEB = LoadedGroup("mail", (tool("mail_find"),)), LoadedGroup("web", (tool("web_find"), tool("web_send")))


def body(*messages, core=(LOAD,), groups=(), loadable=(MAIL, WEB), of_turn=()):
    request = ModelRequest(
        model=MODEL,
        system_prompt="",
        messages=messages,
        tools=ActiveTools(tuple(core), tuple(groups), lambda: tuple(loadable), tuple(of_turn)),
        session_id="s",
        tool_loading=INLINE,
    )
    return json.loads(RequestEncoder(SERVER).encode(request))


def outline(sent):
    """Who speaks in turn; for a message that defines tools, their names."""
    return [
        [block["tool"]["definition"]["name"] for block in message["content"]]
        if message["role"] == "system"
        else message["role"]
        for message in sent["messages"]
    ]


# Requests


@pytest.mark.long
@pytest.mark.one_python
def test_every_request_of_a_session_fits_the_beta_types_of_the_sdk():
    session = played_session(INLINE)
    assert len(session.sent) == 7
    for sent in map(json.loads, session.sent):
        assert forced(messages_beta_request().validate_python(sent)) == sent
    assert outline(json.loads(session.sent[-1])).count("user") == 7


def test_each_request_begins_with_the_bytes_of_the_one_before_over_loads_turns_and_processes():
    session = played_session(INLINE)
    mark = b',"cache_control":{"type":"ephemeral"}'
    for earlier, later in itertools.pairwise(session.sent):
        shortened = earlier.replace(mark, b"").removesuffix(b"]}")
        assert later.replace(mark, b"").startswith(shortened)
        assert len(later) > len(earlier)
    assert b"tool_addition" in session.sent[1]


def test_the_same_request_gives_the_same_bytes_in_another_process():
    session = played_session(INLINE)
    session.ask()
    other = session.reopened()
    other.ask()
    assert other.sent[-1] == other.sent[-2]


def test_the_list_holds_the_core_tools_and_never_changes():
    tools = [json.loads(sent)["tools"] for sent in played_session(INLINE).sent]
    assert [each["name"] for each in tools[0]] == ["load_tool_group", "read_file"]
    assert all(each == tools[0] for each in tools)
    assert "defer_loading" not in json.dumps(tools)


def test_a_result_does_not_list_the_tools_that_are_defined_behind_it():
    listed = "Loaded 1 tools from group 'Mail':\n- mail_find: Does mail_find."
    answer = MessagesAnswer(SERVER, MODEL)
    for event in events(messages_stream_call("load_tool_group", {"group_name": "mail"}), stop_reason="tool_use"):
        answer.add(event)
    noted = assistant(data=answer.response().provider_data)

    def told(*entries, groups=(MAIL,)):
        [found] = [
            block
            for message in body(*entries, groups=groups)["messages"]
            for block in message["content"]
            if block["type"] == "tool_result"
        ]
        return json.loads(found["content"])["result"]

    rest = (load("a", "mail"), result("a", listed))
    assert told(user("go"), noted, *rest) == "Loaded 1 tools from group 'Mail':"
    # Where they are not defined behind it, and in what an earlier version stored, it lists them.
    assert told(user("go"), noted, *rest, groups=()) == listed
    assert told(user("go"), assistant(), *rest) == listed


def test_a_group_is_defined_right_after_the_results_that_loaded_it_and_only_once():
    sent = json.loads(played_session(INLINE).sent[-1])
    assert outline(sent) == [
        *("user", "assistant", "user", ["pdf_find", "pdf_send"], "assistant", "user", "assistant"),
        *("user", "assistant", "user", ["mail_find", "mail_send"], "assistant"),
        *("user", "assistant", "user"),
    ]
    assert sent["messages"][3]["content"][0] == {
        "type": "tool_addition",
        "tool": {
            "type": "tool_definition",
            "definition": {
                "name": "pdf_find",
                "description": "Does pdf_find.",
                "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
            },
        },
    }
    loaded = sent["messages"][2]["content"][0]
    assert json.loads(loaded["content"]) == {"status": "success", "result": "Loaded 2 tools"}


def test_the_marks_of_the_cache_stand_on_definitions_too():
    session = played_session(INLINE)
    assert all(sent.count(b'"cache_control"') <= 4 for sent in session.sent)
    for earlier, later in itertools.pairwise(map(json.loads, session.sent)):
        last, before = later["messages"][-1], later["messages"][len(earlier["messages"]) - 1]
        assert last["content"][-1]["cache_control"] == before["content"][-1]["cache_control"] == MARK
    assert json.loads(session.sent[1])["messages"][-1]["role"] == "system"


def test_no_bound_holds_for_groups_that_are_defined_when_loaded(monkeypatch):
    monkeypatch.setattr(anthropic_tools, "MAX_DEFERRED_TOOLS", 1)
    session = Session(loading=INLINE)
    session.say("go")
    session.answer(text("So."))
    assert [each["name"] for each in json.loads(session.sent[0])["tools"]] == ["load_tool_group", "read_file"]
    assert outline(body(user("go"), load("a", "web"), result("a"), groups=[WEB]))[-1] == ["web_find", "web_send"]


def test_after_a_turn_that_ended_with_the_load_the_users_message_comes_first():
    # A message that defines tools must not stand before one of the user.
    begun = (user("go"), load("a", "mail"), result("a"))
    assert outline(body(*begun, groups=[MAIL])) == ["user", "assistant", "user", ["mail_find"]]
    asked = (*begun, user("still there?"), user("hello?"))
    told = ["user", "assistant", "user", "user", "user", ["mail_find"]]
    assert outline(body(*asked, groups=[MAIL])) == told
    assert outline(body(*asked, assistant("Yes."), user("ok"), groups=[MAIL])) == [*told, "assistant", "user"]


def test_groups_whose_loading_has_left_the_history_are_defined_after_the_first_message():
    later = (load("b", "web"), result("b"))
    sent = body(user("(summary)"), user("go"), *later, groups=[MAIL, WEB])
    assert outline(sent) == ["user", "user", ["mail_find"], "assistant", "user", ["web_find", "web_send"]]
    assert [each["name"] for each in sent["tools"]] == ["load_tool_group"]
    assert outline(body(*later, groups=[MAIL, WEB]))[:3] == ["user", ["mail_find"], "assistant"]


def test_tools_of_the_turn_are_defined_behind_the_message_that_begins_it():
    asked = (user("hello"), assistant("Hi."), user("go"))
    before, sent = body(*asked), body(*asked, of_turn=[tool("show")])
    assert outline(sent) == ["user", "assistant", "user", ["show"]]
    assert sent["tools"] == before["tools"]
    later = (call("a", "show"), result("a"), assistant("Now:"), load("b", "mail"), result("b"))
    assert outline(body(*asked, *later, groups=[MAIL], of_turn=[tool("show")])) == [
        *("user", "assistant", "user", ["show"], "assistant", "user", "assistant", "user", ["mail_find"])
    ]


def test_a_tool_that_is_core_already_is_not_defined_again():
    assert outline(body(user("go"), load("a", "mail"), result("a"), core=(LOAD, *MAIL.tools), groups=[MAIL])) == [
        "user",
        "assistant",
        "user",
    ]


def test_without_core_tools_the_list_holds_the_loaded_ones():
    sent = body(user("go"), load("a", "mail"), result("a"), core=(), groups=[MAIL])
    assert [each["name"] for each in sent["tools"]] == ["mail_find"]
    assert outline(sent) == ["user", "assistant", "user"]


def test_parameters_with_names_that_the_api_refuses_are_shown_under_others():
    odd = LoadedGroup("odd", (tool("find", **{"$top": {}}),))
    history = (user("go"), load("a", "odd"), result("a"), assistant(), call("b", "find", '{"$top":2}'), result("b"))
    messages = body(*history, groups=[odd])["messages"]
    assert list(messages[3]["content"][0]["tool"]["definition"]["input_schema"]["properties"]) == ["_top"]
    assert messages[4]["content"][0]["input"] == {"_top": 2}


ENTRIES = [
    [user("go")],
    [assistant("So.")],
    [assistant("")],
    [load("a", "mail"), result("a")],
    [load("b", "web"), result("b")],
    [load("e", "web")],
    [user("well?")],
    [call("c"), call("d"), result("d")],
]


@given(st.lists(st.sampled_from(range(len(ENTRIES))), unique=True), st.sets(st.sampled_from(["mail", "web"])))
def test_definitions_stand_where_the_api_takes_them_whatever_the_history(places, names):
    groups = [group for group in (MAIL, WEB) if group.name in names]
    told = outline(body(*itertools.chain.from_iterable(ENTRIES[place] for place in places), groups=groups))
    defined = [name for each in told if isinstance(each, list) for name in each]
    wanted = [each.name for group in groups for each in group.tools]
    assert sorted(defined) == (sorted(wanted) if told else [])
    for before, names_told, after in zip(["", *told], told, [*told[1:], "assistant"], strict=False):
        if isinstance(names_told, list):
            assert (before, after) == ("user", "assistant")


# The service

REQUEST = hello("claude-x", tools=ActiveTools((LOAD,), (), lambda: (MAIL,)), tool_loading=INLINE)
LOADED = replace(
    REQUEST,
    messages=(user("go"), load("toolu_1", "mail"), result("toolu_1")),
    tools=replace(REQUEST.tools, groups=(MAIL,)),
)
service = Service(AnthropicProvider, "anthropic", LOADED)


def exchange(*script, request=LOADED):
    with ModelServer(list(script)) as server:
        [events] = service.ask(service.config(server.url), request).answers
    return events, server.requests


def error(message):
    return status(400, body={"type": "error", "error": {"type": "invalid_request_error", "message": message}})


@pytest.mark.parametrize("request_", [REQUEST, LOADED, replace(LOADED, parameters={"betas": [INLINE_TOOLS_BETA]})])
def test_the_beta_is_named_from_the_first_request_on_and_once(request_):
    _, [sent] = exchange(reply(text("x")), request=request_)
    assert sent.headers["anthropic-beta"] == INLINE_TOOLS_BETA


def test_the_betas_of_the_agent_stay():
    _, [sent] = exchange(reply(text("x")), request=replace(LOADED, parameters={"betas": ["one-1"]}))
    assert sent.headers["anthropic-beta"] == f"one-1,{INLINE_TOOLS_BETA}"


@pytest.mark.parametrize(
    "request_",
    [
        replace(LOADED, tool_loading=ToolLoading.NATIVE),
        replace(LOADED, tool_loading=ToolLoading.APPEND),
        hello("claude-x", tool_loading=INLINE),
    ],
)
def test_the_beta_is_not_named_where_nothing_is_told_inline(request_):
    _, [sent] = exchange(reply(text("x")), request=request_)
    assert "anthropic-beta" not in sent.headers


@pytest.mark.parametrize(
    "message",
    [
        "messages.3: tool_addition requires a model that supports mid-conversation tool changes; this model does not",
        "role 'system' is not supported on this model",
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter',
        "messages.3.role: Input should be 'user' or 'assistant'",
        "messages.3.content.0: Input tag 'tool_addition' found using 'type' does not match any of the expected tags",
        "Unexpected value(s) `inline-tools-2026-09-15` for the `anthropic-beta` header",
    ],
)
def test_a_model_that_refuses_definitions_in_messages_is_asked_natively(message):
    events, requests = exchange(error(message), reply(text("x")))
    assert isinstance(events[0], LoadingRefused)
    assert events[0].instead is ToolLoading.NATIVE
    assert isinstance(events[-1], ModelResponse)
    assert "anthropic-beta" not in requests[1].headers
    assert [each.get("defer_loading") for each in requests[1].body["tools"]] == [None, True]
    assert requests[1].body["messages"][2]["content"][0]["content"] == [
        {"type": "tool_reference", "tool_name": "mail_find"}
    ]


def test_a_model_that_refuses_deferred_tools_too_gets_them_appended():
    events, requests = exchange(
        error("role 'system' is not supported on this model"),
        error("tools.1.custom.defer_loading: Extra inputs are not permitted"),
        reply(text("x")),
    )
    refused = [event.instead for event in events if isinstance(event, LoadingRefused)]
    assert refused == [ToolLoading.NATIVE, ToolLoading.APPEND]
    assert requests[2].body["tools"][1].keys() == {"name", "description", "input_schema", "cache_control"}


def test_what_is_refused_in_every_way_is_the_error():
    refused = error("output_config.effort requires a model that supports per-turn effort; this model does not")
    with ModelServer([refused, refused]) as server, pytest.raises(ProviderRequestError, match="per-turn effort"):
        service.ask(service.config(server.url))
    assert len(server.requests) == 2


@pytest.mark.parametrize("message", ["temperature: not supported", "max_tokens: must be greater than 0"])
def test_other_refusals_are_not_about_definitions_in_messages(message):
    with ModelServer([error(message)]) as server, pytest.raises(ProviderRequestError):
        service.ask(service.config(server.url))
    assert len(server.requests) == 1
