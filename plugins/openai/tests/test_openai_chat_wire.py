import json
from dataclasses import replace

import pytest
from history_entries import INTERRUPTED, PDF, PNG, assistant, call, failure, result, user
from oneclaw_openai.chat_wire import RequestEncoder

from oneclaw_core.types.model_requests import ModelRequest
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup
from oneclaw_core.types.tools import ToolDefinition

SERVER = "http://localhost:8000"
PNG_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}


def request(*messages, tools=(), groups=(), system_prompt="", **parameters):
    return ModelRequest(
        model="m",
        system_prompt=system_prompt,
        messages=messages,
        tools=ActiveTools(tuple(tools), tuple(groups)),
        session_id="s",
        parameters=parameters,
    )


def body_of(asked, server=SERVER):
    return json.loads(RequestEncoder(server).encode(asked))


def wire(*messages, server=SERVER, model="m"):
    return body_of(replace(request(*messages), model=model), server)["messages"]


def test_a_request_without_tools_has_the_system_prompt_first_and_no_tools():
    body = body_of(request(user("hi"), system_prompt="Be brief."))
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_tools_are_sent_in_the_order_of_the_active_tools_core_first():
    first, second, third = (ToolDefinition(name, f"Does {name}.") for name in ("zebra", "ant", "mole"))
    body = body_of(request(user("hi"), tools=[first], groups=[LoadedGroup("g", (second, third))]))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["zebra", "ant", "mole"]
    assert body["tools"][0] == {
        "type": "function",
        "function": {
            "name": "zebra",
            "description": "Does zebra.",
            "parameters": {"type": "object", "properties": {}},
        },
    }


def test_parameters_are_merged_but_replace_nothing_of_the_request():
    body = body_of(request(user("hi"), temperature=0.2, seed=None, model="other", stream=False, tools=[]))
    assert body["temperature"] == 0.2
    assert body["model"] == "m"
    assert body["stream"] is True
    assert "seed" not in body
    assert "tools" not in body


def test_calls_of_one_answer_are_one_message_and_their_results_follow_in_the_order_of_the_calls():
    assert wire(
        user("go"),
        assistant("I look."),
        call("a", "find", '{"q": 1}'),
        call("b", "read"),
        failure("b", "timeout", "too slow"),
        result("a", 'Grüße "x"'),
        assistant("Done."),
    ) == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}},
                {"id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": '{"status":"success","result":"Grüße \\"x\\""}'},
        {
            "role": "tool",
            "tool_call_id": "b",
            "content": '{"status":"error","error_type":"timeout","message":"too slow"}',
        },
        {"role": "assistant", "content": "Done."},
    ]


def test_an_answer_of_calls_only_has_null_content_and_an_empty_answer_is_left_out():
    messages = wire(user("go"), assistant(""), call("a"), result("a"), assistant(""), user("and?"))
    assert [(message["role"], message.get("content")) for message in messages] == [
        ("user", "go"),
        ("assistant", None),
        ("tool", '{"status":"success","result":"found"}'),
        ("user", "and?"),
    ]


def test_calls_in_rounds_without_assistant_messages_between_stay_rounds():
    messages = wire(call("a"), result("a"), call("b"), call("c"), result("c"), result("b"))
    assert [message["role"] for message in messages] == ["assistant", "tool", "assistant", "tool", "tool"]
    assert [message.get("tool_call_id") for message in messages] == [None, "a", None, "b", "c"]


def test_a_call_without_result_is_answered_as_interrupted_and_a_result_without_call_is_left_out():
    messages = wire(user("go"), assistant("x"), call("a"), call("b"), result("b"), result("zzz"), user("again"))
    assert json.loads(messages[2]["content"]) == INTERRUPTED
    assert json.loads(messages[3]["content"])["result"] == "found"
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user"]


def test_a_result_that_was_stored_after_the_next_user_message_still_answers_its_call():
    messages = wire(user("go"), assistant(), call("a"), user("hello?"), result("a"))
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user"]
    assert json.loads(messages[2]["content"])["result"] == "found"


def test_arguments_that_are_no_json_object_go_back_as_an_empty_object():
    for written in ("", "{", "[1]", "null", '{"a": NaN}', "[" * 50_000, '{"a": 1'):
        messages = wire(call("a", arguments=written), result("a"))
        assert messages[0]["tool_calls"][0]["function"]["arguments"] == "{}"
    messages = wire(call("a", arguments='{ "b":1,"a": 2 }'), result("a"))
    assert messages[0]["tool_calls"][0]["function"]["arguments"] == '{ "b":1,"a": 2 }'


def test_an_invented_tool_name_is_made_acceptable_to_servers():
    messages = wire(call("a", name="web.search: now!" + "x" * 80), result("a"), call("b", name=""), result("b"))
    name = messages[0]["tool_calls"][0]["function"]["name"]
    assert name == ("web_search__now_" + "x" * 80)[:64]
    assert messages[2]["tool_calls"][0]["function"]["name"] == "unknown"


def test_reasoning_goes_back_to_the_server_it_came_from_and_to_no_other():
    ours = {"openai_compatible": {"server": "http://a", "reasoning_content": "hm"}, "anthropic": {"x": 1}}
    assert wire(assistant("yes", ours), server="http://a")[0]["reasoning_content"] == "hm"
    assert wire(assistant("yes", ours), server="http://b") == [{"role": "assistant", "content": "yes"}]
    unmarked = {"openai_compatible": {"reasoning_details": [{"type": "reasoning.text"}], "model": "evil"}}
    assert wire(assistant("yes", unmarked), server="http://b") == [
        {"role": "assistant", "content": "yes", "reasoning_details": [{"type": "reasoning.text"}]}
    ]


