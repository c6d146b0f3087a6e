"""``/v1`` for the clients of Chat Completions, which send more kinds of requests than its description knows."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time

import openai
import pytest
from how_long import some
from oneclaw_serve.completions import stream
from oneclaw_serve.completions.conversations import Said
from oneclaw_serve.completions.messages import ChatMessage
from oneclaw_serve.placeholders import is_unfilled
from web_site import web_site

from oneclaw_core import hookimpl, tool
from oneclaw_core.providers import (
    ContextTooLongError,
    ProviderAuthenticationError,
    ProviderQuotaError,
    ProviderRateLimitError,
    ProviderRequestError,
    ProviderSilentError,
    ProviderUnavailableError,
)

AGENT = "General Assistant"
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63f8cfc0f01f0005000"
        "1ff89993d1d0000000049454e44ae426082"
    )
).decode()


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def system(text):
    return {"role": "system", "content": text}


def parts(text):
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


@pytest.fixture
def asking(serving):
    """Send requests one after the other; a list of messages, or a body and headers."""

    def ask(*requests):
        async def work(rig):
            async with await rig.program("chat") as client:
                answers = []
                for each in requests:
                    body, headers = each if isinstance(each, tuple) else (each, {})
                    body = body if isinstance(body, dict) else {"messages": body}
                    sent = {"model": AGENT, "messages": [user("Hi")], **body}
                    answers.append(await client.post("/v1/chat/completions", json=sent, headers=headers))
                return answers

        return serving.run(work)

    return ask


@pytest.mark.long
def test_null_means_the_default(serving, asking):
    # text-generation-inference issue 3155, koboldcpp issue 1503, vllm pull request 19679.
    serving.model.says("One.").says("Two.").says("Three.").says("Four.")
    first, streamed, *others = asking(
        {"stream": None, "stream_options": None, "user": None},
        {"stream": True, "stream_options": {"include_usage": None}},
        {"tools": None, "functions": None, "tool_choice": None, "n": None, "stop": None, "temperature": None},
        {"messages": [{"role": "user", "content": "Hi", "name": None, "tool_calls": None}], "max_tokens": None},
    )
    assert first.json()["choices"][0]["message"]["content"] == "One."
    assert streamed.text.endswith("data: [DONE]\n\n")
    assert "usage" not in streamed.text
    assert [each.status_code for each in others] == [200, 200]


def test_sampling_parameters_reach_the_model(serving, asking):
    given = {"temperature": 0.3, "top_p": 0.9, "seed": 7, "stop": ["END"], "frequency_penalty": 0.5}
    serving.model.says("One.").says("Two.")
    talk = [user("Hi"), assistant("One."), user("Bye")]
    asking(
        {**given, "max_tokens": 50, "presence_penalty": 0, "reasoning_effort": "low"},
        {"messages": talk, "max_completion_tokens": 9},
    )

    first, second = serving.model.requests
    assert dict(first.parameters) == given
    assert (first.max_output_tokens, first.reasoning) == (50, "low")
    # They hold for one request, also in the same session.
    assert (second.max_output_tokens, second.reasoning, dict(second.parameters)) == (9, None, {})


REFUSED = (
    ("n", 2),
    ("logprobs", True),
    ("top_logprobs", 5),
    ("logit_bias", {"50256": -100}),
    ("tools", [{"type": "function", "function": {"name": "f", "parameters": {}}}]),
    ("functions", [{"name": "f"}]),
    ("tool_choice", "required"),
    ("tool_choice", {"type": "function", "function": {"name": "f"}}),
    ("response_format", {"type": "json_object"}),
    ("modalities", ["text", "audio"]),
    ("audio", {"voice": "alloy", "format": "wav"}),
    ("temperature", 7),
    ("max_tokens", 0),
    ("reasoning_effort", "extreme"),
    ("reasoning_effort", {}),
    ("stream", "perhaps"),
)


def test_what_an_agent_cannot_do_is_refused_by_name(serving, asking):
    for (name, _), answer in zip(REFUSED, asking(*({name: value} for name, value in REFUSED)), strict=True):
        assert (answer.status_code, answer.headers["x-should-retry"]) == (400, "false"), name
        assert name in answer.json()["error"]["message"]
    assert serving.model.requests == []


def test_what_changes_no_answer_is_taken(serving, asking):
    # LibreChat and LangChain send their defaults with each request.
    serving.model.says("One.")
    (answer,) = asking(
        {
            **{"n": 1, "presence_penalty": 0, "frequency_penalty": 0, "logprobs": False, "top_logprobs": 0},
            **{"user": "u1", "metadata": {"a": "b"}, "store": False, "service_tier": "auto", "tools": []},
            **{"tool_choice": "auto", "response_format": {"type": "text"}, "parallel_tool_calls": True},
            **{"logit_bias": {}, "stream_options": {"include_usage": True, "include_obfuscation": False}},
        }
    )
    assert answer.status_code == 200
    assert "x-oneclaw-notice" not in answer.headers
    assert dict(serving.model.requests[0].parameters) == {}


@pytest.mark.long
def test_unknown_members_are_named(serving, asking):
    serving.model.says("One.")
    (answer,) = asking({"chat_id": "1", "keep_alive": "5m"})

    assert answer.status_code == 200
    assert "chat_id has no meaning here" in answer.headers["x-oneclaw-notice"]
    assert "keep_alive has no meaning here" in answer.headers["x-oneclaw-notice"]


FAILURES = (
    (ProviderUnavailableError("overloaded"), 503, "model_unavailable"),
    (ProviderSilentError("no byte"), 504, "model_silent"),
    (ProviderAuthenticationError("the key is refused"), 422, "key_refused_by_model"),
    (ProviderQuotaError("no credit"), 402, "insufficient_quota"),
    (ProviderRequestError("temperature is odd"), 400, "refused_by_model"),
    (ContextTooLongError("too long"), 400, "context_length_exceeded"),
    (ProviderRateLimitError("slowly"), 429, "rate_limit_exceeded"),
)


@pytest.mark.long
@pytest.mark.parametrize("is_streamed", some([False, True], 2))
def test_the_library_of_openai_asks_once_and_learns_what_failed(serving, is_streamed):
    for error, _, _ in FAILURES:
        serving.model.fails(error)

    async def work(rig):
        token = (await rig.program("chat")).headers["Authorization"].removeprefix("Bearer ")
        async with openai.AsyncOpenAI(base_url=f"{rig.origin}/v1", api_key=token) as client:
            for number, (error, status, kind) in enumerate(FAILURES, 1):
                with pytest.raises(openai.APIStatusError) as caught:
                    await client.chat.completions.create(model=AGENT, messages=[user("Hi")], stream=is_streamed)
                assert (caught.value.status_code, caught.value.code) == (status, kind)
                assert str(error) in str(caught.value)
                assert len(serving.model.requests) == number

    serving.run(work)


# What a client sends behind the first exchange, "Where is Bern?" and "In **Switzerland**, of course."
QUESTION, ANSWER = "Where is Bern, please?", "In **Switzerland**,\nof course."
CONTINUES = {
    "as it was": [user(QUESTION), assistant(ANSWER)],
    "texts as parts": [user(parts(QUESTION)), assistant(parts(ANSWER))],
    "texts as lists of texts": [user([QUESTION]), assistant([ANSWER])],
    "blanks at the ends": [user(QUESTION + "\n"), assistant(f" {ANSWER} ")],
    "lines of Windows": [user(QUESTION), assistant(ANSWER.replace("\n", "\r\n"))],
    "Markdown written anew": [user(QUESTION), assistant("In __Switzerland__, of course\\.")],
    "thoughts in the answer": [user(QUESTION), assistant(f"<think>Hm.</think>{ANSWER}")],
    "thoughts of Open WebUI": [user(QUESTION), assistant(f'<details type="reasoning" done="true">x</details>{ANSWER}')],
    "another time in the system prompt": [system("It is 10:01."), user(QUESTION), assistant(ANSWER)],
    "a developer prompt": [{"role": "developer", "content": "Be brief."}, user(QUESTION), assistant(ANSWER)],
    "a name before the question": [user(f"Ada: {QUESTION}"), assistant(ANSWER)],
    "a time before the question": [user(f"[2026-11-28 10:00] {QUESTION}"), assistant(ANSWER)],
    "context around the question": [user(f"<context>x</context>\n\n{QUESTION}\n\nAnswer!"), assistant(ANSWER)],
    "a greeting of the client": [assistant("How can I help?"), user(QUESTION), assistant(ANSWER)],
    "calls of tools": [
        user(QUESTION),
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {}}]},
        {"role": "tool", "tool_call_id": "c", "content": "5"},
        assistant(ANSWER),
    ],
    "an empty message": [user(QUESTION), assistant(ANSWER), assistant("")],
}


@pytest.mark.long
def test_a_conversation_is_recognised_by_its_sense(serving, asking):
    requests = []
    for before in CONTINUES.values():
        serving.model.says(ANSWER).says("Yes.")
        requests += [[system("It is 10:00."), user(QUESTION)], [*before, user("Sure?")]]
    sessions = [each.headers["x-oneclaw-session"] for each in asking(*requests)]

    assert len(set(sessions)) == len(CONTINUES)
    for name, first, second, request in zip(
        CONTINUES, sessions[::2], sessions[1::2], serving.model.requests[1::2], strict=True
    ):
        assert first == second, name
        assert request.messages[-1].content.endswith("Sure?")
        assert len(request.messages) == 3


@pytest.mark.long
def test_a_conversation_whose_beginning_is_cut_off_goes_on(serving, asking):
    # LobeChat and AnythingLLM send the newest messages only.
    serving.model.says("One.").says("Two.").says("Three.").says("Four.")
    first = [user("a"), assistant("One."), user("b"), assistant("Two.")]
    answers = asking(
        first[:1], first[:3], [*first[2:], user("c")], [*first[2:], user("c"), assistant("Three."), user("d")]
    )

    assert len({each.headers["x-oneclaw-session"] for each in answers}) == 1


@pytest.mark.long
def test_another_conversation_begins_a_session(serving, asking):
    others = (
        [user("Where is Rome?"), assistant(ANSWER)],
        [user(QUESTION), assistant("In Italy.")],
        [user(QUESTION), assistant(ANSWER), user("And Rome?"), assistant("In Italy.")],
        [assistant("OK")],
    )
    serving.model.says(ANSWER)
    for _ in others:
        serving.model.says("Yes.")
    answers = asking([user(QUESTION)], *([*each, user("Sure?")] for each in others))

    assert len({each.headers["x-oneclaw-session"] for each in answers}) == len(answers)
    assert all("Sure?" in each.messages[0].content for each in serving.model.requests[1:])


def test_an_edited_question_begins_a_session(serving, asking):
    serving.model.says("One.").says("Two.").says("Three.")
    talk = [user("a"), assistant("One.")]
    answers = asking([user("a")], [*talk, user("b")], [*talk, user("c")])

    first, second, third = [each.headers["x-oneclaw-session"] for each in answers]
    assert first == second != third


def test_users_behind_one_token_are_told_apart(serving, asking):
    for _ in range(4):
        serving.model.says("Hello!")
    talk = [user("hi"), assistant("Hello!"), user("What did I say?")]
    answers = asking(
        [system("The user is Ada."), user("hi")],
        [system("The user is Bob."), user("hi")],
        [system("The user is Ada."), *talk],
        {"messages": talk, "user": "carol"},
    )

    ada, bob, again, carol = [each.headers["x-oneclaw-session"] for each in answers]
    assert ada == again
    assert len({ada, bob, carol}) == 3


@pytest.mark.long
def test_changed_instructions_reach_the_session(serving, asking):
    serving.model.says("One.").says("Two.").says("Three.")
    begin, changed = "Be polite.\nIt is 10:00.", "Be polite.\nIt is 10:01.\nAnswer in French."
    talk = [user("a"), assistant("One."), user("b"), assistant("Two."), user("c")]
    asking([system(begin), *talk[:1]], [system(changed), *talk[:3]], [system(changed), *talk])

    said = [each.messages[-1].content for each in serving.model.requests]
    assert said == [f"Instructions: {begin}\n\na", "Instructions: It is 10:01.\nAnswer in French.\n\nb", "c"]


def test_all_messages_behind_the_last_answer_are_said(serving, asking):
    serving.model.says("One.").says("Two.")
    talk = [user("a"), assistant("One."), user("b"), user("c"), system("Be brief.")]
    first, second = asking(talk[:1], talk)

    assert first.headers["x-oneclaw-session"] == second.headers["x-oneclaw-session"]
    assert serving.model.requests[1].messages[-1].content == "Instructions: Be brief.\n\nb\n\nc"


@pytest.mark.parametrize(
    "messages",
    some([[user("a"), assistant("One.")], [user("")], [user("a"), {"role": "tool", "content": "5"}], [system("x")]], 2),
)
def test_a_conversation_without_a_question_is_refused(asking, messages):
    (answer,) = asking(messages)

    assert (answer.status_code, answer.headers["x-should-retry"]) == (400, "false")


def test_pictures_and_files_of_several_clients_are_taken(serving, asking):
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}}
    plain = {"type": "image_url", "image_url": f"data:image/png;base64,{PIXEL}"}
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}}
    remote = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    odd = {"type": "hologram", "hologram": {}}
    serving.model.says("Seen.").says("Yes.")
    first, again, *refused = asking(
        [user([{"type": "text", "text": "Look"}, picture, plain, file])],
        # What cannot be read was said before, and spoils nothing.
        [user([{"type": "text", "text": "Look"}, remote, odd]), assistant("Nice."), user("And now?")],
        [user([remote])],
        [user([{"type": "text", "text": "Look"}, odd])],
    )
    assert first.status_code == again.status_code == 200
    assert [each.media_type for each in serving.model.requests[0].messages[0].attachments] == [
        "image/png",
        "image/png",
        "application/pdf",
    ]
    assert [each.status_code for each in refused] == [400, 400]


def test_a_session_that_a_client_did_not_fill_in_is_not_used(serving, asking):
    # open-webui issue 26989: headers with variables arrive as they are written.
    values = ("{{CHAT_ID}}", "${SESSION}", "undefined", "null", "", "chat-undefined", "%CHAT%")
    requests = []
    for value in values:
        serving.model.says("One.").says("Two.")
        headers = {"X-OneClaw-Session": value, "X-OneClaw-Task": value}
        requests += [([user("My number is 4711.")], headers), ([user("I am another.")], headers)]
    answers = asking(*requests)

    assert len({each.headers["x-oneclaw-session"] for each in answers}) == len(answers)
    assert "4711" not in str([each.messages for each in serving.model.requests[1::2]])
    assert all(each.tools.names for each in serving.model.requests)  # no tasks, which have none
    noted = ["did not fill in" in each.headers.get("x-oneclaw-notice", "") for each in answers[::2]]
    assert noted == [bool(value) for value in values]


def test_a_key_that_a_client_did_not_fill_in_is_named(serving):
    keys = ("Bearer {{API_KEY}}", "Bearer ${KEY}", "Bearer undefined", "Bearer null", "Bearer", "bearer None")

    async def work(rig):
        async with rig.client() as client:
            # More often than anybody may guess in a minute.
            return [await client.get("/v1/models", headers={"Authorization": key}) for key in keys * 3]

    for answer in serving.run(work):
        assert answer.status_code == 401
        assert "did not fill in its key" in answer.json()["error"]["message"]


def test_placeholders_are_told_from_values():
    unfilled = ["", " ", "{{ id }}", "chat-${id}", "<session>", "%ID%", "{CHAT_ID}", "[object Object]", "$ID", "NaN"]
    assert all(map(is_unfilled, unfilled))
    assert not any(map(is_unfilled, ["general", "oc_8f3a", "5b1c-44", "null pointers", "50 %", "a {b} c", "nonesuch"]))


@pytest.mark.long
def test_a_named_session_is_told_the_system_prompt(serving, asking):
    serving.model.says("One.").says("Two.")
    headers = {"X-OneClaw-Session": "chat-1"}
    talk = [system("Be brief."), user("a"), assistant("One."), user("b")]
    first, second = asking((talk[:2], headers), (talk, headers))

    assert first.headers["x-oneclaw-session"] == second.headers["x-oneclaw-session"]
    assert [each.messages[-1].content for each in serving.model.requests] == ["Instructions: Be brief.\n\na", "b"]


class Quiet:
    """A plugin whose tool says nothing until it may."""

    def __init__(self):
        self.begun, self.may_end = threading.Event(), threading.Event()

    @hookimpl
    def register_tools(self, register):
        @tool(timeout_seconds=30)
        async def ponder() -> str:
            """Ponder."""
            self.begun.set()
            while not self.may_end.is_set():
                await asyncio.sleep(0.01)
            return "42"

        register(ponder)


@pytest.fixture
def quiet(oneclaw_factory):
    """A server whose tool ponders, and the function that runs work against it."""
    plugin = Quiet()
    home = oneclaw_factory(["serve", plugin], environ={"ONECLAW_MODEL": "scripted/model"})

    def run(work):
        async def scene():
            async with home.opened() as claw, asyncio.timeout(30), web_site(claw) as rig, await rig.program() as client:
                try:
                    return await work(rig, client)
                finally:
                    plugin.may_end.set()

        return asyncio.run(scene())

    plugin.run, plugin.model = run, home.model
    return plugin


def test_a_silent_stream_shows_that_it_is_alive(quiet, monkeypatch):
    monkeypatch.setattr("oneclaw_serve.completions.endpoints.SIGN_OF_LIFE_SECONDS", 0.01)
    monkeypatch.setattr(stream, "SIGN_OF_LIFE_SECONDS", 0.01)
    quiet.model.calls("ponder").says("Done.")

    async def work(rig, client):
        lines = []
        body = {"model": AGENT, "messages": [user("Hi")], "stream": True}
        async with client.stream("POST", "/v1/chat/completions", json=body) as response:
            async for line in response.aiter_lines():
                lines.append(line)
                if lines.count(": keep-alive") == 3:
                    quiet.may_end.set()
        return lines

    lines = quiet.run(work)
    assert lines[0].startswith('data: {"id": "chatcmpl-')
    assert lines[-2] == "data: [DONE]"
    events = [json.loads(each[6:]) for each in lines if each.startswith("data: {")]
    assert "".join(each["choices"][0]["delta"].get("content", "") for each in events) == "Done."


@pytest.mark.long
@pytest.mark.parametrize("is_streamed", some([False, True], 2))
def test_a_turn_ends_when_its_client_leaves_and_the_session_goes_on(quiet, monkeypatch, is_streamed):
    monkeypatch.setattr("oneclaw_serve.completions.endpoints.SIGN_OF_LIFE_SECONDS", 0.01)
    monkeypatch.setattr(stream, "_DISCONNECT_SECONDS", 0.01)
    quiet.model.says("One.").calls("ponder").says("Three.")
    talk = [user("a"), assistant("One."), user("b")]

    async def work(rig, client):
        async def ask(messages, **more):
            body = {"model": AGENT, "messages": messages, **more}
            return (await client.post("/v1/chat/completions", json=body)).headers["x-oneclaw-session"]

        first = await ask(talk[:1])
        async with rig.client(Authorization=client.headers["Authorization"]) as leaving:
            body = {"model": AGENT, "messages": talk, "stream": is_streamed}
            left = asyncio.create_task(leaving.post("/v1/chat/completions", json=body))
            await asyncio.to_thread(quiet.begun.wait)
            left.cancel()
            await asyncio.wait({left})
        while (await rig.claw.services.sessions.messages(first))[-1].type != "tool_result":
            await asyncio.sleep(0.01)
        return first, await ask([*talk, user("c")])

    first, second = quiet.run(work)
    assert first == second


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_fault_of_the_server_is_no_reason_to_ask_again(serving, asking, monkeypatch, is_streamed):
    monkeypatch.setattr("oneclaw_serve.completions.endpoints.transcript", lambda messages: 1 / 0)
    (answer,) = asking({"stream": is_streamed})

    assert (answer.status_code, answer.headers["x-should-retry"]) == (500, "false")
    assert "unexpected ZeroDivisionError" in answer.json()["error"]["message"]


def test_a_request_that_is_sent_again_finishes_its_turn(serving, asking):
    # The Vercel AI SDK asks three times after a status from 500 on, whatever the headers say.
    serving.model.says("One.").calls("report").fails(ProviderUnavailableError("overloaded")).says("Two.").says("Three.")
    talk = [user("a"), assistant("One."), user("b")]
    first, failed, again, later = asking(talk[:1], talk, talk, [*talk, assistant("Two."), user("c")])

    assert (failed.status_code, again.status_code) == (503, 200)
    assert again.json()["choices"][0]["message"]["content"] == "Two."
    assert len({each.headers["x-oneclaw-session"] for each in (first, again, later)}) == 1
    said = [each.content for each in serving.model.requests[-1].messages if each.type == "user"]
    assert said == ["a", "b", "c"]
    assert len([each for each in serving.model.requests[-1].messages if each.type == "tool_call"]) == 1


def test_words_are_compared():
    def said(text, role="user"):
        return Said.of(ChatMessage(role=role, content=text))

    assert said("Café — **now**").is_like(said("Cafe\u0301 — now"))
    assert said("+1").is_like(said("+1"))
    assert not said("🎉").is_like(said("👍"))
    assert not said("").is_like(said("anything"))
    assert not said("yes, In Bern", "assistant").is_like(said("In Bern", "assistant"))
    assert not said("berne").is_like(said("bern"))


def test_a_wrong_address_says_which_one_is_right(serving):
    paths = ("/chat/completions", "/v1/v1/chat/completions", "/v1/responses", "/v1/completions", "/api/chat")

    async def work(rig):
        async with await rig.program() as client:
            return [await client.post(path, json={}) for path in paths], rig.origin

    answers, origin = serving.run(work)
    assert {each.status_code for each in answers} == {404}
    assert all(f"{origin}/v1" in each.json()["error"]["message"] for each in answers)


@pytest.mark.parametrize(
    "piece", ["<think>", "<Thinking><thought>", '<details type="reasoning"', "</think><reasoning>"]
)
def test_thoughts_without_an_end_hold_no_one_up(piece):
    text = piece * (400_000 // len(piece))
    began = time.process_time()
    Said.of(ChatMessage(role="assistant", content=text))
    assert time.process_time() - began < 10  # it took minutes


def test_thoughts_are_no_words_of_an_answer():
    for text in (
        "<think>a</think>Yes",
        "Yes<REASONING>a<think>b</REASONING>",
        '<details type="reasoning" x>a</details>Yes',
    ):
        assert Said.of(ChatMessage(role="assistant", content=text)) == Said.of(
            ChatMessage(role="assistant", content="Yes")
        )
    unfinished = ChatMessage(role="assistant", content="Yes<think>a</thinking>")
    assert "a" in Said.of(unfinished).words


@pytest.mark.parametrize("name", some(["a\r\nSet-Cookie: b=c", "a\0b", "a\x1b[2J", "é\u202eb"], 2))
def test_the_name_of_a_member_makes_no_header(serving, asking, name):
    serving.model.says("One.")
    (answer,) = asking({name: 1})
    assert answer.status_code == 200
    assert answer.headers["x-oneclaw-notice"].startswith(("a", "?"))
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("member", some(["content", "stop", "metadata", "unknown"], 3))
def test_a_body_that_is_nested_deep_is_refused_as_one(serving, asking, member):
    deep = json.loads("[" * 300 + "]" * 300)
    body = {"messages": [{**user("Hi"), "content": ["Hi", deep]}]} if member == "content" else {member: deep}
    (answer,) = asking(body)
    assert answer.status_code == 400
    assert "nested" in answer.json()["error"]["message"]


def test_more_text_than_any_model_reads_is_refused(serving, asking):
    (answer,) = asking([user("a" * 4_000_001), assistant("b"), user("c" * 4_000_000)])
    assert answer.json()["error"]["type"] == "context_length_exceeded"


@pytest.mark.long
def test_what_takes_a_question_is_denied_to_a_program(serving, asking):
    serving.model.calls("forecast", city="Rome").says("I may not.")
    (answer,) = asking([user("The weather?")])
    assert answer.json()["choices"][0]["message"]["content"] == "I may not."
    told = str(serving.model.requests[-1].messages[-1].content)
    assert "a program cannot answer for the user" in told
    assert "sun in Rome" not in told
