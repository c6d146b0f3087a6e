import base64
import json
from dataclasses import replace

import history_entries as entries
import pytest
from history_entries import INTERRUPTED, PDF, PNG, assistant, failure, load, result, user
from oneclaw_openai.responses_answer import ResponsesAnswer
from oneclaw_openai.responses_wire import ResponsesEncoder
from openai_types import checked_responses_request
from responses_stream import call as call_item
from responses_stream import message as message_item
from responses_stream import reasoning, response

from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.model_requests import ModelRequest, ToolLoading
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup, restore_loaded_groups
from oneclaw_core.types.tools import ToolDefinition

SERVER = "https://api.openai.com"


def definition(name):
    parameters = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    return ToolDefinition(name, f"Does {name}.", parameters)


LOAD = definition("load_tool_group")
FIND = definition("find")
MAIL = LoadedGroup("mail", (definition("mail_search"), definition("mail_send")))
MAPS = LoadedGroup("maps", (definition("maps_route"),))
LISTED = "Loaded 2 tools from group 'Mail':\n- mail_search: Does mail_search.\n- mail_send: Does mail_send."


def call(call_id, name="find", arguments='{"q": "x"}'):
    return entries.call(call_id, name, arguments)


def request(*messages, groups=(), core=(LOAD, FIND), of_turn=(), system_prompt="Be brief.", **fields):
    return ModelRequest(
        model="gpt-x",
        system_prompt=system_prompt,
        messages=messages,
        tools=ActiveTools(tuple(core), tuple(groups), of_turn=tuple(of_turn)),
        session_id=fields.pop("session_id", "session-1"),
        **fields,
    )


def body_of(asked, server=SERVER, **options):
    """The body of a request, after OpenAI's SDK has found nothing wrong with it."""
    return checked_responses_request(json.loads(ResponsesEncoder(server).encode(asked, **options)))


def input_of(*messages, server=SERVER, **fields):
    return body_of(request(*messages, **fields), server)["input"]


def answered(*items, server=SERVER):
    """How the answer with these items stands in the history: its text with the provider data, and its calls."""
    answer = ResponsesAnswer(server)
    answer.add(response(*items))
    found = answer.response()
    calls = (call(each.id, each.name, each.arguments) for each in found.tool_calls)
    return [assistant(found.text, found.provider_data), *calls]


@pytest.mark.long
def test_a_request_holds_what_makes_the_service_keep_nothing_and_cache_well():
    assert body_of(request(user("hi"), max_output_tokens=500)) == {
        "model": "gpt-x",
        "instructions": "Be brief.",
        "stream": True,
        "store": False,
        "prompt_cache_key": "session-1",
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 500,
        "tools": [
            {
                "type": "function",
                "name": name,
                "description": f"Does {name}.",
                "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
                "strict": False,
            }
            for name in ("load_tool_group", "find")
        ],
        "input": [{"type": "message", "role": "user", "content": "hi"}],
    }


def test_without_tools_and_prompt_there_are_none():
    body = body_of(request(user("hi"), core=(), system_prompt=""))
    assert body.keys() == {"model", "stream", "store", "prompt_cache_key", "include", "input"}


def test_parameters_are_merged_but_replace_nothing_of_the_request():
    parameters = {"reasoning": {"summary": "auto"}, "temperature": 0.2, "top_p": None, "store": True, "input": "x"}
    body = body_of(request(user("hi"), parameters=parameters | {"model": "other", "tools": []}))
    assert (body["reasoning"], body["temperature"]) == ({"summary": "auto"}, 0.2)
    assert (body["model"], body["store"], body["input"][0]["content"], len(body["tools"])) == ("gpt-x", False, "hi", 2)
    assert "top_p" not in body


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens"])
def test_the_longest_answer_may_go_by_the_names_it_has_elsewhere(name):
    assert body_of(request(user("hi"), parameters={name: 7}))["max_output_tokens"] == 7
    body = body_of(request(user("hi"), parameters={name: 7}, max_output_tokens=9))
    assert body["max_output_tokens"] == 9
    assert body.keys().isdisjoint({"max_tokens", "max_completion_tokens"})