def test_the_bytes_are_the_same_for_the_same_request():
    tools = [ToolDefinition("a", "Ä tool."), ToolDefinition("b", "B.")]
    asked = request(user("größe 🙂"), assistant(), call("1"), result("1"), tools=tools, temperature=1)
    encoder = RequestEncoder("http://a")
    first = encoder.encode(asked)
    assert first == encoder.encode(asked) == RequestEncoder("http://a").encode(asked)
    assert "größe 🙂".encode() in first


def test_lone_surrogates_in_the_history_do_not_stop_a_session():
    assert b'"content":"a?b"' in RequestEncoder("http://a").encode(request(user("a\ud800b")))


# Attachments


def test_content_is_a_list_of_parts_only_where_there_are_attachments():
    assert wire(user("Look:", PNG), user("hm"), user("", PNG)) == [
        {"role": "user", "content": [{"type": "text", "text": "Look:"}, PNG_PART]},
        {"role": "user", "content": "hm"},
        {"role": "user", "content": [PNG_PART]},
    ]


def test_a_pdf_is_a_file_part_where_the_server_takes_one_and_a_note_elsewhere():
    [there] = wire(user("Read:", PDF), server="https://api.openai.com")
    assert there["content"][1] == {
        "type": "file",
        "file": {"filename": "report.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
    }
    [elsewhere] = wire(user("Read:", PDF), server="http://localhost:11434")
    assert elsewhere["content"][1] == {
        "type": "text",
        "text": "[report.pdf (application/pdf) cannot be shown to this model]",
    }


def test_the_files_of_results_follow_all_results_of_the_round_in_the_order_of_the_calls():
    messages = wire(
        user("go"),
        call("a", "draw"),
        call("b", "plot"),
        call("c", "fail"),
        result("b", "plotted", PNG),
        failure("c", "timeout", "too slow"),
        result("a", "drawn", PNG),
        assistant("Nice."),
    )
    assert [message["role"] for message in messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "user",
        "assistant",
    ]
    assert messages[5]["content"] == [
        {"type": "text", "text": "[Files that belong to the result of draw, call a:]"},
        PNG_PART,
        {"type": "text", "text": "[Files that belong to the result of plot, call b:]"},
        PNG_PART,
    ]


# Servers that differ


@pytest.mark.parametrize(
    ("server", "parameter"),
    [
        ("https://api.openai.com", "max_completion_tokens"),
        ("https://eu.api.openai.com", "max_completion_tokens"),
        ("https://acme.openai.azure.com", "max_completion_tokens"),
        ("https://api.openai.com.evil.example", "max_tokens"),
        ("http://localhost:11434", "max_tokens"),
    ],
)
def test_the_longest_answer_is_asked_for_in_the_word_of_the_server_and_in_that_alone(server, parameter):
    asked = replace(request(user("hi"), max_tokens=1, max_completion_tokens=2), max_output_tokens=500)
    body = body_of(asked, server)
    assert {key: value for key, value in body.items() if key.startswith("max_")} == {parameter: 500}
    assert body_of(replace(asked, max_output_tokens=None), server)["max_tokens"] == 1


def test_only_openai_is_sent_a_cache_key_and_it_is_that_of_the_session():
    assert body_of(request(user("hi")), "https://api.openai.com")["prompt_cache_key"] == "s"
    assert "prompt_cache_key" not in body_of(request(user("hi")), "http://localhost:8000")


@pytest.mark.parametrize(
    ("call_id", "server", "model", "is_kept"),
    [
        ("functions.find:0", "http://localhost:8000", "kimi", True),
        ("chatcmpl-tool-" + "0" * 32, "http://localhost:8000", "m", True),
        ("chatcmpl-tool-" + "0" * 32, "https://api.openai.com", "m", False),
        ("x" * 65, "http://localhost:8000", "m", False),
        ("größe", "http://localhost:8000", "m", False),
        ("a b\n", "http://localhost:8000", "m", False),
        ("D681PevKs", "https://api.mistral.ai", "m", True),
        ("toolu_01", "https://api.mistral.ai", "m", False),
        ("toolu_01", "http://localhost:8000", "Devstral-Small-2", False),
    ],
)
def test_ids_of_calls_that_a_server_would_refuse_are_replaced_always_by_the_same(call_id, server, model, is_kept):
    messages = wire(call(call_id), call("other"), result("other"), result(call_id), server=server, model=model)
    sent = messages[0]["tool_calls"][0]["id"]
    assert (sent == call_id) is is_kept
    assert sent.isascii()
    assert sent.isprintable()
    assert len(sent) <= (9 if model.startswith("Dev") or "mistral" in server else 64)
    assert [message["tool_call_id"] for message in messages[1:]] == [each["id"] for each in messages[0]["tool_calls"]]
    assert json.loads(messages[1]["content"])["result"] == "found"
    assert wire(call(call_id), server=server, model=model)[0]["tool_calls"][0]["id"] == sent


def test_the_user_never_speaks_right_after_results_where_that_is_refused():
    interrupted = (user("go"), call("a"), result("a", "drawn", PNG), user("and?"))
    assert [each["role"] for each in wire(*interrupted)] == ["user", "assistant", "tool", "user", "user"]
    strict = wire(*interrupted, server="https://api.mistral.ai")
    assert [each["role"] for each in strict] == ["user", "assistant", "tool", "assistant", "user", "user"]
    killed = wire(user("go"), call("a"), user("and?"), model="mistralai/mistral-small")
    assert [each["role"] for each in killed] == ["user", "assistant", "tool", "assistant", "user"]
