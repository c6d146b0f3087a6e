"""Sessions, turns and their events, approvals, and the clients of strangers."""

from __future__ import annotations

import asyncio
import json
import re

import openai
import pytest
from web_site import read_events


@pytest.mark.long
def test_a_turn_is_followed_by_its_events_and_ends_in_the_history(serving):
    serving.model.says("Hello **there**.")

    async def work(rig):
        async with await rig.program() as client:
            session = (await client.post("/api/sessions", json={"title": "Greeting"})).json()["id"]
            sent = await client.post(f"/api/sessions/{session}/messages", json={"text": "Hi"})
            events = await read_events(client, session)
            history = (await client.get(f"/api/sessions/{session}/messages?html=1")).json()
            return sent, events, history

    sent, events, history = serving.run(work)
    assert sent.status_code == 202
    assert events[0][1]["event"] == "turn_started"
    assert "".join(data["text"] for _, data in events if data["event"] == "text") == "Hello **there**."
    assert events[-1][1]["status"] == "finished"
    assert [each["type"] for each in history["messages"]] == ["user", "assistant"]
    assert history["messages"][1]["html"] == "<p>Hello <strong>there</strong>.</p>\n"
    assert history["cursor"] == events[-1][0]


def test_a_client_that_comes_back_gets_each_event_once(serving):
    serving.model.calls("forecast", city="Bern").says("Sun.")

    async def work(rig):
        async with await rig.browser() as client:
            session = (await client.post("/api/sessions", json={})).json()["id"]
            await client.post(f"/api/sessions/{session}/messages", json={"text": "Weather?"})
            first = await read_events(client, session, until="approval")
            # In the middle of the turn: a page that is loaded now begins before the turn.
            reloaded = (await client.get(f"/api/sessions/{session}/messages")).json()
            (question,) = (await client.get("/api/approvals")).json()["questions"]
            wrong = await client.post(f"/api/approvals/{question['id']}", json={"answer": "maybe"})
            await client.post(f"/api/approvals/{question['id']}", json={"answer": "once"})
            again = await client.post(f"/api/approvals/{question['id']}", json={"answer": "no"})
            rest = await read_events(client, session, after=first[-1][0])
            whole = await read_events(client, session, after=reloaded["cursor"])
            return first, reloaded, question, wrong, again, rest, whole

    first, reloaded, question, wrong, again, rest, whole = serving.run(work)
    assert reloaded["messages"] == []
    assert reloaded["questions"][0]["id"] == question["id"]
    assert question["choices"][0]["answer"] == "once"
    assert (wrong.status_code, again.status_code) == (400, 409)
    assert first + rest == whole
    assert next(data for _, data in rest if data["event"] == "tool_result")["status"] == "success"
    assert rest[-1][1]["status"] == "finished"


@pytest.mark.long
def test_a_turn_that_waits_can_be_stopped(serving):
    serving.model.calls("forecast", city="Bern")

    async def work(rig):
        async with await rig.browser() as client:
            session = (await client.post("/api/sessions", json={})).json()["id"]
            await client.post(f"/api/sessions/{session}/messages", json={"text": "Weather?"})
            await read_events(client, session, until="approval")
            stopped = (await client.post(f"/api/sessions/{session}/stop", json={})).json()
            events = await read_events(client, session)
            return stopped, events[-1][1], (await client.get("/api/approvals")).json()

    stopped, last, approvals = serving.run(work)
    assert stopped == {"stopped": True}
    assert last["status"] == "interrupted"
    assert approvals == {"questions": []}


def test_a_repeated_request_is_done_once(serving):
    serving.model.says("Once.")

    async def work(rig):
        async with await rig.program() as client:
            session = (await client.post("/api/sessions", json={})).json()["id"]
            place, headers = f"/api/sessions/{session}/messages", {"Idempotency-Key": "k1"}
            answers = [await client.post(place, json={"text": "Hi"}, headers=headers) for _ in range(2)]
            other = await client.post(place, json={"text": "Bye"}, headers=headers)
            await read_events(client, session)
            return answers, other, (await client.get(place)).json()["messages"]

    answers, other, messages = serving.run(work)
    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["idempotent-replay"] == "true"
    assert other.status_code == 422
    assert [each["text"] for each in messages] == ["Hi", "Once."]


