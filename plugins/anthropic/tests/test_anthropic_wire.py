import base64
import itertools
import json
import sys
from dataclasses import replace

import history_entries as entries
import pytest
from anthropic_types import messages_request
from history_entries import PDF, PNG, assistant, forced, load, result, user
from messages_session import MODEL, SERVER, played_session
from oneclaw_anthropic import tools as anthropic_tools
from oneclaw_anthropic.wire import Concessions, RequestEncoder, wire_id
from processor_time import processor_seconds
from pydantic import ValidationError

from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.model_requests import ModelRequest, ToolLoading
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup
from oneclaw_core.types.tools import ToolDefinition

MARK = {"type": "ephemeral"}
HOUR = MARK | {"ttl": "1h"}
PNG_BLOCK = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG.data).decode()},
}


def tool_call(call_id, name="read_file", arguments="{}"):
    return entries.call(call_id, name, arguments)


def body(*messages, tools=None, loading=ToolLoading.NATIVE, concessions=None, model=MODEL, server=SERVER, **more):
    request = ModelRequest(
        model=model,
        messages=messages,
        tools=tools or ActiveTools(()),
        session_id="s",
        tool_loading=loading,
        **({"system_prompt": ""} | more),
    )
    return json.loads(RequestEncoder(server).encode(request, concessions))


def messages_of(*messages, **more):
    """The messages without the marks of the cache."""
    found = body(*messages, **more)["messages"]
    for message in found:
        for block in message["content"]:
            block.pop("cache_control", None)
    return found


def check(sent):
    """Check a request against the SDK's types; a key that they do not have would be missing afterwards."""
    assert forced(messages_request().validate_python(sent)) == sent


@pytest.mark.long
@pytest.mark.parametrize("loading", [ToolLoading.NATIVE, ToolLoading.APPEND])
def test_every_request_of_a_session_fits_the_types_of_the_sdk(loading):
    session = played_session(loading)
    assert len(session.sent) == 7
    for sent in session.sent:
        check(json.loads(sent))
    check(json.loads(played_session(loading, cache_control=HOUR).sent[-1]))


@pytest.mark.long
def test_the_check_against_the_types_finds_what_is_wrong():
    sent = json.loads(played_session().sent[-1])
    sent["messages"][0]["content"][0]["oops"] = 1
    with pytest.raises(AssertionError):
        check(sent)
    del sent["messages"][0]["content"][0]["oops"], sent["messages"][-1]["content"][0]["tool_use_id"]
    with pytest.raises(ValidationError):
        check(sent)


def test_each_request_begins_with_the_bytes_of_the_one_before():
    # The marks of the cache move on with the conversation, which changes nothing for the cache nor for the check of
    # thinking blocks; in the messages they are left out here. Those of tools and system prompt stay where they are.
    session = played_session()
    mark = b',"cache_control":{"type":"ephemeral"}'
    split = [sent.partition(b',"messages":[') for sent in session.sent]
    for (earlier_head, _, earlier), (head, _, later) in itertools.pairwise(split):
        assert head == earlier_head
        assert b'"defer_loading":true' in head
        shortened = earlier.replace(mark, b"").removesuffix(b"]}")
        assert later.replace(mark, b"").startswith(shortened)
        assert len(later) > len(earlier)


def test_the_same_request_gives_the_same_bytes_in_another_process():
    session = played_session()
    session.ask()
    other = session.reopened()
    other.ask()
    assert other.sent[-1] == other.sent[-2]


def test_appended_groups_change_the_tools_only_at_their_end():
    names = [[tool["name"] for tool in json.loads(sent)["tools"]] for sent in played_session(ToolLoading.APPEND).sent]
    assert names[0] == ["load_tool_group", "read_file"]
    assert names[1] == [*names[0], "pdf_find", "pdf_send"]
    assert names[-1] == [*names[1], "mail_find", "mail_send"]
    last = json.loads(played_session(ToolLoading.APPEND).sent[-1])
    assert "defer_loading" not in json.dumps(last["tools"])
    assert "tool_reference" not in json.dumps(last["messages"])
    assert last["tools"][-1]["cache_control"] == MARK


