"""What a run schedules, or writes into other tasks, can do no more than the run itself."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from how_long import some
from oneclaw_scheduled_tasks.attempt import attempt
from oneclaw_scheduled_tasks.stored import list_tasks
from oneclaw_scheduled_tasks.tables import add
from oneclaw_scheduled_tasks.task import Run, RunStatus, Task
from pytest_oneclaw import HomeUnderTest
from some_schedules import daily

from oneclaw_core import MessageType, ToolContext, ToolSelection, hookimpl, tool
from oneclaw_core.files import PathGuard

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
OWN = Task(
    id="0123456789ab",
    name="Own",
    prompt="Do it",
    schedule=daily(9, 0),
    time_zone="UTC",
    agent="General Assistant",
    model="scripted/model",
    created_at=NOW,
    anchor=NOW,
    tool_groups=("scheduled_tasks",),
)
RUN = Run(
    id="0123456789ab-20260101T090000Z",
    task_id=OWN.id,
    scheduled_at=NOW,
    not_before=NOW,
    status=RunStatus.RUNNING,
)
NEW = {"name": "New", "prompt": "More", "schedule_type": "daily", "hour": 9, "minute": 0}


@tool(group="papers")
def read_paper():
    """Read a paper."""


class Papers:
    """A plugin with another group."""

    @hookimpl
    def register_tools(self, register):
        register(read_paper)


@pytest.fixture
def under_test(home, tmp_path):
    (tmp_path / "project").mkdir()
    plugins = ["scheduled_tasks", Papers()]
    made = HomeUnderTest(home, tmp_path / "project", plugins, allow=["tasks.write"])
    yield made
    made.close()


@pytest.fixture
def run(under_test, tasks):
    """Runs the own task, whose model makes some calls; gives their results."""

    async def record(**_):
        return True

    def run(*calls, own=OWN, others=()):
        for each in (own, *others):
            tasks.call(add, each)
        tasks.call(add, RUN)
        for name, arguments in calls:
            under_test.model.calls(name, arguments)
        under_test.model.says("Done.")
        outcome = under_test.run(attempt(under_test.app, own, RUN, record))
        assert outcome.answer == "Done.", outcome
        session = under_test.run(under_test.app.store.find_session(f"scheduled-{RUN.id}"))
        history = under_test.run(under_test.app.store.messages(session.id))
        results = [each for each in history if each.type is MessageType.TOOL_RESULT]
        return [each for each in results if each.tool_name != "load_tool_group"]

    return run


def made(tasks):
    return {task.name: task for task, _ in tasks.call(list_tasks)}


@pytest.mark.long
def test_a_task_that_a_limited_run_schedules_has_the_groups_of_the_run(run, tasks):
    results = run(("schedule_task", NEW), ("schedule_task", {**NEW, "name": "None", "tool_groups": []}))

    assert [each.tool_status for each in results] == ["success"] * 2
    assert made(tasks)["New"].tool_groups == ("scheduled_tasks",)
    assert made(tasks)["None"].tool_groups == ()
    assert made(tasks)["New"].agent == "General Assistant"


@pytest.mark.parametrize("groups", some([["papers"], ["*"], ["scheduled_tasks", "papers"]], 3))
def test_a_limited_run_can_give_no_groups_that_it_has_not(run, tasks, groups):
    (refused,) = run(("schedule_task", {**NEW, "tool_groups": groups}))

    assert refused.error_type == "validation_error"
    assert (
        "Tool_groups may name only those that this turn itself is limited to: scheduled_tasks; not" in refused.content
    )
    assert list(made(tasks)) == ["Own"]


@pytest.mark.long
def test_a_run_without_limits_schedules_what_it_likes(run, tasks):
    run(
        ("load_tool_group", {"group_name": "scheduled_tasks"}),
        ("schedule_task", NEW),
        own=replace(OWN, tool_groups=None, max_seconds=3600),
    )

    assert made(tasks)["New"].tool_groups is None
    assert (made(tasks)["New"].max_seconds, made(tasks)["New"].max_cost) == (600, None)


@pytest.mark.long
def test_limits_in_time_and_money_are_those_of_the_run(run, tasks):
    run(("schedule_task", NEW), own=replace(OWN, max_seconds=60, max_cost=0.25))

    assert (made(tasks)["New"].max_seconds, made(tasks)["New"].max_cost) == (60, 0.25)


@pytest.mark.parametrize(
    ("limits", "reason"),
    some(
        [
            ({"tool_groups": None}, "not '*'"),
            ({"tool_groups": ("papers",)}, "not 'papers'"),
            ({"max_seconds": 61}, "take and cost no more than this run itself"),
            ({"max_cost": None}, "take and cost no more than this run itself"),
            ({"max_cost": 0.26}, "take and cost no more than this run itself"),
            ({"agent": "Other"}, "of another"),
        ],
        3,
    ),
)
def test_a_run_writes_no_prompt_of_a_task_with_wider_limits(run, tasks, limits, reason):
    own = replace(OWN, max_seconds=60, max_cost=0.25)
    wide = replace(own, id="ba9876543210", name="Wide", **limits)
    refused, renamed = run(
        ("update_scheduled_task", {"task_id": wide.id, "prompt": "Worse"}),
        ("update_scheduled_task", {"task_id": wide.id, "name": "Renamed"}),
        own=own,
        others=[wide],
    )

    assert (refused.error_type, reason in refused.content) == ("validation_error", True), refused.content
    assert renamed.tool_status == "success"
    assert made(tasks)["Renamed"].prompt == "Do it"


@pytest.mark.long
def test_a_run_may_write_the_prompt_of_a_task_like_its_own(run, tasks):
    (changed,) = run(("update_scheduled_task", {"task_id": OWN.id, "prompt": "Better"}))

    assert changed.tool_status == "success"
    assert made(tasks)["Own"].prompt == "Better"


def test_a_run_whose_task_is_deleted_schedules_nothing(run, tasks):
    deleted, refused = run(("delete_scheduled_task", {"task_id": OWN.id}), ("schedule_task", NEW))

    assert deleted.tool_status == "success"
    assert "is deleted, and with it its limits" in refused.content
    assert made(tasks) == {}


def test_an_agent_that_is_run_by_one_with_fewer_core_tools_schedules_nothing(under_test, tasks, tmp_path):
    """A task can be limited to tool groups, and not to some of the core tools."""
    selection = ToolSelection(tools=frozenset({"get_current_time"}), groups=frozenset({"scheduled_tasks"}))

    guard = PathGuard(tmp_path, tmp_path)
    call = ToolContext(tmp_path, None, "Clock", "create_agent", "call_1", guard, selection=selection)
    under_test.model.calls("load_tool_group", group_name="scheduled_tasks").calls("schedule_task", NEW).says("Done.")
    under_test.send("Schedule it", within=call)

    (refused,) = [each for each in under_test.model.requests[-1].messages if each.error_type]
    assert "no task can be limited in that way" in refused.content
    assert made(tasks) == {}