def test_the_cache_key_of_a_session_with_a_long_id_is_short_and_always_the_same():
    keys = {body_of(request(user("hi"), session_id="s" * 65))["prompt_cache_key"] for _ in range(2)}
    assert len(keys) == 1
    assert len(keys.pop()) == 64


# History of another service


def test_history_of_another_service_is_built_from_what_is_known():
    assert input_of(
        user("go"),
        assistant("I look.", {"anthropic": {"content": []}}),
        call("a", arguments='{"q": 1}'),
        call("b", "load_tool_group"),
        failure("b", "timeout", "too slow"),
        result("a", 'Grüße "x"'),
        assistant("Done."),
    ) == [
        {"type": "message", "role": "user", "content": "go"},
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "a", "name": "find", "arguments": '{"q": 1}'},
        {"type": "function_call", "call_id": "b", "name": "load_tool_group", "arguments": '{"q": "x"}'},
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": '{"status":"success","result":"Grüße \\"x\\""}',
        },
        {
            "type": "function_call_output",
            "call_id": "b",
            "output": '{"status":"error","error_type":"timeout","message":"too slow"}',
        },
        {"type": "message", "role": "assistant", "content": "Done."},
    ]


def test_calls_in_rounds_without_assistant_messages_between_stay_rounds():
    items = input_of(call("a"), result("a"), call("b"), call("c"), result("c"), result("b"))
    assert [(item["type"], item["call_id"]) for item in items] == [
        ("function_call", "a"),
        ("function_call_output", "a"),
        ("function_call", "b"),
        ("function_call", "c"),
        ("function_call_output", "b"),
        ("function_call_output", "c"),
    ]


def test_a_call_without_result_is_answered_as_interrupted_and_a_result_without_call_is_left_out():
    items = input_of(user("go"), assistant("x"), call("a"), call("b"), result("b"), result("zzz"), user("again"))
    assert json.loads(items[4]["output"]) == INTERRUPTED
    assert json.loads(items[5]["output"])["result"] == "found"
    assert items[6]["content"] == "again"
    assert len(items) == 7


def test_a_result_that_was_stored_after_the_next_user_message_still_answers_its_call():
    items = input_of(user("go"), call("a"), user("hello?"), result("a"))
    assert [item["type"] for item in items] == ["message", "function_call", "function_call_output", "message"]
    assert json.loads(items[2]["output"])["result"] == "found"


def test_arguments_that_are_no_json_object_go_back_as_an_empty_object():
    for written in ("", "{", "[1]", "null", '{"a": NaN}', "[" * 50_000, '{"a": 1'):
        assert input_of(call("a", arguments=written), result("a"))[0]["arguments"] == "{}"
    kept = '{ "b":1,"a": 2 }'
    assert input_of(call("a", arguments=kept), result("a"))[0]["arguments"] == kept


def test_ids_and_names_are_made_acceptable_to_the_service():
    long, odd = "toolu_" + "x" * 64, "functions.find:0 ü"
    items = input_of(call(long, "web.search: now!" + "x" * 80), result(long), call(odd, ""), result(odd))
    for asked, outcome in (items[:2], items[2:]):
        assert asked["call_id"] == outcome["call_id"]
        assert len(asked["call_id"]) == 64
    assert items[0]["call_id"] != items[2]["call_id"]
    assert items[0]["name"] == ("web_search__now_" + "x" * 80)[:64]
    assert items[2]["name"] == "unknown"


def test_empty_answers_are_left_out():
    assert len(input_of(user("go"), assistant(""), user("and?"))) == 2


def test_lone_surrogates_in_the_history_do_not_stop_a_session():
    assert b'"content":"a?b"' in ResponsesEncoder(SERVER).encode(request(user("a\ud800b")))


# Files


def test_images_and_documents_of_the_user_go_with_the_text():
    png, pdf = (base64.b64encode(each.data).decode() for each in (PNG, PDF))
    assert input_of(user("What is this?", PNG, PDF))[0]["content"] == [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{png}", "detail": "auto"},
        {"type": "input_file", "filename": "report.pdf", "file_data": f"data:application/pdf;base64,{pdf}"},
    ]
    assert [part["type"] for part in input_of(user("", PNG))[0]["content"]] == ["input_image"]


