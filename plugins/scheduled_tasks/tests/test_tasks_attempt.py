"""Attempts at runs in this process, with the offline model; and what is sent where a run is taken up."""

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import aclosing
from datetime import UTC, datetime

import pytest
from oneclaw_scheduled_tasks import attempt as attempt_module
from oneclaw_scheduled_tasks.attempt import CONTINUATION, CONTINUATION_WITH_REPEATS, attempt, done_in, message_to_send
from oneclaw_scheduled_tasks.task import Run, RunStatus, Task, run_id
from some_schedules import daily

from oneclaw_core import Message, MessageType, OneClaw, ToolCallStatus
from oneclaw_core.permissions import Grant

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def task(prompt="What time is it?", **values):
    return Task(
        id="0123456789ab",
        name="Clock",
        prompt=prompt,
        schedule=daily(9, 0),
        time_zone="UTC",
        created_at=NOW,
        anchor=NOW,
        **{"agent": "General Assistant"} | values,
    )


def run(**values):
    return Run(**{"id": "r1", "task_id": "0123456789ab", "scheduled_at": NOW, "not_before": NOW} | values)


def attempts(home, *tasks_and_runs, before=None):
    """Make attempts one after the other; give their outcomes, what was recorded, and the histories."""
    recorded = {}

    async def record(**columns):
        recorded.update(columns)
        return True

    async def go():
        async with OneClaw.open(home) as claw:
            if before is not None:
                await before(claw)
            outcomes = [await attempt(claw, each, its_run, record) for each, its_run in tasks_and_runs]
            session = recorded.get("session")
            history = await claw.store.messages(session) if session else []
            found = await claw.store.find_session(session) if session else None
            return outcomes, recorded, history, found

    return asyncio.run(go())


@pytest.mark.one_python  # needs other plugins
def test_a_run_that_makes_up_for_another_one_is_told_which(home):
    made_up = run(id=run_id("0123456789ab", NOW), is_manual=True)

    _, _, history, _ = attempts(home, (task(), made_up))

    assert history[0].content.endswith(
        "?\n\nThis run makes up for the one that was due on Thursday 2026-01-01 12:00 UTC."
    )


@pytest.mark.one_python  # needs other plugins
def test_an_attempt_is_a_turn_in_a_session_titled_after_the_task(home):
    (outcome,), recorded, history, session = attempts(home, (task(), run()))

    assert outcome.answer.startswith("`get_current_time` answers: ")
    assert session.title == "[Scheduled] Clock"
    assert recorded["is_cut_off"] is False
    assert history[0].content == "What time is it?"


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_only_the_groups_of_the_task_are_offered_and_they_are_loaded(home):
    alone = task("Load the tools of the group scheduled_tasks", tool_groups=())
    with_group = task("List my scheduled tasks", tool_groups=("scheduled_tasks",))
    (without, listed), _, history, _ = attempts(home, (alone, run(id="r1")), (with_group, run(id="r2")))

    assert "load_tool_group" not in without.answer
    assert "There are no scheduled tasks" in listed.answer
    names = [each.tool_name for each in history if each.type is MessageType.TOOL_CALL]
    assert names == ["load_tool_group", "list_scheduled_tasks"]


@pytest.mark.long
def test_an_agent_that_is_gone_and_a_model_that_cannot_be_asked(home):
    no_agent, no_model = task(agent="Nobody"), task(model="openai/gpt")
    (first, second), *_ = attempts(home, (no_agent, run(id="r1")), (no_model, run(id="r2")))

    assert not first.may_retry
    assert "Nobody" in first.error
    assert second.answer is None
    assert second.error


@pytest.mark.one_python  # needs other plugins
def test_a_run_has_its_time(home, counting_server):
    slow = task(f"Send a GET request to {counting_server.url}/hold", max_seconds=1)

    async def grant(claw):
        await claw.store.set_grant(Grant("network.private"))

    (outcome,), *_ = attempts(home, (slow, run()), before=grant)
    assert outcome.error == "it was stopped after 1 seconds, the task's max_seconds"
    assert outcome.may_retry


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_a_run_that_the_user_stops_is_not_tried_again(home, counting_server):
    slow = task(f"Send a GET request to {counting_server.url}/hold")
    program = [sys.executable, "-m", "oneclaw_core", "sessions", "stop", "scheduled-r1"]

    def stop():
        counting_server.wait_for("/hold")
        subprocess.run(program, env=os.environ | {"ONECLAW_HOME": str(home)}, check=True)

    async def grant(claw):
        await claw.store.set_grant(Grant("network.private"))
        threading.Thread(target=stop).start()

    (outcome,), *_ = attempts(home, (slow, run()), before=grant)
    assert outcome.error == "the turn was stopped by the user; send another message to go on"
    assert not outcome.may_retry


@pytest.mark.one_python  # needs other plugins
def test_what_is_denied_is_noted(home, monkeypatch):
    monkeypatch.setenv("ONECLAW_SANDBOX", "off")
    (outcome,), *_ = attempts(home, (task("Run the command: echo hello"), run()))

    assert len(outcome.notes) == 1
    assert outcome.notes[0].startswith("exec: Permission 'shell.execute' is not granted, and no one can be asked")
    assert outcome.notes[0].endswith(f" --task {task().id}")


