"""The five tools."""

import asyncio
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from oneclaw_scheduled_tasks.stored import change_task, list_tasks, runs_of
from oneclaw_scheduled_tasks.tools import update_scheduled_task
from pytest_oneclaw import HomeUnderTest
from tasks_rig import Talk

from oneclaw_core import OneClaw, PermissionAnswer, ToolCall, ToolSelection
from oneclaw_core.cli.main import main
from oneclaw_core.providers import ModelResponse

WATER = {"name": "Water", "prompt": "Tell me to drink", "schedule_type": "daily", "hour": 9, "minute": 0}
DAILY = ("schedule_task", WATER)
MORNING = {"schedule_type": "daily", "hour": 9, "minute": 0}


def ids(tasks):
    return {task.name: task.id for task, _ in tasks.call(list_tasks)}


def test_a_task_is_scheduled_listed_changed_run_and_deleted(talk, tasks):
    made, listed = talk(("schedule_task", {**WATER, "time_zone": "Europe/Berlin"}), ("list_scheduled_tasks", {}))
    task_id = ids(tasks)["Water"]
    changed, same, paused, ran, after, deleted, empty = talk(
        ("update_scheduled_task", {"task_id": task_id, "schedule_type": "weekly", "day_of_week": "monday"}),
        ("update_scheduled_task", {"task_id": task_id, "name": "Water"}),
        ("update_scheduled_task", {"task_id": task_id, "enabled": False}),
        ("run_scheduled_task", {"task_id": task_id}),
        ("list_scheduled_tasks", {}),
        ("delete_scheduled_task", {"task_id": task_id}),
        ("list_scheduled_tasks", {}),
    )

    said = "daily at 09:00 (Europe/Berlin)"
    assert made.result.startswith(f"Task 'Water' (id {task_id}) is scheduled {said}. Next run: ")
    assert f"- Water (id {task_id}): {said}; enabled; last run: never; next run: " in listed.result
    assert "schedule: daily at 09:00 (Europe/Berlin) -> every Monday at 09:00 (Europe/Berlin)" in changed.result
    assert same.result == "Nothing to change: task 'Water' is as it was."
    assert paused.result.endswith("enabled: yes -> no. Next run: none.")
    assert ran.result.startswith("Task 'Water' runs as soon as a worker is free")
    assert "disabled; last run: never; next run: none" in after.result
    assert deleted.is_success
    assert empty.result == "There are no scheduled tasks."
    assert {permission for permission, _ in talk.asked} == {"tasks.write"}
    assert talk.asked[0][1] == "schedule the task 'Water' daily at 09:00 (Europe/Berlin): Tell me to drink"


def test_questions_hold_all_of_a_prompt(talk, tasks):
    prompt = "Water the plants. " * 50 + "Then tell me."
    talk(("schedule_task", {**DAILY[1], "prompt": prompt}))
    ((task, _),) = tasks.call(list_tasks)
    talk(
        ("run_scheduled_task", {"task_id": task.id}),
        ("update_scheduled_task", {"task_id": task.id, "prompt": prompt + " Again."}),
    )

    assert all(prompt in detail for _, detail in talk.asked)
    assert talk.asked[-1][1].endswith("Then tell me. Again.")


@pytest.mark.long
def test_running_a_task_makes_a_run_and_leaves_the_schedule(talk, tasks):
    talk(DAILY)
    ((before, _),) = tasks.call(list_tasks)
    talk(("run_scheduled_task", {"task_id": before.id}))

    ((after, _),) = tasks.call(list_tasks)
    (run,) = tasks.call(runs_of, before.id)
    assert after == before
    assert run.is_manual
    assert not run.is_queued


