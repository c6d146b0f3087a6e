"""Sub-agents in parallel, as a model uses them."""

import asyncio
import json
import re

import pytest
from pytest_oneclaw import assert_tool_error

from oneclaw_core import MessageType, TokenUsage, ToolCall, ToolContext, TurnError, tool
from oneclaw_core.permissions import approval_question, question_text
from oneclaw_core.providers import ModelResponse
from oneclaw_core.sessions import Background

MODEL = "scripted/model"


@tool
async def open_door(context: ToolContext) -> str:
    """Open the door."""
    await context.ask_permission("door.open", "open the door")
    return "open"


@tool(reads=["outside", "private"])
async def read_mail() -> str:
    """Read the mail."""
    return "Dear you"


@pytest.fixture
def oneclaw_plugins():
    return ["agents"]


class Script:
    """A model that answers the conversation from one script, and each sub-agent from that of its task."""

    def __init__(self):
        self.main = []
        self.of_task = {}

    def answer(self, request):
        task = request.messages[0].content.split("\n")[0]
        return self.of_task.get(task, self.main).pop(0)(request)


def says(text):
    return lambda request: ModelResponse(text=text, usage=TokenUsage(input_tokens=600, output_tokens=500))


def calls(*named):
    """Call tools at once, each given by its name and arguments."""
    made = tuple(ToolCall("", name, json.dumps(arguments)) for name, arguments in named)
    return lambda request: ModelResponse(tool_calls=made, usage=TokenUsage(input_tokens=600, output_tokens=500))


def spawn(task, **arguments):
    return "spawn_agent", {"task": task, "name": task, **arguments}


LOAD = calls(("load_tool_group", {"group_name": "agents"}))
WAIT = calls(("wait_for_agents", {}))


@pytest.fixture
def script(oneclaw, monkeypatch):
    made = Script()
    monkeypatch.setattr(oneclaw.model, "answer", made.answer)
    return made


def results(record, name):
    return [each.result for each in record.tool_calls if each.name == name]


def background(oneclaw):
    return oneclaw.run(oneclaw.app.background.all_work())


@pytest.mark.long
def test_a_sub_agent_gives_data_by_a_schema(oneclaw, script):
    schema = {"type": "object", "properties": {"pages": {"type": "integer"}}, "required": ["pages"]}
    script.of_task = {
        "count": [calls(("final_result", {"pages": "six"})), calls(("final_result", {"pages": 6}))],
        "weigh": [says("heavy")] * 3,
    }
    script.main = [
        LOAD,
        calls(spawn("count", output_schema=schema), spawn("weigh", output_schema=schema)),
        WAIT,
        says("Done."),
    ]

    record = oneclaw.send("Look at it.", model=MODEL)

    (found,) = results(record, "wait_for_agents")
    assert '{"pages":6}' in found.result
    assert re.search(r"weigh-[0-9a-f]{8}: failed .*\nWithout an answer: .* no valid output", found.result)


def test_sub_agents_work_side_by_side_and_their_answers_come_back(oneclaw, script):
    script.of_task = {"count": [says("There are 3.")], "weigh": [says("It is heavy.")]}
    script.main = [LOAD, calls(spawn("count"), spawn("weigh")), WAIT, WAIT, says("Done.")]

    record = oneclaw.send("Look at it.", model=MODEL)

    first, second = results(record, "wait_for_agents")
    assert re.search(r"count-[0-9a-f]{8}: ended \(1 requests, 1,100 tokens\)\nThere are 3\.", first.result)
    assert "It is heavy." in first.result
    assert second.result == "No sub-agent works, and you have all answers."
    sessions = oneclaw.run(oneclaw.app.store.list_sessions())
    assert {each.parent_id for each in sessions if each.name != "test"} == {
        each.id for each in sessions if each.name == "test"
    }
    assert background(oneclaw) == []


@tool
async def sleep_long() -> str:
    """Sleep."""
    await asyncio.Event().wait()
    return ""


SLEEP = calls(("sleep_long", {}))


async def until(seen):
    while not seen:
        await asyncio.sleep(0.01)