@pytest.mark.one_python  # needs other plugins
@pytest.mark.parametrize("status", [RunStatus.INTERRUPTED, RunStatus.WAITING])  # the latter after a busy session
def test_the_answer_of_a_turn_that_was_finished_is_taken(home, status):
    finished = run(status=status)
    (first, again), _, history, _ = attempts(home, (task(), run()), (task(), finished))

    assert again.answer == first.answer
    assert len([each for each in history if each.type is MessageType.USER]) == 1


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
@pytest.mark.parametrize(
    "state",
    [{"status": RunStatus.INTERRUPTED, "is_cut_off": True}, {"attempt": 2, "is_cut_off": True}],
)
def test_a_turn_that_was_cut_off_is_gone_on_with(home, state):
    (_, again), _, history, _ = attempts(home, (task(), run()), (task(), run(**state)))

    assert [each.content for each in history if each.type is MessageType.USER] == ["What time is it?", CONTINUATION]
    assert [each.tool_name for each in history if each.type is MessageType.TOOL_CALL].count("get_current_time") == 1
    assert again.answer


@pytest.mark.one_python  # needs other plugins
def test_a_session_that_is_busy_is_waited_for(home, monkeypatch):
    monkeypatch.setattr(attempt_module, "SESSION_WAIT_SECONDS", 0.05)

    async def record(**columns):
        return True

    async def go():
        async with (
            OneClaw.open(home) as claw,
            aclosing(claw.send_message("What time is it?", session="scheduled-r1")) as of_the_user,
        ):
            await anext(of_the_user)
            return await attempt(claw, task(), run(), record)

    outcome = asyncio.run(go())
    assert outcome.is_busy
    assert "is busy" in outcome.error


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_the_answer_of_a_worker_that_was_taken_for_dead_is_waited_for(home, counting_server, monkeypatch):
    monkeypatch.setattr(attempt_module, "SESSION_WAIT_SECONDS", 60)
    slow = task(f"Send a GET request to {counting_server.url}/hold")

    async def record(**columns):
        return True

    async def go():
        async with OneClaw.open(home) as claw:
            await claw.store.set_grant(Grant("network.private"))
            first = asyncio.create_task(attempt(claw, slow, run(), record))
            await asyncio.to_thread(counting_server.wait_for, "/hold")
            second = asyncio.create_task(attempt(claw, slow, run(status=RunStatus.INTERRUPTED), record))
            await asyncio.wait([second], timeout=1)
            counting_server.released.set()
            outcomes = await asyncio.gather(first, second)
            return outcomes, await claw.store.messages((await claw.store.find_session("scheduled-r1")).id)

    (first, second), history = asyncio.run(go())
    assert first.answer == second.answer
    assert [each.content for each in history if each.type is MessageType.USER] == [slow.prompt]
    assert counting_server.hits == {"/hold": 1}


@pytest.mark.one_python  # needs other plugins
@pytest.mark.parametrize("records", [0, 1])
def test_a_run_that_is_another_workers_by_now_has_no_effect(home, counting_server, records):
    left = [True] * records

    async def record(**columns):
        return left.pop() if left else False

    async def go():
        async with OneClaw.open(home) as claw:
            await claw.store.set_grant(Grant("network.private"))
            return await attempt(claw, task(f"Send a GET request to {counting_server.url}/hit"), run(), record)

    outcome = asyncio.run(go())
    assert outcome.answer is None
    assert counting_server.hits == {}


def call(name, call_id="c1"):
    return Message(type=MessageType.TOOL_CALL, tool_name=name, tool_call_id=call_id, tool_input="{}")


def result(name, error_type=None, call_id="c1"):
    status = ToolCallStatus.ERROR if error_type else ToolCallStatus.SUCCESS
    return Message(
        type=MessageType.TOOL_RESULT, tool_name=name, tool_call_id=call_id, tool_status=status, error_type=error_type
    )


@pytest.mark.parametrize(
    ("history", "careful", "repeating"),
    [
        ([], "PROMPT", "PROMPT"),
        ([call("load_tool_group"), result("load_tool_group")], "PROMPT", "PROMPT"),
        ([call("post")], CONTINUATION, "PROMPT"),
        ([call("post"), result("post", "interrupted")], CONTINUATION, "PROMPT"),
        ([call("post"), result("post")], CONTINUATION, CONTINUATION_WITH_REPEATS),
        ([call("post"), result("post", "timeout")], CONTINUATION, CONTINUATION_WITH_REPEATS),
        ([call("a"), result("a"), call("b", "c2")], CONTINUATION, CONTINUATION_WITH_REPEATS),
    ],
)
def test_what_is_sent_where_a_run_is_taken_up(history, careful, repeating):
    assert message_to_send(task("PROMPT"), *done_in(history)) == careful
    assert message_to_send(task("PROMPT", repeats_calls=True), *done_in(history)) == repeating