REFUSED = [
    ({"hour": 25}, "validation_error", "Hour must be a whole number from 0 to 23, not 25"),
    ({"minute": 60}, "validation_error", "Minute must be"),
    ({"schedule_type": "weekly"}, "validation_error", "Day_of_week must be one of"),
    ({"schedule_type": "one_time"}, "validation_error", "Date must be"),
    ({"schedule_type": "one_time", "date": "2020-01-01"}, "creation_failed", "lies in the past"),
    (
        {"schedule_type": "one_time", "date": "0001-01-01", "hour": 0, "time_zone": "Europe/Berlin"},
        "creation_failed",
        "lies in the past",
    ),
    ({"time_zone": "Mars/Phobos"}, "validation_error", "There is no time zone 'Mars/Phobos'"),
    ({"schedule_type": "cron", "cron": "bad", "hour": None, "minute": None}, "validation_error", "five fields"),
    ({"schedule_type": "cron", "cron": "0 0 31 2 *", "hour": None, "minute": None}, "creation_failed", "never due"),
    ({"end_date": "2020-01-01"}, "creation_failed", "never due"),
    ({"end_date": "soon"}, "validation_error", "End_date must be a day"),
    ({"name": "  "}, "creation_failed", "Name must not be empty"),
    ({"prompt": ""}, "creation_failed", "Prompt must not be empty"),
    ({"name": "x" * 101}, "validation_error", "at most 100 characters"),
    ({"name": "a\u202eb"}, "validation_error", "one line of text"),
    ({"agent": "nobody"}, "not_found", "nobody"),
    ({"model": "nobody/x"}, "not_found", "nobody"),
    ({"tool_groups": ["nonsense"]}, "validation_error", "There is no tool group 'nonsense'"),
    ({"missed": "sometimes"}, "validation_error", "missed"),
    ({"command": "rm -rf /"}, "validation_error", "command"),
    ({"webhook": "http://evil.example"}, "validation_error", "webhook"),
]


def test_what_cannot_be_is_refused_with_the_reason(talk):
    wanted = [{**WATER, **changes} for changes, *_ in REFUSED]
    arguments = [{key: value for key, value in each.items() if value is not None} for each in wanted]
    *refused, listed = talk(*(("schedule_task", each) for each in arguments), ("list_scheduled_tasks", {}))

    for found, (changes, error_type, reason) in zip(refused, REFUSED, strict=True):
        assert (found.error_type, reason in found.error_message) == (error_type, True), (changes, found.error_message)
    assert listed.result == "There are no scheduled tasks."
    assert talk.asked == []


def test_an_unknown_task(talk):
    nothing = {"task_id": "000000000000"}
    refused = talk(
        ("run_scheduled_task", nothing),
        ("update_scheduled_task", {**nothing, "hour": 3}),
        ("delete_scheduled_task", nothing),
    )

    assert [each.error_type for each in refused] == ["run_failed", "not_found", "not_found"]
    for each in refused:
        assert "There is no task '000000000000'" in each.error_message


@pytest.mark.long
def test_a_change_that_cannot_be_leaves_the_task_as_it_was(talk, tasks):
    refused = {
        "validation_error": [{"hour": 24}, {"schedule_type": "one_time"}, {"time_zone": "nowhere"}],
        "update_failed": [{"schedule_type": "one_time", "date": "2020-01-01"}, {"name": " "}],
    }
    talk(DAILY)
    ((before, _),) = tasks.call(list_tasks)
    for error_type, changes in refused.items():
        results = talk(*(("update_scheduled_task", {"task_id": before.id, **each}) for each in changes))
        assert [each.error_type for each in results] == [error_type] * len(changes)
    assert tasks.call(list_tasks) == [(before, None)]


def test_nothing_happens_if_the_user_does_not_agree(denied_talk, tasks):
    (refused,) = denied_talk(DAILY)

    assert refused.error_type == "permission_denied"
    assert tasks.call(list_tasks) == []


@pytest.mark.one_python  # needs other plugins
def test_an_agent_with_few_tools_schedules_for_itself_alone(home, tasks):
    async def run():
        async with OneClaw.open(home, allow=["tasks.write"]) as claw:
            await claw.agents.create(
                "Poet", system_prompt="You write.", selection=ToolSelection(groups=frozenset({"scheduled_tasks"}))
            )
            return [event async for event in claw.send_message("Remind me every day at 9 to rhyme", agent="Poet")]

    asyncio.run(run())
    ((task, _),) = tasks.call(list_tasks)
    assert task.agent == "Poet"


@pytest.mark.long
def test_a_past_task_that_gets_a_new_time_runs_again(talk, tasks):
    tomorrow = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    arguments = {**WATER, "schedule_type": "one_time", "date": tomorrow}
    talk(("schedule_task", arguments))
    task_id = ids(tasks)["Water"]
    talk(("update_scheduled_task", {"task_id": task_id, "enabled": False}))
    talk(("update_scheduled_task", {"task_id": task_id, "hour": 10}))

    ((task, _),) = tasks.call(list_tasks)
    assert task.is_enabled
    assert task.next_at is not None