@pytest.fixture
def asleep(oneclaw, script):
    """A conversation whose turn has ended while a sub-agent sleeps."""
    oneclaw.app.catalog.registry.register(sleep_long)
    script.of_task["doze"] = [SLEEP]
    script.main = [LOAD, calls(spawn("doze")), says("It works.")]
    oneclaw.send("Begin.", model=MODEL)
    (work,) = background(oneclaw)
    assert work.is_running
    assert work.id.startswith("doze-")
    return work.id


def test_a_sub_agent_outlives_the_turn_and_is_stopped(oneclaw, script, asleep):
    # One after the other: calls of one answer run at the same time.
    listed, stopped = calls(("list_sub_agents", {})), calls(("stop_agent", {"agent": asleep}))
    script.main = [listed, stopped, WAIT, says("Stopped.")]
    record = oneclaw.send("Stop it.", model=MODEL)
    assert f"{asleep}: running" in results(record, "list_sub_agents")[0].result
    assert results(record, "stop_agent")[0].result == f"Sub-agent {asleep} is stopped."
    assert "Without an answer: it was stopped." in results(record, "wait_for_agents")[0].result


@pytest.mark.long
def test_another_process_lists_and_stops_it_and_the_conversation_is_told(oneclaw, script, asleep):
    app = oneclaw.app
    other = Background(app.store, app.home.locks)
    assert [each.state for each in oneclaw.run(other.all_work())] == ["running"]
    assert oneclaw.run(other.stop(asleep)).id == asleep

    sent = []
    script.main = [lambda request: sent.append(request.messages[-1].content) or says("I see.")(request)] * 2
    oneclaw.send("And now?", model=MODEL)
    oneclaw.send("Once more?", model=MODEL)
    told = f'\n\n<context plugin="oneclaw">\nEnded in the background:\n- agent {asleep}: stopped\n</context>'
    assert sent == [f"And now?{told}", "Once more?"]


@pytest.mark.long
def test_what_the_end_of_the_program_cuts_off_is_reported(oneclaw, script, asleep):
    oneclaw.reopen()  # as after kill -9, the record says that it runs, and no process holds its lock
    assert [each.state for each in background(oneclaw)] == ["interrupted"]

    sent = []
    script.main = [lambda request: sent.append(request.messages[-1].content) or WAIT(request), says("I see.")]
    record = oneclaw.send("And now?", model=MODEL)
    assert f"- agent {asleep}: interrupted, because the program ended\n" in sent[0]
    assert "the program ended before it had" in results(record, "wait_for_agents")[0].result
    assert background(oneclaw) == []


def test_budgets_of_requests_tokens_and_seconds_hold(oneclaw, script):
    oneclaw.app.catalog.registry.register(sleep_long)
    again = calls(("list_sub_agents", {}))
    script.of_task = {"rounds": [again] * 3, "tokens": [again] * 3, "slow": [SLEEP]}
    limited = [spawn("rounds", max_requests=2), spawn("tokens", max_tokens=1000), spawn("slow", max_seconds=1)]
    script.main = [LOAD, calls(*limited), WAIT, says("Done.")]

    text = results(oneclaw.send("Go.", model=MODEL), "wait_for_agents")[0].result

    assert "stopped after 2 rounds of tool calls" in text
    assert "it has spent 1,100 tokens" in text
    assert "it was stopped after 1 s" in text


@pytest.mark.long
def test_what_they_use_counts_for_the_turn(oneclaw, script):
    oneclaw.run(oneclaw.app.configuration.settings.set("turn_max_tokens", "3000"))
    script.of_task = {"a": [says("a")], "b": [says("b")]}
    script.main = [LOAD, calls(spawn("a"), spawn("b")), WAIT, says("Done.")]
    with pytest.raises(TurnError, match="turn_max_tokens"):
        oneclaw.send("Go.", model=MODEL)


