import base64
import json
import warnings
from dataclasses import replace
from typing import Any

import pytest
from gemini_types import gemini_request
from history_entries import INTERRUPTED, PDF, PNG, assistant, call, failure, result, user
from oneclaw_gemini import contents as gemini_contents
from oneclaw_gemini.answer import GeminiAnswer
from oneclaw_gemini.contents import NO_SIGNATURE
from oneclaw_gemini.wire import GeminiEncoder

from oneclaw_core.errors import ProviderRequestError
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.model_requests import ModelRequest
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup
from oneclaw_core.types.tools import ToolDefinition

SERVER = "https://gemini.test"
MODEL = "gemini-3-pro"
SIGNATURE = base64.b64encode(b"what I thought").decode()
GIF = Attachment("cat.gif", "image/gif", b"GIF89a")


def request(*messages, tools=(), groups=(), system_prompt="", model=MODEL, limit=None, **parameters):
    return ModelRequest(
        model=model,
        system_prompt=system_prompt,
        messages=messages,
        tools=ActiveTools(tuple(tools), tuple(groups)),
        session_id="s",
        parameters=parameters,
        max_output_tokens=limit,
    )


def body_of(asked):
    return json.loads(GeminiEncoder(SERVER).encode(asked))


def contents(messages, model, server=SERVER):
    return gemini_contents.contents(messages, model, server)


def echo(*parts, server=SERVER):
    return {"gemini": {"server": server, "parts": list(parts)}}


def call_part(name, call_id=None, signature=None, **arguments):
    part: dict[str, Any] = {"functionCall": {"name": name, "args": arguments}}
    if call_id:
        part["functionCall"]["id"] = call_id
    if signature:
        part["thoughtSignature"] = signature
    return part


def outcomes(content):
    return [(part["functionResponse"].get("id"), part["functionResponse"]["response"]) for part in content["parts"]]