def test_the_tools_are_the_core_and_then_all_groups_deferred_in_the_order_of_registration():
    tools = json.loads(played_session().sent[-1])["tools"]
    assert [(tool["name"], tool.get("defer_loading", False)) for tool in tools] == [
        ("load_tool_group", False),
        ("read_file", False),
        *((f"{group}_{verb}", True) for group in ("mail", "pdf", "web") for verb in ("find", "send")),
    ]
    assert [tool["name"] for tool in tools if "cache_control" in tool] == ["read_file"]
    assert tools[1] == {
        "name": "read_file",
        "description": "Does read_file.",
        "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
        "cache_control": MARK,
    }


def test_the_result_that_loads_a_group_refers_to_its_tools_and_a_repeated_one_is_text():
    messages = json.loads(played_session().sent[-1])["messages"]
    results = {
        block["tool_use_id"]: block["content"]
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_result"
    }
    assert results["toolu_1"] == [{"type": "tool_reference", "tool_name": f"pdf_{verb}"} for verb in ("find", "send")]
    assert results["toolu_5"] == [{"type": "tool_reference", "tool_name": f"mail_{verb}"} for verb in ("find", "send")]
    assert json.loads(results["toolu_6"]) == {"status": "success", "result": "Loaded 2 tools"}


def test_thinking_goes_back_verbatim_in_its_place_with_the_calls():
    messages = json.loads(played_session().sent[2])["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]
    assert messages[1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "I load what I need."},
        {"type": "tool_use", "name": "load_tool_group", "id": "toolu_1", "input": {"group_name": "pdf"}},
    ]
    assert [block["type"] for block in messages[3]["content"]] == [
        "thinking",
        "tool_use",
        "redacted_thinking",
        "tool_use",
        "tool_use",
    ]
    assert json.dumps(messages[3]["content"][1]["input"], ensure_ascii=False) == '{"z": 1, "a": {"y": 2, "b": "ä"}}'


@pytest.mark.parametrize("content", [None, 5, [None], [{}], [{"type": ["text"]}], [{"type": "text", "text": {}}]])
def test_what_was_kept_of_an_answer_and_makes_no_sense_is_made_anew(content):
    data = {"anthropic": {"server": SERVER, "model": MODEL, "content": content}}
    sent = messages_of(user("hi"), assistant("Hello.", data), user("and now?"))
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[1]["content"] == [{"type": "text", "text": "Hello."}]


def test_results_stand_in_one_message_in_the_order_of_the_calls_with_errors_and_files():
    results = json.loads(played_session().sent[2])["messages"][4]["content"]
    assert [block["tool_use_id"] for block in results] == ["toolu_2", "toolu_3", "toolu_4"]
    assert results[0]["content"] == '{"status":"success","result":"41"}'
    assert results[1]["content"] == [
        {"type": "text", "text": '{"status":"success","result":""}'},
        PNG_BLOCK,
        {
            "type": "document",
            "source": {
                "type": "base64",
                "media_type": "application/pdf",
                "data": base64.b64encode(PDF.data).decode(),
            },
            "title": "report.pdf",
        },
    ]
    assert results[2] == {
        "type": "tool_result",
        "tool_use_id": "toolu_4",
        "content": '{"status":"error","error_type":"timeout","message":"too slow"}',
        "is_error": True,
        "cache_control": MARK,
    }
    assert "is_error" not in results[0]


def test_the_prompt_is_cached_up_to_the_last_message_and_that_of_the_request_before():
    session = played_session()
    for sent in session.sent:
        assert sent.count(b'"cache_control"') <= 4
    asked = [json.loads(sent)["messages"] for sent in session.sent]
    marked = [
        [place for place, message in enumerate(messages) if "cache_control" in message["content"][-1]]
        for messages in asked
    ]
    assert marked[0] == [0]
    for earlier, places in itertools.pairwise(zip(asked, marked, strict=True)):
        assert places[1] == [len(earlier[0]) - 1, len(places[0]) - 1]
    assert json.loads(session.sent[0])["system"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]


def test_the_life_of_the_cache_is_a_parameter():
    sent = json.loads(played_session(cache_control=HOUR).sent[-1])
    assert "cache_control" not in sent
    assert sent["system"][0]["cache_control"] == HOUR
    assert json.dumps(sent).count(json.dumps(HOUR)) == 4


def test_a_request_without_tools_and_system_prompt_has_neither():
    assert body(user("hi"), system_prompt=" \n") == {
        "model": MODEL,
        "max_tokens": 16_000,
        "stream": True,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": MARK}]}],
    }