def test_files_of_a_result_go_with_its_envelope():
    output = input_of(call("a"), result("a", "drawn", PNG, PDF))[1]["output"]
    assert output[0] == {"type": "input_text", "text": '{"status":"success","result":"drawn"}'}
    assert [part["type"] for part in output[1:]] == ["input_image", "input_file"]


def test_a_file_that_only_another_service_takes_is_named_instead():
    content = input_of(user("Listen", Attachment("song.mp3", "audio/mpeg", b"x")))[0]["content"]
    assert content[1] == {"type": "input_text", "text": "[song.mp3 (audio/mpeg) cannot be shown to this model]"}


# What is sent back as it came


ITEMS = (
    reasoning("Hm.", encrypted="gAAAA1"),
    message_item("I look.", phase="commentary"),
    call_item("find", '{"q":  "x"}', call_id="call_a"),
    reasoning(item_id="rs_2", encrypted="gAAAA2"),
    call_item("mail_search", {"q": "y"}, call_id="call_b", namespace="mail_search"),
)


def test_an_answer_of_this_server_goes_back_as_it_came():
    items = input_of(user("go"), *answered(*ITEMS), result("call_a"), result("call_b"), groups=[MAIL])
    start = 2  # after the tools, whose loading is not in the history, and the user
    assert items[start : start + len(ITEMS)] == list(ITEMS)
    assert [item["call_id"] for item in items[start + len(ITEMS) :]] == ["call_a", "call_b"]


@pytest.mark.parametrize(
    "data",
    [
        {"openai": {"server": "http://other", "output": list(ITEMS)}},
        {"openai": {"output": list(ITEMS)}},
        {"openai": {"server": SERVER, "output": list(ITEMS[:2])}},
        {"openai": {"server": SERVER, "output": ["x"]}},
        {"openai": {"server": SERVER, "output": {"x": 1}}},
        {"openai": [1]},
        {"openai_compatible": {"server": SERVER, "output": list(ITEMS)}},
    ],
)
def test_what_belongs_to_another_server_or_does_not_fit_the_calls_is_built_anew(data):
    items = input_of(assistant("I look.", data), call("call_a"), call("call_b"), result("call_a"), result("call_b"))
    assert items[:3] == [
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "call_a", "name": "find", "arguments": '{"q": "x"}'},
        {"type": "function_call", "call_id": "call_b", "name": "find", "arguments": '{"q": "x"}'},
    ]


def test_a_call_that_the_history_gave_another_id_keeps_its_reasoning_and_its_result():
    said, *calls = answered(*ITEMS)
    calls[0] = replace(calls[0], tool_call_id="call_new", tool_input="{oops")
    items = input_of(said, *calls, result("call_new", "one"), result("call_b", "two"))
    assert items[0] == ITEMS[0]
    assert items[2] == ITEMS[2] | {"call_id": "call_new", "arguments": "{}"}
    assert [(item["call_id"], json.loads(item["output"])["result"]) for item in items[5:]] == [
        ("call_new", "one"),
        ("call_b", "two"),
    ]


def test_reasoning_that_led_to_nothing_is_left_out():
    data = {"openai": {"server": SERVER, "output": [ITEMS[0], ITEMS[1], ITEMS[3]]}}
    assert input_of(assistant("I look.", data)) == [ITEMS[0], ITEMS[1]]
    data["openai"]["output"] = [ITEMS[0]]
    assert input_of(user("go"), assistant("", data), user("and?")) == [
        {"type": "message", "role": "user", "content": "go"},
        {"type": "message", "role": "user", "content": "and?"},
    ]


def test_without_echo_nothing_encrypted_is_sent_or_asked_for():
    body = body_of(request(*answered(*ITEMS), result("call_a"), result("call_b")), with_echo=False)
    assert "include" not in body
    assert [item["type"] for item in body["input"][:3]] == ["message", "function_call", "function_call"]


# Loading groups