def test_they_have_no_more_tools_than_the_conversation_and_are_bounded(oneclaw, script):
    oneclaw.app.catalog.registry.register(sleep_long)
    oneclaw.run(oneclaw.app.configuration.settings.set("agents.max_running", "2"))
    seen = []
    look = lambda request: seen.append({each.name for each in request.tools}) or SLEEP(request)  # noqa: E731
    script.of_task = {"few": [look], "more": [SLEEP]}
    few = spawn("few", tools=["sleep_long"], groups=[])
    script.main = [
        LOAD,
        calls(few),
        calls(spawn("more")),
        calls(spawn("third")),
        calls(spawn("x", tools=["no"])),
        says("."),
    ]

    record = oneclaw.send("Go.", model=MODEL)
    oneclaw.run(asyncio.wait_for(until(seen), 30))  # they begin in their own time

    assert seen == [{"sleep_long"}]
    *_, third, unknown = results(record, "spawn_agent")
    assert_tool_error(third, "validation_error")
    assert "agents.max_running allows 2" in third.error_message
    assert "only what you have, which no is not" in unknown.error_message


def test_questions_go_to_the_person_of_the_conversation_and_name_the_sub_agent(oneclaw, script):
    oneclaw.app.catalog.registry.register(open_door)
    oneclaw.user.says("session")
    oneclaw.user.replies("the left one")
    asks = [calls(("load_tool_group", {"group_name": "session"})), calls(("ask_user", {"question": "Which?"}))]
    script.of_task = {"door": [calls(("open_door", {})), *asks, says("Open.")]}
    script.main = [LOAD, calls(spawn("door")), WAIT, calls(("open_door", {})), says("Done.")]

    oneclaw.send("Go.", model=MODEL)

    (request,) = oneclaw.user.asked  # an answer for the session holds for both
    (question,) = oneclaw.user.questions
    assert re.fullmatch(r"door-[0-9a-f]{8} \(General Assistant\)", question.sub_agent)
    assert f"for the sub-agent: {question.sub_agent}\n" in question_text(approval_question(request), 200)
    session = oneclaw.run(oneclaw.app.store.find_session("test"))
    assert {request.session_id, question.session_id} == {session.id}


@pytest.mark.long
def test_marks_follow_into_and_out_of_sub_agents(oneclaw, script):
    oneclaw.app.catalog.registry.register(read_mail)
    script.of_task = {"mail": [calls(("read_mail", {})), says("It says hello.")], "other": [says("ok")]}
    script.main = [LOAD, calls(spawn("mail")), WAIT, calls(spawn("other")), WAIT, says("Done.")]

    oneclaw.send("Go.", model=MODEL)

    async def marks_of_messages():
        found = {}
        for each in await oneclaw.app.store.list_sessions():
            for message in await oneclaw.app.store.messages(each.id):
                if message.type in (MessageType.USER, MessageType.TOOL_RESULT):
                    found[message.tool_name or message.content[:5]] = {str(mark.kind) for mark in message.marks}
        return found

    found = oneclaw.run(marks_of_messages())
    assert found["mail"] == {"composed"}
    assert found["wait_for_agents"] == {"outside", "private"}
    assert found["other"] == {"composed", "outside", "private"}


def test_they_run_one_another_two_deep(oneclaw, script):
    deeper = [LOAD, calls(spawn("inner")), WAIT, says("Done.")]
    script.of_task = {"outer": deeper, "inner": [LOAD, calls(spawn("innermost")), says("No further.")]}
    script.main = [LOAD, calls(spawn("outer")), WAIT, says("Done.")]
    oneclaw.send("Go.", model=MODEL)

    async def refusals():
        sessions = await oneclaw.app.store.list_sessions()
        messages = [message for each in sessions for message in await oneclaw.app.store.messages(each.id)]
        return [each.content for each in messages if each.error_type == "validation_error"]

    assert oneclaw.run(refusals()) == ["Agents run one another at most 2 deep: do the task yourself."]


def test_one_that_is_stopped_as_it_begins_does_not_work(oneclaw, script, monkeypatch):
    begin = Background.begin

    async def stopped(self, work, stop):
        await begin(self, work, stop)
        stop()

    monkeypatch.setattr(Background, "begin", stopped)
    script.of_task["count"] = []
    script.main = [LOAD, calls(spawn("count")), WAIT, says("Stopped.")]

    record = oneclaw.send("Begin.", model=MODEL)

    assert "Without an answer: it was stopped." in results(record, "wait_for_agents")[0].result