@pytest.mark.parametrize(
    ("given", "most", "expected"),
    [
        ({}, None, 16_000),
        ({"parameters": {"max_tokens": 500}}, None, 500),
        ({"parameters": {"max_tokens": 500}, "max_output_tokens": 200}, None, 200),
        ({"parameters": {"thinking": {"type": "enabled", "budget_tokens": 9000}}}, None, 25_000),
        ({"parameters": {"thinking": {"budget_tokens": 9000}}, "max_output_tokens": 4096}, None, 13_096),
        ({"parameters": {"thinking": {"budget_tokens": 2000}}, "max_output_tokens": 4096}, None, 4096),
        ({}, 8192, 8192),
        ({"max_output_tokens": 200}, 8192, 200),
    ],
)
def test_the_longest_answer(given, most, expected):
    assert body(user("hi"), concessions=Concessions(max_tokens=most), **given)["max_tokens"] == expected


def test_parameters_are_merged_but_replace_nothing_of_the_request():
    sent = body(
        user("hi"),
        parameters={"temperature": 0.2, "top_k": None, "model": "x", "stream": False, "tools": [], "betas": ["x"]},
    )
    assert (sent["temperature"], sent["model"], sent["stream"]) == (0.2, MODEL, True)
    assert not {"top_k", "tools", "betas"} & sent.keys()


def test_stop_is_written_as_the_service_knows_it():
    assert body(user("hi"), parameters={"stop": "END"})["stop_sequences"] == ["END"]
    assert body(user("hi"), parameters={"stop": ["A", "B"]})["stop_sequences"] == ["A", "B"]
    given = {"stop": "END", "stop_sequences": ["X"]}
    assert body(user("hi"), parameters=given)["stop_sequences"] == ["X"]


def test_a_message_of_the_user_never_joins_an_earlier_one():
    messages = messages_of(user("go"), assistant(), tool_call("a"), result("a"), user("wait"), user("and?"))
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "user", "user"]
    assert [block["type"] for message in messages for block in message["content"]] == [
        "text",
        "tool_use",
        "tool_result",
        "text",
        "text",
    ]


def test_blank_texts_are_left_out_and_an_empty_message_of_the_user_is_not():
    messages = messages_of(user("go"), assistant(""), assistant(" \n"), user("", PNG), user(" "))
    assert messages == [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "user", "content": [PNG_BLOCK]},
        {"role": "user", "content": [{"type": "text", "text": "(no text)"}]},
    ]


def test_the_user_always_begins():
    messages = messages_of(assistant("Hello."), user("hi"))
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]


def test_a_call_without_result_is_answered_as_interrupted_and_a_result_without_call_is_left_out():
    messages = messages_of(user("go"), tool_call("a"), tool_call("b"), result("b"), result("zzz"), user("again"))
    interrupted, found = messages[2]["content"]
    assert json.loads(interrupted["content"])["error_type"] == "interrupted"
    assert interrupted["is_error"] is True
    assert json.loads(found["content"])["result"] == "found"
    assert len(messages) == 4


def test_a_result_that_was_stored_after_the_next_user_message_still_answers_its_call():
    messages = messages_of(user("go"), tool_call("a"), user("hello?"), result("a"))
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "user"]
    assert json.loads(messages[2]["content"][0]["content"])["result"] == "found"


def test_calls_in_rounds_without_assistant_entries_between_stay_rounds():
    messages = messages_of(user("go"), tool_call("a"), result("a"), tool_call("b"), tool_call("c"), result("b"))
    assert [len(message["content"]) for message in messages] == [1, 1, 1, 2, 2]


@pytest.mark.parametrize("written", ["", "{", "[1]", "null", '{"a": NaN}', '{"a": 1e999}', '{"a":' * 50_000, "{}"])
def test_arguments_that_cannot_be_sent_back_are_an_empty_object(written):
    messages = messages_of(user("go"), tool_call("a", arguments=written), result("a"))
    assert messages[1]["content"][0]["input"] == {}


def test_no_depth_of_arguments_breaks_a_request():
    limit = sys.getrecursionlimit()
    for depth in range(limit - 120, limit, 7):
        written = '{"a":' * depth + "1" + "}" * depth
        assert RequestEncoder(SERVER).encode(
            ModelRequest(
                model=MODEL,
                system_prompt="",
                messages=(user("go"), tool_call("a", arguments=written), result("a")),
                tools=ActiveTools(()),
                session_id="s",
            )
        )


