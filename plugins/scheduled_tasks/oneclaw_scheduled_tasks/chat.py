"""The chat commands ``/inbox`` and ``/tasks``, for every channel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core import UsageError
from oneclaw_core.tools import grant_in_words
from oneclaw_scheduled_tasks.inbox import IN_A_CHAT, result_text
from oneclaw_scheduled_tasks.service import TaskService, find_task

if TYPE_CHECKING:
    from oneclaw_core import ChatCommandContext


async def inbox_command(context: ChatCommandContext, rest: str) -> str:
    """Show the results that the user has not seen, or have a run go on."""
    verb, _, run_id = rest.partition(" ")
    async with TaskService.open(context.services) as service:
        if not rest:
            found = await service.inbox(is_marked=True)
            return "\n\n".join(result_text(run, name, IN_A_CHAT) for run, name in found) or "no new results"
        if verb == "grant" and run_id:
            return await _grant(context, service, run_id)
        if verb == "continue" and run_id:
            return f"run {(await service.continue_run(run_id)).id} waits for a worker"
    raise UsageError("/inbox shows new results; /inbox grant RUN and /inbox continue RUN have a run go on")


async def _grant(context: ChatCommandContext, service: TaskService, run_id: str) -> str:
    run = await service.find_run(run_id)
    lacked = await service.lacked(run)
    if lacked:
        task = await service.get(run.task_id)
        what = "\n".join(f"- {grant_in_words(replace(each, task=None))}" for each in lacked)
        question = f"Grant this to the scheduled task '{task.name}' alone, and have its run go on?\n{what}"
        if not await context.confirm(question):
            return "nothing was granted"
    return f"run {(await service.grant_and_continue(run.id, lacked)).id} waits for a worker"


async def tasks_command(context: ChatCommandContext, rest: str) -> str:
    """List the tasks with the runs under way, or change one."""
    verb, _, wanted = rest.partition(" ")
    async with TaskService.open(context.services) as service:
        if not rest:
            return await _listed(service)
        if verb == "stop" and wanted:
            return f"run {(await service.stop_run(wanted)).id} is stopped"
        if verb not in ("run", "pause", "resume") or not wanted:
            raise UsageError("/tasks lists the tasks; there are /tasks run, pause and resume TASK, and /tasks stop RUN")
        task = await service.get(await find_task(context.services, wanted) or wanted)
        if verb == "run":
            return f"run {(await service.run(task.id)).id} waits for a worker"
        stopped = await service.set_enabled(task.id, is_enabled=verb == "resume")
        lines = [f"task {task.name} is {'enabled' if verb == 'resume' else 'paused'}"]
        return "\n".join([*lines, *(f"run {each.id} is stopped" for each in stopped)])


async def _listed(service: TaskService) -> str:
    lines = []
    for task, last in await service.list_all():
        state = "" if task.is_enabled else ", paused"
        lines.append(f"{task.name} ({task.id}): {task.schedule_text}{state}; next run: {task.local_text(task.next_at)}")
        if last is not None:
            lines.append(f"  last run: {task.local_text(last.scheduled_at)}, {last.status}, {last.id}")
    return "\n".join(lines) or "there are no scheduled tasks; make one with: oneclaw tasks add"