def check(body):
    """Check a body against the vendor's types, and against what the service insists on beyond them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parsed = gemini_request().model_validate_json(json.dumps(body))
    roles = [content.role for content in parsed.contents]
    assert roles == (["user", "model"] * len(roles))[: len(roles)]
    assert roles[-1] == "user"
    for place, content in enumerate(parsed.contents):
        assert content.parts
        calls = [part.function_call for part in content.parts if part.function_call]
        if content.role == "model" and calls:
            following = parsed.contents[place + 1].parts
            answers = [part.function_response for part in following]
            assert [(each.id, each.name) for each in answers] == [(each.id, each.name) for each in calls]
            first = next(part for part in content.parts if part.function_call)
            assert first.thought_signature
        elif content.role == "user":
            answered = place and any(part.function_call for part in parsed.contents[place - 1].parts)
            assert bool(answered) == any(part.function_response for part in content.parts)


# The body


def test_a_request_without_tools_has_instructions_and_contents_only():
    body = body_of(request(user("hi"), system_prompt="Be brief."))
    assert body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    }
    check(body)


def test_tools_are_declared_in_the_order_of_the_active_tools_core_first():
    schema = {"type": "object", "properties": {"q": {"type": "string", "minLength": 2}}, "required": ["q"]}
    first, second, third = (
        ToolDefinition("zebra", "Z."),
        ToolDefinition("ant", "A."),
        ToolDefinition("mole", "M.", schema),
    )
    body = body_of(request(user("hi"), tools=[first], groups=[LoadedGroup("g", (second, third))]))
    assert body["tools"] == [
        {
            "functionDeclarations": [
                {"name": "zebra", "description": "Z."},
                {"name": "ant", "description": "A."},
                {
                    "name": "mole",
                    "description": "M.",
                    "parametersJsonSchema": {
                        "type": "object",
                        "properties": {"q": {"description": "Minimum length 2", "type": "string"}},
                        "required": ["q"],
                    },
                },
            ]
        }
    ]
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}
    check(body)


def test_parameters_go_where_gemini_has_them_and_replace_nothing_of_the_request():
    body = body_of(
        request(
            user("hi"),
            temperature=0.2,
            top_p=0.9,
            max_tokens=7,
            stop="END",
            seed=None,
            thinking_config={"include_thoughts": True},
            safety_settings=[{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}],
            model="other",
            tools=[],
            contents=[],
            tool_config={},
            cached_content="x",
        )
    )
    assert body["generationConfig"] == {
        "temperature": 0.2,
        "topP": 0.9,
        "maxOutputTokens": 7,
        "stopSequences": ["END"],
        "thinkingConfig": {"include_thoughts": True},
    }
    assert body.keys() == {"generationConfig", "safetySettings", "contents"}
    assert len(body["safetySettings"]) == 1
    check(body)


def test_the_wanted_length_of_the_answer_goes_before_parameters():
    assert body_of(request(user("hi"), limit=5, max_output_tokens=9))["generationConfig"] == {"maxOutputTokens": 5}


def test_the_bytes_are_the_same_every_time():
    asked = request(
        user("Grüße"),
        tools=[ToolDefinition("find", "F.")],
        groups=[LoadedGroup("g", (ToolDefinition("read", "R."),))],
        system_prompt="S",
        temperature=1,
    )
    encoder = GeminiEncoder(SERVER)
    written = encoder.encode(asked)
    assert encoder.encode(asked) == GeminiEncoder(SERVER).encode(asked) == written


def test_half_characters_do_not_stop_a_request():
    assert b"a?" in GeminiEncoder(SERVER).encode(request(user("a\ud83d")))


def test_more_tools_than_gemini_takes_are_refused_with_what_to_do():
    tools = [ToolDefinition(f"tool_{number}", "T.") for number in range(513)]
    assert len(body_of(request(user("x"), tools=tools[:512]))["tools"][0]["functionDeclarations"]) == 512
    with pytest.raises(ProviderRequestError, match=r"at most 512 tools, and 513 are active: .*fewer tool groups"):
        body_of(request(user("x"), tools=tools))


# Histories


def test_calls_of_one_answer_are_one_content_and_all_their_results_the_next():
    assert contents(
        [
            user("go"),
            assistant("I look."),
            call("a", "find", '{"q": 1}'),
            call("b", "read"),
            failure("b", "timeout", "too slow"),
            result("a", "Grüße"),
            assistant("Done."),
            user("thanks"),
        ],
        MODEL,
    ) == [
        {"role": "user", "parts": [{"text": "go"}]},
        {
            "role": "model",
            "parts": [
                {"text": "I look."},
                {"functionCall": {"name": "find", "args": {"q": 1}}, "thoughtSignature": NO_SIGNATURE},
                {"functionCall": {"name": "read", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "find",
                        "response": {"output": {"status": "success", "result": "Grüße"}},
                    }
                },
                {
                    "functionResponse": {
                        "name": "read",
                        "response": {"error": {"status": "error", "error_type": "timeout", "message": "too slow"}},
                    }
                },
            ],
        },
        {"role": "model", "parts": [{"text": "Done."}]},
        {"role": "user", "parts": [{"text": "thanks"}]},
    ]


def test_an_answer_goes_back_exactly_as_it_came_with_the_ids_the_service_gave():
    parts = [
        {"text": "hm", "thought": True},
        {"text": "I look.", "thoughtSignature": "c2ln"},
        call_part("find", "0usaj", SIGNATURE, q=1.0),
        call_part("find", q=2),
        {"text": "", "thoughtSignature": "ZW5k"},
    ]
    history = [user("go"), assistant("I look.", echo(*parts)), call("0usaj"), call("call_ours")]
    found = contents([*history, result("0usaj"), result("call_ours")], MODEL, SERVER)
    assert found[1] == {"role": "model", "parts": parts}
    assert json.dumps(found[1]["parts"]) == json.dumps(parts)
    assert [each for each, _ in outcomes(found[2])] == ["0usaj", None]
    assert "call_ours" not in json.dumps(found)


@pytest.mark.parametrize(
    "data",
    [
        echo(call_part("find", "x", SIGNATURE), server="https://other.test"),
        echo(call_part("other", "x", SIGNATURE)),
        echo(call_part("find", "x", SIGNATURE), call_part("find", "y")),
        {"anthropic": {"content": [{"type": "thinking", "signature": "z"}]}},
        None,
    ],
)
def test_what_another_service_said_or_does_not_fit_the_history_is_rebuilt(data):
    found = contents(
        [user("go"), assistant("Hm.", data), call("toolu_1", arguments='{"q": 1}'), result("toolu_1")], MODEL, SERVER
    )
    assert found[1]["parts"] == [
        {"text": "Hm."},
        {"functionCall": {"name": "find", "args": {"q": 1}}, "thoughtSignature": NO_SIGNATURE},
    ]
    assert outcomes(found[2]) == [(None, {"output": {"status": "success", "result": "found"}})]


def test_calls_that_no_one_signed_are_marked_for_models_that_want_it():
    history = [user("go"), assistant("", echo(call_part("find", "x"))), call("x"), result("x")]
    for model in (MODEL, "models/gemini-4-argon", "gemini-flash-latest", "brand-new"):
        assert contents(history, model, SERVER)[1]["parts"] == [call_part("find", "x", NO_SIGNATURE)]
    for model in ("gemini-2.5-pro", "models/gemini-2.0-flash", "gemini-1.5-pro-002"):
        assert contents(history, model, SERVER)[1]["parts"] == [call_part("find", "x")]
    assert "thoughtSignature" not in json.dumps(history[1].provider_data)


def test_a_call_without_result_is_answered_as_interrupted_and_a_result_without_call_is_left_out():
    body = body_of(request(user("go"), assistant("x"), call("a"), call("b"), result("b"), result("zzz"), user("again")))
    check(body)
    assert outcomes(body["contents"][2]) == [
        (None, {"error": INTERRUPTED}),
        (None, {"output": {"status": "success", "result": "found"}}),
    ]
    assert "zzz" not in json.dumps(body)


def test_results_and_the_users_words_are_kept_apart():
    body = body_of(request(user("go"), call("a"), result("a"), user("still there?"), user("hello?")))
    check(body)
    assert body["contents"][3:] == [
        {"role": "model", "parts": [{"text": "(no answer)"}]},
        {"role": "user", "parts": [{"text": "still there?"}, {"text": "hello?"}]},
    ]


@pytest.mark.parametrize(
    "history",
    [
        [],
        [assistant("Hello.")],
        [assistant("Hello."), user("hi")],
        [user("")],
        [user("go"), assistant("")],
        [user("go"), assistant("Par"), assistant("tial")],
        [call("a"), result("a"), call("b"), call("c"), result("c"), result("b")],
        [result("a"), user("go"), call("b")],
        [user("go"), assistant("", echo()), user("on")],
    ],
)
def test_every_history_becomes_contents_that_gemini_takes(history):
    check(body_of(request(*history)))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("rm -rf /", "{}", {"name": "rm_-rf__", "args": {}}),
        ("", "", {"name": "_", "args": {}}),
        ("_ok", "  ", {"name": "_ok", "args": {}}),
        ("9" * 99, "[1]", {"name": "_" + "9" * 62, "args": {}}),
        ("find", '{"q": ', {"name": "find", "args": {}}),
        ("find", '{"q": 1e999}', {"name": "find", "args": {}}),
        ("find", '{"q": 1' + "0" * 400 + "}", {"name": "find", "args": {}}),
        ("find", '{"q": "\\ud83d"}', {"name": "find", "args": {}}),
        ("find", '{"q": ' + "[" * 90 + "]" * 90 + "}", {"name": "find", "args": {}}),
        ("find", '{"q": [1.5, "\\ud83d\\ude00"]}', {"name": "find", "args": {"q": [1.5, "😀"]}}),
    ],
)
def test_what_a_model_made_up_does_not_have_every_later_request_refused(name, arguments, expected):
    body = body_of(request(user("go"), call("a", name, arguments)))
    check(body)
    assert body["contents"][1]["parts"][0]["functionCall"] == expected


# Files


def test_attached_files_go_before_the_text_under_their_names():
    body = body_of(request(user("What is this?", PNG, PDF), system_prompt="S"))
    check(body)
    assert body["contents"][0]["parts"] == [
        {"text": "Attached file chart.png:"},
        {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(PNG.data).decode()}},
        {"text": "Attached file report.pdf:"},
        {"inlineData": {"mimeType": "application/pdf", "data": base64.b64encode(PDF.data).decode()}},
        {"text": "What is this?"},
    ]


def test_a_file_that_gemini_cannot_be_shown_is_named():
    audio = Attachment("talk.wav", "audio/wav", b"RIFF")
    assert contents([user("", audio)], MODEL)[0]["parts"] == [
        {"text": "[talk.wav (audio/wav) cannot be shown to this model]"}
    ]


def test_files_of_a_result_go_into_it():
    body = body_of(request(user("go"), call("a", "plot"), result("a", "drawn", PNG, PDF)))
    check(body)
    response = body["contents"][2]["parts"][0]["functionResponse"]
    assert response["response"] == {"output": {"status": "success", "result": "drawn"}}
    assert [part["inlineData"]["mimeType"] for part in response["parts"]] == ["image/png", "application/pdf"]


@pytest.mark.parametrize(("model", "attachment"), [("gemini-2.5-flash", PNG), (MODEL, GIF)])
def test_files_that_do_not_go_into_results_follow_them_in_a_content_of_their_own(model, attachment):
    history = [user("go"), call("a", "plot"), call("b"), result("a", "drawn", attachment), result("b")]
    found = contents(history, model)
    assert [content["role"] for content in found] == ["user", "model", "user", "user"]
    assert len(outcomes(found[2])) == 2
    assert found[3]["parts"][0] == {"text": f"File {attachment.name}, from the result of plot:"}
    assert found[3]["parts"][1]["inlineData"]["mimeType"] == attachment.media_type


# A session


def chunk(*parts, reason=None, **usage):
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": reason} if reason else {})], "usageMetadata": usage}


class Session:
    """A session as the turn leads it: requests are written, answers are read and stored, results follow."""

    def __init__(self, core):
        self.history = []
        self.core = core
        self.groups = []
        self.encoder = GeminiEncoder(SERVER)
        self.bodies = []

    def ask(self, *parts):
        asked = request(*self.history, tools=self.core, groups=self.groups, system_prompt="Be brief.")
        written = self.encoder.encode(asked)
        assert GeminiEncoder(SERVER).encode(asked) == written
        self.bodies.append(json.loads(written))
        check(self.bodies[-1])
        answer = GeminiAnswer(SERVER, "gemini")
        for part in parts:
            answer.add(chunk(part))
        answer.add(chunk({"text": ""}, reason="STOP"))
        response = answer.response()
        # The store keeps what belongs to the provider as JSON.
        data = json.loads(json.dumps(response.provider_data))
        self.history.append(assistant(response.text, data))
        self.history += [call(each.id, each.name, each.arguments) for each in response.tool_calls]
        return [each.id for each in response.tool_calls]


def test_every_request_of_a_session_is_valid_and_begins_as_the_one_before():
    schema = {"type": "object", "properties": {"path": {"type": ["string", "null"], "default": None}}}
    pdf = LoadedGroup(
        "pdf", (ToolDefinition("pdf_read", "Reads.", schema), ToolDefinition("pdf_plot", "Plots.", schema))
    )
    mail = LoadedGroup("mail", (ToolDefinition("mail_send", "Sends."),))
    session = Session([ToolDefinition("load_tool_group", "Loads.", schema), ToolDefinition("find", "Finds.", schema)])

    session.history.append(user("Read this.", PDF))
    [first] = session.ask(
        {"text": "hm", "thought": True}, call_part("load_tool_group", "g1", SIGNATURE, group_name="pdf")
    )
    session.history.append(result(first, "Loaded."))
    session.groups.append(pdf)
    ids = session.ask(call_part("pdf_read", "g2", SIGNATURE, path="a"), call_part("pdf_plot"), call_part("nope", "g4"))
    session.history += [failure(ids[2], "not_available", "?"), result(ids[1], "drawn", PNG), result(ids[0], "text")]
    assert session.ask({"text": "It "}, {"text": "says", "thoughtSignature": SIGNATURE}, {"text": " so."}) == []

    session.history.append(user("Mail it."))
    [loading] = session.ask(call_part("load_tool_group", "g5", SIGNATURE, group_name="mail"))
    session.history.append(result(loading, "Loaded."))
    session.groups.append(mail)
    [sending] = session.ask(call_part("mail_send", signature=SIGNATURE))
    session.history.append(failure(sending, "permission_denied", "No."))
    session.ask({"text": "You said no."})

    session.history.append(user("Never mind."))
    session.ask({"text": "Fine."})

    assert len(session.bodies) == 7
    for earlier, later in zip(session.bodies, session.bodies[1:], strict=False):
        declared = [body["tools"][0]["functionDeclarations"] for body in (earlier, later)]
        assert declared[1][: len(declared[0])] == declared[0]
        written = [json.dumps(body["contents"]) for body in (earlier, later)]
        assert written[1].startswith(written[0][:-1])
        assert later["systemInstruction"] == earlier["systemInstruction"]
    last = session.bodies[-1]
    assert [each["name"] for each in last["tools"][0]["functionDeclarations"]] == [
        "load_tool_group", "find", "pdf_read", "pdf_plot", "mail_send",
    ]  # fmt: skip
    assert last["contents"][1]["parts"][0] == {"text": "hm", "thought": True}
    assert last["contents"][3]["parts"] == [
        call_part("pdf_read", "g2", SIGNATURE, path="a"), call_part("pdf_plot"), call_part("nope", "g4"),
    ]  # fmt: skip
    assert last["contents"][5]["parts"] == [
        {"text": "It "},
        {"text": "says", "thoughtSignature": SIGNATURE},
        {"text": " so."},
    ]


def test_while_the_tools_stay_the_bytes_of_a_request_go_on_where_the_last_ended():
    tools = [ToolDefinition("find", "F.")]
    history = [user("go"), call("a"), result("a"), assistant("Done."), user("more")]
    earlier, later = (GeminiEncoder(SERVER).encode(request(*history[:end], tools=tools)) for end in (3, 5))
    assert later.startswith(earlier.removesuffix(b"]}"))


@pytest.mark.parametrize(
    ("model", "level", "expected"),
    [
        ("gemini-2.5-flash", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "medium", {"thinkingBudget": 8_192}),
        ("gemini-3.8-flash", "off", {"thinkingLevel": "minimal"}),
        ("models/gemini-4-argon", "low", {"thinkingLevel": "low"}),
    ],
)
def test_a_level_of_reasoning_is_written_as_the_generation_wants_it(model, level, expected):
    given = {"include_thoughts": True, "thinking_budget": 5}
    body = body_of(replace(request(user("hi"), thinking_config=given), model=model, reasoning=level))
    assert body["generationConfig"]["thinkingConfig"] == {"include_thoughts": True, **expected}
    check(body)