@pytest.mark.parametrize("call_id", ["call_1", "toolu_01-x", "a" * 64])
def test_ids_that_the_api_takes_stay(call_id):
    assert wire_id(call_id) == call_id


@pytest.mark.parametrize("call_id", ["call:1", "a" * 65, "", None, "ä", "call_1\n", "\ud800"])
def test_ids_of_other_services_become_acceptable_and_stay_apart(call_id):
    shown = wire_id(call_id)
    assert shown == wire_id(call_id)
    assert shown.isascii()
    assert shown.replace("_", "").replace("-", "").isalnum()
    assert len(shown) <= 64
    assert shown != wire_id(f"{call_id}.")


def test_an_invented_name_becomes_acceptable():
    messages = messages_of(user("go"), tool_call("a:b", "no.such tool" + "x" * 80), result("a:b"))
    used, answered = messages[1]["content"][0], messages[2]["content"][0]
    assert used["name"] == "no_such_tool" + "x" * 52
    assert used["id"] == answered["tool_use_id"] == wire_id("a:b")


def echoing(*content, server=SERVER, model=MODEL):
    return {"anthropic": {"server": server, "model": model, "content": list(content)}}


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
HI = {"type": "text", "text": "Hi"}


def answer_content(message, *calls, **more):
    results = [result(each.tool_call_id) for each in calls]
    messages = messages_of(user("go"), message, *calls, *results, user("on"), **more)
    return messages[1]["content"] if messages[1]["role"] == "assistant" else None


@pytest.mark.parametrize(
    "data",
    [
        None,
        {"openai": {"items": [1]}},
        {"anthropic": "?"},
        echoing(THOUGHT, HI, server="https://else.where"),
        echoing(THOUGHT, HI, model="another"),
    ],
)
def test_thinking_of_others_is_dropped(data):
    assert answer_content(assistant("Hi", data)) == [HI]


def test_thinking_goes_back_to_its_server_and_model():
    assert answer_content(assistant("Hi", echoing(THOUGHT, HI))) == [THOUGHT, HI]


def test_what_is_nothing_but_thinking_is_left_out():
    assert answer_content(assistant("", echoing(THOUGHT))) is None
    assert answer_content(assistant("Hi", echoing(HI, {"type": "text", "text": "\n"}, THOUGHT))) == [HI]


def test_a_call_that_was_stored_under_another_id_goes_back_under_that_one():
    used = {"type": "tool_use", "name": "read_file", "caller": {"type": "direct"}}
    content = answer_content(assistant("", echoing(THOUGHT, used)), tool_call("call_2", arguments='{"q": 1}'))
    assert content == [
        THOUGHT,
        {"type": "tool_use", "name": "read_file", "caller": {"type": "direct"}, "id": "call_2", "input": {"q": 1}},
    ]


@pytest.mark.parametrize(
    "content",
    [
        [THOUGHT, {"type": "tool_use", "name": "other"}],
        [THOUGHT, HI],
        [THOUGHT, *[{"type": "tool_use", "name": "read_file"}] * 2],
    ],
)
def test_an_echo_that_does_not_fit_the_stored_calls_is_made_anew(content):
    assert answer_content(assistant("Hi", echoing(*content)), tool_call("a")) == [
        HI,
        {"type": "tool_use", "id": "a", "name": "read_file", "input": {}},
    ]


def test_a_file_of_another_kind_is_named_and_media_types_know_no_case():
    content = messages_of(user("x", Attachment("a.mp3", "audio/mpeg", b"1"), replace(PNG, media_type="IMAGE/PNG")))
    assert content[0]["content"] == [
        {"type": "text", "text": "[a.mp3 (audio/mpeg) cannot be shown to this model]"},
        PNG_BLOCK,
        {"type": "text", "text": "x"},
    ]


def tools_of(tools, *messages, **more):
    sent = body(user("go"), *messages, tools=tools, **more)["tools"]
    return [
        (tool["name"], "deferred" if tool.get("defer_loading") else "cached" * ("cache_control" in tool))
        for tool in sent
    ]


def tool(name, **parameters):
    return ToolDefinition(name, f"Does {name}.", {"type": "object", "properties": {}} | parameters)


LOAD, READ = tool("load_tool_group"), tool("read_file")
MAIL, WEB = LoadedGroup("mail", (tool("mail_find"),)), LoadedGroup("web", (tool("web_find"), tool("web_send")))