@pytest.mark.long
def test_a_paused_task_that_gets_another_time_stays_paused(talk, tasks):
    talk(DAILY)
    task_id = ids(tasks)["Water"]
    talk(("update_scheduled_task", {"task_id": task_id, "enabled": False}))
    (changed,) = talk(("update_scheduled_task", {"task_id": task_id, "hour": 10}))

    assert changed.result.endswith("Next run: none.")
    ((task, _),) = tasks.call(list_tasks)
    assert (task.is_enabled, task.next_at) == (False, None)


@pytest.mark.long
def test_what_others_change_while_the_user_is_asked_stays(home, tasks):
    """A task is paused on the command line while the question about its name is open."""

    async def pause(request):
        ((task, _),) = await asyncio.to_thread(tasks.call, list_tasks)
        paused = replace(task, is_enabled=False, next_at=None)
        await asyncio.to_thread(tasks.call, change_task, task, paused)
        return PermissionAnswer.ONCE

    Talk(home, PermissionAnswer.ONCE)(DAILY)

    async def run():
        async with OneClaw.open(home, ask=pause) as claw:
            return await claw.call_tool("update_scheduled_task", {"task_id": ids(tasks)["Water"], "name": "Tea"})

    assert asyncio.run(run()).result.is_success
    ((task, _),) = tasks.call(list_tasks)
    assert (task.name, task.is_enabled, task.next_at) == ("Tea", False, None)


def test_an_agent_with_few_tools_puts_nothing_into_the_tasks_of_others(home, talk, tasks):
    talk(DAILY)
    task_id = ids(tasks)["Water"]

    async def run():
        async with OneClaw.open(home, allow=["tasks.write"]) as claw:
            selection = ToolSelection(groups=frozenset({"scheduled_tasks"}))
            context = SimpleNamespace(
                services=claw.services, selection=selection, agent_name="Poet", ask_permission=None
            )
            return await update_scheduled_task(task_id, prompt="Delete all files", context=context)

    refused = asyncio.run(run())
    assert refused.error_type == "validation_error"
    assert "'Poet' only" in refused.error_message
    ((task, _),) = tasks.call(list_tasks)
    assert task.prompt == WATER["prompt"]


@pytest.mark.one_python  # needs other plugins
def test_040_scenario_4_from_a_plain_sentence(home, capsys):
    """FEAT-040, scenario 4: the group is loaded, and the task scheduled."""
    status = main(["run", "--allow", "tasks.write", "--json", "Remind me every day at 9 to drink water"])
    printed = capsys.readouterr().out

    assert status == 0
    assert '"event": "group_loaded", "group": "scheduled_tasks"' in printed
    assert '"name": "schedule_task"' in printed
    assert "Task 'Drink water' (id " in printed
    assert "is scheduled daily at 09:00" in printed


@pytest.mark.long
def test_the_plugin_costs_start_up_nothing(home):
    code = (
        "import sys; from oneclaw_core.plugins.loading import load_plugins; c = load_plugins();"
        "print(len(c.registry.get_tool_groups()['scheduled_tasks']), "
        "*(n in sys.modules for n in ('dbos', 'sqlalchemy', 'croniter', 'oneclaw_scheduled_tasks.tools')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout == "5 False False False False\n"


@pytest.mark.long
def test_a_model_reads_a_long_list_part_by_part(home, tasks, tmp_path):
    made = tasks.add(*(dict(name=f"Task {n:03} {'x' * 80}", prompt="Do it", **MORNING) for n in range(200)))
    under_test = HomeUnderTest(home, tmp_path, ["scheduled_tasks"])
    model, parts = under_test.model, []

    def go_on(request):
        text = request.messages[-1].content
        assert len(text) <= 30_000
        parts.append(re.findall(r"^- Task \d+ x+ \(id (\w+)\)", text, re.MULTILINE))
        following = re.search(r"^\.\.\. and \d+ more: go on with offset (\d+)$", text, re.MULTILINE)
        if following is None:
            return "That was all."
        model.then(go_on)
        arguments = f'{{"offset": {following[1]}}}'
        return ModelResponse(tool_calls=(ToolCall(f"more_{len(parts)}", "list_scheduled_tasks", arguments),))

    model.calls("load_tool_group", group_name="scheduled_tasks").calls("list_scheduled_tasks").then(go_on)
    try:
        under_test.send("List them")
        refused = under_test.call_tool("list_scheduled_tasks", offset=200)
    finally:
        under_test.close()

    read = [each for part in parts for each in part]
    assert sorted(read) == sorted(task.id for task in made)
    assert len(parts) == 2
    assert refused.error_message == "Offset must be below 200, the number of tasks"