def test_a_group_is_declared_after_the_results_of_the_round_that_loaded_it():
    body = body_of(
        request(
            user("go"),
            load("a", "mail"),
            call("b"),
            load("c", "maps"),
            result("c"),
            result("b"),
            result("a"),
            assistant("Loaded."),
            groups=[MAIL, MAPS],
        )
    )
    assert [tool["name"] for tool in body["tools"]] == ["load_tool_group", "find"]
    assert [item["type"] for item in body["input"]] == [
        *("message", "function_call", "function_call", "function_call"),
        *("function_call_output", "function_call_output", "function_call_output"),
        *("additional_tools", "message"),
    ]
    declared = body["input"][7]
    assert declared["role"] == "developer"
    assert [tool["name"] for tool in declared["tools"]] == ["mail_search", "mail_send", "maps_route"]
    assert declared["tools"][0]["strict"] is False


def test_a_result_does_not_list_the_tools_that_are_defined_behind_it():
    entries = [*answered(call_item("load_tool_group", {"group_name": "mail"}, call_id="c1")), result("c1", LISTED)]
    _, brief, _ = input_of(*entries, groups=[MAIL])
    assert json.loads(brief["output"]) == {"status": "success", "result": "Loaded 2 tools from group 'Mail':"}
    # Where they are not defined behind it, it lists them.
    others = [
        input_of(*entries, groups=[MAIL], tool_loading=ToolLoading.APPEND),
        input_of(*entries),
        input_of(
            *entries,
            *answered(call_item("load_tool_group", {"group_name": "mail"}, call_id="c2")),
            result("c2", LISTED),
            groups=[MAIL],
        )[3:],
    ]
    assert [json.loads(items[1]["output"])["result"] for items in others] == [LISTED] * 3


def test_what_a_plugin_adds_to_a_result_that_loads_a_group_is_kept():
    text = f"{LISTED}\n- mail_archive: is missing today."
    items = input_of(
        *answered(call_item("load_tool_group", {"group_name": "mail"}, call_id="call_1")),
        result("call_1", text),
        groups=[MAIL],
    )
    assert json.loads(items[1]["output"])["result"].split("\n")[1:] == ["- mail_archive: is missing today."]


def test_results_of_sessions_of_earlier_versions_stay_as_they_were():
    [answer, loading] = answered(call_item("load_tool_group", {"group_name": "mail"}, call_id="c1"))
    stored = {"openai": {key: answer.provider_data["openai"][key] for key in ("server", "output")}}
    items = input_of(replace(answer, provider_data=stored), loading, result("c1", LISTED), groups=[MAIL])
    assert json.loads(items[1]["output"])["result"] == LISTED
    assert (
        json.loads(input_of(load("c1", "mail"), result("c1", LISTED), groups=[MAIL])[1]["output"])["result"] == LISTED
    )


def test_groups_whose_loading_is_no_longer_in_the_history_come_first():
    items = input_of(user("go"), load("a", "maps"), result("a"), groups=[MAIL, MAPS])
    declared = {place: item for place, item in enumerate(items) if item["type"] == "additional_tools"}
    assert {place: [tool["name"] for tool in item["tools"]] for place, item in declared.items()} == {
        0: ["mail_search", "mail_send"],
        4: ["maps_route"],
    }


def test_tools_of_the_turn_stand_before_its_message_and_change_nothing_before():
    asked = (user("go"), assistant("Done."), user("on"))
    before, sent = body_of(request(*asked)), body_of(request(*asked, of_turn=[definition("show")]))
    assert sent["tools"] == before["tools"]
    assert sent["input"][:2] == before["input"][:2]
    assert [item["type"] for item in sent["input"][2:]] == ["additional_tools", "message"]
    (called,) = [
        item
        for item in body_of(request(*asked, entries.call("a", "show"), result("a"), of_turn=[definition("show")]))[
            "input"
        ]
        if item["type"] == "function_call"
    ]
    assert called["namespace"] == "show"
    appended = body_of(request(*asked, of_turn=[definition("show")], tool_loading=ToolLoading.APPEND))
    assert [tool["name"] for tool in appended["tools"]] == ["load_tool_group", "find", "show"]


def test_appended_groups_are_tools_like_all_others():
    body = body_of(request(user("go"), load("a", "mail"), result("a"), groups=[MAIL], tool_loading=ToolLoading.APPEND))
    assert [tool["name"] for tool in body["tools"]] == ["load_tool_group", "find", "mail_search", "mail_send"]
    assert "additional_tools" not in {item["type"] for item in body["input"]}