def test_a_group_whose_loading_has_left_the_history_is_told_from_the_start():
    tools = ActiveTools((LOAD, READ), (MAIL, WEB), lambda: (WEB, MAIL))
    assert tools_of(tools, load("a", "web"), result("a")) == [
        ("load_tool_group", ""),
        ("read_file", ""),
        ("web_find", "deferred"),
        ("web_send", "deferred"),
        ("mail_find", "cached"),
    ]


def test_groups_beyond_the_bounds_are_added_as_they_are_loaded(monkeypatch):
    tools = ActiveTools((LOAD,), (WEB, MAIL), lambda: (MAIL, WEB))
    loaded = (load("a", "web"), result("a"), load("b", "mail"), result("b"))
    in_order_of_loading = [
        ("load_tool_group", "cached"),
        ("web_find", "deferred"),
        ("web_send", "deferred"),
        ("mail_find", "deferred"),
    ]
    assert tools_of(tools, *loaded) != in_order_of_loading
    for bound in ("MAX_DEFERRED_TOOLS", "MAX_DEFERRED_CHARACTERS"):
        with monkeypatch.context() as patch:
            patch.setattr(anthropic_tools, bound, 2)
            assert tools_of(tools, *loaded) == in_order_of_loading
            assert tools_of(replace(tools, groups=())) == in_order_of_loading[:1]


def test_without_the_tool_that_loads_nothing_is_declared_for_it():
    assert tools_of(ActiveTools((READ,), (), lambda: (MAIL,))) == [("read_file", "cached")]


def test_at_least_one_tool_is_not_deferred():
    assert tools_of(ActiveTools((), (MAIL,), lambda: (MAIL, WEB)), load("a", "mail"), result("a")) == [
        ("mail_find", "cached")
    ]
    assert "tools" not in body(user("hi"), tools=ActiveTools((), (), lambda: (MAIL,)))


def test_a_tool_that_is_core_already_is_not_declared_again_nor_referred_to():
    tools = ActiveTools((LOAD, *MAIL.tools), (MAIL,), lambda: (MAIL,))
    assert tools_of(tools, load("a", "mail"), result("a")) == [("load_tool_group", ""), ("mail_find", "cached")]
    answered = messages_of(user("go"), load("a", "mail"), result("a", "Loaded"), tools=tools)[2]["content"][0]
    assert json.loads(answered["content"]) == {"status": "success", "result": "Loaded"}


def test_a_group_that_is_gone_is_not_referred_to():
    answered = messages_of(user("go"), load("a", "mail"), result("a", "Loaded"), tools=ActiveTools((LOAD,)))
    assert json.loads(answered[2]["content"][0]["content"])["result"] == "Loaded"


def test_alternatives_at_the_root_of_a_schema_are_left_out():
    definition = tool("find", anyOf=[{"required": ["q"]}], properties={"q": {"anyOf": [{"type": "string"}]}})
    sent = body(user("hi"), tools=ActiveTools((definition,)))["tools"][0]["input_schema"]
    assert sent == {"type": "object", "properties": {"q": {"anyOf": [{"type": "string"}]}}}


def test_parameters_with_names_that_the_api_refuses_are_shown_under_others_and_so_are_earlier_calls():
    long = "x" * 70
    definition = tool("find", properties={"$top": {}, "_top": {}, long: {}, "q": {}}, required=["q", "$top"])
    tools = ActiveTools((definition,))
    sent = body(user("hi"), tool_call("a", "find", '{"q":1,"$top":2}'), result("a"), tools=tools)
    schema = sent["tools"][0]["input_schema"]
    assert list(schema["properties"]) == ["_top_2", "_top", "x" * 60, "q"]
    assert schema["required"] == ["q", "_top_2"]
    assert sent["messages"][1]["content"][0]["input"] == {"q": 1, "_top_2": 2}


def test_lone_surrogates_become_question_marks():
    assert messages_of(user("a\ud800b"))[0]["content"][0]["text"] == "a?b"


def test_thousands_of_names_that_the_api_refuses_cost_little_and_stay_apart():
    names = [f"é{number}" for number in range(10_000)] + [chr(0x4E00 + number) for number in range(900)]
    with processor_seconds(5):
        renamed = anthropic_tools.renamed_parameters({"properties": {key: {} for key in [*names, "_1", "_", "__7"]}})
    assert list(renamed) == names
    assert len({*renamed.values(), "_1", "_", "__7"}) == len(names) + 3