def test_the_openai_library_talks_to_an_agent_and_continues_its_session(serving):
    serving.model.calls("forecast", city="Bern").says("I may not.").says("Bern.")

    async def work(rig):
        token = (await rig.program("chat")).headers["Authorization"].removeprefix("Bearer ")
        async with openai.AsyncOpenAI(base_url=f"{rig.origin}/v1", api_key=token, max_retries=0) as client:
            models = [each.id async for each in await client.models.list()]
            talk = [{"role": "user", "content": "Weather in Bern?"}]
            first = await client.chat.completions.create(model=models[0], messages=talk)
            talk += [{"role": "assistant", "content": first.choices[0].message.content}]
            talk += [{"role": "user", "content": "Which city?"}]
            stream = await client.chat.completions.create(
                model=models[0], messages=talk, stream=True, stream_options={"include_usage": True}
            )
            chunks = [each async for each in stream]
            try:
                await client.chat.completions.create(model="nobody", messages=talk)
            except openai.NotFoundError as error:
                missing = error
            return models, first, chunks, missing, await rig.claw.store.list_sessions(None)

    models, first, chunks, missing, sessions = serving.run(work)
    assert models == ["General Assistant"]
    assert first.choices[0].message.content == "I may not."
    assert first.choices[0].message.tool_calls is None
    assert "".join(each.choices[0].delta.content or "" for each in chunks if each.choices) == "Bern."
    assert chunks[-1].usage.total_tokens > 0
    assert "there is no agent" in str(missing)
    assert len(sessions) == 1


def test_the_description_names_every_route(serving):
    async def work(rig):
        async with await rig.program() as client:
            return (await client.get("/openapi.json")).json()

    document = serving.run(work)
    assert document["paths"]["/api/approvals/{id}"]["post"]["security"] == [{"login": []}]
    assert document["components"]["schemas"]["NewMessage"]["additionalProperties"] is False
    assert {"/v1/chat/completions", "/api/sessions/{session}/events", "/api/usage"} <= set(document["paths"])


@pytest.mark.long
def test_many_streams_of_one_session_get_the_same(serving):
    serving.model.says("To all.")

    async def work(rig):
        async with await rig.program() as client:
            session = (await client.post("/api/sessions", json={})).json()["id"]
            streams = [asyncio.create_task(read_events(client, session)) for _ in range(20)]
            await client.post(f"/api/sessions/{session}/messages", json={"text": "Hi"})
            return await asyncio.gather(*streams)

    first, *others = serving.run(work)
    assert all(each == first for each in others)


@pytest.mark.long
def test_a_message_is_sent_in_the_place_of_the_last_one(serving):
    serving.model.says("One.").says("Two.").says("Three.")

    async def work(rig):
        async with await rig.program() as client:
            session = (await client.post("/api/sessions", json={})).json()["id"]
            early = await client.post(f"/api/sessions/{session}/edit", json={"text": "x"})
            after = None
            for path, text in (("messages", "first"), ("messages", "secnod"), ("edit", "second")):
                await client.post(f"/api/sessions/{session}/{path}", json={"text": text})
                after = (await read_events(client, session, after=after))[-1][0]
            return early, (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]

    early, messages = serving.run(work)
    assert early.status_code == 409
    assert [each["text"] for each in messages] == ["first", "One.", "second", "Three."]


def test_a_person_chooses_by_commands_and_a_program_sends_text(serving):
    serving.model.says("One.").says("Two.")

    async def work(rig):
        async with await rig.browser() as person, await rig.program() as program:
            session = (await program.post("/api/sessions", json={})).json()["id"]

            async def command(text, session=session, **more):
                return (await person.post("/api/commands", json={"text": text, "session": session, **more})).json()

            answers = [await command(each) for each in ("/help", "/reasoning low", "/reasoning", "/nonsense", "Hi")]
            chosen = await command("/agent", None, agent="General Assistant")
            refused = await program.post("/api/commands", json={"text": "/help", "session": session})
            await program.post(f"/api/sessions/{session}/messages", json={"text": "/help"})
            last = (await read_events(program, session))[-1][0]
            asked = await command("/diary write")
            written = await command("/diary write", confirmed=[asked["text"]])
            sent = await command("/steer And now?")
            await read_events(program, session, after=last)
            history = (await program.get(f"/api/sessions/{session}/messages")).json()["messages"]
            return answers, chosen, refused.status_code, asked, written, sent, history

    answers, chosen, refused, asked, written, sent, history = serving.run(work)
    help_, low, shown, unknown, message = answers
    assert "/diary" in help_["text"]
    assert (low["text"], shown["text"]) == ("reasoning: low", "reasoning: low")
    assert "there is no command /nonsense" in unknown["error"]["message"]
    assert message == {"state": "message"}
    assert (chosen["text"], chosen["agent"]) == ("agent: General Assistant", "General Assistant")
    assert refused == 403
    assert (asked, written["text"]) == ({"state": "question", "text": "Write it?"}, "Dear diary")
    assert (sent["state"], sent["send"]) == ("done", None)
    assert [each["text"] for each in history] == ["/help", "One.", "And now?", "Two."]
    assert serving.model.requests[0].reasoning == "low"


