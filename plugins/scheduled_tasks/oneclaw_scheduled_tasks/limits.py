"""The limits of a task that a tool call makes: at most those of the turn that makes the call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError
from oneclaw_scheduled_tasks.tables import find
from oneclaw_scheduled_tasks.task import USUAL_SECONDS, Run, RunStatus, Task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext, ToolSelection
    from oneclaw_scheduled_tasks.service import TaskService

# As in attempt: scheduled-TASK-TIME, or scheduled-TASK-manual-NUMBER or scheduled-TASK-event-NUMBER.
_SESSION_OF_A_RUN = re.compile(r"scheduled-([0-9a-f]{12}-(?:(?:manual|event)-[0-9a-f]{12}|[0-9]{8}T[0-9]{6}Z))")


async def limited(given: Mapping[str, Any], context: ToolContext, service: TaskService) -> Mapping[str, Any]:
    """Keep a new task to the tools and limits of the turn that schedules it.

    Raises:
        UsageError: it names another agent or more tool groups than the turn has, or the turn cannot be stood for by
            tool groups.
    """
    run = await _own_task(context, service)
    if run is not None:
        given = {**given, "max_seconds": min(run.max_seconds, USUAL_SECONDS), "max_cost": run.max_cost}
    if context.selection.is_everything:
        return given
    if given.get("agent") is not None and given["agent"].strip() != context.agent_name:
        # Through a task for somebody else it would have more tools than its own.
        raise UsageError(f"agent must be {context.agent_name!r} or left out: this agent has a choice of tools only")
    given = {**given, "agent": context.agent_name}
    own = await _own_selection(context)
    if own == context.selection:
        return given
    groups = _whole_groups(own, context)
    if given.get("tool_groups") is None:
        given = {**given, "tool_groups": groups}
    _check_groups(given["tool_groups"], groups, own, context)
    return given


async def check_change(before: Task, after: Task, context: ToolContext, service: TaskService) -> None:
    """Keep a turn from having done by another task what it could not do itself.

    Raises:
        UsageError: the prompt changes of a task that has more tools, or wider limits, than the turn.
    """
    if before.prompt == after.prompt:
        return
    if not context.selection.is_everything:
        if before.agent != context.agent_name:
            raise UsageError(f"prompt can be changed of tasks of {context.agent_name!r} only: this one is of another")
        own = await _own_selection(context)
        if own != context.selection:
            _check_groups(after.tool_groups, _whole_groups(own, context), own, context)
    run = await _own_task(context, service)
    if run is not None and not _is_within(after, run):
        raise UsageError("prompt can be changed of tasks only that may take and cost no more than this run itself")


def _is_within(task: Task, run: Task) -> bool:
    costs_no_more = run.max_cost is None or (task.max_cost is not None and task.max_cost <= run.max_cost)
    return costs_no_more and task.max_seconds <= run.max_seconds


async def _own_task(context: ToolContext, service: TaskService) -> Task | None:
    """The task in whose run the call is made, also by an agent that the run has called."""
    session_id = context.session_id if context.turn is None else context.turn.permission_session(context.session_id)
    session = await context.services.sessions.find(session_id) if session_id is not None else None
    match = _SESSION_OF_A_RUN.fullmatch(session.name or "") if session is not None else None
    if match is None:
        return None
    run = await service.database.run(find, Run, match[1])
    task = await service.database.run(find, Task, run.task_id) if run is not None else None
    if run is None or task is None:
        raise UsageError("the task that this session is of is deleted, and with it its limits: use a new session")
    # Later on, users may go on in the session themselves.
    return task if run.status is RunStatus.RUNNING else None


async def _own_selection(context: ToolContext) -> ToolSelection:
    """Return the agent's state in a conversation of the user."""
    return (await context.services.agents.get(context.agent_name)).selection


def _whole_groups(own: ToolSelection, context: ToolContext) -> tuple[str, ...]:
    """The groups of which the turn has all that the agent has, if that is anything."""
    found = []
    for group, tools in context.services.registry.get_tool_groups().items():
        owned = [name for name in tools if own.allows(name, group)]
        if owned and all(context.selection.allows(name, group) for name in owned):
            found.append(group)
    return tuple(sorted(found))


def _check_groups(
    wanted: Sequence[str] | None, groups: tuple[str, ...], own: ToolSelection, context: ToolContext
) -> None:
    """Refuse a task that would have tools that the turn has not."""
    more = ["*"] if wanted is None else [name for name in wanted if name.strip() not in groups]
    if more:
        there = ", ".join(groups) or "none"
        raise UsageError(
            f"tool_groups may name only those that this turn itself is limited to: {there}; not {more[0][:100]!r}"
        )
    core = context.services.registry.get_core_tool_definitions()
    missing = [
        each.name for each in core if own.allows(each.name, None) and not context.selection.allows(each.name, None)
    ]
    if missing:
        raise UsageError(
            f"this turn has fewer tools than {context.agent_name!r}, without {missing[0]}, and no task can be limited "
            "in that way: have the user schedule it"
        )
