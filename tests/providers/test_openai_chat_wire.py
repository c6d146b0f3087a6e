import json

from oneclaw_core.messages import Message, MessageType, ToolCallStatus
from oneclaw_core.providers.base import ModelRequest
from oneclaw_core.providers.openai_chat_wire import RequestEncoder, chat_request
from oneclaw_core.tools.definition import ToolDefinition
from oneclaw_core.tools.groups import ActiveTools, LoadedGroup

INTERRUPTED = {
    "status": "error",
    "error_type": "interrupted",
    "message": "This call was interrupted before its outcome was known.",
}


def user(text):
    return Message(type=MessageType.USER, content=text)


def assistant(text="", data=None):
    return Message(type=MessageType.ASSISTANT, content=text, provider_data=data)


def call(call_id, name="find", arguments="{}"):
    return Message(type=MessageType.TOOL_CALL, tool_call_id=call_id, tool_name=name, tool_input=arguments)


def result(call_id, text="found"):
    return Message(type=MessageType.TOOL_RESULT, tool_call_id=call_id, content=text, tool_status=ToolCallStatus.SUCCESS)


def failure(call_id, error_type, text):
    return Message(
        type=MessageType.TOOL_RESULT,
        tool_call_id=call_id,
        content=text,
        tool_status=ToolCallStatus.ERROR,
        error_type=error_type,
    )


def request(*messages, tools=(), groups=(), system_prompt="", **parameters):
    return ModelRequest(
        model="m",
        system_prompt=system_prompt,
        messages=messages,
        tools=ActiveTools(tuple(tools), tuple(groups)),
        session_id="s",
        parameters=parameters,
    )


def wire(*messages, server=None):
    return chat_request(request(*messages), server)["messages"]


def test_a_request_without_tools_has_the_system_prompt_first_and_no_tools():
    body = chat_request(request(user("hi"), system_prompt="Be brief."))
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_tools_are_sent_in_the_order_of_the_active_tools_core_first():
    first, second, third = (ToolDefinition(name, f"Does {name}.") for name in ("zebra", "ant", "mole"))
    body = chat_request(request(user("hi"), tools=[first], groups=[LoadedGroup("g", (second, third))]))
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
    body = chat_request(request(user("hi"), temperature=0.2, seed=None, model="other", stream=False, tools=[]))
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


def test_the_bytes_are_the_same_for_the_same_request_and_hold_what_chat_request_gives():
    tools = [ToolDefinition("a", "Ä tool."), ToolDefinition("b", "B.")]
    asked = request(user("größe 🙂"), assistant(), call("1"), result("1"), tools=tools, temperature=1)
    encoder = RequestEncoder("http://a")
    first = encoder.encode(asked)
    assert first == encoder.encode(asked) == RequestEncoder("http://a").encode(asked)
    assert json.loads(first) == chat_request(asked)
    assert "größe 🙂".encode() in first
    without = request(user("hi"))
    assert json.loads(encoder.encode(without)) == chat_request(without)


def test_lone_surrogates_in_the_history_do_not_stop_a_session():
    assert b'"content":"a?b"' in RequestEncoder("http://a").encode(request(user("a\ud800b")))