def test_commands_work_on_what_waits_for_a_turn(serving):
    serving.model.calls("forecast", city="Bern")

    async def work(rig):
        async with await rig.browser() as client:
            session = (await client.post("/api/sessions", json={})).json()["id"]
            place = f"/api/sessions/{session}/messages"

            async def command(text):
                return (await client.post("/api/commands", json={"text": text, "session": session})).json()

            await client.post(place, json={"text": "Weather?"})
            await read_events(client, session, until="approval")
            picture = {"name": "a.png", "media_type": "image/png", "data": "iVBORw0KGgo="}
            states = [
                (await client.post(place, json=each)).json()["state"]
                for each in ({"text": "first"}, {"text": "look", "attachments": [picture]}, {"text": "then"})
            ]
            queue = [await command("/queue"), await command("/steer"), await command("/queue")]
            refused = await command("/model")
            await command("/queue clear")
            stopped = await command("/stop")
            await read_events(client, session)
            return states, [each["text"] for each in queue], refused, stopped, (await command("/queue"))["text"]

    states, (before, _, after), refused, stopped, left = serving.run(work)
    assert states == ["steering", "waiting", "waiting"]
    assert before == "1. first\n2. look\n3. then"
    assert after == "1. first\n2. then\n3. look"
    assert refused["error"]["type"] == "session_busy"
    assert (stopped["text"], left) == ("", "nothing waits")


@pytest.mark.long
@pytest.mark.needs("curl")
def test_curl_sends_a_message_and_goes_on_with_the_events(serving):
    serving.model.calls("report").says("Sent it.")

    async def work(rig):
        token = (await rig.program()).headers["Authorization"]

        async def curl(path, *options):
            command = ("curl", "--silent", "--show-error", "--header", f"Authorization: {token}", *options)
            process = await asyncio.create_subprocess_exec(
                *command, f"{rig.origin}{path}", stdout=asyncio.subprocess.PIPE
            )
            return (await process.communicate())[0].decode()

        session = json.loads(await curl("/api/sessions", "--json", "{}"))["id"]
        place = f"/api/sessions/{session}"
        sent = json.loads(await curl(f"{place}/messages", "--json", '{"text": "The report?"}'))
        async with await rig.program(name="other") as client:
            await read_events(client, session)
        whole = await curl(f"{place}/events", "--max-time", "1")
        ids = re.findall(r"^id: (\d+)$", whole, re.MULTILINE)
        rest = await curl(f"{place}/events", "--max-time", "1", "--header", f"Last-Event-ID: {ids[2]}")
        result = next(json.loads(each) for each in re.findall(r"^data: (.*)$", whole, re.MULTILINE) if "files" in each)
        file = await curl(f"{place}/files/{result['sequence']}/0")
        return sent, ids, re.findall(r"^id: (\d+)$", rest, re.MULTILINE), file

    sent, ids, rest, file = serving.run(work)
    assert sent["state"] == "started"
    assert rest == ids[3:]
    assert file == "day,sun"


@pytest.mark.long
def test_a_page_gets_texts_with_everything_in_them_visible(serving):
    serving.model.says("The answer\u202e is\u200b here.")

    async def work(rig):
        async with await rig.program() as client:
            made = (await client.post("/api/sessions", json={"title": "Tit\u202ele"})).json()
            await client.post(f"/api/sessions/{made['id']}/messages", json={"text": "Hel\u202elo"})
            await read_events(client, made["id"])
            path = f"/api/sessions/{made['id']}/messages"
            return made, (await client.get(f"{path}?html=1")).json(), (await client.get(path)).json()

    made, for_a_page, for_a_program = serving.run(work)
    assert made["title"] == "Tit\\u202ele"
    assert [each["text"] for each in for_a_page["messages"]] == ["Hel\\u202elo", "The answer\\u202e is\\u200b here."]
    assert for_a_page["messages"][1]["html"] == "<p>The answer\\u202e is\\u200b here.</p>\n"
    assert [each["text"] for each in for_a_program["messages"]] == ["Hel\u202elo", "The answer\u202e is\u200b here."]