@pytest.mark.parametrize("namespace", [None, "mail_search"])
def test_calls_of_natively_loaded_tools_carry_their_namespace_and_others_none(namespace):
    said = answered(call_item("mail_search", {"q": "y"}, call_id="b", namespace=namespace))
    history = [load("a", "mail"), result("a"), *said, result("b"), call("c", "mail_send"), result("c")]

    def namespaces(loading):
        items = input_of(*history, groups=[MAIL], tool_loading=loading)
        return [item.get("namespace") for item in items if item["type"] == "function_call"]

    assert namespaces(ToolLoading.NATIVE) == [None, "mail_search", "mail_send"]
    assert namespaces(ToolLoading.INLINE) == namespaces(ToolLoading.NATIVE)
    assert namespaces(ToolLoading.APPEND) == [None, None, None]


def test_a_namespace_that_the_service_made_up_goes_back():
    said = answered(call_item("find", {"q": "y"}, call_id="b", namespace="functions"))
    assert input_of(*said, result("b"))[0]["namespace"] == "functions"


# A whole session


def history():
    """A session of three turns, with the places at which the model is asked: after the entries up to there."""
    entries, asked = [], []

    def ask(*messages):
        entries.extend(messages)
        asked.append(len(entries))

    ask(user("Find the bill."))
    entries.extend(answered(reasoning("Mail."), call_item("load_tool_group", {"group_name": "mail"}, call_id="c1")))
    ask(result("c1", LISTED))
    entries.extend(
        answered(
            reasoning(item_id="rs_2", encrypted="gAAAA2"),
            message_item("I look in two places.", phase="commentary"),
            call_item("mail_search", {"q": "bill"}, call_id="c2"),
            call_item("find", {"q": "größe 🙂"}, call_id="c3"),
        )
    )
    ask(failure("c3", "timeout", "too slow"), result("c2", "one hit", PDF))
    entries.extend(answered(message_item("Here it is.", item_id="msg_2", phase="final_answer")))
    ask(user("Is it the one of the picture?", PNG))
    entries.extend(answered(message_item("Yes.", item_id="msg_3")))
    ask(user("How do I get there?"))
    entries.extend(answered(call_item("load_tool_group", {"group_name": "maps"}, call_id="c4")))
    ask(result("c4", "Loaded 1 tools from group 'Maps':\n- maps_route: Does maps_route."))
    entries.extend(answered(call_item("maps_route", {"q": "there"}, call_id="c5", namespace="maps_route")))
    ask(result("c5", "", PNG))
    entries.extend(answered(reasoning(item_id="rs_3"), message_item("By bus.", item_id="msg_4")))
    return entries, asked


def requests():
    entries, asked = history()
    groups = {"mail": MAIL, "maps": MAPS}
    for end in asked:
        # As a store gives it back: no object is the same as in the request before.
        messages = [replace(each, provider_data=json.loads(json.dumps(each.provider_data))) for each in entries[:end]]
        yield request(*messages, groups=[groups[name] for name in restore_loaded_groups(messages)])


def test_every_request_of_a_session_is_what_the_sdk_takes():
    bodies = [body_of(asked) for asked in requests()]
    assert len(bodies) == 7
    types = {item["type"] for item in bodies[-1]["input"]}
    assert types == {"message", "reasoning", "function_call", "function_call_output", "additional_tools"}


def test_every_request_of_a_session_is_the_beginning_of_the_next():
    encoder = ResponsesEncoder(SERVER)
    previous = None
    for asked in requests():
        written = encoder.encode(asked)
        # In a new process all is written anew.
        assert written == ResponsesEncoder(SERVER).encode(asked) == encoder.encode(asked)
        if previous is not None:
            assert previous.endswith(b"]}")
            assert written.startswith(previous[:-2])
        previous = written


def test_a_call_to_a_tool_that_is_loaded_only_later_costs_the_cache_but_not_the_session():
    early = [call("a", "mail_send"), failure("a", "not_available", "Load its group first.")]
    assert "namespace" not in input_of(*early)[0]
    assert input_of(*early, load("b", "mail"), result("b"), groups=[MAIL])[0]["namespace"] == "mail_send"
